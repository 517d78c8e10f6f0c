//! JSON-RPC frames in words.

use super::words::{elide, plain, value};
use serde_json::{Map, Value};

/// Where a revision may stand in a result (REV-1), in the order in which it is looked for.
const REVISION_KEYS: [&str; 5] =
    ["revision", "surfaceRevision", "surface_revision", "version", "etag"];

/// How many characters of a result or of an argument a line shows.
const PREVIEW_CHARS: usize = 48;

/// A frame in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// `tools/call screen_move id=screen_7 x=10`.
    pub(crate) title: String,
    /// `#3`, `pin r1`.
    pub(crate) details: Vec<String>,
    /// Whether it is a JSON-RPC error.
    pub(crate) error: bool,
}

/// Tells a frame. `asked` knows what an answer's id had asked for, as [`request_name`] said it.
pub(crate) fn tell(frame: &Value, asked: &dyn Fn(&Value) -> Option<String>) -> Told {
    match frame {
        Value::Object(fields) if fields.contains_key("method") => tell_request(fields),
        Value::Object(fields) if fields.contains_key("result") || fields.contains_key("error") => {
            tell_answer(fields, asked)
        }
        Value::Array(frames) if !frames.is_empty() => {
            let titles: Vec<_> = frames.iter().map(|frame| tell(frame, asked).title).collect();
            Told {
                title: format!("batch: {}", titles.join("; ")),
                details: Vec::new(),
                error: false,
            }
        }
        Value::String(text) => {
            let shown = elide(&plain(text), PREVIEW_CHARS);
            Told { title: format!("not JSON: `{shown}`"), details: Vec::new(), error: false }
        }
        other => {
            let shown = elide(&value(other), PREVIEW_CHARS);
            Told { title: format!("not a frame: `{shown}`"), details: Vec::new(), error: false }
        }
    }
}

/// What a request is called: `tools/call screen_move`, `initialize`.
pub(crate) fn request_name(frame: &Value) -> Option<String> {
    let method = frame.get("method")?.as_str()?;
    match frame.pointer("/params/name").and_then(Value::as_str) {
        Some(tool) if method == "tools/call" => Some(format!("{method} {}", plain(tool))),
        _ => Some(plain(method)),
    }
}

/// An id as a line shows it. Long ones keep their end, which is where they differ.
pub(crate) fn id(id: &Value) -> String {
    let text = value(id);
    let chars = text.chars().count();
    if chars <= 12 {
        return format!("#{text}");
    }
    let end: String = text.chars().skip(chars - 8).collect();
    format!("#…{end}")
}

/// The revision that a result carries, when it carries one.
pub(crate) fn revision_of(result: &Value) -> Option<&Value> {
    let sources = [result.get("_meta"), Some(result)];
    sources
        .into_iter()
        .flatten()
        .find_map(|source| REVISION_KEYS.iter().find_map(|key| source.get(key)))
}

fn tell_request(fields: &Map<String, Value>) -> Told {
    let frame = Value::Object(fields.clone());
    let params = &frame["params"];
    let mut title = request_name(&frame).unwrap_or_else(|| value(&frame["method"]));
    let mut details: Vec<String> = frame.get("id").map(id).into_iter().collect();
    match frame["method"].as_str().unwrap_or_default() {
        "tools/call" => {
            if let Some(arguments) = params["arguments"].as_object() {
                for (name, argument) in arguments {
                    let shown = elide(&value(argument), PREVIEW_CHARS / 2);
                    title.push_str(&format!(" {}={shown}", plain(name)));
                }
            }
            details.push(match params.pointer("/_meta/revision") {
                Some(pin) => format!("pin {}", elide(&value(pin), PREVIEW_CHARS)),
                None => "unpinned".to_owned(),
            });
        }
        "initialize" => details.extend(params["protocolVersion"].as_str().map(plain)),
        "notifications/human-plus/activity" => {
            let said = [&params["action"], &params["target"], &params["priority"]];
            let said = said.into_iter().filter(|field| !field.is_null()).map(value);
            details.push(said.collect::<Vec<_>>().join(" "));
        }
        _ => {}
    }
    Told { title: elide(&title, PREVIEW_CHARS * 3), details, error: false }
}

