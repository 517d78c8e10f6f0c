//! What is read of a request before anything is done about it, and what of it is journaled.

use axum::body::Body;
use axum::extract::Query;
use axum::http::header::{AUTHORIZATION, EXPECT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use indexmap::IndexMap;

use super::exchange::Exchange;
use super::frame::FrameKind;
use super::hub::Hub;
use super::refusal::Refusal;
use crate::fault::{Kind, Message, Route};

/// A body over 256 KiB is refused (RELAY-8).
pub(super) const BODY_BYTES_MAX: usize = 262_144;

/// How much of a refused body is still read, so that the caller gets to read the refusal: a
/// socket that is closed over unread bytes takes the answer with it (RELAY-12).
const DRAINED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The headers that matter to the contract.
const HEADERS_KEPT: [&str; 10] = [
    "accept",
    "authorization",
    "cache-control",
    "content-type",
    "host",
    "last-event-id",
    "location",
    "proxy-authorization",
    "retry-after",
    "x-accel-buffering",
];

/// The body, or how many bytes of it were read when it was too long.
pub(super) async fn read(parts: &Parts, body: Body) -> Result<Bytes, usize> {
    if parts.method != Method::POST {
        return Ok(Bytes::new());
    }
    let said = parts.headers.get("content-length");
    let said = said.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let asks_first = parts.headers.contains_key(EXPECT);
    if said.is_some_and(|said| said > BODY_BYTES_MAX) && asks_first {
        // The caller waits to be told before it sends anything.
        return Err(0);
    }
    let mut body = body;
    let mut whole = BytesMut::new();
    let mut bytes = 0_usize;
    while let Some(frame) = body.frame().await {
        // A caller that hung up in the middle of its body is never answered anyway.
        let Ok(frame) = frame else { break };
        let Some(data) = frame.data_ref() else { continue };
        bytes = bytes.saturating_add(data.len());
        if bytes <= BODY_BYTES_MAX {
            whole.extend_from_slice(data);
        } else if bytes > DRAINED_BYTES_MAX {
            break;
        }
    }
    if bytes > BODY_BYTES_MAX { Err(bytes) } else { Ok(whole.freeze()) }
}

/// What is wrong with a method that axum would make sense of: a HEAD would open a stream and drop
/// it, and a preflight is good for any path.
pub(super) fn odd_method(hub: &Hub, method: &Method, route: Route) -> Option<Refusal> {
    let public = !hub.dialect.preflight_is_200;
    match (method, route) {
        (&Method::HEAD, Route::Health) if public => Some(Refusal::NotFound),
        (&Method::HEAD, Route::Health) => None,
        (&Method::HEAD, Route::Other) => Some(Refusal::NotFound),
        (&Method::HEAD, _) => Some(Refusal::MethodNotAllowed),
        (&Method::OPTIONS, Route::Health | Route::Other) if public => Some(Refusal::NotFound),
        (&Method::POST, Route::Health) if public => Some(Refusal::NotFound),
        _ => None,
    }
}

/// The route of a request, and whether it is a receive leg.
pub(super) fn route_of(method: &Method, path: &str) -> (Route, bool) {
    let get = method == Method::GET;
    let leaf = path.strip_prefix('/').and_then(|path| path.split_once('/')).map(|(_, leaf)| leaf);
    match (path, leaf) {
        ("/" | "/healthz", _) => (Route::Health, false),
        ("/register", _) => (Route::Register, false),
        (_, Some("inbox")) => (Route::Inbox, false),
        (_, Some("events")) => (Route::Events, get),
        (_, Some("outbox")) => (Route::Outbox, get),
        (_, Some("poll")) => (Route::Poll, get),
        (_, Some("unregister")) => (Route::Unregister, false),
        _ => (Route::Other, false),
    }
}

pub(super) fn is_inbound(hub: &Hub, query: &IndexMap<String, String>) -> bool {
    match query.get("direction").map(String::as_str) {
        Some("outbound") => false,
        Some("inbound") => true,
        _ => !hub.dialect.outbound_by_default,
    }
}

/// The query, the first value of each name.
pub(super) fn query_of(parts: &Parts) -> IndexMap<String, String> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let mut query = IndexMap::new();
    for (name, value) in pairs.map(|Query(pairs)| pairs).unwrap_or_default() {
        query.entry(name).or_insert(value);
    }
    query
}

/// The token that a request shows; an empty one is none.
pub(super) fn token_of(
    hub: &Hub,
    query: &IndexMap<String, String>,
    headers: &HeaderMap,
) -> Option<String> {
    let in_query = query.get("token").filter(|token| !token.is_empty());
    if in_query.is_some() || !hub.dialect.reads_bearer {
        return in_query.cloned();
    }
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

/// The headers that matter, without tokens, and without what names a port of this machine.
pub(super) fn kept(headers: &HeaderMap) -> IndexMap<String, String> {
    let mut kept = IndexMap::new();
    for name in HEADERS_KEPT {
        let Some(value) = headers.get(name) else { continue };
        let value = String::from_utf8_lossy(value.as_bytes());
        let value = match name {
            "authorization" | "proxy-authorization" => {
                format!("{} [token]", value.split(' ').next().unwrap_or_default())
            }
            "host" => value.split(':').next().unwrap_or_default().to_owned(),
            _ => value.into_owned(),
        };
        kept.insert(name.to_owned(), value);
    }
    kept
}

/// What faults and people see of an exchange.
pub(super) struct Seen {
    client: Option<String>,
    frames: Vec<(Kind, Option<String>, Option<String>)>,
}

impl Seen {
    pub(super) fn of(exchange: &Exchange) -> Self {
        let frames = exchange.frames.as_ref().and_then(|frames| frames.as_ref().ok());
        let frames = frames.into_iter().flatten().filter_map(|frame| {
            let kind = match frame.kind {
                FrameKind::Request(_) => Kind::Request,
                FrameKind::Notification => Kind::Notification,
                FrameKind::Answer(_) => return None,
            };
            Some((kind, frame.method().map(str::to_owned), frame.tool().map(str::to_owned)))
        });
        let client = Some(&exchange.client).filter(|client| !client.is_empty()).cloned();
        Self { client, frames: frames.collect() }
    }

    pub(super) fn frames(&self) -> Vec<Message<'_>> {
        let client = self.client.as_deref();
        self.frames
            .iter()
            .map(|(kind, method, tool)| Message {
                kind: *kind,
                client,
                method: method.as_deref(),
                tool: tool.as_deref(),
            })
            .collect()
    }

    pub(super) fn exchange(&self, route: Route, receives: bool) -> Message<'_> {
        let first = self.frames.first();
        Message {
            kind: Kind::Exchange { route, receives },
            client: self.client.as_deref(),
            method: first.and_then(|(_, method, _)| method.as_deref()),
            tool: first.and_then(|(_, _, tool)| tool.as_deref()),
        }
    }
}
