//! The exchange over a stream of events (SSE-1 to SSE-5).

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use reqwest::{Method, Response};
use sse_stream::{Sse, SseByteStream};
use tokio::time::timeout_at;

use super::block::{Block, Blocks};
use super::http::{media_type, read_bounded};
use super::status::{judge_error_event, relay_error_code};
use super::{Exchange, Outcome, Request, Skipped, Verdict};
use crate::error::{Error, Fault, Happened};
use crate::frame::{self, Heard};

const ROUTE: &str = "events";

pub(super) async fn exchange(exchange: &Exchange<'_>) -> Result<Outcome, Error> {
    if exchange.subscribe_first {
        // Nothing was posted yet, so a stream that does not open is no call.
        let stream = open(exchange).await.map_err(|error| error.with_happened(Happened::No))?;
        let Some(accepted) = exchange.post().await? else { return Ok(Outcome::Conflict) };
        return exchange.first_of(accepted, receive(exchange, stream)).await;
    }
    let Some(accepted) = exchange.post().await? else { return Ok(Outcome::Conflict) };
    let receive = async {
        let stream = open(exchange).await.map_err(|error| match error {
            Error::Timeout { .. } => exchange.timed_out(&Skipped::default()),
            error => error.with_happened(Happened::Unknown),
        })?;
        receive(exchange, stream).await
    };
    exchange.first_of(accepted, receive).await
}

async fn open(exchange: &Exchange<'_>) -> Result<Response, Error> {
    let request = Request {
        method: Method::GET,
        path: ROUTE,
        route: ROUTE,
        query: vec![("direction", "outbound".to_owned())],
        accept: "text/event-stream",
        frame: None,
    };
    let mut answered = exchange.line.send(request, exchange.deadline).await?;
    if answered.verdict != Verdict::Accepted {
        return Err(answered.into_error(ROUTE));
    }
    match media_type(&answered.response).as_str() {
        "text/event-stream" => Ok(answered.response),
        other => {
            if other == "application/json" {
                let body = read_bounded(&mut answered.response, exchange.frame_bytes_max, "");
                if let Ok(Ok(body)) = timeout_at(exchange.deadline.at, body).await
                    && relay_error_code(&body).as_deref() == Some("session_gone")
                {
                    return Err(Error::Gone { route: ROUTE, happened: Happened::Unknown });
                }
            }
            // A page of a gateway. It may repeat the request's URL, so none of it is shown (A13).
            Err(Error::Protocol {
                what: format!(
                    "the relay answered `{ROUTE}` with {} and not with a stream of events",
                    if other.is_empty() { "no media type" } else { "another media type" },
                ),
                fault: Fault::Relay,
                happened: Happened::Unknown,
            })
        }
    }
}

/// Reads until the answer, and lets the stream go.
async fn receive(exchange: &Exchange<'_>, mut stream: Response) -> Result<Outcome, Error> {
    let mut blocks = Blocks::new(exchange.frame_bytes_max, exchange.id);
    let mut parser = Parser::default();
    let mut skipped = Skipped::default();
    loop {
        let chunk = match timeout_at(exchange.deadline.at, stream.chunk()).await {
            Err(_) => return Err(exchange.timed_out(&skipped)),
            Ok(Err(_)) => return Err(exchange.lost("the stream of events broke", &skipped)),
            Ok(Ok(None)) => {
                let how = if blocks.is_inside_an_event() {
                    "the stream of events ended inside an event,"
                } else {
                    "the stream of events ended"
                };
                return Err(exchange.lost(how, &skipped));
            }
            Ok(Ok(Some(chunk))) => chunk,
        };
        for block in blocks.push(&chunk) {
            match block {
                Block::Oversized { ours: true } => return Err(exchange.answer_too_large()),
                Block::Oversized { ours: false } => skipped.oversized += 1,
                Block::Whole(bytes) => {
                    for event in parser.events(&bytes) {
                        if let Some(outcome) = hear(exchange, event, &mut skipped)? {
                            return Ok(outcome);
                        }
                    }
                }
            }
        }
    }
}