fn tell_answer(fields: &Map<String, Value>, asked: &dyn Fn(&Value) -> Option<String>) -> Told {
    let to_what = fields.get("id").and_then(asked);
    let mut details: Vec<String> = fields.get("id").map(id).into_iter().collect();
    let to_what = to_what.unwrap_or_else(|| "a request nobody made".to_owned());
    // `error: null` beside a result is a result (IDENT-3).
    if let Some(error) = fields.get("error").filter(|error| !error.is_null()) {
        return Told {
            title: format!("refuses {to_what}: {}", error_words(error)),
            details,
            error: true,
        };
    }
    let result = fields.get("result").unwrap_or(&Value::Null);
    if let Some(revision) = revision_of(result) {
        details.push(format!("revision {}", elide(&value(revision), PREVIEW_CHARS)));
    }
    let verb = match result.get("isError") {
        Some(Value::Bool(true)) => "answers an error to",
        _ => "answers",
    };
    let preview = preview(result).map(|text| format!(": {text}")).unwrap_or_default();
    Told { title: format!("{verb} {to_what}{preview}"), details, error: false }
}

/// `-32000 "stale" data={"code":"conflict"}`.
fn error_words(error: &Value) -> String {
    let mut words = vec![value(&error["code"])];
    if let Some(message) = error["message"].as_str() {
        words.push(format!("\"{}\"", elide(&plain(message), PREVIEW_CHARS)));
    }
    if !error["data"].is_null() {
        words.push(format!("data={}", elide(&value(&error["data"]), PREVIEW_CHARS)));
    }
    words.join(" ")
}

/// What a result says, in short.
fn preview(result: &Value) -> Option<String> {
    if let Some(tools) = result["tools"].as_array() {
        return Some(super::words::count(tools.len(), "tool"));
    }
    if let Some(version) = result["protocolVersion"].as_str() {
        return Some(plain(version));
    }
    let text = result.pointer("/content/0/text")?.as_str()?;
    Some(elide(&plain(text), PREVIEW_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(frame: Value, title: &str, details: &[&str]) {
        let asked = |id: &Value| (*id == json!(3)).then(|| "tools/call screen_move".to_owned());
        let told = tell(&frame, &asked);
        assert_eq!(told.title, title);
        assert_eq!(told.details, details);
    }

    #[test]
    fn requests_show_what_they_ask_and_their_pin() {
        let arguments = json!({"id": "screen_7", "x": 10});
        check(
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params":
                {"name": "screen_move", "arguments": arguments, "_meta": {"revision": "r1"}}}),
            "tools/call screen_move id=screen_7 x=10",
            &["#3", "pin r1"],
        );
        check(
            json!({"id": "c-0123456789-abcdef", "method": "tools/call", "params": {"name": "x"}}),
            "tools/call x",
            &["#…9-abcdef", "unpinned"],
        );
        check(json!({"method": "notifications/initialized"}), "notifications/initialized", &[]);
    }

    #[test]
    fn answers_show_what_they_answer_and_their_revision() {
        check(
            json!({"id": 3, "result": {"content": [{"type": "text", "text": "{\"x\":1}"}],
                "_meta": {"revision": "r2"}}, "error": null}),
            "answers tools/call screen_move: {\"x\":1}",
            &["#3", "revision r2"],
        );
        check(
            json!({"id": 3, "error": {"code": 409, "message": "stale\u{1b}", "data": {"now": 2}}}),
            "refuses tools/call screen_move: 409 \"stale\\u{1b}\" data={\"now\":2}",
            &["#3"],
        );
        check(json!({"id": 9, "result": {}}), "answers a request nobody made", &["#9"]);
    }

    #[test]
    fn what_is_no_frame_says_so() {
        check(json!("{oops"), "not JSON: `{oops`", &[]);
        check(json!(17), "not a frame: `17`", &[]);
        check(json!([{"method": "ping", "id": 1}, 2]), "batch: ping; not a frame: `2`", &[]);
    }
}
