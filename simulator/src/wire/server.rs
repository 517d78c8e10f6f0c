use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::{JoinHandle, JoinSet};
use tower::Service;

use super::connection::{Connection, Cut};
use super::endpoint::{Endpoint, Wire};
use super::listener::{Accepted, Listener, Stream};

/// A router being served. Every task of it ends with it.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    accepting: Option<JoinHandle<()>>,
    open: Arc<Mutex<Vec<Connection>>>,
}

/// Serves `router` on a fresh socket, on the runtime that this is called on.
///
/// # Errors
///
/// An I/O error when the socket cannot be bound, or the certificate not be made.
pub fn serve(wire: Wire, router: Router) -> io::Result<Server> {
    serve_at(wire, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), router)
}

/// The same at an address of the caller's choice; a Unix socket has none, and is fresh.
///
/// # Errors
///
/// An I/O error when the address cannot be bound, or the certificate not be made.
pub fn serve_at(wire: Wire, address: SocketAddr, router: Router) -> io::Result<Server> {
    let (listener, endpoint) = Listener::bind(wire, address)?;
    let open = Arc::new(Mutex::new(Vec::new()));
    let accepting = tokio::spawn(accept_all(listener, router, Arc::clone(&open)));
    Ok(Server { endpoint, accepting: Some(accepting), open })
}

impl Server {
    /// Where clients find it.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Closes every open connection at once, as a process that is killed does. New connections
    /// are still accepted.
    pub fn cut_all(&self) {
        for connection in lock(&self.open).drain(..) {
            connection.close();
        }
    }

    /// Stops accepting and ends every connection. Nothing of the server is left when it returns.
    pub async fn shutdown(mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // It ends as cancelled, which is what was asked for.
            let _ = accepting.await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

fn lock(open: &Mutex<Vec<Connection>>) -> std::sync::MutexGuard<'_, Vec<Connection>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Owns the connections: they are aborted when this is, because the set is dropped with it.
async fn accept_all(listener: Listener, router: Router, open: Arc<Mutex<Vec<Connection>>>) {
    let mut connections = JoinSet::new();
    let mut accepted = 0;
    loop {
        tokio::select! {
            biased;
            incoming = listener.accept() => match incoming {
                Ok(incoming) => {
                    accepted += 1;
                    let connection = Connection::new(accepted);
                    lock(&open).push(connection.clone());
                    connections.spawn(converse(incoming, router.clone(), connection));
                }
                // A peer that gave up before it was accepted. Anything lasting (no file
                // descriptors left) shows as requests that are never answered.
                Err(error) => tracing::warn!(%error, "a connection was not accepted"),
            },
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                if let Ok(number) = ended {
                    lock(&open).retain(|connection| connection.number() != number);
                }
            }
        }
    }
}

/// Serves one connection to its end and returns its number.
async fn converse(incoming: Accepted, router: Router, connection: Connection) -> u64 {
    let number = connection.number();
    let Ok(stream) = incoming.established().await else {
        // A client that does not trust the certificate leaves here.
        return number;
    };
    let mut stream = stream;
    let of_request = connection.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(of_request.clone());
        router.clone().call(request)
    });
    let mut http = http1::Builder::new();
    // A slow sender is a matter of the case's clock, never of a timer of ours. The date header
    // would put the wall clock into responses.
    http.header_read_timeout(None).auto_date_header(false);
    let serving = http.serve_connection(TokioIo::new(Borrowed(&mut stream)), service);
    let cut = tokio::select! {
        biased;
        cut = connection.to_be_cut() => Some(cut),
        // How it ended is in the journal: the response's body knows whether it got out.
        _ = serving => None,
    };
    if cut == Some(Cut::Reset) {
        stream.reset_on_close();
    }
    number
}

/// The stream while HTTP is spoken over it; afterwards it is still ours to reset.
struct Borrowed<'a>(&'a mut Stream);

impl AsyncRead for Borrowed<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Borrowed<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}
