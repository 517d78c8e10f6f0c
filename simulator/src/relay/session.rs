use std::sync::Arc;

use indexmap::IndexMap;
use tokio::time::{Duration, Instant};

use super::frame::{Frame, FrameKind};
use super::mailbox::{LegId, Mailbox, Ready};
use super::routing::{Ask, Asked};
use super::subscribers::Subscribers;
use super::token::Token;
use crate::fault::{Close, Fate};
use crate::surface_host::Telling;

/// One session: its clients, what they asked, and what waits for whom.
#[derive(Debug)]
pub(crate) struct Session {
    /// None once it was revoked.
    token: Option<Token>,
    last_active: Instant,
    clients: IndexMap<String, Client>,
    pub(crate) asked: Asked,
    /// What waits for a surface that is not in this process.
    pub(crate) surface: Mailbox<Parcel>,
    /// The receivers of a relay that routes by id alone; it has no clients.
    pub(crate) subscribers: Subscribers,
}

#[derive(Debug)]
struct Client {
    mailbox: Mailbox<Parcel>,
    /// Whether it ever opened a receive leg: it then gets notifications too.
    subscribed: bool,
}

/// A frame on its way to a party.
#[derive(Debug, Clone)]
pub(crate) struct Parcel {
    pub(crate) frame: Frame,
    /// What it tells of the surface's state, for the journal.
    pub(crate) tells: Arc<Vec<Telling>>,
    /// What befalls the connection that would carry it.
    pub(crate) strike: Option<Strike>,
}

/// A fault that strikes the moment a frame would be handed over.
#[derive(Debug, Clone)]
pub(crate) struct Strike {
    pub(crate) close: Close,
    pub(crate) fate: Fate,
}

impl Parcel {
    pub(crate) fn of(frame: Frame) -> Self {
        Self { frame, tells: Arc::default(), strike: None }
    }
}

/// Whose mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Party {
    Client(String),
    Surface,
    /// One of [`Subscribers`], by its id.
    Subscriber(String),
}

/// Where a frame of the surface goes.
#[derive(Debug, Clone)]
pub(crate) enum Destination {
    /// An answer, to the client that asked.
    Asker(Ask),
    /// A request or notification, to every subscriber.
    Subscribers(Vec<String>),
    /// An answer that nobody asked for.
    Nobody,
}

impl Session {
    pub(crate) fn new(token: Token, now: Instant) -> Self {
        Self {
            token: Some(token),
            last_active: now,
            clients: IndexMap::new(),
            asked: Asked::default(),
            surface: Mailbox::new(),
            subscribers: Subscribers::default(),
        }
    }

    pub(crate) fn is_opened_by(&self, token: &str) -> bool {
        self.token.as_ref().is_some_and(|own| own.is(token))
    }

    pub(crate) fn revoke_token(&mut self) {
        self.token = None;
    }

    pub(crate) fn touch(&mut self, now: Instant) {
        self.last_active = now;
    }

    pub(crate) fn expires_at(&self, idle: Duration) -> Instant {
        self.last_active + idle
    }

    fn client(&mut self, name: &str) -> &mut Client {
        if !self.clients.contains_key(name) {
            let client = Client { mailbox: Mailbox::new(), subscribed: false };
            self.clients.insert(name.to_owned(), client);
        }
        &mut self.clients[name]
    }

    /// The mailbox of a party that is there.
    pub(crate) fn mailbox(&mut self, party: &Party) -> Option<&mut Mailbox<Parcel>> {
        match party {
            Party::Client(name) => self.clients.get_mut(name).map(|client| &mut client.mailbox),
            Party::Surface => Some(&mut self.surface),
            Party::Subscriber(id) => self.subscribers.mailbox(id),
        }
    }

    /// Opens a receive leg. True when it makes its client a subscriber, which the surface is told
    /// once (RELAY-6).
    pub(crate) fn open_leg(&mut self, party: &Party, leg: LegId) -> bool {
        let joined = match party {
            Party::Client(name) => !std::mem::replace(&mut self.client(name).subscribed, true),
            Party::Surface | Party::Subscriber(_) => false,
        };
        if let Some(mailbox) = self.mailbox(party) {
            mailbox.open(leg);
        }
        joined
    }

    pub(crate) fn close_leg(&mut self, party: &Party, leg: LegId) {
        if let Some(mailbox) = self.mailbox(party) {
            mailbox.close(leg);
        }
    }

