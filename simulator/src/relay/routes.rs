//! The paths of the relay.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};
use tower_http::cors::{Any, CorsLayer};

use super::exchange::{Exchange, hold, observe};
use super::frame::{Frame, parse};
use super::hub::Hub;
use super::inward::Passage;
use super::leg::Leg;
use super::refusal::Refusal;
use super::session::Party;
use super::token::is_session_id;
use super::{events, poll};
use crate::fault::Route;
use crate::journal::Direction;

type Answer = Result<Response, Refused>;

/// A refusal on its way to becoming a response, which is the matter of the dialect.
struct Refused(Box<Response>);

impl Refused {
    fn of(response: Response) -> Self {
        Self(Box::new(response))
    }
}

impl axum::response::IntoResponse for Refused {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// The relay's routes (contract, section 1).
pub(crate) fn router(hub: Arc<Hub>) -> Router {
    // Preflights are answered for a day, which is as long as browsers remember them.
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST, Method::OPTIONS])
        .allow_headers([header::CONTENT_TYPE, header::ACCEPT, header::AUTHORIZATION])
        .max_age(Duration::from_secs(86_400));
    Router::new()
        .route("/", get(health))
        .route("/healthz", get(health))
        .route("/register", post(register))
        .route("/{session}/inbox", post(inbox))
        .route("/{session}/events", get(receive_events))
        .route("/{session}/outbox", get(poll_outbox).post(outbox))
        .route("/{session}/poll", get(poll_subscriber))
        .route("/{session}/unregister", post(unregister))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(cors)
        .layer(from_fn_with_state(Arc::clone(&hub), observe))
        .with_state(hub)
}

async fn health(
    State(hub): State<Arc<Hub>>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    if !hub.dialect.health_with_query && exchange.has_query {
        return Err(Refused::of(refuse(&hub, Route::Health, Refusal::NotFound)));
    }
    Ok(answer(200, &json!({ "ok": true, "service": hub.dialect.service })))
}

async fn register(
    State(hub): State<Arc<Hub>>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    let refused = |why| Refused::of(refuse(&hub, Route::Register, why));
    let body: Value =
        serde_json::from_slice(&exchange.body).map_err(|_| refused(Refusal::InvalidJson))?;
    let (Some(session), Some(token)) = (body["session"].as_str(), body["token"].as_str()) else {
        return Err(refused(Refusal::MissingFields));
    };
    let registered = hub.state().registry.register(session, token, Instant::now());
    if registered.map_err(refused)? {
        hub.note_session("opened", None);
    }
    Ok(answer(200, &json!({ "ok": true })))
}

/// A client hands a frame to the surface.
async fn inbox(
    State(hub): State<Arc<Hub>>,
    Path(session): Path<String>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    enter(&hub, Route::Inbox, &session, &exchange)?;
    let frames = match &exchange.frames {
        Some(Ok(frames)) => frames,
        _ => return Err(bad_frame(&hub, Route::Inbox)),
    };
    let client = &exchange.client;
    for frame in frames {
        let from = Hub::named(client);
        hub.note_frame(Some(exchange.number), Direction::ToSurface, from, &frame.value);
    }
    let accepted = || Ok(answer(hub.dialect.accepted, &json!({ "ok": true })));
    let rule = exchange.rule();
    if rule.is_some_and(|rule| rule.drop) {
        return accepted();
    }
    if let Some(delay) = rule.and_then(|rule| rule.delay) {
        hub.to_surface_later(delay.get(), session, client.clone(), frames.clone());
        return accepted();
    }
    let mut instead = None;
    let passage = if exchange.whole { Passage::InWhole } else { Passage::Single };
    for _ in 0..=rule.and_then(|rule| rule.duplicate).unwrap_or(0) {
        if let Some(whole) = exchange.whole.then(|| Frame::whole(&exchange.body)).flatten() {
            hub.post_to_surface(&session, whole);
        }
        for frame in frames {
            instead = hub.to_surface(&session, client, frame, passage).or(instead);
        }
    }
    let Some(instead) = instead else { return accepted() };
    if let Some(fate) = &instead.fate {
        hub.note(fate.event(Some(exchange.number)));
        hold(&hub, client, &fate.rule, true).await;
    }
    Ok(answer(instead.status, &instead.body))
}

/// The surface hands a frame to clients.
async fn outbox(
    State(hub): State<Arc<Hub>>,
    Path(session): Path<String>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    enter(&hub, Route::Outbox, &session, &exchange)?;
    let frames = parse(&exchange.body, hub.dialect.leniency());
    let mut frames: Vec<Frame> = frames.map_err(|_| bad_frame(&hub, Route::Outbox))?;
    if !hub.dialect.splits_batches && frames.len() > 1 {
        frames = Frame::whole(&exchange.body).into_iter().collect();
    }
    for frame in frames {
        hub.to_clients(&session, frame, None, Arc::default());
    }
    Ok(answer(hub.dialect.accepted, &json!({ "ok": true })))
}

async fn receive_events(
    State(hub): State<Arc<Hub>>,
    Path(session): Path<String>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    enter(&hub, Route::Events, &session, &exchange)?;
    let leg = open_leg(&hub, &session, &exchange, None);
    Ok(events::stream(leg, exchange))
}

