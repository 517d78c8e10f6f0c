//! The seam between the relay and a surface that lives in the same process.

use serde_json::Value;

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
    Frame(Value),
    /// The answer to the POST that carried the frame, in place of the relay's `202 accepted`.
    /// This is how a surface that sits behind an HTTP gateway refuses a stale pin with 409.
    HttpStatus {
        /// The HTTP status.
        status: u16,
        /// The JSON body.
        body: Value,
    },
}
