//! The event stream of one receive leg (`GET events`).

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame as BodyFrame};
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::exchange::Exchange;
use super::leg::Leg;
use super::mailbox::Taken;
use super::session::Parcel;
use super::shaper::{Piece, Shaper};
use crate::fault::Close;

/// A comment this often keeps proxies from closing a quiet stream (RELAY-9).
const KEEPALIVE: Duration = Duration::from_secs(15);

/// The stream's answer: its head, and a body that lives as long as the leg.
pub(super) fn stream(leg: Leg, exchange: Arc<Exchange>) -> Response {
    let mut response = Response::new(Body::new(Stream::new(leg, exchange)));
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-accel-buffering", "no"),
    ] {
        headers.insert(name, axum::http::HeaderValue::from_static(value));
    }
    response
}

struct Stream {
    leg: Leg,
    exchange: Arc<Exchange>,
    shaper: Shaper,
    timer: Pin<Box<Sleep>>,
    keepalive_at: Instant,
    state: State,
}

enum State {
    Beginning,
    Open,
    /// What is ready still leaves, then the connection is closed in the middle.
    Cutting,
    /// What is ready still leaves, then the stream ends as it should.
    Ending,
    /// Nothing leaves any more, and nothing ends.
    Silent,
}

impl Stream {
    fn new(leg: Leg, exchange: Arc<Exchange>) -> Self {
        let keepalive_at = Instant::now() + KEEPALIVE;
        let rule = exchange.fate.as_ref().map(|fate| Arc::clone(&fate.rule));
        let shaper = Shaper::new(rule, leg.hub.state().faults.fork());
        Self {
            leg,
            exchange,
            shaper,
            timer: Box::pin(sleep_until(keepalive_at)),
            keepalive_at,
            state: State::Beginning,
        }
    }

    fn begin(&mut self) {
        self.shaper.write(b"retry: 2000\n\n", Piece::Other);
        let close = self.exchange.fate.as_ref().and_then(|fate| fate.rule.close);
        self.state = State::Open;
        if let Some(close) = close {
            self.close(close);
        }
    }

    fn close(&mut self, close: Close) {
        match close {
            Close::Reset => {
                self.exchange.connection.reset();
                self.state = State::Silent;
            }
            Close::Cut => self.state = State::Cutting,
            Close::BlackHole => self.state = State::Silent,
            Close::End => self.end(),
        }
    }

    fn end(&mut self) {
        self.shaper.finish();
        self.note_told();
        self.state = State::Ending;
    }

    fn carry(&mut self, parcel: Parcel) {
        let event = encode(&parcel.frame.text, self.leg.hub.dialect.prefixes_every_line);
        let Some(strike) = &parcel.strike else {
            self.shaper.event(event.as_bytes(), parcel);
            self.note_told();
            return;
        };
        let close = strike.close;
        self.leg.hub.note(strike.fate.event(Some(self.exchange.number)));
        if close == Close::Cut {
            self.shaper.write(&event.as_bytes()[..event.len() / 2], Piece::Other);
        }
        self.close(close);
    }

    fn note_told(&mut self) {
        for parcel in self.shaper.told() {
            self.leg.note_handed_over(&self.exchange, &parcel);
        }
    }

    /// Waits for the leg, the next keepalive, or the end of an unused session. True when there is
    /// something to look at.
    fn wait(&mut self, next: Option<Instant>, cx: &mut Context<'_>) -> bool {
        let expires = self.leg.session_expires_at();
        let first = [Some(self.keepalive_at), next, expires].into_iter().flatten().min();
        let first = first.unwrap_or(self.keepalive_at);
        self.leg.wait(cx.waker());
        if self.timer.deadline() != first {
            self.timer.as_mut().reset(first);
        }
        if self.timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        let now = Instant::now();
        if expires.is_some_and(|expires| expires <= now) {
            self.leg.hub.sweep();
        }
        if self.keepalive_at <= now {
            self.keepalive_at = now + KEEPALIVE;
            self.leg.hub.sweep();
            self.shaper.write(b": keepalive\n\n", Piece::Other);
            self.note_told();
        }
        true
    }
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Infallible>>> {
        let stream = self.get_mut();
        loop {
            if !matches!(stream.state, State::Silent)
                && let Some(chunk) = stream.shaper.next()
            {
                return Poll::Ready(Some(Ok(BodyFrame::data(chunk))));
            }
            match stream.state {
                State::Beginning => stream.begin(),
                State::Open => match stream.leg.take() {
                    Taken::Item(parcel) => stream.carry(parcel),
                    Taken::NoSuchLeg => stream.end(),
                    Taken::Nothing(next) => {
                        if !stream.wait(next, cx) {
                            return Poll::Pending;
                        }
                    }
                },
                State::Cutting => {
                    stream.exchange.connection.close();
                    return Poll::Pending;
                }
                State::Ending => return Poll::Ready(None),
                State::Silent => return Poll::Pending,
            }
        }
    }
}

/// One frame as one event (RELAY-9): a `data:` for every line that its JSON is broken into, unless
/// the relay is one of those that forget about it.
fn encode(text: &str, every_line: bool) -> String {
    let mut event = String::with_capacity(text.len() + 24);
    event.push_str("event: mcp\n");
    if every_line {
        let unix = text.replace("\r\n", "\n");
        for line in unix.split(['\n', '\r']) {
            event.push_str("data: ");
            event.push_str(line);
            event.push('\n');
        }
    } else {
        event.push_str("data: ");
        event.push_str(text);
        event.push('\n');
    }
    event.push('\n');
    event
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn every_line_of_a_frame_is_prefixed() {
        for (text, expect) in [
            ("{}", "event: mcp\ndata: {}\n\n"),
            ("{\n}", "event: mcp\ndata: {\ndata: }\n\n"),
            ("{\r\n\r}", "event: mcp\ndata: {\ndata: \ndata: }\n\n"),
        ] {
            assert_eq!(encode(text, true), expect);
        }
        assert_eq!(encode("{\n}", false), "event: mcp\ndata: {\n}\n\n");
    }
}
