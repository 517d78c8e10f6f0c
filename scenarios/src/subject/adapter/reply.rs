//! One line of stdout, read as an answer. Pure: the host decides what to do about it.

use serde_json::{Map, Value};

use super::fault::AdapterFault;
use crate::subject::protocol::OperationError;

/// How many characters of a bad line are shown.
const SHOWN: usize = 200;

/// The half of an answer that does not depend on what was asked.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::subject) enum Outcome {
    /// It went well; the shape of the value is the operation's business.
    Ok(Value),
    /// It did not.
    Error(OperationError),
}

/// Reads a line of stdout.
pub(super) fn read(line: &[u8]) -> Result<(u64, Outcome), AdapterFault> {
    let value: Value = serde_json::from_slice(line).map_err(|error| AdapterFault::NotJson {
        line: shown(line),
        why: error.to_string(),
        hint: hint(line, &error.to_string()),
    })?;
    let answer = |why: String| AdapterFault::NotAnAnswer { line: shown(line), why };
    let Value::Object(mut fields) = value else {
        return Err(answer("it is not an object".into()));
    };
    let id = id(&fields).map_err(answer)?;
    fields.shift_remove("id");
    let ok = fields.shift_remove("ok");
    let error = fields.shift_remove("error");
    if let Some(key) = fields.keys().next() {
        return Err(answer(format!("`{key}` is neither `id`, `ok` nor `error`")));
    }
    match (ok, error) {
        (Some(ok), None) => Ok((id, Outcome::Ok(ok))),
        (None, Some(error)) => match serde_json::from_value(error) {
            Ok(error) => Ok((id, Outcome::Error(error))),
            Err(why) => Err(answer(format!("its `error` has the wrong shape: {why}"))),
        },
        (Some(_), Some(_)) => Err(answer("it has both `ok` and `error`".into())),
        (None, None) => Err(answer("it has neither `ok` nor `error`".into())),
    }
}

fn id(fields: &Map<String, Value>) -> Result<u64, String> {
    match fields.get("id") {
        Some(Value::Number(id)) if id.is_u64() => Ok(id.as_u64().unwrap_or_default()),
        Some(Value::String(id)) => {
            Err(format!("its `id` is the string `{id}`; an id goes back as the number it was"))
        }
        Some(id) => Err(format!("its `id` is `{id}`; an id goes back as the number it was")),
        None => Err("it has no `id`".into()),
    }
}

/// The beginning of a line, on one line.
pub(super) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown: String =
        text.chars().take(SHOWN).map(|one| if one.is_control() { '·' } else { one }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// What people usually got wrong when a line looks like this one.
fn hint(line: &[u8], why: &str) -> &'static str {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_start();
    if text.starts_with('\u{feff}') {
        "write no byte order mark"
    } else if text.starts_with("{'") {
        "this is how Python prints a dict; write `json.dumps(answer)`"
    } else if why.contains("hex escape") && text.to_lowercase().contains("\\ud") {
        "a lone surrogate cannot be sent; replace it by U+FFFD before you serialise"
    } else if std::str::from_utf8(line).is_err() {
        "escape everything that is not ASCII (`ensure_ascii` in Python)"
    } else if why.contains("recursion") {
        "an answer nests deeper than any operation's answer does"
    } else if text.starts_with('{') && (text.contains("NaN") || text.contains("Infinity")) {
        "JSON has no NaN and no Infinity"
    } else if text.starts_with('{') {
        "write each answer as one whole line, and let no two threads write at once"
    } else {
        "stdout carries answers only; write logs, prints and warnings to stderr"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::subject::protocol::ErrorCode;

    #[test]
    fn both_halves_are_read() {
        assert_eq!(
            read(br#"{"id":3,"ok":{"text":"hi"}}"#).unwrap(),
            (3, Outcome::Ok(json!({ "text": "hi" })))
        );
        let (id, outcome) =
            read(br#" {"error":{"code":"gone","native":"Gone","message":"m"},"id":4} "#).unwrap();
        assert_eq!(id, 4);
        let Outcome::Error(error) = outcome else { panic!("{outcome:?}") };
        assert_eq!((error.code, error.native.as_str()), (ErrorCode::Gone, "Gone"));
    }

    /// `expect` is a part of what a person reads.
    fn check(line: &[u8], expect: &str) {
        let fault = read(line).unwrap_err().to_string();
        assert!(fault.contains(expect), "{fault}\n  does not say: {expect}");
    }

    #[test]
    fn a_line_that_is_not_json_is_met_with_help() {
        check(b"Listening on port 3000", "stdout carries answers only");
        check(b"{'id': 1, 'ok': {}}", "json.dumps");
        check(br#"{"id":1,"ok":{"text":"\ud800"}}"#, "lone surrogate");
        check(b"{\"id\":1,\"ok\":\"\xff\"}", "ensure_ascii");
        check(br#"{"id":1,"ok":NaN}"#, "no NaN");
        check(br#"{"id":1,"ok":{}}{"id":2,"ok":{}}"#, "no two threads");
        check("\u{feff}{}".as_bytes(), "byte order mark");
        let deep = [b"{\"id\":1,\"ok\":".as_slice(), &vec![b'['; 4_000]].concat();
        check(&deep, "nests deeper");
    }

    #[test]
    fn json_that_is_not_an_answer_is_told_why() {
        check(b"[]", "not an object");
        check(br#"{"ok":{}}"#, "it has no `id`");
        check(br#"{"id":"7","ok":{}}"#, "the string `7`");
        check(br#"{"id":1.5,"ok":{}}"#, "its `id` is `1.5`");
        check(br#"{"id":1}"#, "neither `ok` nor `error`");
        check(br#"{"id":1,"ok":{},"error":null}"#, "both `ok` and `error`");
        check(br#"{"id":1,"ok":{},"okay":{}}"#, "`okay` is neither");
        check(br#"{"id":1,"error":"boom"}"#, "its `error` has the wrong shape");
        check(
            br#"{"id":1,"error":{"code":"session_gone","native":"","message":""}}"#,
            "unknown variant `session_gone`",
        );
    }

    #[test]
    fn a_long_line_is_shown_shortened() {
        let line = vec![b'x'; 5_000];
        assert_eq!(shown(&line).chars().count(), SHOWN + 1);
    }
}
