//! The body of a poll, in every shape that brokers send (POLL-2, POLL-6).
//!
//! ```text
//! {"id":"…","jsonrpc":"2.0","result":{}}        one frame
//! [{…},{…}]                                     a list of frames
//! {"frames":[{…}],"cursor":"17"}                a list and a cursor
//! {"events":[{…}],"next":17}                    the same, named otherwise
//! {"subscriber":"…","frames":["<raw frame>"]}   the public relays' dialect
//! ```

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::frame::{isolated, isolated_list};
use crate::revision::whole;

/// What a poll brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PollBody {
    /// The frames, each to be looked at for itself: one bad frame does not take its siblings with
    /// it. One that was sent as text and is no JSON stays text, which no one takes for a frame.
    pub(crate) frames: Vec<Value>,
    /// Goes back as `after` (POLL-2).
    pub(crate) cursor: Option<String>,
    /// Goes back as `subscriber`.
    pub(crate) subscriber: Option<String>,
}

/// The names of the list.
const LISTS: [&str; 3] = ["frames", "events", "messages"];
/// The names of the cursor.
const CURSORS: [&str; 3] = ["cursor", "next", "last_event_id"];

/// Reads a poll's body. None when it is no such body; an empty one brought nothing.
pub(crate) fn read(body: &[u8]) -> Option<PollBody> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Some(PollBody::default());
    }
    match serde_json::from_slice(body).ok().or_else(|| isolated_body(body))? {
        Value::Null => Some(PollBody::default()),
        Value::Array(frames) => Some(PollBody { frames: opened(frames), ..PollBody::default() }),
        Value::Object(mut fields) => {
            // A frame is one by its envelope, whatever else it carries.
            if fields.contains_key("jsonrpc") {
                let frames = vec![Value::Object(fields)];
                return Some(PollBody { frames, ..PollBody::default() });
            }
            let cursor = CURSORS.iter().find_map(|name| fields.get(*name)).and_then(cursor);
            let subscriber = fields.get("subscriber").and_then(Value::as_str).map(str::to_owned);
            let list = LISTS.iter().find_map(|name| match fields.remove(*name) {
                Some(Value::Array(frames)) => Some(frames),
                _ => None,
            });
            match list {
                Some(frames) => Some(PollBody { frames: opened(frames), cursor, subscriber }),
                None if cursor.is_some() || subscriber.is_some() || fields.is_empty() => {
                    Some(PollBody { frames: Vec::new(), cursor, subscriber })
                }
                None => None,
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A body whose text as a whole cannot be read, with each frame of its list read by itself
/// (POLL-6).
fn isolated_body(body: &[u8]) -> Option<Value> {
    isolated_list(body).or_else(|| {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(body).ok()?;
        if fields.contains_key("jsonrpc") {
            // One frame, and half of one says nothing.
            return None;
        }
        let read =
            |raw: &RawValue| isolated_list(raw.get().as_bytes()).unwrap_or_else(|| isolated(raw));
        Some(fields.into_iter().map(|(name, raw)| (name, read(raw))).collect())
    })
}

/// Frames that were sent as text are read each by itself.
fn opened(frames: Vec<Value>) -> Vec<Value> {
    let open = |frame| match frame {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        frame => frame,
    };
    frames.into_iter().map(open).collect()
}

/// A cursor is the relay's own: text as it came, or a whole number.
fn cursor(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => whole(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn frame(id: u64) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "result": {} })
    }

    #[track_caller]
    fn check(body: &Value, frames: &[Value], cursor: Option<&str>, subscriber: Option<&str>) {
        let read = read(body.to_string().as_bytes()).unwrap();
        assert_eq!(read.frames, frames, "{body}");
        assert_eq!(read.cursor.as_deref(), cursor, "{body}");
        assert_eq!(read.subscriber.as_deref(), subscriber, "{body}");
    }

    #[test]
    fn every_shape_is_read() {
        let (one, two) = (frame(1), frame(2));
        check(&one, std::slice::from_ref(&one), None, None);
        check(&json!([one, two]), &[one.clone(), two.clone()], None, None);
        check(
            &json!({ "frames": [one], "cursor": "17" }),
            std::slice::from_ref(&one),
            Some("17"),
            None,
        );
        check(
            &json!({ "events": [one], "next": 17 }),
            std::slice::from_ref(&one),
            Some("17"),
            None,
        );
        check(
            &json!({ "messages": [one], "last_event_id": "e" }),
            std::slice::from_ref(&one),
            Some("e"),
            None,
        );
        let public = json!({ "subscriber": "0123456789abcdef", "frames": [one.to_string()] });
        check(&public, std::slice::from_ref(&one), None, Some("0123456789abcdef"));
        check(&json!({ "frames": [], "cursor": "9" }), &[], Some("9"), None);
        check(&json!({ "cursor": "9" }), &[], Some("9"), None);
        check(&json!({}), &[], None, None);
        check(&json!([]), &[], None, None);
        check(&json!(null), &[], None, None);
    }

    #[test]
    fn a_bad_frame_does_not_take_its_siblings_with_it() {
        let (one, two) = (frame(1), frame(2));
        let body = json!({ "frames": [one.to_string(), "not json", two.to_string()] });
        check(&body, &[one.clone(), json!("not json"), two.clone()], None, None);
        check(&json!([one, 7, two]), &[one.clone(), json!(7), two.clone()], None, None);
    }

    #[test]
    fn a_cursor_is_text_or_a_whole_number() {
        for (cursor, expect) in [
            (json!("a b"), Some("a b")),
            (json!(0), Some("0")),
            (json!(""), None),
            (json!(true), None),
            (json!(1.5), None),
            (json!(null), None),
        ] {
            check(&json!({ "frames": [], "cursor": cursor }), &[], expect, None);
        }
    }

    #[test]
    fn what_is_no_poll_body_is_none_and_never_a_panic() {
        assert_eq!(read(b""), Some(PollBody::default()));
        assert_eq!(read(b" \r\n"), Some(PollBody::default()));
        let deep = "[".repeat(100_000);
        for body in
            ["<html>", "{", "7", "\"x\"", "true", "{\"ok\":true}", "\u{feff}[]", deep.as_str()]
        {
            assert_eq!(read(body.as_bytes()), None, "{}", &body[..body.len().min(20)]);
        }
        assert_eq!(read(&[0xff, 0xfe]), None);
    }

    #[test]
    fn a_frame_that_cannot_be_read_does_not_take_its_siblings_with_it() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for bad in [r#"{"result":"\ud800"}"#, r#"{"result":1e999}"#, deep.as_str()] {
            for (body, cursor) in [
                (format!(r#"[{bad},{{"jsonrpc":"2.0"}}]"#), None),
                (format!(r#"{{"frames":[{bad},{{"jsonrpc":"2.0"}}],"cursor":"17"}}"#), Some("17")),
            ] {
                let read = read(body.as_bytes()).unwrap();
                assert_eq!(read.frames.len(), 2, "{body}");
                assert!(read.frames[0].is_string());
                assert_eq!(read.frames[1], json!({ "jsonrpc": "2.0" }));
                assert_eq!(read.cursor.as_deref(), cursor);
            }
        }
        let half = r#"{"jsonrpc":"2.0","id":"a","result":"\ud800"}"#;
        assert_eq!(read(half.as_bytes()), None);
        assert!(read(format!("[{half}]").as_bytes()).unwrap().frames[0].is_string());
    }
}
