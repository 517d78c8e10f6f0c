//! The journal: one ordered list of what happened to the simulator's parties.
//!
//! Relay, surface and people write to one [`Journal`] as things happen, so that the order of the
//! list is the order of the world. A [`Sink`] decides what becomes of it: a testbed turns each
//! [`Event`] into a line of its record, a test keeps a [`Tape`]. No token ever reaches an event;
//! the relay writes `[token]` in its place (RELAY-11).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

/// One thing that happened.
///
/// `client` is always the id that a client sends on the wire.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// An HTTP request reached the relay and was read, or was refused while it was being read.
    Request {
        /// Numbers the HTTP exchange, from 1; its response carries the same number.
        exchange: u64,
        /// The client id in the query, when there was one.
        client: Option<String>,
        /// `GET`, `POST`, …
        method: String,
        /// The relay's name for the route: `inbox`, `events`, `outbox`, `poll`, `unregister`,
        /// `register`, `health`, or `other`.
        route: String,
        /// The query, in the order it was sent; the token's value is replaced by `[token]`.
        query: IndexMap<String, String>,
        /// The headers that matter to the contract, by lower-case name; a token in them is
        /// replaced by `[token]`.
        headers: IndexMap<String, String>,
        /// Bytes of the body.
        bytes: u64,
    },
    /// The head of a response left the relay.
    Response {
        /// The exchange it answers.
        exchange: u64,
        /// The HTTP status.
        status: u16,
        /// The headers that matter to the contract, by lower-case name.
        headers: IndexMap<String, String>,
    },
    /// A response's body came to its end.
    ResponseEnded {
        /// The exchange.
        exchange: u64,
        /// Bytes of the body that were handed to the connection.
        bytes: u64,
        /// How it ended.
        how: Ending,
    },
    /// One frame passed the relay.
    Frame {
        /// The exchange that carried it, when one did.
        exchange: Option<u64>,
        /// Which way it went.
        direction: Direction,
        /// The client it came from, or the one it was delivered to.
        client: Option<String>,
        /// The frame; a string when it was not JSON.
        frame: Value,
    },
    /// A fault struck.
    Fault {
        /// Its place in the list of rules, from 0.
        rule: usize,
        /// What it did, in words: `held the answer to tools/call for 12s`.
        says: String,
        /// The contract line that it breaks, when it breaks one.
        breaks: Option<String>,
        /// The exchange it struck, when there was one.
        exchange: Option<u64>,
    },
    /// The surface's state changed.
    Write {
        /// Its place in the surface's history, from 1.
        write: u64,
        /// Who wrote.
        author: Author,
        /// What it was called: `screen_move`, `move`, …
        action: String,
        /// The cells that changed, in order.
        cells: Vec<CellChange>,
        /// The JSON-RPC id of the request that made it, for an agent's write.
        request: Option<Value>,
    },
    /// A client was told values of cells, or that a handle changed.
    Delivery {
        /// The client that was told.
        client: String,
        /// The newest write that the telling reflects.
        as_of: u64,
        /// Cells whose values were told, as `handle.field`.
        cells: Vec<String>,
        /// Handles that a change row named, and the write behind each row.
        rows: Vec<ChangeRow>,
        /// The revision that went with it.
        revision: Option<String>,
        /// The JSON-RPC id of the answer.
        request: Option<Value>,
    },
    /// The surface refused a call because its pin was stale.
    StaleRefusal {
        /// The client whose call it was.
        client: String,
        /// The tool.
        tool: String,
        /// The pin.
        pin: String,
        /// Cells that the call would have written, as `handle.field`.
        would_write: Vec<String>,
        /// The newest write at that moment.
        as_of: u64,
        /// The JSON-RPC id of the call.
        request: Option<Value>,
    },
    /// The session's life.
    Session {
        /// What happened to it: `opened`, `ended`, `expired`, `client_joined`, `client_left`,
        /// `restarted`, `token_revoked`.
        what: String,
        /// The client it concerns, when it concerns one.
        client: Option<String>,
    },
    /// Something that a reader of the journal should know and that is none of the above.
    Note {
        /// What it is.
        says: String,
    },
}

/// How a response's body came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every byte was handed over and the body was closed as HTTP wants it.
    Complete,
    /// The peer left first.
    HungUp,
    /// The relay cut the connection before the body's end, or without any answer.
    Reset,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete => "complete",
            Self::HungUp => "hung_up",
            Self::Reset => "reset",
        })
    }
}

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From a client to the surface.
    ToSurface,
    /// From the surface to a client.
    ToClient,
}

/// Who wrote to the surface.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Author {
    /// A person, by name.
    Person {
        /// The person's name.
        name: String,
    },
    /// An agent, by the client id of its attachment.
    Agent {
        /// The client id.
        client: String,
    },
}

/// One cell of the surface's state before and after a write. Existence and position are cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellChange {
    /// The handle of the thing.
    pub handle: String,
    /// The field of it; `exists` for its existence.
    pub field: String,
    /// The value before; null when it did not exist.
    pub old: Value,
    /// The value after.
    pub new: Value,
}

/// A row of a change feed, as it was told to a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeRow {
    /// The handle it named.
    pub handle: String,
    /// The write it stood for.
    pub write: u64,
    /// The actor it named, as sent; none when it named nobody.
    pub actor: Option<String>,
}

/// Where events go.
pub trait Sink: Send + Sync {
    /// Takes one event, at the moment it happens and in the order of the world. It must not block.
    fn note(&self, event: Event);
}

/// A handle on the one journal of a world; clones write to the same sink.
#[derive(Clone)]
pub struct Journal(Arc<dyn Sink>);

impl Journal {
    /// A journal that writes to `sink`.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Self(sink)
    }

    /// A journal that forgets everything, for worlds that nobody reads about.
    pub fn forgetful() -> Self {
        struct Nowhere;
        impl Sink for Nowhere {
            fn note(&self, _: Event) {}
        }
        Self(Arc::new(Nowhere))
    }

    /// Writes one event.
    pub fn note(&self, event: Event) {
        self.0.note(event);
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Journal")
    }
}

/// A sink that keeps every event with its time, for tests and for readers in the same process.
#[derive(Debug)]
pub struct Tape {
    began: Instant,
    entries: Mutex<Vec<(Duration, Event)>>,
}

impl Tape {
    /// An empty tape that counts its time from now, and a journal that writes to it.
    pub fn start() -> (Arc<Self>, Journal) {
        let tape = Arc::new(Self { began: Instant::now(), entries: Mutex::new(Vec::new()) });
        let journal = Journal::new(Arc::clone(&tape) as Arc<dyn Sink>);
        (tape, journal)
    }

    /// What was written so far, each event with the time since the tape began.
    pub fn entries(&self) -> Vec<(Duration, Event)> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was written so far, without the times.
    pub fn events(&self) -> Vec<Event> {
        self.entries().into_iter().map(|(_, event)| event).collect()
    }
}

impl Sink for Tape {
    fn note(&self, event: Event) {
        let entry = (self.began.elapsed(), event);
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}
