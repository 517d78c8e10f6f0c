//! The clock of a case: one case, one runtime, one thread, one clock.
//!
//! [`run_virtual`] runs a case on a clock that stands still while there is work and jumps to the
//! next timer when there is none, so that thirty simulated seconds cost microseconds and a
//! deadline can be asserted to the millisecond. Sockets stay real. The price is a rule: nothing in
//! a case may wait for another thread or process (no DNS, no file I/O on a pool, no child), since
//! the clock would jump while it works. [`run_real`] is for the cases that must.

use std::future::Future;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout};

use crate::wire::{Wire, dial, serve};

/// The most simulated time a case may take. The limit is a timer like any other: without one, a
/// case in which everybody waits for everybody would leave the paused clock nothing to jump to,
/// and would hang for real.
pub const OUTER_LIMIT: Duration = Duration::from_secs(3600);

/// Why a case could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// The case did not end within [`OUTER_LIMIT`].
    #[error(
        "the case did not end within {OUTER_LIMIT:?} of simulated time: something waits for ever"
    )]
    OutOfSimulatedTime,
    /// The runtime could not be made.
    #[error("cannot start a runtime for the case: {0}")]
    Runtime(#[from] io::Error),
}

/// Runs one case on a fresh runtime whose clock is paused.
///
/// # Errors
///
/// [`ClockError::OutOfSimulatedTime`] when the case is still running after an hour of its time.
pub fn run_virtual<T>(case: impl Future<Output = T>) -> Result<T, ClockError> {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime
        .block_on(async { timeout(OUTER_LIMIT, case).await })
        .map_err(|_| ClockError::OutOfSimulatedTime)
}

/// Runs one case on a fresh runtime and the real clock, for parties in other processes.
///
/// Deadlines are then lower bounds: the machine may be slow.
///
/// # Errors
///
/// [`ClockError::Runtime`] when the runtime cannot be made.
pub fn run_real<T>(case: impl Future<Output = T>) -> Result<T, ClockError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(case))
}

/// Whether the virtual clock holds still while bytes are in flight on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canary {
    /// It held still: cases on this wire are exact.
    Sings,
    /// It ran ahead: this kernel delivers the wire's bytes later than the runtime expects, and a
    /// case would see deadlines pass for no reason. Run on Unix sockets instead.
    Silent {
        /// How far the clock moved while it should have stood still.
        moved: Duration,
    },
}

/// How many requests the canary sends. One or two can be lucky; twenty in a row are not.
const CANARY_POSTS: usize = 20;

/// Tries a wire: twenty POSTs with a timer of one millisecond armed must not move the clock.
///
/// # Errors
///
/// [`ClockError`] when there is no runtime or no socket to try it with.
pub fn canary(wire: Wire) -> Result<Canary, ClockError> {
    run_virtual(async move {
        let echo = axum::Router::new().fallback(|body: Bytes| async move { body });
        let server = serve(wire, echo)?;
        let endpoint = server.endpoint().clone();
        let timer = tokio::time::sleep(Duration::from_millis(1));
        tokio::pin!(timer);
        let began = Instant::now();
        let posts = async {
            for _ in 0..CANARY_POSTS {
                post(&endpoint).await?;
            }
            Ok::<_, io::Error>(())
        };
        tokio::pin!(posts);
        let mut timer_rang = false;
        loop {
            tokio::select! {
                biased;
                done = &mut posts => { done?; break; }
                () = &mut timer, if !timer_rang => timer_rang = true,
            }
        }
        let moved = began.elapsed();
        server.shutdown().await;
        Ok(if moved.is_zero() { Canary::Sings } else { Canary::Silent { moved } })
    })?
}

/// One POST on a connection of its own, answered to the end.
async fn post(endpoint: &crate::wire::Endpoint) -> io::Result<()> {
    let mut stream = dial(endpoint).await?;
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nhost: canary\r\nconnection: close\r\ncontent-length: 4\r\n\r\nping",
        )
        .await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    if answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(b"ping") {
        Ok(())
    } else {
        Err(io::Error::other("the canary's server did not answer its request"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_hour_of_waiting_for_nothing_is_an_error_and_takes_no_time() {
        let ended = run_virtual(std::future::pending::<()>());
        assert!(matches!(ended, Err(ClockError::OutOfSimulatedTime)));
    }

    #[test]
    fn a_case_measures_its_sleeps_exactly() {
        let slept = run_virtual(async {
            let began = Instant::now();
            tokio::time::sleep(Duration::from_secs(59)).await;
            began.elapsed()
        });
        assert_eq!(slept.unwrap(), Duration::from_secs(59));
    }

    #[test]
    fn the_canary_sings_on_every_wire_of_this_machine() {
        for wire in [Wire::Unix, Wire::Tcp, Wire::Tls] {
            assert_eq!(canary(wire).unwrap(), Canary::Sings, "{wire}");
        }
    }
}
