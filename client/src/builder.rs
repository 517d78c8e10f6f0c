//! The settings of a client.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::client::{Client, Inner};
use crate::egress::EgressPolicy;
use crate::entropy::Entropy;
use crate::error::Error;
use crate::guard::ResultGuard;
use crate::ledger::Ledger;
use crate::store::{AttachmentStore, MemoryStore, SealingKey, Vault};
use crate::transport::{Auth, Dialect, Http, HttpConfig, Transport};
use crate::trust::TrustPolicy;

/// 30 s: how long an exchange may park a worker unless it is told otherwise (SSE-1).
const TIMEOUT: Duration = Duration::from_secs(30);

const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// 262,144 bytes, which is also what relays accept (SSE-3, RELAY-8).
const FRAME_BYTES_MAX: usize = 262_144;

/// Settings for a [`Client`]. Every default is the careful one: nothing is trusted, nothing is
/// sent without an egress proxy, attachments live in memory.
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    transport: Transport,
    trust: TrustPolicy,
    egress: EgressPolicy,
    timeout: Duration,
    frame_bytes_max: usize,
    guard: ResultGuard,
    require_revision: bool,
    auth: Auth,
    subscribe_first: bool,
    store: Option<Arc<dyn AttachmentStore>>,
    sealing_key: Option<SealingKey>,
    entropy: Entropy,
    unix_socket: Option<PathBuf>,
    tls_roots: Option<Vec<Vec<u8>>>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            transport: Transport::sse(),
            trust: TrustPolicy::undeclared(),
            egress: EgressPolicy::default(),
            timeout: TIMEOUT,
            frame_bytes_max: FRAME_BYTES_MAX,
            guard: ResultGuard::default(),
            require_revision: false,
            auth: Auth::Query,
            subscribe_first: false,
            store: None,
            sealing_key: None,
            entropy: Entropy::os(),
            unix_socket: None,
            tls_roots: None,
        }
    }
}

impl ClientBuilder {
    /// How answers are received. A stream of events unless told otherwise.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Which tools may be seen and called. None is declared unless told, and then nothing is sent
    /// at all (TRUST-1).
    pub fn trust(mut self, trust: TrustPolicy) -> Self {
        self.trust = trust;
        self
    }

    /// Where requests may go. Nowhere without a proxy, unless told (EGRESS-1).
    pub fn egress(mut self, egress: EgressPolicy) -> Self {
        self.egress = egress;
        self
    }

    /// How long one exchange may take, both of its legs together. 30 s unless told otherwise.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The bound on one frame and on one poll's body, in bytes. 262,144 unless told otherwise.
    pub fn max_frame_bytes(mut self, bytes: usize) -> Self {
        self.frame_bytes_max = bytes;
        self
    }

    /// The bound on the text of one result, in bytes. 65,536 unless told otherwise (GUARD-1).
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.guard = ResultGuard::new(bytes);
        self
    }

    /// Refuses calls on a surface that answered and minted no revision (REV-8). This asks for
    /// minting. Whether a stale pin is refused only shows when one is.
    pub fn require_revision(mut self, require: bool) -> Self {
        self.require_revision = require;
        self
    }

    /// How the relay is shown the token. In the query unless told otherwise (AUTH-1).
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    /// Opens the receive leg before the frame is posted, for relays that keep nothing for an
    /// absent subscriber (SSE-5).
    pub fn subscribe_first(mut self, first: bool) -> Self {
        self.subscribe_first = first;
        self
    }

    /// Where attachments are kept. In this process's memory unless told otherwise (STORE-1).
    pub fn store(mut self, store: Arc<dyn AttachmentStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Seals every record before the store sees it. Without a key, records hold the relay's token
    /// in the clear.
    pub fn sealing_key(mut self, key: SealingKey) -> Self {
        self.sealing_key = Some(key);
        self
    }

    /// Where ids and nonces come from. The operating system unless told otherwise.
    pub fn entropy(mut self, entropy: Entropy) -> Self {
        self.entropy = entropy;
        self
    }

    /// Reaches every relay through this Unix socket, for a gateway on the same host. The URL of an
    /// invitation is still checked; there is no address to check. TLS over the socket needs
    /// [`ClientBuilder::tls_roots`].
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.unix_socket = Some(path.into());
        self
    }

    /// DER certificates of the authorities to trust, instead of the platform's.
    pub fn tls_roots(mut self, roots: Vec<Vec<u8>>) -> Self {
        self.tls_roots = Some(roots);
        self
    }

    /// Builds the client. Nothing is sent.
    ///
    /// # Errors
    /// [`Error::Configuration`] when settings cannot work, alone or together.
    pub fn build(self) -> Result<Client, Error> {
        self.check()?;
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let vault = Vault::new(self.sealing_key);
        let http = Http::new(HttpConfig {
            egress: self.egress,
            auth: self.auth,
            unix_socket: self.unix_socket,
            tls_roots: self.tls_roots,
        })?;
        Ok(Client::from_inner(Inner {
            http: Arc::new(http),
            transport: self.transport,
            trust: self.trust,
            guard: self.guard,
            timeout: self.timeout,
            frame_bytes_max: self.frame_bytes_max,
            require_revision: self.require_revision,
            subscribe_first: self.subscribe_first,
            ledger: Ledger::new(store, vault, self.entropy.clone()),
            entropy: self.entropy,
            memories: Mutex::default(),
        }))
    }

    fn check(&self) -> Result<(), Error> {
        let refused = |what: &str| Err(Error::Configuration { what: what.to_owned() });
        if self.timeout.is_zero() {
            return refused("a timeout of zero leaves no time to ask anything");
        }
        if self.timeout > TIMEOUT_MAX {
            return refused("a timeout of more than a day is none");
        }
        if self.frame_bytes_max == 0 {
            return refused("a frame bound of zero bytes refuses every answer");
        }
        if self.unix_socket.is_some() && self.egress.proxy().is_some() {
            return refused(
                "requests go through a Unix socket or through an egress proxy, not both",
            );
        }
        if let Some(poll) = self.transport.as_long_poll() {
            let is_segment = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte);
            let path = poll.path.trim_matches('/');
            if path.is_empty()
                || !path.bytes().all(is_segment)
                || path.split('/').any(|part| part.chars().all(|c| c == '.'))
            {
                return refused("the poll's path is not the last segment of a URL's path");
            }
            if poll.dialect == Dialect::Readme
                && !poll.wait.is_zero()
                && poll.wait < Duration::from_secs(1)
            {
                return refused(
                    "this dialect counts `wait` in whole seconds, so less than one is none",
                );
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("transport", &self.transport)
            .field("timeout", &self.timeout)
            .field("auth", &self.auth)
            .finish_non_exhaustive()
    }
}
