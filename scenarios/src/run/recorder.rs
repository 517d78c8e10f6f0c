//! Writes the record: every event of the case, in the order of the world, converted once from
//! the live types to the recorded ones.

use crate::judge::LEAKED;
use relay_reports::record::{AnswerError, Author, CellChange, ChangeRow, Direction, Entry, Event};
use relay_simulator::journal::{self, Sink};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// The record of a case while it is being written.
pub(crate) struct Recorder {
    began: Instant,
    token: String,
    entries: Mutex<Vec<Entry>>,
}

impl Recorder {
    /// An empty record. Its clock starts now; `token` is what must never be written down.
    pub(crate) fn start(token: &str) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            token: token.to_owned(),
            entries: Mutex::new(Vec::with_capacity(128)),
        })
    }

    /// Writes one event and tells its sequence number.
    pub(crate) fn write(&self, event: Event) -> u64 {
        let at = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = entries.len() as u64 + 1;
        entries.push(Entry { seq, at, event });
        seq
    }

    /// What a client gave its caller.
    pub(crate) fn answer(
        &self,
        agent: &str,
        step: usize,
        operation: &str,
        answer: Result<Value, AnswerError>,
    ) {
        let (ok, error) = match answer {
            Ok(mut ok) => {
                self.hide_in(&mut ok);
                (Some(ok), None)
            }
            Err(mut error) => {
                self.hide(&mut error.message);
                self.hide(&mut error.native);
                (None, Some(error))
            }
        };
        let (agent, operation) = (agent.to_owned(), operation.to_owned());
        self.write(Event::Answer { agent, step, operation, ok, error });
    }

    /// A line that the client logged.
    pub(crate) fn log(&self, level: &str, target: &str, mut message: String) {
        self.hide(&mut message);
        self.write(Event::Log { level: level.to_owned(), target: target.to_owned(), message });
    }

    /// Everything that was written. The recorder is empty afterwards.
    pub(crate) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the token by a mark that judging finds (AUTH-2): the slip is kept, the secret is
    /// not.
    fn hide(&self, text: &mut String) {
        if text.contains(&self.token) {
            *text = text.replace(&self.token, LEAKED);
        }
    }

    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.hide_in(value)),
            _ => {}
        }
    }
}

impl Sink for Recorder {
    fn note(&self, event: journal::Event) {
        self.write(recorded(event));
    }
}

/// Frames past this size are kept by their size and beginning. What is judged of a frame (its
/// method, tool, pin, id) is never that long; what is long is the payload of a bound's test.
const FRAME_BYTES_KEPT: usize = 32 * 1024;

fn recorded(event: journal::Event) -> Event {
    use journal::Event as Live;
    match event {
        Live::Request { exchange, client, method, route, query, headers, bytes } => {
            Event::Request { exchange, client, method, route, query, headers, bytes }
        }
        Live::Response { exchange, status, headers } => {
            Event::Response { exchange, status, headers }
        }
        Live::ResponseEnded { exchange, bytes, how } => {
            Event::ResponseEnded { exchange, bytes, how: how.to_string() }
        }
        Live::Frame { exchange, direction, client, frame } => Event::Frame {
            exchange,
            direction: match direction {
                journal::Direction::ToSurface => Direction::ToSurface,
                journal::Direction::ToClient => Direction::ToClient,
            },
            client,
            frame: kept(frame),
        },
        Live::Fault { rule, says, breaks, exchange } => {
            Event::Fault { rule, says, breaks, exchange }
        }
        Live::Write { write, author, action, cells, request } => Event::Write {
            write,
            author: match author {
                journal::Author::Person { name } => Author::Person { name },
                journal::Author::Agent { client } => Author::Agent { client },
            },
            action,
            cells: cells.into_iter().map(cell).collect(),
            request,
        },
        Live::Delivery { client, as_of, cells, rows, revision, request } => Event::Delivery {
            client,
            as_of,
            cells,
            rows: rows.into_iter().map(row).collect(),
            revision,
            request,
        },
        Live::StaleRefusal { client, tool, pin, would_write, as_of, request } => {
            Event::StaleRefusal { client, tool, pin, would_write, as_of, request }
        }
        Live::Session { what, client } => Event::Session { what, client },
        Live::Note { says } => Event::Note { says },
    }
}

fn cell(cell: journal::CellChange) -> CellChange {
    let journal::CellChange { handle, field, old, new } = cell;
    CellChange { handle, field, old, new }
}

fn row(row: journal::ChangeRow) -> ChangeRow {
    let journal::ChangeRow { handle, write, actor } = row;
    ChangeRow { handle, write, actor }
}

fn kept(frame: Value) -> Value {
    // Most frames are small: a rough upper bound saves printing each of them.
    if weight(&frame) <= FRAME_BYTES_KEPT {
        return frame;
    }
    let bytes = frame.to_string().len();
    match frame {
        Value::Object(mut fields) => {
            for (key, value) in &mut fields {
                if !matches!(key.as_str(), "jsonrpc" | "id" | "method") && weight(value) > 1024 {
                    *value = Value::String(format!(
                        "[left out of the record; the frame has {bytes} bytes]"
                    ));
                }
            }
            Value::Object(fields)
        }
        _ => Value::String(format!("[left out of the record: {bytes} bytes]")),
    }
}

/// Bytes of the texts in a value, keys included: close to its size, and cheap.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + weight(value) + 4).sum()
        }
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn the_token_never_reaches_a_record_and_its_slip_does() {
        let recorder = Recorder::start("sesame-sesame-sesame");
        recorder.log("debug", "client", "GET ?token=sesame-sesame-sesame".into());
        let slip = json!({ "text": ["x sesame-sesame-sesame y"] });
        recorder.answer("agent", 0, "call", Ok(slip));
        let error = AnswerError {
            code: "timeout".into(),
            native: "T(sesame-sesame-sesame)".into(),
            message: "sesame-sesame-sesame".into(),
            happened: None,
        };
        recorder.answer("agent", 0, "call", Err(error));
        let text = serde_json::to_string(&recorder.take()).unwrap();
        assert!(!text.contains("sesame-sesame"), "{text}");
        assert_eq!(text.matches(LEAKED).count(), 4, "{text}");
    }

    #[test]
    fn an_oversized_frame_keeps_what_is_judged_of_it() {
        let frame = json!({ "id": 7, "result": { "content": "x".repeat(300_000) } });
        let kept = kept(frame);
        assert_eq!(kept["id"], 7);
        assert!(kept["result"].as_str().unwrap().contains("300"), "{kept}");
        let small = json!({ "id": 7, "result": { "content": "x" } });
        assert_eq!(super::kept(small.clone()), small);
    }
}
