//! The long polls of both dialects (RELAY-4, RELAY-5).

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame as BodyFrame, SizeHint};
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep_until};

use super::body::CutInHalf;
use super::exchange::Exchange;
use super::leg::Leg;
use super::mailbox::Taken;
use super::refusal::Refusal;
use super::session::Parcel;
use super::spec::PollShape;
use crate::fault::Close;

/// The longest a poll is held, and how long it is held when it does not say (contract, section 1).
pub(super) const WAIT_MAX: Duration = Duration::from_secs(25);
pub(super) const WAIT_DEFAULT: Duration = Duration::from_secs(20);

/// How the answer of a poll looks.
#[derive(Debug, Clone)]
pub(super) enum Style {
    /// The README's, in one of its shapes.
    Outbox(PollShape),
    /// The public relays': frames as strings, under the caller's subscriber id.
    Subscriber(String),
}

/// Holds a poll until there is something to say, or its time is over.
pub(super) async fn hold(
    leg: Leg,
    exchange: Arc<Exchange>,
    style: Style,
    wait: Duration,
) -> Result<Response, Refusal> {
    let rule = exchange.fate.as_ref().map(|fate| &fate.rule);
    let wait = match rule {
        Some(rule) if rule.ignore_wait => Duration::ZERO,
        Some(rule) => wait + rule.over_hold.map_or(Duration::ZERO, Duration::from),
        None => wait,
    };
    let until = Instant::now() + wait;
    let most = if matches!(style, Style::Outbox(PollShape::One)) { 1 } else { usize::MAX };
    loop {
        match collect(&leg, &exchange, most) {
            Found::Gone if leg.hub.dialect.released_poll_is_410 => {
                return Err(Refusal::SessionGone);
            }
            Found::Gone => return Ok(answer(leg, exchange, &style, Vec::new(), false)),
            Found::Silence => pending::<()>().await,
            Found::Frames { parcels, cut } => {
                return Ok(answer(leg, exchange, &style, parcels, cut));
            }
            Found::Nothing(next) => {
                let now = Instant::now();
                if now >= until {
                    return Ok(answer(leg, exchange, &style, Vec::new(), false));
                }
                let expires = leg.session_expires_at();
                let first = [Some(until), next, expires].into_iter().flatten().min();
                park(&leg, first.unwrap_or(until)).await;
                leg.hub.sweep();
            }
        }
    }
}

enum Found {
    Frames {
        parcels: Vec<Parcel>,
        /// The answer is cut in the middle.
        cut: bool,
    },
    Nothing(Option<Instant>),
    Gone,
    /// A fault let the connection go silent.
    Silence,
}

fn collect(leg: &Leg, exchange: &Exchange, most: usize) -> Found {
    let mut parcels = Vec::new();
    while parcels.len() < most {
        let parcel = match leg.take() {
            Taken::Item(parcel) => parcel,
            Taken::NoSuchLeg if parcels.is_empty() => return Found::Gone,
            Taken::Nothing(next) if parcels.is_empty() => return Found::Nothing(next),
            Taken::NoSuchLeg | Taken::Nothing(_) => break,
        };
        let Some(strike) = &parcel.strike else {
            parcels.push(parcel);
            continue;
        };
        leg.hub.note(strike.fate.event(Some(exchange.number)));
        match strike.close {
            Close::Reset => {
                exchange.connection.reset();
                return Found::Silence;
            }
            Close::BlackHole => return Found::Silence,
            // The answer ends before the frame that was to be in it.
            Close::End => return Found::Frames { parcels, cut: false },
            Close::Cut => {
                // It strikes once: a cursor brings the frame back whole.
                parcels.push(Parcel { strike: None, ..parcel });
                return Found::Frames { parcels, cut: true };
            }
        }
    }
    Found::Frames { parcels, cut: false }
}

/// Sleeps until something changes for the leg, or until a time.
async fn park(leg: &Leg, until: Instant) {
    let mut timer = pin!(sleep_until(until));
    let mut parked = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut parked, true) {
            return Poll::Ready(());
        }
        leg.wait(cx.waker());
        timer.as_mut().poll(cx)
    })
    .await;
}

