//! Everything that the routes of one relay share, and how a frame gets from one party to another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep};

use super::dialect::Dialect;
use super::frame::{Frame, FrameKind};
use super::mailbox::Ready;
use super::registry::Registry;
use super::routing::Ask;
use super::session::{Destination, Parcel, Party, Strike};
use super::spec::{PollShape, RelaySpec};
use crate::fault::{Engine, Fate, FaultRule, Hoard, Kind, Message, Retarget, with_id};
use crate::journal::{Direction, Event, Journal};
use crate::surface_host::{Emission, SurfaceHost, Telling};

/// Four hours, unless the scenario says otherwise (RELAY-7).
const IDLE: Duration = Duration::from_secs(4 * 3600);

/// Who watches messages pass and does something of their own then: the people.
pub(crate) trait Bystanders: Send {
    /// Something is about to be handled: an exchange, or a frame of a client. With a request
    /// comes, as a message of its own, the answer that it will have.
    fn before(&mut self, messages: &[Message<'_>], at: Duration);
    /// Something has been handled and nobody has received anything of it yet. An answer is
    /// announced when it is made, apart from its request.
    fn after(&mut self, messages: &[Message<'_>], at: Duration);
}

/// The surface's HTTP answer to a POST, in place of the relay's.
pub(crate) struct Instead {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// What befalls it: it is the answer to a request, if not as a frame.
    pub(crate) fate: Option<Fate>,
}

/// The relay while it runs.
pub(crate) struct Hub {
    pub(crate) dialect: Dialect,
    pub(crate) poll_shape: PollShape,
    began: Instant,
    journal: Journal,
    sealed: AtomicBool,
    state: Mutex<State>,
    bystanders: Mutex<Option<Box<dyn Bystanders>>>,
    attached: Mutex<Option<Attached>>,
    late: Mutex<JoinSet<()>>,
    request_made: Notify,
}

/// What changes while a relay runs.
pub(crate) struct State {
    pub(crate) registry: Registry,
    pub(crate) faults: Engine,
    exchanges: u64,
    requests: u64,
    last_request_of: std::collections::BTreeMap<String, u64>,
}

/// A surface in this process, and the session it hosts.
#[derive(Clone)]
struct Attached {
    session: String,
    host: Arc<Mutex<dyn SurfaceHost>>,
}

/// How a frame of a client travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    /// By itself.
    Single,
    /// In a batch that a surface elsewhere gets as a whole.
    InWhole,
}

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
    pub(crate) fn new(spec: &RelaySpec, rng: ChaCha8Rng, journal: Journal) -> Arc<Self> {
        let idle = spec.idle_timeout.map_or(IDLE, Duration::from);
        let state = State {
            registry: Registry::new(idle),
            faults: Engine::new(spec.faults.clone(), rng),
            exchanges: 0,
            requests: 0,
            last_request_of: std::collections::BTreeMap::new(),
        };
        Arc::new(Self {
            dialect: spec.dialect.dialect(),
            poll_shape: spec.poll_body,
            began: Instant::now(),
            journal,
            sealed: AtomicBool::new(false),
            state: Mutex::new(state),
            bystanders: Mutex::new(None),
            attached: Mutex::new(None),
            late: Mutex::new(JoinSet::new()),
            request_made: Notify::new(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// How long the case has been running.
    pub(crate) fn at(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn note(&self, event: Event) {
        if !self.sealed.load(Ordering::Relaxed) {
            self.journal.note(event);
        }
    }

    /// Ends the journal: connections that end with their world have not been hung up on.
    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_bystanders(&self, bystanders: Box<dyn Bystanders>) {
        *lock(&self.bystanders) = Some(bystanders);
    }

    pub(crate) fn set_faults(&self, rules: Vec<FaultRule>) {
        self.state().faults.replace(rules);
    }

    /// Attaches a surface of this process to a session that is registered already.
    pub(crate) fn attach(&self, session: &str, host: Arc<Mutex<dyn SurfaceHost>>) {
        *lock(&self.attached) = Some(Attached { session: session.to_owned(), host });
    }

    /// Numbers an exchange, from 1.
    pub(crate) fn next_exchange(&self) -> u64 {
        let mut state = self.state();
        state.exchanges += 1;
        state.exchanges
    }

    /// Decides the fate of messages that travel together. The caller journals it when it strikes.
    pub(crate) fn decide(&self, messages: &[Message<'_>]) -> Option<Fate> {
        let at = self.at();
        self.state().faults.decide(messages, at)
    }

    pub(crate) fn people_before(&self, messages: &[Message<'_>]) {
        let at = self.at();
        if let Some(people) = lock(&self.bystanders).as_mut() {
            people.before(messages, at);
        }
    }

    pub(crate) fn people_after(&self, messages: &[Message<'_>]) {
        let at = self.at();
        if let Some(people) = lock(&self.bystanders).as_mut() {
            people.after(messages, at);
        }
    }

    /// Ends the sessions whose time is over, and lets pollers go that stayed away.
    pub(crate) fn sweep(self: &Arc<Self>) {
        let now = Instant::now();
        let (expired, reaped) = {
            let mut state = self.state();
            let expired = state.registry.sweep(now);
            (expired, state.registry.reap(now))
        };
        for _ in expired {
            self.note_session("expired", None);
        }
        for (session, subscriber) in reaped {
            self.presence(&session, &subscriber, false);
        }
    }

    pub(crate) fn note_session(&self, what: &str, client: Option<&str>) {
        self.note(Event::Session { what: what.to_owned(), client: client.map(str::to_owned) });
    }

    pub(crate) fn note_frame(
        &self,
        exchange: Option<u64>,
        direction: Direction,
        client: Option<&str>,
        frame: &Value,
    ) {
        let client = client.and_then(Self::named).map(str::to_owned);
        self.note(Event::Frame { exchange, direction, client, frame: frame.clone() });
    }

    /// Journals that a frame was handed to a client, and what it told that client.
    pub(crate) fn note_handed_over(&self, exchange: u64, client: &str, parcel: &Parcel) {
        let frame = &parcel.frame.value;
        self.note_frame(Some(exchange), Direction::ToClient, Some(client), frame);
        for telling in parcel.tells.iter() {
            self.note(telling.delivered_to(client));
        }
    }

    /// Waits until a client makes its next JSON-RPC request.
    pub(crate) async fn next_request_of(&self, client: &str) {
        let count = || self.state().last_request_of.get(client).copied();
        let before = count();
        loop {
            let made = self.request_made.notified();
            if count() != before {
                return;
            }
            made.await;
        }
    }

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
        let (alias, elsewhere) = {
            let mut state = self.state();
            if is_request {
                state.requests += 1;
                let number = state.requests;
                state.last_request_of.insert(client.to_owned(), number);
            }
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
        if is_request {
            self.request_made.notify_waiters();
        }
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
            let elsewhere =
                self.state().registry.get(session).is_some_and(|open| open.surface.has_legs());
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
                    self.from_surface_in_process(session, client, frame, tells);
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
        tells: Vec<Telling>,
    ) {
        let members = match value {
            Value::Array(members) => members,
            value => vec![value],
        };
        let tells = Arc::new(tells);
        for (place, member) in members.into_iter().enumerate() {
            if let Some(frame) = Frame::of(member) {
                let tells = if place == 0 { Arc::clone(&tells) } else { Arc::default() };
                self.to_clients(session, frame, Some(client), tells);
            } else {
                self.note(Event::Note { says: "the surface sent what is no frame".to_owned() });
            }
        }
    }

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
        let Some(fate) = self.decide(&[*message]) else {
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

    /// Loses everything that a relay holds in memory, as its process would when it restarts.
    pub(crate) fn forget_everything(&self) {
        self.note_session("restarted", None);
        lock(&self.late).abort_all();
        self.state().registry.end_all();
    }

    /// A client leaves its session (RELAY-10).
    pub(crate) fn leave(self: &Arc<Self>, session: &str, client: &str) {
        let was_subscribed = {
            let mut state = self.state();
            state.registry.get(session).is_some_and(|open| open.leave(client))
        };
        if was_subscribed {
            self.presence(session, client, false);
        } else {
            self.note_session("client_left", Some(client));
        }
    }

    /// Ends a session: its streams close, its polls are released.
    pub(crate) fn end(&self, session: &str, what: &str) -> bool {
        let ended = self.state().registry.end(session);
        if ended {
            self.note_session(what, None);
        }
        ended
    }

    /// A subscriber id of the public relays' dialect: 16 hex digits.
    pub(crate) fn new_subscriber(&self) -> String {
        let number: u64 = self.state().faults.fork().random();
        format!("{number:016x}")
    }

    /// The name of a client that has one.
    pub(crate) fn named(client: &str) -> Option<&str> {
        Some(client).filter(|client| !client.is_empty())
    }
}

/// A panic while a lock was held has failed its case already; what it left behind is still
/// consistent enough to report it.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
