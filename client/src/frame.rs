//! Frames as this client hears them: whose they are, and what they say.
//!
//! An answer is one that carries exactly the id that was asked, of the same type (IDENT-3).
//! Everything else on the wire is somebody else's business or nobody's, and never an error of the
//! exchange that hears it (MCP-4).

use serde_json::Value;
use serde_json::value::RawValue;

/// What a frame says to the one who asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// The result.
    Result(Value),
    /// The error object.
    Error(Value),
}

/// What was heard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    /// The answer that was waited for.
    Reply(Reply),
    /// A frame for somebody else, or one that asks or tells something.
    Other,
    /// Not a frame at all.
    Unreadable,
}

/// Reads the bytes of a frame, or of a batch.
pub(crate) fn hear(bytes: &[u8], id: &str) -> Heard {
    match serde_json::from_slice(bytes).ok().or_else(|| isolated_list(bytes)) {
        Some(value) => hear_value(value, id),
        None => Heard::Unreadable,
    }
}

/// A list whose text as a whole cannot be read, member by member. One that cannot be read by itself
/// (half a surrogate, a number past every range, nesting past every use) stays text, which no one
/// takes for a frame.
pub(crate) fn isolated_list(bytes: &[u8]) -> Option<Value> {
    let members: Vec<&RawValue> = serde_json::from_slice(bytes).ok()?;
    Some(members.into_iter().map(isolated).collect())
}

/// A value by itself, or its text when it cannot be read.
pub(crate) fn isolated(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| Value::from(raw.get()))
}

/// Reads a frame, a batch, or the text of either. In a batch the answer is looked for among the
/// members; one bad member does not take the others with it.
pub(crate) fn hear_value(value: Value, id: &str) -> Heard {
    match value {
        Value::Array(members) if !members.is_empty() => {
            let mut any_frame = false;
            for member in members {
                match hear_one(member, id) {
                    Heard::Reply(reply) => return Heard::Reply(reply),
                    Heard::Other => any_frame = true,
                    Heard::Unreadable => {}
                }
            }
            if any_frame { Heard::Other } else { Heard::Unreadable }
        }
        value => hear_one(value, id),
    }
}

/// The answer in a body that may hold one, such as a POST's own (D21). Both halves of JSON-RPC's
/// envelope must be there: a relay's own `{"ok":true}` is none.
pub(crate) fn reply_in(bytes: &[u8], id: &str) -> Option<Reply> {
    match hear(bytes, id) {
        Heard::Reply(reply) => Some(reply),
        Heard::Other | Heard::Unreadable => None,
    }
}

fn hear_one(value: Value, id: &str) -> Heard {
    let Value::Object(mut frame) = value else { return Heard::Unreadable };
    if frame.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Heard::Unreadable;
    }
    if frame.contains_key("method") {
        return Heard::Other;
    }
    let is_mine = matches!(frame.get("id"), Some(Value::String(answered)) if answered == id);
    let error = frame.remove("error").filter(|error| !error.is_null());
    let result = frame.remove("result");
    let reply = match (result, error) {
        (Some(result), None) => Reply::Result(result),
        (None, Some(error)) => Reply::Error(error),
        // Both, or neither: nobody can tell what it says.
        (Some(_), Some(_)) | (None, None) => return Heard::Unreadable,
    };
    if is_mine { Heard::Reply(reply) } else { Heard::Other }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "a1-7";

    #[track_caller]
    fn check(frame: Value, expect: Heard) {
        assert_eq!(hear(frame.to_string().as_bytes(), ID), expect, "{frame}");
    }

    fn result() -> Heard {
        Heard::Reply(Reply::Result(json!({})))
    }

    #[test]
    fn only_exactly_the_id_that_was_asked_is_an_answer() {
        let with = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        check(with(json!(ID)), result());
        for id in [
            json!("A1-7"),
            json!("a1-7 "),
            json!("a1-8"),
            json!(7),
            json!(true),
            json!(null),
            json!([ID]),
        ] {
            check(with(id), Heard::Other);
        }
        check(json!({ "jsonrpc": "2.0", "result": {} }), Heard::Other);
    }

    #[test]
    fn a_request_of_the_surface_with_the_same_id_is_no_answer() {
        check(json!({ "jsonrpc": "2.0", "id": ID, "method": "ping", "result": {} }), Heard::Other);
        check(json!({ "jsonrpc": "2.0", "id": ID, "method": "ping" }), Heard::Other);
        check(json!({ "jsonrpc": "2.0", "method": "notifications/x" }), Heard::Other);
    }

    #[test]
    fn an_answer_says_one_thing() {
        let with = |mut parts: Value| {
            parts["jsonrpc"] = json!("2.0");
            parts["id"] = json!(ID);
            parts
        };
        let error = Heard::Reply(Reply::Error(json!({ "code": 1 })));
        check(with(json!({ "error": { "code": 1 } })), error);
        check(with(json!({ "result": {}, "error": null })), result());
        check(with(json!({ "result": null })), Heard::Reply(Reply::Result(json!(null))));
        check(with(json!({ "result": {}, "error": { "code": 1 } })), Heard::Unreadable);
        check(with(json!({})), Heard::Unreadable);
        check(with(json!({ "error": null })), Heard::Unreadable);
    }

    #[test]
    fn the_answer_is_found_in_a_batch() {
        let mine = json!({ "jsonrpc": "2.0", "id": ID, "result": {} });
        let other = json!({ "jsonrpc": "2.0", "id": 9, "result": {} });
        check(json!([other, "junk", mine]), result());
        check(json!([other]), Heard::Other);
        check(json!(["junk"]), Heard::Unreadable);
        check(json!([]), Heard::Unreadable);
        check(json!([[mine]]), Heard::Unreadable);
    }

    #[test]
    fn what_is_no_frame_is_skipped_and_never_a_panic() {
        let deep = "[".repeat(100_000);
        let texts = [
            "",
            "x",
            "null",
            "1",
            "\"text\"",
            "{",
            "{}",
            "{\"id\":\"a1-7\",\"result\":{}}",
            "{\"jsonrpc\":\"1.0\",\"id\":\"a1-7\",\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":\"a1-7\",\"result\":\"\\ud800\"}",
            deep.as_str(),
        ];
        for text in texts {
            assert_eq!(
                hear(text.as_bytes(), ID),
                Heard::Unreadable,
                "{}",
                &text[..text.len().min(60)]
            );
        }
        assert_eq!(
            hear(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":{}}", ID),
            Heard::Unreadable
        );
        let huge = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{ID}\",\"result\":1e999}}");
        assert_eq!(hear(huge.as_bytes(), ID), Heard::Unreadable);
    }
}
