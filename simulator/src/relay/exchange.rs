//! One HTTP exchange, from the moment its request was read to its fate.

use std::future::pending;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use indexmap::IndexMap;
use tokio::time::sleep;

use super::body::{CutInHalf, Watch, Watched};
use super::frame::{Frame, InvalidFrame, parse};
use super::hub::Hub;
use super::refusal::Refusal;
use super::request::{Seen, is_inbound, kept, odd_method, query_of, read, route_of, token_of};
use super::routes::refuse;
use crate::fault::{Close, Fate, FaultRule, Hoard, Route};
use crate::journal::Event;
use crate::wire::Connection;

/// One HTTP exchange, as the routes see it.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Its number in the journal.
    pub(super) number: u64,
    pub(super) route: Route,
    pub(super) preflight: bool,
    /// The token it showed, in the query or as a bearer.
    pub(super) token: Option<String>,
    /// The client it named; empty when it named none.
    pub(super) client: String,
    pub(super) query: IndexMap<String, String>,
    pub(super) has_query: bool,
    /// Whether it is the surface's side of a receive leg.
    pub(super) inbound: bool,
    pub(super) body: Bytes,
    /// Whether a batch of frames is passed on whole.
    pub(super) whole: bool,
    /// The frames in the body of an inbox.
    pub(super) frames: Option<Result<Vec<Frame>, InvalidFrame>>,
    pub(super) fate: Option<Fate>,
    pub(super) connection: Connection,
}

