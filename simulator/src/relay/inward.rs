//! How frames get to the surface, and what the surface says to them at once.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use super::frame::{Frame, FrameKind};
use super::hub::{Hub, lock};
use super::mailbox::Ready;
use super::session::Parcel;
use crate::fault::{Fate, Kind, Message};
use crate::journal::Event;
use crate::surface_host::{Emission, SurfaceHost, Telling};

/// The surface's HTTP answer to a POST, in place of the relay's.
pub(crate) struct Instead {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// What befalls it: it is the answer to a request, if not as a frame.
    pub(crate) fate: Option<Fate>,
}

/// How a frame of a client travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    /// By itself.
    Single,
    /// In a batch that a surface elsewhere gets as a whole.
    InWhole,
}

impl Hub {
    /// Takes a frame that a client posted and hands it to the surface. Returns the HTTP answer
    /// that the surface wants in place of the relay's, if it does.
    pub(crate) fn to_surface(
        self: &Arc<Self>,
        session: &str,
        client: &str,
        frame: &Frame,
        passage: Passage,
    ) -> Option<Instead> {
        let is_request = matches!(frame.kind, FrameKind::Request(_));
        if is_request {
            self.note_request_of(client);
        }
        let (alias, elsewhere) = {
            let mut state = self.state();
            let open = state.registry.get(session)?;
            if self.dialect.routes_by_client {
                (open.ask(client, frame), open.surface.has_legs())
            } else {
                if passage == Passage::Single {
                    open.subscribers.ask(client, frame);
                }
                (None, true)
            }
        };
        let kind = if is_request { Kind::Request } else { Kind::Notification };
        let message = Message {
            kind,
            client: Self::named(client),
            method: frame.method(),
            tool: frame.tool(),
        };
        let host = self.host_of(session);
        if passage == Passage::Single && (host.is_none() || elsewhere) {
            let aliased = alias.map(|id| frame.with_id(&id));
            self.post_to_surface(session, aliased.unwrap_or_else(|| frame.clone()));
        }
        let host = host?;
        let answer = Message { kind: Kind::Answer, ..message };
        let announced = [message, answer];
        self.people_before(if is_request { &announced } else { &announced[..1] });
        let emissions = lock(&host).receive(client, &frame.value);
        self.people_after(&[message]);
        let (status, body) = self.emit(session, client, emissions)?;
        if let (FrameKind::Request(key), Some(open)) =
            (&frame.kind, self.state().registry.get(session))
        {
            open.asked.answered(key, Some(client));
        }
        let fate = self.decide(&[answer]);
        self.people_after(&[answer]);
        Some(Instead { status, body, fate })
    }

    fn host_of(&self, session: &str) -> Option<Arc<Mutex<dyn SurfaceHost>>> {
        let attached = lock(&self.attached);
        let attached = attached.as_ref().filter(|attached| attached.session == session)?;
        Some(Arc::clone(&attached.host))
    }

    /// Leaves a frame for a surface that is elsewhere.
    pub(crate) fn post_to_surface(&self, session: &str, frame: Frame) {
        let mut state = self.state();
        let Some(open) = state.registry.get(session) else { return };
        if self.dialect.routes_by_client {
            open.surface.broadcast(Parcel::of(frame), Ready::Now);
        } else {
            open.subscribers.tell_surface(&frame);
        }
    }

    /// A stream or a poller of a relay that routes by id alone.
    pub(crate) fn subscriber_arrives(
        self: &Arc<Self>,
        session: &str,
        id: &str,
        label: &str,
        inbound: bool,
        polls: bool,
    ) {
        let is_new = {
            let mut state = self.state();
            state.registry.get(session).is_some_and(|open| {
                open.subscribers.arrive(id, label, inbound, polls, Instant::now())
            })
        };
        if is_new && !inbound {
            self.presence(session, id, true);
        }
    }

    /// Tells the surface that a peer came or went (RELAY-6).
    pub(crate) fn presence(self: &Arc<Self>, session: &str, client: &str, joined: bool) {
        let what = if joined { "joined" } else { "left" };
        self.note_session(&format!("client_{what}"), Self::named(client));
        let at = u64::try_from(self.at().as_millis()).unwrap_or(u64::MAX);
        let value = json!({
            "jsonrpc": "2.0",
            "method": format!("notifications/peer_{what}"),
            "params": { "subscriberId": client, "ts": at },
        });
        let host = self.host_of(session);
        if let Some(frame) = Frame::of(value.clone()) {
            let elsewhere = !self.dialect.routes_by_client
                || self.state().registry.get(session).is_some_and(|open| open.surface.has_legs());
            if host.is_none() || elsewhere {
                self.post_to_surface(session, frame);
            }
        }
        if let Some(host) = host {
            let emissions = lock(&host).receive(client, &value);
            self.emit(session, client, emissions);
        }
    }

    fn emit(
        self: &Arc<Self>,
        session: &str,
        client: &str,
        emissions: Vec<Emission>,
    ) -> Option<(u16, Value)> {
        let mut answer = None;
        for emission in emissions {
            match emission {
                Emission::HttpStatus { status, body } => answer = Some((status, body)),
                Emission::Frame { frame, tells } => {
                    self.from_surface_in_process(session, client, frame, &tells);
                }
            }
        }
        answer
    }

    fn from_surface_in_process(
        self: &Arc<Self>,
        session: &str,
        client: &str,
        value: Value,
        tells: &[Telling],
    ) {
        let is_batch = value.is_array();
        let members = match value {
            Value::Array(members) => members,
            value => vec![value],
        };
        for member in members {
            let Some(frame) = Frame::of(member) else {
                self.note(Event::Note { says: "the surface sent what is no frame".to_owned() });
                continue;
            };
            // In a batch, each answer tells what it tells; a frame alone tells everything.
            let id = Some(frame.id());
            let own = tells.iter().filter(|telling| !is_batch || telling.request == id);
            self.to_clients(session, frame.clone(), Some(client), Arc::new(own.cloned().collect()));
        }
    }

    /// Hands frames to the surface after a while.
    pub(crate) fn to_surface_later(
        self: &Arc<Self>,
        delay: Duration,
        session: String,
        client: String,
        frames: Vec<Frame>,
    ) {
        let hub = Arc::clone(self);
        lock(&self.late).spawn(async move {
            sleep(delay).await;
            for frame in &frames {
                hub.to_surface(&session, &client, frame, Passage::Single);
            }
        });
    }

    /// Ends the tasks of frames that are still to be handed on.
    pub(crate) async fn stop_late(&self) {
        let mut late = std::mem::take(&mut *lock(&self.late));
        late.shutdown().await;
    }
}
