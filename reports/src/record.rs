//! The record: one ordered list of what happened in one case.
//!
//! A record is written by a run, one JSON value a line, and is all that judging and rendering
//! ever read. It holds no wall-clock time, no address, no port and no file path of the machine
//! that made it, so that one seed gives one record, byte for byte.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the record's format. It grows by one when a reader of the last version could
/// misread a new record; a new optional field does not count.
pub const FORMAT: u32 = 1;

/// One case as it ran: what was planned, then what happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// What was run, under which conditions.
    pub header: Header,
    /// What happened, in order.
    pub entries: Vec<Entry>,
}

/// The conditions of a case. The first line of a saved record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// See [`FORMAT`].
    pub format: u32,
    /// The version of the testbed that wrote the record.
    pub testbed: String,
    /// `file::name [axis=value, …]`, unique in a run.
    pub case: String,
    /// The seed that every random choice of the case came from.
    pub seed: u64,
    /// `virtual` or `real`.
    pub clock: String,
    /// `unix`, `tcp` or `tls`.
    pub wire: String,
    /// The client under test.
    pub client: ClientName,
    /// The plan of the case as it was judged, variables filled in. Its shape belongs to the
    /// scenario language; a record that is judged again reads it back.
    pub plan: Value,
}

/// Who was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientName {
    /// The name the client gives itself, `builtin` for ours.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its place in the record, from 1.
    pub seq: u64,
    /// Microseconds since the case began, on the case's clock.
    pub at: u64,
    /// What it was.
    #[serde(flatten)]
    pub event: Event,
}

/// Everything that a record can hold.
///
/// Names of agents are those of the scenario; `client` is the id that a relay sees on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A step of the script begins.
    StepStarted {
        /// Its place in the script, from 0.
        step: usize,
        /// What it does, in a few words: `agent calls screen_read`.
        says: String,
    },
    /// A step of the script is over.
    StepEnded {
        /// Its place in the script, from 0.
        step: usize,
    },
    /// The head of an HTTP request reached the relay (or the gateway before it).
    Request {
        /// Numbers the HTTP exchange; its response carries the same number.
        exchange: u64,
        /// The client id in the query, when there was one.
        client: Option<String>,
        /// `GET`, `POST`, …
        method: String,
        /// The relay's name for the route: `inbox`, `events`, `outbox`, `poll`, `unregister`, …
        route: String,
        /// The query, tokens replaced by `[token]`.
        query: IndexMap<String, String>,
        /// The headers that matter to the contract, tokens replaced.
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
        /// The headers that matter to the contract.
        headers: IndexMap<String, String>,
    },
    /// A response's body came to its end.
    ResponseEnded {
        /// The exchange.
        exchange: u64,
        /// Bytes of the body that were sent.
        bytes: u64,
        /// `complete`, `hung_up` (the peer left first), `reset`.
        how: String,
    },
    /// One JSON-RPC frame passed the relay.
    Frame {
        /// The exchange that carried it, when one did.
        exchange: Option<u64>,
        /// Which way it went.
        direction: Direction,
        /// The client it came from or goes to.
        client: Option<String>,
        /// The frame; a string when it was not JSON.
        frame: Value,
    },
    /// A fault struck.
    Fault {
        /// Its place in the list of rules, from 0.
        rule: usize,
        /// What it did, in words: `held the answer to tools/call for 12 s`.
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
    /// The session's life: `opened`, `ended`, `expired`, `client_left`, `restarted`.
    Session {
        /// What happened to it.
        what: String,
        /// The client it concerns, when it concerns one.
        client: Option<String>,
    },
    /// What a client gave back to its caller.
    Answer {
        /// The agent, by its name in the scenario.
        agent: String,
        /// The step that asked.
        step: usize,
        /// `attach`, `tools`, `call`, `changes_since`, …
        operation: String,
        /// The answer, when it succeeded.
        ok: Option<Value>,
        /// The error, when it did not.
        error: Option<AnswerError>,
    },
    /// An attachment was seen in a new state.
    Attachment {
        /// The agent, by its name in the scenario.
        agent: String,
        /// The client id of the attachment, once it is known.
        client: Option<String>,
        /// `attached`, `surface_unavailable`, `attachment_unauthorized`, `detached`.
        state: String,
    },
    /// A line that the client logged.
    Log {
        /// `error`, `warn`, `info`, `debug` or `trace`.
        level: String,
        /// The module that wrote it.
        target: String,
        /// The line, its fields included.
        message: String,
    },
    /// The surface's whole state at the end of the case.
    Board {
        /// Handle to fields.
        screens: IndexMap<String, Value>,
    },
    /// Something about the run itself that a reader should know: an adapter that died, a clock
    /// that ran out.
    Note {
        /// What it is.
        says: String,
    },
}

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From a client to the surface.
    ToSurface,
    /// From the surface to a client.
    ToClient,
}

/// Who wrote to the surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRow {
    /// The handle it named.
    pub handle: String,
    /// The write it stood for.
    pub write: u64,
    /// The actor it named, as sent; none when it named nobody.
    pub actor: Option<String>,
}

/// An error as a client gave it to its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerError {
    /// The testbed's stable code: `unauthorized`, `gone`, `surface_changed_under_you`, …
    pub code: String,
    /// What the client itself calls it: a class, a variant, a code.
    pub native: String,
    /// Its words.
    pub message: String,
    /// Whether the call took effect, as far as the client says: `no`, `yes` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened: Option<String>,
}
