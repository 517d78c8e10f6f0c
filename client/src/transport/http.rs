//! One request to the relay: admitted, bounded, redacted.
//!
//! Everything that both transports must do alike is here, so that neither can forget it: the
//! egress policy before each request, no redirect, no proxy of the environment, the token in one
//! place, a verdict on each status, and errors without URLs (EGRESS-6, AUTH-2).

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Response};
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tracing::debug;
use url::Url;

use super::block::Search;
use super::status::{Verdict, judge, relay_error_code};
use crate::egress::{CheckedRelay, EgressPolicy, EgressRefused};
use crate::error::{Error, Fault, Happened};
use crate::{ClientId, Invitation};

/// How the relay is shown the token (AUTH-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// `?token=` in every URL, which is what a browser's `EventSource` can do.
    #[default]
    Query,
    /// `Authorization: Bearer`, and then not in the query. The relay has to support it.
    Bearer,
}

impl FromStr for Auth {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "query" => Ok(Self::Query),
            "bearer" => Ok(Self::Bearer),
            _ => Err(Error::Configuration {
                what: format!(
                    "auth mode {text:?} is none (`query` or `bearer`): a mode that nobody knows \
                     would send the token nobody knows where"
                ),
            }),
        }
    }
}

/// An error body is a short JSON object; what is longer is somebody else's page.
const ERROR_BODY_BYTES_MAX: usize = 8192;

/// How long an error's body may take once its status is known. The status alone decides most.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);

/// What the client needs to reach relays, shared by its attachments.
pub(crate) struct Http {
    client: reqwest::Client,
    checked: Arc<CheckedHosts>,
    egress: EgressPolicy,
    auth: Auth,
    has_unix_socket: bool,
}

/// What the HTTP client is built from.
pub(crate) struct HttpConfig {
    pub(crate) egress: EgressPolicy,
    pub(crate) auth: Auth,
    pub(crate) unix_socket: Option<PathBuf>,
    /// DER certificates that replace the platform's roots.
    pub(crate) tls_roots: Option<Vec<Vec<u8>>>,
}

/// Without the proxy's URL, which may hold a password.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("auth", &self.auth).finish_non_exhaustive()
    }
}

impl Http {
    pub(crate) fn new(config: HttpConfig) -> Result<Self, Error> {
        let HttpConfig { egress, auth, unix_socket, tls_roots } = config;
        let checked = Arc::new(CheckedHosts::new(egress.proxy()));
        let mut builder = reqwest::Client::builder()
            // First: without it the environment's proxies are read (EGRESS-1).
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // A request that may have arrived is never sent twice (MCP-5).
            .retry(reqwest::retry::never())
            .referer(false)
            .dns_resolver(Arc::clone(&checked))
            .tls_backend_preconfigured(tls(tls_roots.as_deref(), unix_socket.as_deref())?);
        if let Some(proxy) = egress.proxy() {
            let proxy = reqwest::Proxy::all(proxy.clone()).map_err(|_| Error::Configuration {
                what: "the egress proxy's URL is not one that can be used as a proxy".to_owned(),
            })?;
            builder = builder.proxy(proxy);
        }
        let has_unix_socket = unix_socket.is_some();
        if let Some(path) = unix_socket {
            builder = on_unix_socket(builder, path)?;
        }
        let client = builder.build().map_err(|error| Error::Configuration {
            what: format!("the HTTP client cannot be built: {}", words_of(error)),
        })?;
        Ok(Self { client, checked, egress, auth, has_unix_socket })
    }

    /// Before each request, not once: a name may lead elsewhere by now (E06).
    async fn admit(&self, invitation: &Invitation) -> Result<CheckedRelay, Error> {
        if self.has_unix_socket {
            // There is no address to check: the socket's path is the host's own configuration.
            return self.egress.admit_unresolved(invitation).map_err(refused);
        }
        let relay = self.egress.admit(invitation).await.map_err(refused)?;
        self.checked.note(&relay);
        Ok(relay)
    }
}

fn refused(cause: EgressRefused) -> Error {
    Error::Egress { cause, happened: Happened::No }
}

/// A request, less what every request has.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// The last segments of the path. Configuration names the poll's.
    pub(crate) path: &'a str,
    /// What errors and traces call it.
    pub(crate) route: &'static str,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) accept: &'static str,
    pub(crate) frame: Option<&'a Value>,
}

/// One attachment's line to its relay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) http: &'a Http,
    pub(crate) invitation: &'a Invitation,
    pub(crate) client_id: &'a ClientId,
}

/// An answer's head, judged.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) verdict: Verdict,
    pub(crate) status: u16,
    /// The answer itself when it was accepted. Of every other one the body was read and dropped.
    pub(crate) response: Response,
}

