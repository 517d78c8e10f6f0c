use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// A handle on one connection, for faults that strike below HTTP. Every request carries the
/// handle of the connection it came on, as an extension.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    number: u64,
    cut: AtomicU8,
    told: Notify,
}

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The socket is closed where it stands: the peer reads the end of the stream in the middle
    /// of whatever it was reading.
    Close,
    /// The socket is reset.
    Reset,
}

impl Connection {
    pub(super) fn new(number: u64) -> Self {
        Self(Arc::new(Shared { number, cut: AtomicU8::new(0), told: Notify::new() }))
    }

    /// The connection of a request that came over none, when a router is called directly.
    pub fn loose() -> Self {
        Self::new(0)
    }

    /// The connection's number within its server, from 1 in the order of arrival.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// Closes the socket at once, without finishing what was being sent.
    pub fn close(&self) {
        self.cut(1);
    }

    /// Resets the connection at once (RST on TCP).
    pub fn reset(&self) {
        self.cut(2);
    }

    /// Whether it was cut from this side.
    pub fn is_cut(&self) -> bool {
        self.0.cut.load(Ordering::Relaxed) != 0
    }

    fn cut(&self, how: u8) {
        // The first cut stands; there is nothing left for a second one to do.
        let _ = self.0.cut.compare_exchange(0, how, Ordering::Relaxed, Ordering::Relaxed);
        self.0.told.notify_one();
    }

    /// Waits until somebody cuts it.
    pub(super) async fn to_be_cut(&self) -> Cut {
        loop {
            match self.0.cut.load(Ordering::Relaxed) {
                0 => self.0.told.notified().await,
                1 => return Cut::Close,
                _ => return Cut::Reset,
            }
        }
    }
}