async fn poll_outbox(
    State(hub): State<Arc<Hub>>,
    Path(session): Path<String>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    if !hub.dialect.serves_outbox_poll {
        return Err(Refused::of(refuse(&hub, Route::Outbox, Refusal::MethodNotAllowed)));
    }
    enter(&hub, Route::Outbox, &session, &exchange)?;
    let wait = poll::wait_in_seconds(exchange.asks("wait"));
    let leg = open_leg(&hub, &session, &exchange, None);
    // A cursor that is no number of ours acknowledges nothing, and nothing is lost by it.
    leg.acknowledge(exchange.asks("after").map(|after| after.parse().unwrap_or(0)));
    let style = poll::Style::Outbox(hub.poll_shape);
    let held = poll::hold(leg, exchange, style, wait).await;
    held.map_err(|why| Refused::of(refuse(&hub, Route::Outbox, why)))
}

async fn poll_subscriber(
    State(hub): State<Arc<Hub>>,
    Path(session): Path<String>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    enter(&hub, Route::Poll, &session, &exchange)?;
    let wait = poll::wait_in_milliseconds(exchange.asks("wait"), hub.dialect.strict_wait);
    let known = exchange.asks("subscriber").filter(|id| is_subscriber(id)).map(str::to_owned);
    let subscriber = known.unwrap_or_else(|| hub.new_subscriber());
    let leg = open_leg(&hub, &session, &exchange, Some(&subscriber));
    leg.acknowledge(None);
    let style = poll::Style::Subscriber(subscriber);
    let held = poll::hold(leg, exchange, style, wait).await;
    held.map_err(|why| Refused::of(refuse(&hub, Route::Poll, why)))
}

async fn unregister(
    State(hub): State<Arc<Hub>>,
    Path(session): Path<String>,
    Extension(exchange): Extension<Arc<Exchange>>,
) -> Answer {
    let entered = enter(&hub, Route::Unregister, &session, &exchange);
    if let Err(refused) = entered {
        if refused.0.status() == StatusCode::GONE && !hub.dialect.unregister_gone_is_410 {
            return Ok(answer(200, &json!({ "ok": true, "alreadyGone": true })));
        }
        return Err(refused);
    }
    match Hub::named(&exchange.client).filter(|_| hub.dialect.unregisters_one) {
        Some(client) => hub.leave(&session, client),
        None => {
            hub.end(&session, "ended");
        }
    }
    Ok(answer(200, &json!({ "ok": true })))
}

async fn not_found(State(hub): State<Arc<Hub>>) -> Refused {
    Refused::of(refuse(&hub, Route::Other, Refusal::NotFound))
}

async fn method_not_allowed(State(hub): State<Arc<Hub>>) -> Refused {
    Refused::of(refuse(&hub, Route::Other, Refusal::MethodNotAllowed))
}

/// Lets a request into its session, or refuses it (RELAY-1).
fn enter(hub: &Hub, route: Route, session: &str, exchange: &Exchange) -> Result<(), Refused> {
    if !is_session_id(session) {
        return Err(Refused::of(refuse(hub, route, Refusal::NotFound)));
    }
    let token = exchange.token.as_deref();
    let entered = hub.state().registry.enter(session, token, Instant::now()).map(|_| ());
    entered.map_err(|why| {
        let shared = why == Refusal::InvalidToken
            && matches!(route, Route::Inbox | Route::Outbox)
            && !hub.dialect.bad_frame_is_400;
        Refused::of(refuse(hub, route, if shared { Refusal::InvalidTokenOrFrame } else { why }))
    })
}

fn bad_frame(hub: &Hub, route: Route) -> Refused {
    let why = match hub.dialect.bad_frame_is_400 {
        true => Refusal::InvalidFrame,
        false => Refusal::InvalidTokenOrFrame,
    };
    Refused::of(refuse(hub, route, why))
}

/// Opens the leg of a stream, or of a poll under the id of its subscriber.
fn open_leg(hub: &Arc<Hub>, session: &str, exchange: &Exchange, poller: Option<&str>) -> Leg {
    let client = &exchange.client;
    if hub.dialect.routes_by_client {
        let party = if exchange.inbound { Party::Surface } else { Party::Client(client.clone()) };
        return Leg::open(hub, session, client, party);
    }
    let id = poller.map_or_else(|| hub.new_subscriber(), str::to_owned);
    hub.subscriber_arrives(session, &id, client, exchange.inbound, poller.is_some());
    Leg::open(hub, session, client, Party::Subscriber(id))
}

fn is_subscriber(id: &str) -> bool {
    id.len() == 16 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A refusal as a response of the dialect.
pub(super) fn refuse(hub: &Hub, route: Route, why: Refusal) -> Response {
    let as_stream = route == Route::Events
        && !hub.dialect.events_errors_are_json
        && matches!(why, Refusal::InvalidToken | Refusal::SessionGone);
    if !as_stream {
        return answer(why.status(), &json!({ "error": why.code() }));
    }
    let text = format!("event: error\ndata: {}\n\n", why.code());
    let mut response = response(why.status(), Body::from(text));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A JSON answer.
fn answer(status: u16, body: &Value) -> Response {
    let mut response = response(status, Body::from(body.to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn response(status: u16, body: Body) -> Response {
    let mut response = Response::new(body);
    // Every status of the relay's own is one; a surface's may be anything.
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}