impl Line<'_> {
    /// Sends one request and judges its answer. Of an answer that is not 2xx the body is read
    /// here, bounded, for the relay's error code; a 2xx keeps its body for the caller.
    pub(crate) async fn send(
        &self,
        request: Request<'_>,
        deadline: Deadline,
    ) -> Result<Answered, Error> {
        let route = request.route;
        // A GET only reads.
        let happened =
            if request.method == Method::POST { Happened::Unknown } else { Happened::No };
        let method = request.method.clone();
        let leg = async {
            let relay = self.http.admit(self.invitation).await?;
            let sent = self.build(request, relay.base_url());
            let answer = sent.send().await;
            answer.map_err(|error| could_not_send(route, happened, error))
        };
        let mut response = match timeout_at(deadline.at, leg).await {
            Ok(response) => response?,
            Err(_) => {
                return Err(
                    deadline.passed(format!("the relay did not answer `{route}`"), happened)
                );
            }
        };
        let status = response.status().as_u16();
        let code = match status {
            200..=299 | 401 | 410 => None,
            _ => {
                let by = deadline.at.min(Instant::now() + ERROR_BODY_WAIT);
                let body = read_up_to(&mut response, ERROR_BODY_BYTES_MAX);
                timeout_at(by, body).await.ok().and_then(|body| relay_error_code(&body))
            }
        };
        let verdict = judge(status, code.as_deref());
        debug!(%method, route, status, client = %self.client_id, ?verdict, "relay answered");
        Ok(Answered { verdict, status, response })
    }

    /// POSTs a frame to the inbox. Any 2xx is acceptance.
    pub(crate) async fn post(&self, frame: &Value, deadline: Deadline) -> Result<Answered, Error> {
        let request = Request {
            method: Method::POST,
            path: "inbox",
            route: "inbox",
            query: Vec::new(),
            accept: "application/json",
            frame: Some(frame),
        };
        self.send(request, deadline).await
    }

    fn build(&self, request: Request<'_>, base: &Url) -> reqwest::RequestBuilder {
        let url = self.url(base, &request);
        let mut builder = self
            .http
            .client
            .request(request.method, url)
            .header(ACCEPT, request.accept)
            // A compressed stream is a buffered one (A02).
            .header(ACCEPT_ENCODING, "identity");
        if self.http.auth == Auth::Bearer
            && let Ok(mut value) =
                HeaderValue::try_from(format!("Bearer {}", self.invitation.token().expose()))
        {
            value.set_sensitive(true);
            builder = builder.header(AUTHORIZATION, value);
        }
        match request.frame {
            Some(frame) => builder.header(CONTENT_TYPE, "application/json").body(frame.to_string()),
            None => builder,
        }
    }

    fn url(&self, base: &Url, request: &Request<'_>) -> Url {
        let mut url = base.clone();
        let path = format!(
            "{}/{}/{}",
            base.path().trim_end_matches('/'),
            self.invitation.session_id().as_str(),
            request.path.trim_matches('/'),
        );
        url.set_path(&path);
        let mut query = url.query_pairs_mut();
        if self.http.auth == Auth::Query {
            query.append_pair("token", self.invitation.token().expose());
        }
        query.append_pair("client", self.client_id.as_str());
        query.extend_pairs(&request.query);
        drop(query);
        url
    }
}

impl Answered {
    /// The error of an answer that was not accepted, when the answer does not mean more to the
    /// caller than to everybody.
    pub(crate) fn into_error(self, route: &'static str) -> Error {
        let status = self.status;
        let refused = |what: String, fault, happened| Error::Transport { what, fault, happened };
        match self.verdict {
            Verdict::Unauthorized => Error::Unauthorized { route, happened: Happened::No },
            Verdict::Gone => Error::Gone { route, happened: Happened::No },
            Verdict::Redirect => refused(
                format!(
                    "the relay answered `{route}` with a redirect ({status}), which is never \
                     followed: the invitation must name the final address"
                ),
                Fault::Relay,
                Happened::No,
            ),
            Verdict::GatewayGaveUp => refused(
                format!("a gateway before the relay gave up on `{route}` ({status})"),
                Fault::Wire,
                Happened::Unknown,
            ),
            Verdict::Refused | Verdict::Conflict => refused(
                format!("the relay refused `{route}` ({status}{})", hint(status)),
                Fault::Relay,
                Happened::No,
            ),
            Verdict::Failed | Verdict::Accepted => refused(
                format!("the relay failed at `{route}` ({status})"),
                Fault::Relay,
                Happened::Unknown,
            ),
        }
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        400 => ": it did not take the request for a valid one",
        404 | 405 => ": it serves no such route, so its dialect may be another one",
        413 => ": the frame is over the relay's limit",
        429 => ": too many requests",
        _ => "",
    }
}

/// The end of an exchange, and how long it was allowed to take (TIME-1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) after: Duration,
}

impl Deadline {
    pub(crate) fn after(after: Duration) -> Self {
        Self { at: Instant::now() + after, after }
    }

