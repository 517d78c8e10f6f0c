//! The exchange over short requests (POLL-1 to POLL-6).

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::http::{BodyEnd, media_type, read_bounded};
use super::pace::{Brought, Pace};
use super::status::relay_error_code;
use super::{Exchange, Outcome, Request, Skipped, Verdict};
use crate::error::{Error, Happened};
use crate::frame::{self, Heard};
use crate::poll_body::{self, PollBody};

/// What errors and traces call the poll, whatever its path is.
const ROUTE: &str = "poll";

/// How to poll a relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongPoll {
    /// How the relay is asked, and how it answers.
    pub dialect: Dialect,
    /// The last segment of the poll's path.
    pub path: String,
    /// How long the relay is asked to hold a poll that has nothing to bring. Never longer than
    /// what is left of the exchange. The README's dialect counts whole seconds.
    pub wait: Duration,
}

/// The two dialects of polling (POLL-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The README's: `wait` in seconds, a cursor that goes back as `after`, frames as JSON.
    Readme,
    /// The public relays': `wait` in milliseconds, a subscriber id, frames as strings.
    Public,
}

impl LongPoll {
    /// The README's dialect on `outbox`, with a wait of 5 s.
    #[must_use]
    pub fn readme() -> Self {
        Self { dialect: Dialect::Readme, path: "outbox".to_owned(), wait: Duration::from_secs(5) }
    }

    /// The public relays' dialect on `poll`, with a wait of 20 s.
    #[must_use]
    pub fn public() -> Self {
        Self { dialect: Dialect::Public, path: "poll".to_owned(), wait: Duration::from_secs(20) }
    }
}

impl Default for LongPoll {
    fn default() -> Self {
        Self::readme()
    }
}

/// Where an attachment's polls stand, between polls and between exchanges: what came in between
/// would be lost without it (POLL-2, C06).
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    cursor: Option<String>,
    subscriber: Option<String>,
}

pub(super) async fn exchange(
    exchange: &Exchange<'_>,
    settings: &LongPoll,
    mailbox: &mut Mailbox,
) -> Result<Outcome, Error> {
    if exchange.subscribe_first {
        // The first poll is what makes the relay keep frames for this client.
        let mut skipped = Skipped::default();
        poll(exchange, settings, mailbox, Duration::ZERO, &mut skipped)
            .await
            .map_err(|error| error.with_happened(Happened::No))?;
    }
    let Some(accepted) = exchange.post().await? else { return Ok(Outcome::Conflict) };
    exchange.first_of(accepted, receive(exchange, settings, mailbox)).await
}

/// Polls until the answer or the deadline, and not a moment longer (POLL-4).
async fn receive(
    exchange: &Exchange<'_>,
    settings: &LongPoll,
    mailbox: &mut Mailbox,
) -> Result<Outcome, Error> {
    let mut pace = Pace::new(settings.wait);
    let mut skipped = Skipped::default();
    let mut last = Bytes::new();
    let mut was_lost = false;
    loop {
        let started = Instant::now();
        let left = exchange.deadline.at.saturating_duration_since(started);
        if left.is_zero() {
            return Err(exchange.timed_out(&skipped));
        }
        let polled = poll(exchange, settings, mailbox, settings.wait.min(left), &mut skipped).await;
        let brought = match polled {
            Ok(Polled::Reply(outcome)) => return Ok(outcome),
            Ok(Polled::Nothing) => Brought::Nothing,
            Ok(Polled::Frames(body)) if body == last => Brought::Nothing,
            Ok(Polled::Frames(body)) => {
                last = body;
                Brought::Frames
            }
            Ok(Polled::Lost) if !was_lost => {
                // A relay that closes an idle connection does it under the next request, once (C08).
                was_lost = true;
                let pause = pace.pause_after(started.elapsed(), Brought::Nothing);
                sleep_until(exchange.deadline.at.min(Instant::now() + pause)).await;
                continue;
            }
            Ok(Polled::Lost) => return Err(exchange.lost("two polls in a row broke", &skipped)),
            Err(Error::Timeout { .. }) => return Err(exchange.timed_out(&skipped)),
            Err(refused @ Error::Egress { .. }) => {
                return Err(refused.with_happened(Happened::Unknown));
            }
            Err(error) => return Err(error),
        };
        was_lost = false;
        let pause = pace.pause_after(started.elapsed(), brought);
        if !pause.is_zero() {
            sleep_until(exchange.deadline.at.min(Instant::now() + pause)).await;
        }
    }
}

