use std::sync::Arc;

use serde_json::Value;

/// One JSON-RPC 2.0 message that passed the relay's check (RELAY-6).
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// Its text as it was posted, which is what is passed on: numbers and key order included.
    pub(crate) text: Arc<str>,
    /// The same, read; shared, since a frame is copied on its way and its value can be large.
    pub(crate) value: Arc<Value>,
    /// What it is.
    pub(crate) kind: FrameKind,
}

/// What a frame is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// It wants an answer with this id.
    Request(IdKey),
    /// It wants none.
    Notification,
    /// It answers a request with this id.
    Answer(IdKey),
}

/// A JSON-RPC id with its type: `1`, `"1"` and `1.0` are three ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IdKey(String);

impl IdKey {
    pub(crate) fn of(id: &Value) -> Self {
        Self(id.to_string())
    }
}

/// A body that is no frame and no batch of frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidFrame;

/// The notifications that only a relay may send.
const RESERVED: [&str; 2] = ["notifications/peer_joined", "notifications/peer_left"];

impl Frame {
    /// A frame that a party of this process made.
    pub(crate) fn of(value: Value) -> Option<Self> {
        let kind = kind_of(&value, Leniency::default())?;
        Some(Self { text: value.to_string().into(), value: Arc::new(value), kind })
    }

    /// A body that was found to be frames, as one: a batch that is passed on whole.
    pub(crate) fn whole(body: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(body);
        let value = serde_json::from_str(&text).ok()?;
        Some(Self { text: (*text).into(), value: Arc::new(value), kind: FrameKind::Notification })
    }

    /// Whatever a fault made of a frame; it need not be one any more.
    pub(crate) fn forged(value: Value, kind: FrameKind) -> Self {
        let text = match &value {
            // A bare string is passed on as it is, so that a fault can send what is not JSON.
            Value::String(text) => text.as_str().into(),
            other => other.to_string().into(),
        };
        Self { text, value: Arc::new(value), kind }
    }

    /// The same frame under another id.
    pub(crate) fn with_id(&self, id: &Value) -> Self {
        let mut value = (*self.value).clone();
        if let Some(members) = value.as_object_mut() {
            members.insert("id".to_owned(), id.clone());
        }
        let key = IdKey::of(id);
        let kind = match self.kind {
            FrameKind::Request(_) => FrameKind::Request(key),
            FrameKind::Notification => FrameKind::Notification,
            FrameKind::Answer(_) => FrameKind::Answer(key),
        };
        Self { text: value.to_string().into(), value: Arc::new(value), kind }
    }

    pub(crate) fn method(&self) -> Option<&str> {
        self.value.get("method")?.as_str()
    }

    /// The tool of a `tools/call`.
    pub(crate) fn tool(&self) -> Option<&str> {
        if self.method() != Some("tools/call") {
            return None;
        }
        self.value.get("params")?.get("name")?.as_str()
    }

    pub(crate) fn id(&self) -> Value {
        self.value.get("id").cloned().unwrap_or(Value::Null)
    }

    pub(crate) fn is_reserved(&self) -> bool {
        self.method().is_some_and(|method| RESERVED.contains(&method))
    }
}

/// Where a dialect reads frames differently.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Leniency {
    /// `error: null` beside a result makes a bad frame.
    pub(crate) null_error_is_bad: bool,
    /// Bytes that are not UTF-8 become U+FFFD instead of making a bad frame.
    pub(crate) lossy_utf8: bool,
}

/// Reads a body: one frame, or a batch of them. One bad member makes a bad batch, so that nobody
/// has to guess which part of it was accepted.
pub(crate) fn parse(body: &[u8], leniency: Leniency) -> Result<Vec<Frame>, InvalidFrame> {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text.into(),
        Err(_) if leniency.lossy_utf8 => String::from_utf8_lossy(body),
        Err(_) => return Err(InvalidFrame),
    };
    let value: Value = serde_json::from_str(&text).map_err(|_| InvalidFrame)?;
    let frames = match value {
        Value::Array(members) => members
            .into_iter()
            .map(|value| {
                let kind = kind_of(&value, leniency)?;
                Some(Frame { text: value.to_string().into(), value: Arc::new(value), kind })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or(InvalidFrame)?,
        value => {
            let kind = kind_of(&value, leniency).ok_or(InvalidFrame)?;
            vec![Frame { text: (*text).into(), value: Arc::new(value), kind }]
        }
    };
    if frames.is_empty() || frames.iter().any(Frame::is_reserved) {
        return Err(InvalidFrame);
    }
    Ok(frames)
}

fn kind_of(value: &Value, leniency: Leniency) -> Option<FrameKind> {
    let members = value.as_object()?;
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return None;
    }
    let id = members.get("id");
    if let Some(method) = members.get("method") {
        method.as_str()?;
        return Some(match id {
            Some(id) if !id.is_null() => FrameKind::Request(IdKey::of(id)),
            _ => FrameKind::Notification,
        });
    }
    let has_result = members.contains_key("result");
    let has_error = match members.get("error") {
        None => false,
        Some(Value::Null) => !has_result || leniency.null_error_is_bad,
        Some(_) => true,
    };
    (has_result != has_error).then_some(FrameKind::Answer(IdKey::of(id?)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn kinds(body: &str) -> Result<Vec<FrameKind>, InvalidFrame> {
        let frames = parse(body.as_bytes(), Leniency::default())?;
        Ok(frames.into_iter().map(|frame| frame.kind).collect())
    }

    fn key(id: &str) -> IdKey {
        IdKey(id.to_owned())
    }

    #[test]
    fn frames_and_batches_are_told_apart_by_what_they_want() {
        for (body, expect) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, vec![FrameKind::Request(key("1"))]),
            (r#"{"jsonrpc":"2.0","id":"1","method":"a"}"#, vec![FrameKind::Request(key("\"1\""))]),
            (r#"{"jsonrpc":"2.0","method":"a"}"#, vec![FrameKind::Notification]),
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, vec![FrameKind::Answer(key("1"))]),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
                vec![FrameKind::Answer(key("1"))],
            ),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, vec![FrameKind::Answer(key("null"))]),
            (
                r#"[{"jsonrpc":"2.0","id":2,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#,
                vec![FrameKind::Request(key("2")), FrameKind::Notification],
            ),
        ] {
            assert_eq!(kinds(body), Ok(expect), "{body}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for body in [
            "",
            "hello",
            "5",
            "null",
            "[]",
            "{",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"a\"}",
            r#"{"id":1,"method":"a"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
            r#"{"jsonrpc":2.0,"id":1,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":null,"result":{},"error":{}}"#,
            r#"[{"jsonrpc":"2.0","method":"a"},5]"#,
            r#"[[{"jsonrpc":"2.0","method":"a"}]]"#,
            r#"{"jsonrpc":"2.0","method":"notifications/peer_joined"}"#,
            r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"notifications/peer_left"}]"#,
            &deep,
        ] {
            assert_eq!(kinds(body), Err(InvalidFrame), "{body}");
        }
        assert_eq!(parse(b"\"\xff\"", Leniency::default()).err(), Some(InvalidFrame));
    }

    #[test]
    fn a_single_frame_keeps_its_text() {
        let body = "{ \"jsonrpc\": \"2.0\",\r\n\"id\": 1.0, \"method\": \"a\", \"n\": 12345678901234567890123 }";
        let frames = parse(body.as_bytes(), Leniency::default()).unwrap();
        assert_eq!(&*frames[0].text, body);
    }
}
