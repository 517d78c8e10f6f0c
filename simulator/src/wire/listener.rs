use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificate::certificate;
use super::endpoint::{Endpoint, Wire};

/// A bound socket of any wire.
pub(super) enum Listener {
    Unix { listener: UnixListener, _held: Socket },
    Tcp(TcpListener),
    Tls(TcpListener, TlsAcceptor),
}

impl Listener {
    /// Binds a fresh socket and says where it is.
    pub(super) fn bind(wire: Wire, address: SocketAddr) -> io::Result<(Self, Endpoint)> {
        match wire {
            Wire::Unix => {
                let socket = Socket::fresh()?;
                let listener = UnixListener::bind(&socket.path)?;
                let endpoint = Endpoint {
                    wire,
                    base_url: "http://127.0.0.1".to_owned(),
                    unix_socket: Some(socket.path.clone()),
                    tls_root_der: None,
                };
                Ok((Self::Unix { listener, _held: socket }, endpoint))
            }
            Wire::Tcp => {
                let (listener, address) = bind_tcp(address)?;
                let base_url = format!("http://{address}");
                let endpoint = Endpoint { wire, base_url, unix_socket: None, tls_root_der: None };
                Ok((Self::Tcp(listener), endpoint))
            }
            Wire::Tls => {
                let certificate = certificate()?;
                let (listener, address) = bind_tcp(address)?;
                let endpoint = Endpoint {
                    wire,
                    base_url: format!("https://{address}"),
                    unix_socket: None,
                    tls_root_der: Some(certificate.root_der.clone()),
                };
                Ok((
                    Self::Tls(listener, TlsAcceptor::from(Arc::clone(&certificate.server))),
                    endpoint,
                ))
            }
        }
    }

    /// Waits for the next connection. TLS has not shaken hands yet: see [`Accepted::established`].
    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Unix { listener, .. } => Ok(Accepted::Unix(listener.accept().await?.0)),
            Self::Tcp(listener) => Ok(Accepted::Tcp(accept_tcp(listener).await?)),
            Self::Tls(listener, acceptor) => {
                Ok(Accepted::Tls(accept_tcp(listener).await?, acceptor.clone()))
            }
        }
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}

async fn accept_tcp(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    // With Nagle's algorithm on, an event stream after a POST on one connection waits for a
    // delayed acknowledgement in real time, and the virtual clock runs past every deadline.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection before its handshake, when it has one.
pub(super) enum Accepted {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(TcpStream, TlsAcceptor),
}

impl Accepted {
    pub(super) async fn established(self) -> io::Result<Stream> {
        match self {
            Self::Unix(stream) => Ok(Stream::Unix(stream)),
            Self::Tcp(stream) => Ok(Stream::Tcp(stream)),
            Self::Tls(stream, acceptor) => {
                Ok(Stream::Tls(Box::new(acceptor.accept(stream).await?)))
            }
        }
    }
}

/// An established connection of any wire.
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Makes the close of the socket a reset where the wire has one. A Unix socket has none: its
    /// peer sees the stream end in the middle, or a reset when it had bytes under way.
    pub(super) fn reset_on_close(&self) {
        let tcp = match self {
            Self::Unix(_) => return,
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        // A socket that is already closed refuses; it is then past resetting anyway.
        let _ = tcp.set_zero_linger();
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// The path of a Unix socket, removed with it.
pub(super) struct Socket {
    path: PathBuf,
    /// Held for its drop: the directory goes with its last socket.
    _directory: Arc<Directory>,
}

impl Socket {
    fn fresh() -> io::Result<Self> {
        let directory = Directory::shared()?;
        let path = directory.next_path();
        Ok(Self { path, _directory: directory })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Gone already is as good as removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// One private directory for the sockets of all worlds that live at a time, so that a world costs
/// a bind and no directory. It goes with the last of them.
struct Directory {
    held: TempDir,
    used: Mutex<u64>,
}

/// What `sun_path` holds on Linux is 108 bytes, 104 on the BSDs; the socket's own name takes the
/// rest.
const DIRECTORY_BYTES_MAX: usize = 80;

/// Where sockets like to live: in memory where there is such a place (a bind on a disk costs more
/// than the case that it is for), else where temporary files go, if that path is short enough.
fn fresh_directory() -> io::Result<TempDir> {
    let in_memory = Path::new("/dev/shm").to_owned();
    let mut refused = io::Error::other("there is no directory with a short enough path");
    for parent in [in_memory, std::env::temp_dir(), Path::new("/tmp").to_owned()] {
        match tempfile::Builder::new().prefix("relay-").tempdir_in(parent) {
            Ok(made) if made.path().as_os_str().len() <= DIRECTORY_BYTES_MAX => return Ok(made),
            Ok(_) => {}
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

impl Directory {
    fn shared() -> io::Result<Arc<Self>> {
        static SHARED: Mutex<Weak<Directory>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = shared.upgrade() {
            return Ok(directory);
        }
        let held = fresh_directory()?;
        let directory = Arc::new(Self { held, used: Mutex::new(0) });
        *shared = Arc::downgrade(&directory);
        Ok(directory)
    }

    fn next_path(&self) -> PathBuf {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used += 1;
        self.held.path().join(used.to_string())
    }
}