/// What one poll came back with.
#[derive(Debug)]
enum Polled {
    Reply(Outcome),
    /// Frames for others. The body comes along, to be told from the next one.
    Frames(Bytes),
    Nothing,
    /// The connection failed before or inside the answer. A poll only reads, so it can be sent
    /// again.
    Lost,
}

async fn poll(
    exchange: &Exchange<'_>,
    settings: &LongPoll,
    mailbox: &mut Mailbox,
    wait: Duration,
    skipped: &mut Skipped,
) -> Result<Polled, Error> {
    let request = Request {
        method: Method::GET,
        path: &settings.path,
        route: ROUTE,
        query: query(settings.dialect, mailbox, wait),
        accept: "application/json",
        frame: None,
    };
    let mut answered = match exchange.line.send(request, exchange.deadline).await {
        Ok(answered) => answered,
        Err(Error::Transport { .. }) => return Ok(Polled::Lost),
        Err(error) => return Err(error),
    };
    match answered.verdict {
        Verdict::Accepted => {}
        Verdict::GatewayGaveUp => {
            // Its patience ended before ours; the relay still holds what we wait for (C03).
            skipped.gateway = Some(answered.status);
            return Ok(Polled::Nothing);
        }
        _ => return Err(answered.into_error(ROUTE).with_happened(Happened::Unknown)),
    }
    let media_type = media_type(&answered.response);
    let body = read_bounded(&mut answered.response, exchange.frame_bytes_max, exchange.id);
    let body = match timeout_at(exchange.deadline.at, body).await {
        Err(_) => return Err(exchange.timed_out(skipped)),
        Ok(Err(BodyEnd::TooLarge { ours })) => {
            // The body was refused before its cursor was read. Asking again behind the old cursor
            // would bring the same body, for ever; asking without one brings what is new (POLL-5).
            mailbox.cursor = None;
            if ours {
                return Err(exchange.answer_too_large());
            }
            skipped.oversized += 1;
            return Ok(Polled::Nothing);
        }
        Ok(Err(BodyEnd::Lost)) => return Ok(Polled::Lost),
        Ok(Ok(body)) => body,
    };
    if body.is_empty() {
        return Ok(Polled::Nothing);
    }
    if relay_error_code(&body).as_deref() == Some("session_gone") {
        return Err(Error::Gone { route: ROUTE, happened: Happened::Unknown });
    }
    // A page that some gateway put in the relay's place is no frame, whatever it holds (A13).
    if matches!(media_type.as_str(), "text/html" | "text/event-stream") {
        skipped.unreadable += 1;
        return Ok(Polled::Nothing);
    }
    read(exchange, mailbox, body, skipped)
}

fn read(
    exchange: &Exchange<'_>,
    mailbox: &mut Mailbox,
    body: Bytes,
    skipped: &mut Skipped,
) -> Result<Polled, Error> {
    let Some(PollBody { frames, cursor, subscriber }) = poll_body::read(&body) else {
        skipped.unreadable += 1;
        return Ok(Polled::Nothing);
    };
    if cursor.is_some() {
        mailbox.cursor = cursor;
    }
    if subscriber.is_some() {
        mailbox.subscriber = subscriber;
    }
    let mut has_frames = false;
    for frame in frames {
        has_frames = true;
        match frame::hear_value(frame, exchange.id) {
            Heard::Reply(reply) => return Ok(Polled::Reply(Outcome::Reply(reply))),
            Heard::Other => {}
            Heard::Unreadable => skipped.unreadable += 1,
        }
    }
    Ok(if has_frames { Polled::Frames(body) } else { Polled::Nothing })
}

/// `wait` is rounded down to what the dialect can say: never past the deadline.
fn query(dialect: Dialect, mailbox: &Mailbox, wait: Duration) -> Vec<(&'static str, String)> {
    let mut query = Vec::new();
    match dialect {
        Dialect::Readme => {
            query.push(("wait", wait.as_secs().to_string()));
            query.extend(mailbox.cursor.clone().map(|cursor| ("after", cursor)));
        }
        Dialect::Public => {
            query.push(("direction", "outbound".to_owned()));
            query.push(("wait", wait.as_millis().to_string()));
            query.extend(mailbox.subscriber.clone().map(|id| ("subscriber", id)));
        }
    }
    query
}
