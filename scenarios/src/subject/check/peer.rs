//! The smallest relay there is: one verdict for whoever comes, or none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// How a peer treats its visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Answers every request with this status, and the error code that goes with it.
    Status(u16),
    /// Takes the connection and never answers.
    Silence,
    /// Is not there: the port was free a moment ago.
    Refuse,
}

/// A peer on loopback. Gone when dropped.
#[derive(Debug)]
pub(super) struct Peer {
    port: u16,
    visits: Arc<AtomicUsize>,
    host: Option<AbortHandle>,
}

impl Peer {
    pub(super) async fn start(manner: Manner) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let visits = Arc::new(AtomicUsize::new(0));
        let host = (manner != Manner::Refuse)
            .then(|| tokio::spawn(receive(listener, manner, visits.clone())).abort_handle());
        Ok(Self { port, visits, host })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// How many connections were made so far.
    pub(super) fn visits(&self) -> usize {
        self.visits.load(Ordering::Relaxed)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(host) = &self.host {
            host.abort();
        }
    }
}

async fn receive(listener: TcpListener, manner: Manner, visits: Arc<AtomicUsize>) {
    // Dropped with this task, and every conversation with it.
    let mut conversations = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        visits.fetch_add(1, Ordering::Relaxed);
        conversations.spawn(answer(stream, manner));
    }
}

/// Reads until the head of a request is over, which is as much of HTTP as a verdict needs: it goes
/// with `connection: close`, and a body that follows is nobody's loss.
async fn answer(mut stream: TcpStream, manner: Manner) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut part).await?;
        if read == 0 || head.len() > 1 << 16 {
            return Ok(());
        }
        head.extend_from_slice(&part[..read]);
    }
    let Manner::Status(status) = manner else { return std::future::pending().await };
    let error = if status == 410 { "session_gone" } else { "invalid_token" };
    let body = format!("{{\"error\":\"{error}\"}}");
    let answer = format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // A socket closed over unread bytes is reset, and the answer may be lost with it.
    while stream.read(&mut part).await? > 0 {}
    Ok(())
}