/// What one event means to the exchange. None when it is not its answer.
fn hear(
    exchange: &Exchange<'_>,
    event: Sse,
    skipped: &mut Skipped,
) -> Result<Option<Outcome>, Error> {
    // An event with nothing but an id, or with empty data, is a bookmark (B05).
    let Some(data) = event.data.filter(|data| !data.is_empty()) else { return Ok(None) };
    match event.event.as_deref().unwrap_or_default() {
        "" | "message" | "mcp" => match frame::hear(data.as_bytes(), exchange.id) {
            Heard::Reply(reply) => Ok(Some(Outcome::Reply(reply))),
            Heard::Other => Ok(None),
            Heard::Unreadable => {
                skipped.unreadable += 1;
                Ok(None)
            }
        },
        "error" => match judge_error_event(&data) {
            Some(Verdict::Gone) => Err(Error::Gone { route: ROUTE, happened: Happened::Unknown }),
            Some(_) => Err(Error::Unauthorized { route: ROUTE, happened: Happened::Unknown }),
            None => Ok(None),
        },
        // Heartbeats and other people's events (B07).
        _ => Ok(None),
    }
}

/// Reads one whole block. Field syntax is the parser crate's; ours is what goes in: a block within
/// its bound, in valid UTF-8. A block is whole here, so bytes that are no UTF-8 can be replaced
/// without a character being cut in two (B03).
#[derive(Debug, Default)]
struct Parser {
    is_past_start: bool,
}

impl Parser {
    fn events(&mut self, block: &[u8]) -> Vec<Sse> {
        let text = String::from_utf8_lossy(block).into_owned();
        // The parser takes a byte-order mark at its own start for the stream's. An empty line
        // first keeps a later mark what it is: part of a field's name (B13).
        let start = if std::mem::replace(&mut self.is_past_start, true) { "\n" } else { "" };
        let chunks =
            [start.to_owned(), text].map(|text| Ok::<_, std::io::Error>(Bytes::from(text)));
        SseByteStream::new(stream::iter(chunks))
            .filter_map(async |event| event.ok())
            .collect::<Vec<_>>()
            .now_or_never()
            // Every part of that stream is in memory, so it never has to wait.
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of every event, however the bytes were cut.
    fn data(stream: &[u8]) -> Vec<String> {
        let read = |chunks: &[&[u8]]| {
            let mut blocks = Blocks::new(1000, "id");
            let mut parser = Parser::default();
            let mut data = Vec::new();
            for block in chunks.iter().flat_map(|chunk| blocks.push(chunk)) {
                if let Block::Whole(bytes) = block {
                    data.extend(parser.events(&bytes).into_iter().filter_map(|event| event.data));
                }
            }
            data
        };
        let whole = read(&[stream]);
        for at in 0..stream.len() {
            assert_eq!(read(&[&stream[..at], &stream[at..]]), whole, "cut at {at}");
        }
        whole
    }

    #[test]
    fn the_rules_of_the_event_stream() {
        let table: &[(&str, &[u8], &[&str])] = &[
            ("LF", b"data: a\n\n", &["a"]),
            ("CR", b"data: a\r\r", &["a"]),
            ("CRLF", b"data: a\r\n\r\n", &["a"]),
            ("mixed", b"data: a\r\ndata: b\r\n\n", &["a\nb"]),
            ("no space", b"data:a\n\n", &["a"]),
            ("one space of two", b"data:  a\n\n", &[" a"]),
            ("comments between and inside", b": x\n\n:\ndata: a\n:y\ndata: b\n\n", &["a\nb"]),
            ("unknown field", b"foo: x\ndata: a\nbar\n\n", &["a"]),
            ("BOM at the start", b"\xEF\xBB\xBFdata: a\n\n", &["a"]),
            ("BOM later", b"data: a\n\n\xEF\xBB\xBFdata: b\n\ndata: c\n\n", &["a", "c"]),
            ("multi-byte", "data: é€😀\n\n".as_bytes(), &["é€😀"]),
            (
                "other line separators",
                "data: a\u{2028}b\u{85}c\u{b}d\n\n".as_bytes(),
                &["a\u{2028}b\u{85}c\u{b}d"],
            ),
            ("no UTF-8", b"data: a\xFFb\n\ndata: c\n\n", &["a\u{fffd}b", "c"]),
            ("unfinished", b"data: a\n\ndata: b\n", &["a"]),
            ("retry first", b"retry: 2000\n\nevent: mcp\ndata: a\n\n", &["a"]),
            ("empty data", b"id: 1\ndata\n\n", &[""]),
        ];
        for (name, stream, expected) in table {
            assert_eq!(data(stream), *expected, "{name}");
        }
    }
}
