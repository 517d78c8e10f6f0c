//! A client that writes its own HTTP, so that a test sees every byte and every instant.

#![allow(dead_code, clippy::unwrap_used, unreachable_pub, missing_docs)]

use std::sync::Arc;

use relay_simulator::clock::run_virtual;
use relay_simulator::journal::{Event, Tape};
use relay_simulator::relay::RelaySpec;
use relay_simulator::surface::SurfaceSpec;
use relay_simulator::wire::{Dialed, Endpoint, Wire, dial};
use relay_simulator::world::{Beside, World, WorldSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Duration, Instant};

pub const SESSION: &str = "session-1";
pub const TOKEN: &str = "0123456789abcdef";

/// A world in a test, and its journal.
pub struct Stage {
    pub world: World,
    pub tape: Arc<Tape>,
    pub began: Instant,
}

pub fn surface() -> SurfaceSpec {
    let spec = json!({"screens": {"screen_7": {"title": "Budget", "x": 0, "y": 0}, "screen_8": {"title": "Plan"}}});
    serde_json::from_value(spec).unwrap()
}

pub fn spec(relay: Value, people: Value) -> WorldSpec {
    WorldSpec {
        surface: surface(),
        relay: serde_json::from_value::<RelaySpec>(relay).unwrap(),
        session_id: SESSION.to_owned(),
        token: TOKEN.to_owned(),
        people: serde_json::from_value(people).unwrap(),
    }
}

/// Runs a case on the paused clock, on a Unix socket.
pub fn case<T>(relay: Value, body: impl AsyncFnOnce(&Stage) -> T) -> T {
    case_on(Wire::Unix, spec(relay, json!([])), body)
}

/// The same with a surface that is elsewhere.
pub fn case_without_surface<T>(relay: Value, body: impl AsyncFnOnce(&Stage) -> T) -> T {
    let beside = Beside { surface_elsewhere: true, ..Beside::default() };
    case_beside(Wire::Unix, spec(relay, json!([])), beside, body)
}

pub fn case_on<T>(wire: Wire, spec: WorldSpec, body: impl AsyncFnOnce(&Stage) -> T) -> T {
    case_beside(wire, spec, Beside::default(), body)
}

fn case_beside<T>(
    wire: Wire,
    spec: WorldSpec,
    beside: Beside,
    body: impl AsyncFnOnce(&Stage) -> T,
) -> T {
    run_virtual(async {
        let (tape, journal) = Tape::start();
        let world = World::start_beside(spec, wire, 7, journal, beside).await.unwrap();
        let stage = Stage { world, tape, began: Instant::now() };
        let told = body(&stage).await;
        stage.world.shutdown().await;
        told
    })
    .unwrap()
}

/// A whole answer, and when it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
    pub at: Duration,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Stage {
    pub fn endpoint(&self) -> &Endpoint {
        self.world.endpoint()
    }

    pub async fn send(&self, head: &str, body: &[u8]) -> Dialed {
        let mut stream = dial(self.endpoint()).await.unwrap();
        let length = match head.starts_with("POST") || !body.is_empty() {
            true => format!("content-length: {}\r\n", body.len()),
            false => String::new(),
        };
        let (line, more) = head.split_once('\n').unwrap_or((head, ""));
        let more: String = more.lines().map(|line| format!("{}\r\n", line.trim())).collect();
        let text = format!("{line} HTTP/1.1\r\nhost: relay\r\n{length}{more}\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        // A relay may refuse before it has read it all.
        let _ = stream.write_all(body).await;
        stream
    }

    /// A request and its whole answer; none when the connection ended before one.
    pub async fn try_ask(&self, head: &str, body: &[u8]) -> Option<Answer> {
        let mut stream = self.send(head, body).await;
        self.read_answer(&mut stream, !head.starts_with("HEAD")).await
    }

    pub async fn ask(&self, head: &str, body: &str) -> Answer {
        self.try_ask(head, body.as_bytes()).await.expect("an answer")
    }

    pub async fn read_answer(&self, stream: &mut Dialed, has_body: bool) -> Option<Answer> {
        let mut bytes = Vec::with_capacity(64 * 1024);
        let end = loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                break end;
            }
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut body = bytes[end + 4..].to_vec();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name == "content-length").then(|| value.parse::<usize>().unwrap())
        });
        let chunked = head.contains("transfer-encoding: chunked");
        loop {
            let done = match length.filter(|_| has_body) {
                Some(length) => body.len() >= length,
                None if chunked => body.ends_with(b"0\r\n\r\n"),
                None => true,
            };
            if done {
                break;
            }
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
        let body = if chunked { unchunk(&body) } else { body };
        let body = String::from_utf8_lossy(&body).into_owned();
        Some(Answer { status, head, body, at: self.began.elapsed() })
    }

    pub async fn post(&self, client: &str, frame: &Value) -> Answer {
        let head = format!("POST /{SESSION}/inbox?token={TOKEN}&client={client}");
        self.ask(&head, &frame.to_string()).await
    }

    pub async fn stream(&self, client: &str) -> EventStream {
        let head =
            format!("GET /{SESSION}/events?token={TOKEN}&client={client}&direction=outbound");
        self.open(&head).await
    }

    pub async fn open(&self, head: &str) -> EventStream {
        let stream = self.send(head, b"").await;
        EventStream { stream, raw: Vec::new(), began: self.began }
    }

    pub async fn poll(&self, client: &str, more: &str) -> Answer {
        let head = format!("GET /{SESSION}/outbox?token={TOKEN}&client={client}{more}");
        self.ask(&head, "").await
    }

    pub fn events(&self) -> Vec<Event> {
        self.tape.events()
    }

    pub fn faults(&self) -> Vec<(String, Option<String>)> {
        let faults = self.events().into_iter().filter_map(|event| match event {
            Event::Fault { says, breaks, .. } => Some((says, breaks)),
            _ => None,
        });
        faults.collect()
    }
}

/// An open event stream.
pub struct EventStream {
    stream: Dialed,
    pub raw: Vec<u8>,
    began: Instant,
}

impl EventStream {
    /// Reads what comes next; none at the end.
    pub async fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(64 * 1024);
        match self.stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => None,
            Ok(_) => {
                self.raw.extend_from_slice(&bytes);
                Some(bytes)
            }
        }
    }

    /// The body so far, out of its chunks.
    pub fn body(&self) -> String {
        let end = find(&self.raw, b"\r\n\r\n").map_or(self.raw.len(), |end| end + 4);
        String::from_utf8_lossy(&unchunk(&self.raw[end..])).into_owned()
    }

    /// Reads until the body holds a text, and says when it did. None: the stream ended first.
    pub async fn until(&mut self, text: &str) -> Option<Duration> {
        while !self.body().contains(text) {
            self.read().await?;
        }
        Some(self.began.elapsed())
    }

    /// Reads to the end and says when it came, and whether HTTP was finished.
    pub async fn end(&mut self) -> (Duration, bool) {
        while !self.raw.ends_with(b"\r\n0\r\n\r\n") {
            if self.read().await.is_none() {
                return (self.began.elapsed(), false);
            }
        }
        (self.began.elapsed(), true)
    }
}

pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The data of complete and half-received chunks.
pub fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some(end) = find(bytes, b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let start = end + 2;
        let stop = (start + size).min(bytes.len());
        data.extend_from_slice(&bytes[start..stop]);
        bytes = &bytes[(stop + 2).min(bytes.len())..];
    }
    data
}

pub fn request(id: impl Into<Value>, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method})
}

pub fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    })
}

pub fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}
