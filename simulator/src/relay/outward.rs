//! How frames of the surface get to clients, as the faults will have it.

use std::sync::Arc;

use tokio::time::Instant;

use super::frame::{Frame, FrameKind};
use super::hub::Hub;
use super::mailbox::Ready;
use super::routing::Ask;
use super::session::{Destination, Parcel, Party, Strike};
use crate::fault::{Hoard, Kind, Message, Retarget, with_id};
use crate::surface_host::Telling;

/// Where a frame goes: a mailbox, and the client that reads it.
#[derive(Debug, Clone)]
struct Receiver {
    party: Party,
    client: String,
}

impl Receiver {
    fn client(name: &str) -> Self {
        Self { party: Party::Client(name.to_owned()), client: name.to_owned() }
    }
}

impl Hub {
    /// Takes a frame of the surface and lets it go to whom it is for, as the faults will have it.
    pub(crate) fn to_clients(
        self: &Arc<Self>,
        session: &str,
        frame: Frame,
        asker: Option<&str>,
        tells: Arc<Vec<Telling>>,
    ) {
        if !self.dialect.routes_by_client {
            return self.to_subscribers(session, &frame, &tells);
        }
        let destination = {
            let mut state = self.state();
            let Some(open) = state.registry.get(session) else { return };
            open.route(&frame, asker)
        };
        match destination {
            Destination::Nobody => {}
            Destination::Asker(ask) => {
                let frame = if frame.id() == ask.id { frame } else { frame.with_id(&ask.id) };
                let parcel = Parcel { frame, tells, strike: None };
                let receiver = Receiver::client(&ask.client);
                self.announce_and_deliver(session, receiver, parcel, Some(&ask));
            }
            Destination::Subscribers(names) => {
                for name in names {
                    let parcel =
                        Parcel { frame: frame.clone(), tells: Arc::clone(&tells), strike: None };
                    self.announce_and_deliver(session, Receiver::client(&name), parcel, None);
                }
            }
        }
    }

    fn to_subscribers(self: &Arc<Self>, session: &str, frame: &Frame, tells: &Arc<Vec<Telling>>) {
        let reach = {
            let mut state = self.state();
            let Some(open) = state.registry.get(session) else { return };
            open.subscribers.route(frame)
        };
        for (id, label) in reach.subscribers {
            let parcel = Parcel { frame: frame.clone(), tells: Arc::clone(tells), strike: None };
            let receiver = Receiver { party: Party::Subscriber(id), client: label };
            self.announce_and_deliver(session, receiver, parcel, reach.ask.as_ref());
        }
    }

    /// Shows a frame on its way to a client to people and to faults, and lets it go.
    fn announce_and_deliver(
        self: &Arc<Self>,
        session: &str,
        receiver: Receiver,
        parcel: Parcel,
        ask: Option<&Ask>,
    ) {
        let frame = parcel.frame.clone();
        let client = receiver.client.clone();
        let message = match ask {
            Some(ask) => Message {
                kind: Kind::Answer,
                client: Self::named(&client),
                method: Some(&ask.method),
                tool: ask.tool.as_deref(),
            },
            None => Message {
                kind: Kind::Notification,
                client: Self::named(&client),
                method: frame.method(),
                tool: None,
            },
        };
        if ask.is_none() {
            // An answer was announced with its request.
            self.people_before(&[message]);
        }
        self.people_after(&[message]);
        self.deliver(session, receiver, parcel, &message);
    }

    /// Puts a parcel into mailboxes, as its fate decides.
    fn deliver(&self, session: &str, to: Receiver, parcel: Parcel, message: &Message<'_>) {
        let broadcast = message.kind == Kind::Notification;
        let post = |to: &Party, parcel: Parcel, ready: Ready| {
            if let Some(open) = self.state().registry.get(session) {
                open.post(to, parcel, ready, broadcast);
            }
        };
        // A rule about notifications may be meant for those of clients, which come by HTTP.
        let fate = self.decide(&[*message]).filter(|fate| !fate.rule.is_about_http());
        let Some(fate) = fate else {
            post(&to.party, parcel, Ready::Now);
            return;
        };
        if fate.rule.close.is_none() {
            // A close is told when it strikes: when the frame would leave.
            self.note(fate.event(None));
        }
        let rule = &fate.rule;
        let ready = match (rule.hoard, rule.delay) {
            _ if rule.drop => return,
            (Some(Hoard::ForEver), _) => return,
            (Some(Hoard::UntilNextRequest), _) => Ready::AtNextRequest,
            (Some(Hoard::For(span)), _) | (None, Some(span)) => {
                Ready::At(Instant::now() + span.get())
            }
            (None, None) => Ready::Now,
        };
        for injected in &rule.inject {
            let value = with_id(injected, &parcel.frame.id());
            let frame = Frame::forged(value, FrameKind::Notification);
            post(&to.party, Parcel::of(frame), ready);
        }
        let mut parcel = parcel;
        if let Some(mutation) = &rule.mutate {
            let value = mutation.apply(&parcel.frame.value);
            parcel.frame = Frame::forged(value, parcel.frame.kind.clone());
            if mutation.error.is_some() {
                parcel.tells = Arc::default();
            }
        }
        parcel.strike = rule.close.map(|close| Strike { close, fate: fate.clone() });
        for receiver in self.receivers(session, to, rule.retarget.as_ref()) {
            for _ in 0..=rule.duplicate.unwrap_or(0) {
                post(&receiver.party, parcel.clone(), ready);
            }
        }
    }

    /// Who gets a frame that was for somebody.
    fn receivers(
        &self,
        session: &str,
        own: Receiver,
        retarget: Option<&Retarget>,
    ) -> Vec<Receiver> {
        let Some(retarget) = retarget else { return vec![own] };
        let mut state = self.state();
        let Some(open) = state.registry.get(session) else { return Vec::new() };
        let everyone: Vec<Receiver> = if self.dialect.routes_by_client {
            open.client_names().iter().map(|name| Receiver::client(name)).collect()
        } else {
            let all = open.subscribers.outbound().into_iter();
            all.map(|(id, client)| Receiver { party: Party::Subscriber(id), client }).collect()
        };
        let among = |wanted: &dyn Fn(&Receiver) -> bool| {
            everyone.iter().filter(|receiver| wanted(receiver)).cloned().collect()
        };
        match retarget {
            Retarget::Everyone => everyone,
            Retarget::Others => among(&|receiver| receiver.client != own.client),
            // A client that has not been seen yet will find it when it comes.
            Retarget::Client(other) if self.dialect.routes_by_client => {
                vec![Receiver::client(other)]
            }
            Retarget::Client(other) => among(&|receiver| receiver.client == *other),
        }
    }
}