    pub(crate) fn passed(self, what: String, happened: Happened) -> Error {
        Error::Timeout { what, after: self.after, happened }
    }
}

/// A body that outgrew its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// Refused while it was being read. `true` when the awaited id stood in what was read.
    TooLarge { ours: bool },
    /// The connection failed inside the body.
    Lost,
}

/// Reads a body whose size is bounded, and holds no more of it than the bound (POLL-5).
///
/// Of a body that outgrows it, as much again is looked through for the awaited id and not held:
/// whether the answer was in it decides what the caller is told.
pub(crate) async fn read_bounded(
    response: &mut Response,
    bytes_max: usize,
    id: &str,
) -> Result<Bytes, BodyEnd> {
    let mut body = Vec::new();
    let mut passed = None;
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await.map_err(|_| BodyEnd::Lost)? {
        bytes += chunk.len();
        if bytes <= bytes_max {
            body.extend_from_slice(&chunk);
            continue;
        }
        let search = passed.get_or_insert_with(|| Search::for_id(id));
        if search.finds(&std::mem::take(&mut body)) || search.finds(&chunk) {
            return Err(BodyEnd::TooLarge { ours: true });
        }
        if bytes > 2 * bytes_max {
            break;
        }
    }
    match passed {
        None => Ok(body.into()),
        Some(_) => Err(BodyEnd::TooLarge { ours: false }),
    }
}

/// The first bytes of a body, whatever becomes of the rest.
async fn read_up_to(response: &mut Response, bytes_max: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > bytes_max {
            break;
        }
    }
    body
}

/// `application/json; charset=utf-8` is `application/json`; nothing is the empty string.
pub(crate) fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or("").split(';').next().unwrap_or("");
    essence.trim().to_ascii_lowercase()
}

/// A request that got no answer at all. When no connection came about, nothing was sent.
fn could_not_send(route: &'static str, happened: Happened, error: reqwest::Error) -> Error {
    let happened = if error.is_connect() { Happened::No } else { happened };
    let what = if error.is_connect() {
        format!("the relay could not be reached for `{route}`: {}", words_of(error))
    } else {
        format!("the connection to the relay was lost on `{route}`: {}", words_of(error))
    };
    Error::Transport { what, fault: Fault::Wire, happened }
}

/// The innermost cause of an HTTP failure, which names an operation and never a URL.
pub(crate) fn words_of(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The addresses that the egress policy has checked, and the only ones that exist for the HTTP
/// client: it asks here instead of a resolver, so that no second look-up can answer otherwise
/// (EGRESS-4, E06).
#[derive(Debug)]
struct CheckedHosts {
    addresses: Mutex<BTreeMap<String, Vec<SocketAddr>>>,
    /// The configured proxy may be private: it is the host's own boundary (E12).
    proxy_host: Option<String>,
}

impl CheckedHosts {
    fn new(proxy: Option<&Url>) -> Self {
        let proxy_host = proxy.and_then(Url::host_str).map(str::to_owned);
        Self { addresses: Mutex::default(), proxy_host }
    }

    fn note(&self, relay: &CheckedRelay) {
        let Some(host) = relay.base_url().host_str() else { return };
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.insert(host.to_owned(), relay.addresses().to_vec());
    }
}

impl Resolve for CheckedHosts {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str();
        if self.proxy_host.as_deref() == Some(host) {
            let host = host.to_owned();
            return Box::pin(async move {
                let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
                Ok(Box::new(found.into_iter()) as Addrs)
            });
        }
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let found = addresses.get(host).cloned();
        Box::pin(ready(match found {
            Some(found) => Ok(Box::new(found.into_iter()) as Addrs),
            None => Err("the host has no address that was checked".into()),
        }))
    }
}

fn tls(
    roots: Option<&[Vec<u8>]>,
    unix_socket: Option<&Path>,
) -> Result<rustls::ClientConfig, Error> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let refused = |error: rustls::Error| Error::Configuration {
        what: format!("TLS cannot be set up: {error}"),
    };
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .map_err(refused)?;
    // Loading the platform's roots costs milliseconds, and a Unix socket has no use for them.
    let roots = roots.or(unix_socket.map(|_| &[][..]));
    let Some(roots) = roots else {
        return Ok(builder.with_platform_verifier().map_err(refused)?.with_no_client_auth());
    };
    let mut store = rustls::RootCertStore::empty();
    for der in roots {
        store.add(CertificateDer::from(der.as_slice())).map_err(refused)?;
    }
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

#[cfg(unix)]
fn on_unix_socket(
    builder: reqwest::ClientBuilder,
    path: PathBuf,
) -> Result<reqwest::ClientBuilder, Error> {
    Ok(builder.unix_socket(path))
}

#[cfg(not(unix))]
fn on_unix_socket(_: reqwest::ClientBuilder, _: PathBuf) -> Result<reqwest::ClientBuilder, Error> {
    Err(Error::Configuration { what: "this platform has no Unix sockets".to_owned() })
}
