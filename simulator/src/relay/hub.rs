//! Everything that the routes of one relay share, and how a frame gets from one party to another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::dialect::Dialect;
use super::registry::Registry;
use super::session::Parcel;
use super::spec::{PollShape, RelaySpec};
use crate::fault::{Engine, Fate, FaultRule, Message};
use crate::journal::{Direction, Event, Journal};
use crate::surface_host::SurfaceHost;

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
    /// It is known which client an agent is.
    fn introduce(&mut self, agent: &str, client: &str);
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
    pub(super) attached: Mutex<Option<Attached>>,
    /// Frames that are handed on late.
    pub(super) late: Mutex<JoinSet<()>>,
    request_made: Notify,
}

/// What changes while a relay runs.
pub(crate) struct State {
    pub(crate) registry: Registry,
    pub(crate) faults: Engine,
    exchanges: u64,
    requests: u64,
    last_request_of: BTreeMap<String, u64>,
}

/// A surface in this process, and the session it hosts.
#[derive(Clone)]
pub(super) struct Attached {
    pub(super) session: String,
    pub(super) host: Arc<Mutex<dyn SurfaceHost>>,
}

impl Hub {
    pub(crate) fn new(spec: &RelaySpec, rng: ChaCha8Rng, journal: Journal) -> Arc<Self> {
        let idle = spec.idle_timeout.map_or(IDLE, Duration::from);
        let state = State {
            registry: Registry::new(idle),
            faults: Engine::new(spec.faults.clone(), rng),
            exchanges: 0,
            requests: 0,
            last_request_of: BTreeMap::new(),
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

    /// Tells which client an agent is, to faults and to people that speak of it by name.
    pub(crate) fn introduce(&self, agent: &str, client: &str) {
        self.state().faults.introduce(agent, client);
        if let Some(bystanders) = lock(&self.bystanders).as_mut() {
            bystanders.introduce(agent, client);
        }
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

    /// Notes that a client made a JSON-RPC request.
    pub(super) fn note_request_of(&self, client: &str) {
        {
            let mut state = self.state();
            state.requests += 1;
            let number = state.requests;
            state.last_request_of.insert(client.to_owned(), number);
        }
        self.request_made.notify_waiters();
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