fn answer(
    leg: Leg,
    exchange: Arc<Exchange>,
    style: &Style,
    parcels: Vec<Parcel>,
    cut: bool,
) -> Response {
    let cursor = leg.number(parcels.len());
    let text = Bytes::from(shape(style, &parcels, cursor));
    let body = if cut {
        // The relay believes that it handed everything over, and it is wrong.
        leg.handed_over(parcels, cursor);
        Body::new(CutInHalf::new(&text, &exchange.connection))
    } else {
        Body::new(Answer { text: Some(text), handing: Some((parcels, cursor)), leg, exchange })
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

fn shape(style: &Style, parcels: &[Parcel], cursor: u64) -> String {
    let frames: Vec<String> = parcels.iter().map(|parcel| embedded(parcel, style)).collect();
    let list = format!("[{}]", frames.join(","));
    match style {
        Style::Subscriber(subscriber) => {
            format!(r#"{{"subscriber":"{subscriber}","frames":{list}}}"#)
        }
        Style::Outbox(PollShape::Frames) => format!(r#"{{"frames":{list},"cursor":"{cursor}"}}"#),
        Style::Outbox(PollShape::Events) => format!(r#"{{"events":{list},"next":{cursor}}}"#),
        Style::Outbox(PollShape::Messages) => {
            format!(r#"{{"messages":{list},"last_event_id":"{cursor}"}}"#)
        }
        Style::Outbox(PollShape::List) => list,
        Style::Outbox(PollShape::One) => frames.into_iter().next().unwrap_or(list),
    }
}

/// A frame as a member of a JSON list.
fn embedded(parcel: &Parcel, style: &Style) -> String {
    let frame = &parcel.frame;
    match (style, &*frame.value) {
        (Style::Subscriber(_), _) => Value::from(&*frame.text).to_string(),
        // What is not JSON (a fault's work) is still a member of a list that is.
        (Style::Outbox(_), Value::String(text)) => Value::from(text.as_str()).to_string(),
        (Style::Outbox(_), _) => frame.text.to_string(),
    }
}

/// A poll's answer. Its frames are handed over when its bytes are, and not before: a caller that
/// hung up meanwhile leaves them for its next poll (RELAY-4).
struct Answer {
    text: Option<Bytes>,
    handing: Option<(Vec<Parcel>, u64)>,
    leg: Leg,
    exchange: Arc<Exchange>,
}

impl Answer {
    fn hand_over(&mut self) {
        let Some((parcels, cursor)) = self.handing.take() else { return };
        for parcel in &parcels {
            self.leg.note_handed_over(&self.exchange, parcel);
        }
        self.leg.handed_over(parcels, cursor);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some((parcels, _)) = self.handing.take() {
            self.leg.put_back(parcels);
        }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Infallible>>> {
        let answer = self.get_mut();
        let Some(text) = answer.text.take() else { return Poll::Ready(None) };
        answer.hand_over();
        Poll::Ready(Some(Ok(BodyFrame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.text.as_ref().map_or(0, |text| text.len() as u64))
    }
}

/// The `wait` of the README's dialect, in seconds; anything that is no number is as if unsaid.
pub(super) fn wait_in_seconds(text: Option<&str>) -> Duration {
    let seconds = text.and_then(|text| text.trim().parse::<f64>().ok());
    let seconds = seconds.filter(|seconds| seconds.is_finite());
    seconds.map_or(WAIT_DEFAULT, |seconds| {
        Duration::from_secs_f64(seconds.clamp(0.0, WAIT_MAX.as_secs_f64()))
    })
}

/// The `wait` of the public relays' dialect, in milliseconds. `strict` reads a number; the public
/// relays read the digits that it begins with, and no digits are nothing.
pub(super) fn wait_in_milliseconds(text: Option<&str>, strict: bool) -> Duration {
    if let (Some(text), false) = (text, strict) {
        let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
        let millis = digits.parse().unwrap_or(if digits.is_empty() { 0 } else { u64::MAX });
        return Duration::from_millis(millis).min(WAIT_MAX);
    }
    let millis = text.and_then(|text| text.trim().parse::<f64>().ok());
    let millis = millis.filter(|millis| millis.is_finite());
    millis.map_or(WAIT_DEFAULT, |millis| {
        let clamped = millis.trunc().clamp(0.0, WAIT_MAX.as_millis() as f64);
        Duration::from_millis(clamped as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_clamped_and_nonsense_is_unsaid() {
        for (text, seconds) in [
            (Some("5"), 5.0),
            (Some("0.5"), 0.5),
            (Some("-1"), 0.0),
            (Some("99"), 25.0),
            (Some("abc"), 20.0),
            (Some("NaN"), 20.0),
            (None, 20.0),
        ] {
            assert_eq!(wait_in_seconds(text), Duration::from_secs_f64(seconds), "{text:?}");
        }
        for (text, millis) in [
            (Some("50.9"), 50),
            (Some("-5"), 0),
            (Some("60000"), 25_000),
            (Some(""), 20_000),
            (None, 20_000),
        ] {
            assert_eq!(wait_in_milliseconds(text, true), Duration::from_millis(millis), "{text:?}");
        }
        for (text, millis) in [
            (Some("50.9"), 50),
            (Some("1e3"), 1),
            (Some("0x10"), 0),
            (Some("abc"), 0),
            (Some("-5"), 0),
            (None, 20_000),
        ] {
            assert_eq!(
                wait_in_milliseconds(text, false),
                Duration::from_millis(millis),
                "{text:?}"
            );
        }
    }
}