impl Exchange {
    pub(super) fn asks(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub(super) fn rule(&self) -> Option<&FaultRule> {
        self.fate.as_ref().map(|fate| &*fate.rule)
    }
}

/// Reads a request, journals it, lets faults and people at it, and journals what came of it.
pub(super) async fn observe(State(hub): State<Arc<Hub>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let connection =
        parts.extensions.get::<Connection>().cloned().unwrap_or_else(Connection::loose);
    let body = read(&parts, body).await;
    hub.sweep();

    let (route, receives) = route_of(&parts.method, parts.uri.path());
    let query = query_of(&parts);
    let number = hub.next_exchange();
    let mut exchange = Exchange {
        number,
        route,
        preflight: parts.method == Method::OPTIONS,
        token: token_of(&hub, &query, &parts.headers),
        client: query.get("client").cloned().unwrap_or_default(),
        has_query: parts.uri.query().is_some(),
        inbound: receives && is_inbound(&hub, &query),
        body: Bytes::new(),
        whole: false,
        frames: None,
        fate: None,
        query,
        connection,
    };
    let bytes = match &body {
        Ok(body) => body.len(),
        Err(read) => *read,
    };
    hub.note(request_event(&exchange, &parts, route, bytes as u64));
    let watch = Watch::over(&hub, number, &exchange.connection);

    match body {
        Ok(body) => exchange.body = body,
        Err(_) if hub.dialect.answers_oversize => {
            let mut response = refuse_early(&hub, route, Refusal::PayloadTooLarge);
            response.headers_mut().insert("connection", HeaderValue::from_static("close"));
            return finish(&hub, watch, &exchange, response);
        }
        Err(_) => {
            exchange.connection.close();
            return never(watch).await;
        }
    }
    if let Some(why) = odd_method(&hub, &parts.method, route) {
        let response = refuse_early(&hub, route, why);
        return finish(&hub, watch, &exchange, response);
    }
    if route == Route::Inbox {
        exchange.frames = Some(parse(&exchange.body, hub.dialect.leniency()));
        exchange.whole = !hub.dialect.splits_batches
            && matches!(&exchange.frames, Some(Ok(frames)) if frames.len() > 1);
    }

    let receives = receives && !exchange.inbound;
    let of_surface = exchange.inbound || (route == Route::Outbox && parts.method == Method::POST);
    let seen = Seen::of(&exchange);
    let own = seen.exchange(route, receives);
    if !of_surface {
        let fate = hub.decide(&[&[own][..], &seen.frames()].concat());
        exchange.fate = fate;
        hub.people_before(&[own]);
    }
    if let Some(fate) = &exchange.fate {
        hub.note(fate.event(Some(number)));
    }
    let exchange = Arc::new(exchange);
    parts.extensions.insert(Arc::clone(&exchange));
    let request = Request::from_parts(parts, Body::empty());
    let response = suffer(&hub, &exchange, route, request, next).await;
    let response = match response {
        Some(response) => response,
        None => return never(watch).await,
    };
    if !of_surface {
        hub.people_after(&[own]);
    }
    finish(&hub, watch, &exchange, response)
}

/// Runs the exchange as its fate has it. None: it is never answered.
async fn suffer(
    hub: &Arc<Hub>,
    exchange: &Arc<Exchange>,
    route: Route,
    request: Request,
    next: Next,
) -> Option<Response> {
    let Some(rule) = exchange.rule() else { return Some(next.run(request).await) };
    let is_stream = route == Route::Events;
    let instead = rule.status.is_some() || rule.redirect.is_some();
    let silenced = matches!(rule.close, Some(Close::Reset | Close::BlackHole));
    let mut response = None;
    if rule.applied || !(instead || silenced) {
        response = Some(next.run(request).await);
    }
    if let Some(status) = &rule.status {
        let (text, content_type) = status.content();
        response = Some(scripted(status.number(), text, content_type, status.headers()));
    } else if let Some(redirect) = &rule.redirect {
        let headers = IndexMap::from([("location".to_owned(), redirect.to.clone())]);
        response = Some(scripted(redirect.code, String::new(), None, &headers));
    }
    // The delay of a posted frame is not the response's: see the inbox.
    hold(hub, &exchange.client, rule, route != Route::Inbox).await;
    match rule.close {
        Some(Close::Reset) => {
            exchange.connection.reset();
            None
        }
        Some(Close::BlackHole) => None,
        // A stream ends itself, after its head and its first line.
        Some(Close::Cut) if !is_stream => Some(cut(response?, &exchange.connection).await),
        Some(Close::End) if !is_stream => {
            let mut response = response?;
            response.headers_mut().remove("content-length");
            *response.body_mut() = Body::empty();
            Some(response)
        }
        _ => response,
    }
}

/// Holds a response back for as long as a rule says.
pub(super) async fn hold(hub: &Hub, client: &str, rule: &FaultRule, delays: bool) {
    match rule.hoard {
        Some(Hoard::For(span)) => sleep(span.get()).await,
        Some(Hoard::UntilNextRequest) => hub.next_request_of(client).await,
        Some(Hoard::ForEver) => pending().await,
        None => {}
    }
    if let Some(delay) = rule.delay.filter(|_| delays) {
        sleep(delay.get()).await;
    }
}

async fn cut(response: Response, connection: &Connection) -> Response {
    let (mut parts, body) = response.into_parts();
    // The relay's own bodies cannot fail; a cut answer is lost either way.
    let whole = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    parts.headers.remove("content-length");
    Response::from_parts(parts, Body::new(CutInHalf::new(&whole, connection)))
}

fn scripted(
    code: u16,
    text: String,
    content_type: Option<String>,
    more: &IndexMap<String, String>,
) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::IM_A_TEAPOT);
    let content_type = content_type.map(|value| ("content-type".to_owned(), value));
    for (name, value) in content_type.iter().map(|(name, value)| (name, value)).chain(more) {
        // A header that HTTP cannot carry is left out: the rule's own text shows it.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Journals the head of a response and watches its body.
fn finish(hub: &Arc<Hub>, watch: Watch, exchange: &Exchange, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if !hub.dialect.preflight_is_200 && exchange.preflight && parts.status == StatusCode::OK {
        parts.status = StatusCode::NO_CONTENT;
    }
    let bare = parts.status == StatusCode::NOT_FOUND || exchange.route == Route::Health;
    if bare && !hub.dialect.cors_on_404 {
        let cors: Vec<HeaderName> = parts.headers.keys().cloned().collect();
        for name in cors.iter().filter(|name| name.as_str().starts_with("access-control-")) {
            parts.headers.remove(name);
        }
    }
    hub.note(Event::Response {
        exchange: exchange.number,
        status: parts.status.as_u16(),
        headers: kept(&parts.headers),
    });
    Response::from_parts(parts, Body::new(Watched::new(body, watch)))
}

/// A refusal that does not pass the routes, whose CORS headers it needs all the same: without
/// them, a browser keeps the refusal from its page.
fn refuse_early(hub: &Hub, route: Route, why: Refusal) -> Response {
    let mut response = refuse(hub, route, why);
    let anyone = HeaderValue::from_static("*");
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, anyone);
    response
}

/// Waits for the connection to be dropped, and the exchange with it.
async fn never(watch: Watch) -> Response {
    let _watch = watch;
    pending().await
}

fn request_event(exchange: &Exchange, parts: &Parts, route: Route, bytes: u64) -> Event {
    let mut query = exchange.query.clone();
    if let Some(token) = query.get_mut("token") {
        "[token]".clone_into(token);
    }
    Event::Request {
        exchange: exchange.number,
        client: Some(&exchange.client).filter(|client| !client.is_empty()).cloned(),
        method: parts.method.to_string(),
        route: route.name().to_owned(),
        query,
        headers: kept(&parts.headers),
        bytes,
    }
}
