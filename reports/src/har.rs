//! The HTTP of a run's records as HAR 1.2, for a browser's network panel and its kin.
//!
//! A record holds no address and no wall-clock time, and neither does the HAR: hosts are
//! `relay.invalid`, and time begins at the epoch and runs on the case's own clock. Bodies are the
//! frames that the exchange carried; a header that does not matter to the contract is not there.

use crate::record::{Direction, Event, Record};
use crate::redact::{Draft, Redactor};
use crate::verdict::{Case, Run};
use indexmap::IndexMap;
use serde_json::{Value, json};

/// A name that resolves nowhere (RFC 6761): a record holds no address.
const HOST: &str = "http://relay.invalid";

/// Every kept record of a run as one HAR, one page a case, every secret replaced (AUTH-2).
pub fn write(run: &Run, redactor: &Redactor) -> String {
    let run = redactor.clean(run);
    let kept: Vec<(&Case, &Record)> =
        run.cases.iter().filter_map(|case| Some((case, case.record.as_ref()?))).collect();
    let pages: Vec<Value> = kept.iter().map(|(case, _)| page(case)).collect();
    let entries: Vec<Value> =
        kept.iter().flat_map(|(case, record)| entries(&case.id, record)).collect();
    let har = json!({"log": {
        "version": "1.2",
        "creator": {"name": "relay-testbed", "version": run.testbed},
        "pages": pages,
        "entries": entries,
    }});
    redactor.release(Draft::from(format!("{har:#}\n")))
}

fn page(case: &Case) -> Value {
    json!({
        "startedDateTime": date_time(0),
        "id": case.id,
        "title": case.id,
        "pageTimings": {},
        "comment": case.verdict.word(),
    })
}

/// What is known of one exchange once the whole record was read.
#[derive(Default)]
struct Exchange<'r> {
    asked: Option<(u64, &'r Event)>,
    answered: Option<(u64, u16, &'r IndexMap<String, String>)>,
    ended: Option<(u64, u64, &'r str)>,
    sent: Vec<&'r Value>,
    received: Vec<&'r Value>,
    faults: Vec<&'r str>,
    last_at: u64,
}

fn entries(page: &str, record: &Record) -> Vec<Value> {
    let mut exchanges: IndexMap<u64, Exchange<'_>> = IndexMap::new();
    for entry in &record.entries {
        let Some(number) = exchange_of(&entry.event) else { continue };
        let exchange = exchanges.entry(number).or_default();
        exchange.last_at = entry.at;
        match &entry.event {
            event @ Event::Request { .. } => exchange.asked = Some((entry.at, event)),
            Event::Response { status, headers, .. } => {
                exchange.answered = Some((entry.at, *status, headers));
            }
            Event::ResponseEnded { bytes, how, .. } => {
                exchange.ended = Some((entry.at, *bytes, how.as_str()));
            }
            Event::Frame { direction: Direction::ToSurface, frame, .. } => {
                exchange.sent.push(frame);
            }
            Event::Frame { direction: Direction::ToClient, frame, .. } => {
                exchange.received.push(frame);
            }
            Event::Fault { says, .. } => exchange.faults.push(says.as_str()),
            _ => {}
        }
    }
    exchanges.into_iter().filter_map(|(number, exchange)| entry(page, number, &exchange)).collect()
}

fn exchange_of(event: &Event) -> Option<u64> {
    match event {
        Event::Request { exchange, .. }
        | Event::Response { exchange, .. }
        | Event::ResponseEnded { exchange, .. } => Some(*exchange),
        Event::Frame { exchange, .. } | Event::Fault { exchange, .. } => *exchange,
        _ => None,
    }
}

fn entry(page: &str, number: u64, exchange: &Exchange<'_>) -> Option<Value> {
    let (started, Event::Request { method, route, query, headers, bytes, .. }) = exchange.asked?
    else {
        return None;
    };
    let answered = exchange.answered.map_or(exchange.last_at, |(at, _, _)| at);
    let ended = exchange.ended.map_or(exchange.last_at, |(at, _, _)| at).max(answered);
    let mut request = json!({
        "method": method,
        "url": url(route, query),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": pairs(headers),
        "queryString": pairs(query),
        "headersSize": -1,
        "bodySize": bytes,
    });
    if *bytes > 0 {
        request["postData"] = json!({"mimeType": "application/json", "text": body(&exchange.sent)});
    }
    Some(json!({
        "pageref": page,
        "startedDateTime": date_time(started),
        "time": ms(ended.saturating_sub(started)),
        "request": request,
        "response": response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": ms(answered.saturating_sub(started)), "receive": ms(ended.saturating_sub(answered))},
        "comment": comment(number, exchange),
    }))
}

/// A response that never came has status 0, as browsers write it.
fn response(exchange: &Exchange<'_>) -> Value {
    let none = IndexMap::new();
    let (status, headers) = exchange.answered.map_or((0, &none), |(_, status, h)| (status, h));
    let bytes = exchange.ended.map_or(-1, |(_, bytes, _)| i64::try_from(bytes).unwrap_or(-1));
    let mime = headers.get("content-type").map_or("", String::as_str);
    json!({
        "status": status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": pairs(headers),
        "content": {"size": bytes.max(0), "mimeType": mime, "text": body(&exchange.received)},
        "redirectURL": headers.get("location").map_or("", String::as_str),
        "headersSize": -1,
        "bodySize": bytes,
    })
}

fn comment(number: u64, exchange: &Exchange<'_>) -> String {
    let mut parts = vec![format!("exchange {number}")];
    parts.extend(exchange.ended.map(|(_, _, how)| how.to_owned()));
    parts.extend(exchange.faults.iter().map(|says| format!("fault: {says}")));
    parts.join("; ")
}

fn url(route: &str, query: &IndexMap<String, String>) -> String {
    let query: Vec<String> =
        query.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{HOST}/{}{mark}{}", encoded(route), query.join("&"))
}

/// Percent-encodes all but RFC 3986's unreserved characters, and the brackets of `[token]`, which
/// a reader should be able to read.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'[' | b']' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn pairs(map: &IndexMap<String, String>) -> Vec<Value> {
    map.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

/// The frames of a body, one a line.
fn body(frames: &[&Value]) -> String {
    let line = |frame: &&Value| match frame {
        Value::String(text) => text.clone(),
        frame => frame.to_string(),
    };
    frames.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn ms(us: u64) -> Value {
    if us.is_multiple_of(1000) { json!(us / 1000) } else { json!(us as f64 / 1000.0) }
}

/// A moment of a case as a time of the first of January 1970: HAR wants a date, and a case has
/// none.
fn date_time(us: u64) -> String {
    let seconds = us / 1_000_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    // A case lasts an hour at most; one that claims a month stays at its last day.
    let day = (days + 1).min(31);
    format!("1970-01-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:06}Z", us % 1_000_000)
}
