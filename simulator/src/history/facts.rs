//! What a history is made of. Every fact carries the sequence number of the record's entry that
//! it came from, so that whatever is concluded from it can be looked up.

use serde::Serialize;
use serde_json::Value;

use crate::journal::{Author, CellChange, ChangeRow};

/// The surface's state changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Write {
    /// The entry.
    pub seq: u64,
    /// Its place in the surface's order of writes. What the session opened with is 1, by nobody,
    /// and no fact of a history.
    pub number: u64,
    /// Who wrote.
    pub author: Author,
    /// What it was called. An agent's write that is called `confirm` was staged by the agent and
    /// confirmed by a person.
    pub action: String,
    /// The cells that changed.
    pub cells: Vec<CellChange>,
    /// The JSON-RPC id of the call that made it, for an agent's.
    pub request: Option<Value>,
}

/// A client was told values of cells, or that handles changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delivery {
    /// The entry.
    pub seq: u64,
    /// The client that was told.
    pub client: String,
    /// The newest write that the telling reflects.
    pub as_of: u64,
    /// The cells whose values were told, as `handle.field`.
    pub cells: Vec<String>,
    /// The change rows that were told.
    pub rows: Vec<ChangeRow>,
    /// The revision that went with it.
    pub revision: Option<String>,
}

/// The surface refused a call because its pin was stale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refusal {
    /// The entry.
    pub seq: u64,
    /// Whose call it was.
    pub client: String,
    /// The tool.
    pub tool: String,
    /// The pin.
    pub pin: String,
    /// The cells that the call would have written, as `handle.field`.
    pub would_write: Vec<String>,
    /// The newest write at that moment.
    pub as_of: u64,
}

/// A client sent a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// The entry.
    pub seq: u64,
    /// Who sent it.
    pub client: String,
    /// Its JSON-RPC id.
    pub id: Value,
    /// The whole frame.
    pub frame: Value,
}

/// An answer reached a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The entry.
    pub seq: u64,
    /// The client that it reached.
    pub client: String,
    /// Its JSON-RPC id.
    pub id: Value,
    /// The client that had asked, when that is known from elsewhere than the id: two clients may
    /// use one id at the same time.
    pub asked_by: Option<String>,
}

/// A client told its caller that nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Calm {
    /// The entry that holds the claim.
    pub seq: u64,
    /// The client.
    pub client: String,
    /// The entry since which nothing is claimed to have changed. `None`: since the client was
    /// first told anything, which is right for every client that asks since its last marker.
    pub since: Option<u64>,
    /// The delivery that the claim rests on: the feed's answer. `None` when the claim rests on
    /// none.
    pub answer: Option<u64>,
}

/// An agent left a handle alone because it had been told that the handle changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    /// The entry.
    pub seq: u64,
    /// The agent's client.
    pub client: String,
    /// The handle.
    pub handle: String,
}

impl Write {
    /// The client, when an agent wrote.
    pub fn client(&self) -> Option<&str> {
        match &self.author {
            Author::Agent { client } => Some(client),
            Author::Person { .. } => None,
        }
    }

    /// Whether a person is behind it: their own edit, or a proposal that they confirmed. What a
    /// person agreed to is never done to them.
    pub fn has_person_behind(&self) -> bool {
        self.client().is_none() || self.action == "confirm"
    }

    /// Whether it changed that cell.
    pub(super) fn changes(&self, cell: &str) -> bool {
        let (handle, field) = cell.rsplit_once('.').unwrap_or((cell, ""));
        self.cells.iter().any(|change| change.handle == handle && change.field == field)
    }

    /// What it made of a handle's existence, when it changed that.
    pub(super) fn existence_of(&self, handle: &str) -> Option<bool> {
        let change = |cell: &&CellChange| cell.handle == handle && cell.field == "exists";
        self.cells.iter().find(change).and_then(|cell| cell.new.as_bool())
    }
}

/// A cell's name, `handle.field`.
pub(super) fn name(change: &CellChange) -> String {
    format!("{}.{}", change.handle, change.field)
}

/// The handle of a cell's name. Fields have no dot; handles may.
pub(super) fn handle_of(cell: &str) -> &str {
    cell.rsplit_once('.').map_or(cell, |(handle, _)| handle)
}