    /// Notes a request of a client: what was held until then is let go. Returns the alias for a
    /// surface elsewhere, see [`Asked::ask`].
    pub(crate) fn ask(&mut self, client: &str, frame: &Frame) -> Option<serde_json::Value> {
        let FrameKind::Request(key) = &frame.kind else { return None };
        self.client(client).mailbox.request_made();
        self.asked.ask(client, frame, key)
    }

    /// Decides where a frame of the surface goes.
    pub(crate) fn route(&mut self, frame: &Frame, asker: Option<&str>) -> Destination {
        match &frame.kind {
            FrameKind::Answer(key) => {
                self.asked.answered(key, asker).map_or(Destination::Nobody, Destination::Asker)
            }
            FrameKind::Request(_) | FrameKind::Notification => {
                Destination::Subscribers(self.subscribers())
            }
        }
    }

    pub(crate) fn subscribers(&self) -> Vec<String> {
        let subscribed = self.clients.iter().filter(|(_, client)| client.subscribed);
        subscribed.map(|(name, _)| name.clone()).collect()
    }

    /// Every client that was ever seen and has not left.
    pub(crate) fn client_names(&self) -> Vec<String> {
        self.clients.keys().cloned().collect()
    }

    /// Puts a parcel into the mailbox of a party; a client that was never seen gets one.
    pub(crate) fn post(&mut self, to: &Party, parcel: Parcel, ready: Ready, broadcast: bool) {
        if let Party::Client(name) = to {
            self.client(name);
        }
        let Some(mailbox) = self.mailbox(to) else { return };
        if broadcast {
            mailbox.broadcast(parcel, ready);
        } else {
            mailbox.post(parcel, ready);
        }
    }

    /// A client leaves; the others stay (RELAY-10). True when it was a subscriber.
    pub(crate) fn leave(&mut self, client: &str) -> bool {
        self.asked.client_left(client);
        match self.clients.shift_remove(client) {
            Some(mut gone) => {
                gone.mailbox.end();
                gone.subscribed
            }
            None => false,
        }
    }

    /// Ends every stream and poll of the session (RELAY-7).
    pub(crate) fn end(&mut self) {
        for client in self.clients.values_mut() {
            client.mailbox.end();
        }
        self.surface.end();
        self.subscribers.end();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::super::mailbox::Taken;
    use super::*;

    fn session() -> Session {
        Session::new(Token::new("0123456789abcdef").unwrap(), Instant::now())
    }

    fn frame(value: Value) -> Frame {
        Frame::of(value).unwrap()
    }

    fn request(id: i32) -> Frame {
        frame(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t"}}))
    }

    fn answer(id: i32) -> Frame {
        frame(json!({"jsonrpc": "2.0", "id": id, "result": {}}))
    }

    fn party(name: &str) -> Party {
        Party::Client(name.to_owned())
    }

    #[test]
    fn answers_find_their_asker_and_orphans_find_nobody() {
        let mut session = session();
        session.ask("a", &request(1));
        session.ask("b", &request(2));
        let Destination::Asker(ask) = session.route(&answer(2), None) else { panic!("an asker") };
        assert_eq!((ask.client.as_str(), ask.tool.as_deref()), ("b", Some("t")));
        assert!(matches!(session.route(&answer(2), None), Destination::Nobody));
        assert!(matches!(session.route(&answer(9), None), Destination::Nobody));
    }

    #[test]
    fn notifications_go_to_every_subscriber_and_to_nobody_else() {
        let mut session = session();
        session.ask("asks-only", &request(1));
        assert!(session.open_leg(&party("a"), LegId(1)));
        assert!(!session.open_leg(&party("a"), LegId(2)), "a client subscribes once");
        assert!(session.open_leg(&party("b"), LegId(3)));
        session.close_leg(&party("b"), LegId(3));
        let told = session.route(&frame(json!({"jsonrpc": "2.0", "method": "n"})), None);
        let Destination::Subscribers(names) = told else { panic!("subscribers") };
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_client_that_leaves_takes_nobody_with_it() {
        let mut session = session();
        session.open_leg(&party("a"), LegId(1));
        session.open_leg(&party("b"), LegId(2));
        assert!(session.leave("a"));
        assert!(!session.leave("a"));
        session.close_leg(&party("a"), LegId(1));
        assert_eq!(session.subscribers(), ["b"]);
        let now = Instant::now();
        assert!(matches!(
            session.mailbox(&party("b")).unwrap().take(LegId(2), now),
            Taken::Nothing(None)
        ));
    }
}
