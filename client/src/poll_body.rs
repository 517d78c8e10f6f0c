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

use crate::frame::isolated;
use crate::revision::whole;

/// What a poll brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PollBody {
    /// The frames, each read by itself. One that cannot be read stays the text that it came as,
    /// which nobody takes for a frame, and its siblings stay (POLL-6).
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
/// Longer than any cursor or subscriber has to be, in bytes: each goes into the next URL.
const RETURNED_BYTES_MAX: usize = 1024;

/// Reads a poll's body. None when it is no such body; an empty one brought nothing.
///
/// The body is taken apart without being read: a frame that is nested too deep, holds a number
/// beyond all bounds or half a surrogate pair fails alone, when its turn comes (MCP-4). Bytes that
/// are no UTF-8 are replaced, as the stream of events does it.
pub(crate) fn read(body: &[u8]) -> Option<PollBody> {
    let text = String::from_utf8_lossy(body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim_ascii();
    match text.as_bytes().first() {
        None => Some(PollBody::default()),
        Some(b'[') => Some(PollBody { frames: frames(text)?, ..PollBody::default() }),
        Some(b'{') => read_object(text),
        Some(_) => (text == "null").then(PollBody::default),
    }
}

fn read_object(text: &str) -> Option<PollBody> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    // A frame is one by its envelope, whatever else it carries.
    if fields.contains_key("jsonrpc") {
        return Some(PollBody {
            frames: vec![frame(serde_json::from_str(text).ok()?)],
            ..PollBody::default()
        });
    }
    let cursor = CURSORS.iter().find_map(|name| cursor(fields.get(*name)?.get()));
    let subscriber = fields.get("subscriber").and_then(|raw| text_in(raw.get()));
    match LISTS.iter().find_map(|name| frames(fields.get(*name)?.get())) {
        Some(frames) => Some(PollBody { frames, cursor, subscriber }),
        None if cursor.is_some() || subscriber.is_some() || fields.is_empty() => {
            Some(PollBody { frames: Vec::new(), cursor, subscriber })
        }
        None => None,
    }
}

fn frames(list: &str) -> Option<Vec<Value>> {
    let list: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    Some(list.into_iter().map(frame).collect())
}

/// A frame, or the text of one.
fn frame(raw: &RawValue) -> Value {
    match isolated(raw) {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        frame => frame,
    }
}

/// A cursor is the relay's own: text as it came, or a whole number of any size.
fn cursor(raw: &str) -> Option<String> {
    let is_digits = raw.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits && raw.len() <= RETURNED_BYTES_MAX {
        return Some(raw.to_owned());
    }
    text_in(raw).or_else(|| whole(&serde_json::from_str(raw).ok()?))
}

fn text_in(raw: &str) -> Option<String> {
    let text: String = serde_json::from_str(raw).ok()?;
    (1..=RETURNED_BYTES_MAX).contains(&text.len()).then_some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
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
        assert_eq!(read("\u{feff}[] ".as_bytes()), Some(PollBody::default()));
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
            (json!([]), None),
            (json!("x".repeat(1025)), None),
        ] {
            check(&json!({ "frames": [], "cursor": cursor }), &[], expect, None);
        }
        check(&json!({ "frames": [], "cursor": null, "next": "n" }), &[], Some("n"), None);
        for (body, expect) in [
            (
                r#"{"events":[],"next":123456789012345678901234567890}"#,
                "123456789012345678901234567890",
            ),
            (r#"{"events":[],"next":17.0}"#, "17"),
            (r#"{"events":[],"next":-1}"#, "-1"),
        ] {
            assert_eq!(read(body.as_bytes()).unwrap().cursor.as_deref(), Some(expect), "{body}");
        }
    }

    #[test]
    fn a_frame_that_cannot_be_read_fails_alone() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let bad = [
            "1e999".to_owned(),
            r#""\ud800""#.to_owned(),
            deep.clone(),
            format!(r#"{{"jsonrpc":"2.0","id":2,"result":{deep}}}"#),
            r#"{"jsonrpc":"2.0","id":2,"result":"\udfff"}"#.to_owned(),
        ];
        let one = frame(1);
        for bad in bad {
            for body in [
                format!("[{one},{bad},{one}]"),
                format!(r#"{{"frames":[{one},{bad},{one}],"cursor":"9"}}"#),
                format!(r#"{{"other":{bad},"events":[{one},{bad},{one}]}}"#),
            ] {
                let read = read(body.as_bytes()).unwrap();
                assert_eq!(read.frames.len(), 3, "{}", &body[..80]);
                assert_eq!([&read.frames[0], &read.frames[2]], [&one, &one]);
                assert!(read.frames[1].is_string());
            }
        }
        let alone = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{deep}}}"#);
        assert!(read(alone.as_bytes()).unwrap().frames[0].is_string());
        let broken_bytes = b"[{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"},7]";
        assert_eq!(read(broken_bytes).unwrap().frames.len(), 2);
    }

    #[test]
    fn what_is_no_poll_body_is_none_and_never_a_panic() {
        assert_eq!(read(b""), Some(PollBody::default()));
        assert_eq!(read(b" \r\n"), Some(PollBody::default()));
        let deep = "[".repeat(100_000);
        for body in ["<html>", "{", "7", "\"x\"", "true", "{\"ok\":true}", deep.as_str()] {
            assert_eq!(read(body.as_bytes()), None, "{}", &body[..body.len().min(20)]);
        }
        assert_eq!(read(&[0xff, 0xfe]), None);
    }

    proptest! {
        #[test]
        fn no_body_is_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(body) = read(&bytes) {
                for frame in body.frames {
                    let _ = crate::frame::hear_value(frame, "id");
                }
            }
        }

        /// Whatever one member of a well-formed list is, its neighbours are read.
        #[test]
        fn no_member_takes_its_neighbours_along(text in ".{0,40}", cut in 0usize..60, name in 0usize..3) {
            let good = frame(1);
            let whole = json!({ "jsonrpc": "2.0", "id": text, "result": [1.5, text] }).to_string();
            let half: String = whole.chars().take(cut).collect();
            let list = json!([good.to_string(), half, good]);
            let body = json!({ LISTS[name]: list, "cursor": "9" }).to_string();
            let read = read(body.as_bytes()).unwrap();
            prop_assert_eq!(read.frames.len(), 3);
            prop_assert_eq!([&read.frames[0], &read.frames[2]], [&good, &good]);
            prop_assert_eq!(read.cursor.as_deref(), Some("9"));
        }
    }
}
