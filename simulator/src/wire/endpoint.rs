use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What carries the bytes between a client and a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Wire {
    /// A Unix socket. The fastest, and exact down to chunk boundaries.
    #[default]
    Unix,
    /// TCP on a free loopback port.
    Tcp,
    /// TLS on TCP, with a certificate that only [`Endpoint::tls_root_der`] vouches for.
    Tls,
}

impl Wire {
    /// The name of the wire in records: `unix`, `tcp`, `tls`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown wire `{0}` (wires: `unix`, `tcp`, `tls`)")]
pub struct UnknownWire(String);

impl FromStr for Wire {
    type Err = UnknownWire;

    fn from_str(name: &str) -> Result<Self, UnknownWire> {
        [Self::Unix, Self::Tcp, Self::Tls]
            .into_iter()
            .find(|wire| wire.name() == name)
            .ok_or_else(|| UnknownWire(name.to_owned()))
    }
}

/// Where a client finds a world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Which wire it is.
    pub wire: Wire,
    /// The relay's base URL, without a slash at its end. On a Unix socket its host is only a
    /// name: `http://127.0.0.1`, so that nobody resolves it.
    pub base_url: String,
    /// The socket to connect to instead of the URL's host, on [`Wire::Unix`].
    pub unix_socket: Option<PathBuf>,
    /// The one root to trust, as DER, on [`Wire::Tls`].
    pub tls_root_der: Option<Vec<u8>>,
}
