//! The seam between the relay and a surface that lives in the same process.

use serde_json::Value;

use crate::journal::{ChangeRow, Event};

/// A surface, as the relay sees it: a state machine that is handed frames and says what to do.
pub trait SurfaceHost: Send {
    /// Takes one frame that the relay accepted from `client`, in the order of acceptance. A batch
    /// arrives member by member. The relay's own `notifications/peer_joined` and
    /// `notifications/peer_left` (RELAY-6) come the same way; `client` is then the peer they name.
    ///
    /// Nothing here waits: what a surface has to say later, it says in answer to a later frame.
    fn receive(&mut self, client: &str, frame: &Value) -> Vec<Emission>;
}

/// What a surface does in answer to a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Emission {
    /// A frame (or a batch) for the relay's outbox; the relay routes it.
    Frame {
        /// The frame.
        frame: Value,
        /// What it tells its reader of the surface's state. An answer can be held, dropped or
        /// handed to somebody else on its way, so that only the relay knows who was told and
        /// when: each time it hands the frame to a client, it journals
        /// [`Telling::delivered_to`] that client, once for each telling.
        tells: Vec<Telling>,
    },
    /// The answer to the POST that carried the frame, in place of the relay's `202 accepted`.
    /// This is how a surface that sits behind an HTTP gateway refuses a stale pin with 409.
    HttpStatus {
        /// The HTTP status.
        status: u16,
        /// The JSON body.
        body: Value,
    },
}

impl Emission {
    /// A frame that tells nothing of the surface's state: a handshake, an error, a notification.
    pub fn plain(frame: Value) -> Self {
        Self::Frame { frame, tells: Vec::new() }
    }
}

/// What one answer tells its reader of the surface's state: values of cells, and change rows.
///
/// It is no part of the frame; it is how the testbed knows what an agent had seen (contract,
/// section 5) without reading the frame as a client would.
#[derive(Debug, Clone, PartialEq)]
pub struct Telling {
    /// The client that asked.
    pub asked_by: String,
    /// The JSON-RPC id of the answer.
    pub request: Option<Value>,
    /// The newest write that the answer reflects.
    pub as_of: u64,
    /// Cells whose values it holds, as `handle.field`.
    pub cells: Vec<String>,
    /// The rows it holds.
    pub rows: Vec<ChangeRow>,
    /// The revision that goes with it.
    pub revision: Option<String>,
}

impl Telling {
    /// The event for the journal when the answer reached `client`.
    pub fn delivered_to(&self, client: &str) -> Event {
        Event::Delivery {
            client: client.to_owned(),
            as_of: self.as_of,
            cells: self.cells.clone(),
            rows: self.rows.clone(),
            revision: self.revision.clone(),
            request: self.request.clone(),
        }
    }
}
