//! JSON-RPC 2.0 as a surface reads and writes it. No frame, however wrong, does more than get an
//! error for an answer.

use serde_json::{Map, Value, json};

use crate::surface_host::Telling;

/// One member of what a client sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Incoming<'a> {
    Request {
        id: &'a Value,
        method: &'a str,
        params: Option<&'a Value>,
    },
    Notification {
        method: &'a str,
        params: Option<&'a Value>,
    },
    /// An answer to a question that a surface never asks. It is passed over.
    Answer,
    /// No JSON-RPC. The id is the one to answer with.
    Invalid {
        id: &'a Value,
    },
}

impl<'a> Incoming<'a> {
    pub(crate) fn read(frame: &'a Value) -> Self {
        const NOBODY: &Value = &Value::Null;
        let Some(frame) = frame.as_object() else { return Self::Invalid { id: NOBODY } };
        let id = frame.get("id");
        // MCP forbids null ids; a whole number or a text is one.
        let usable = id.filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        let invalid = Self::Invalid { id: usable.unwrap_or(NOBODY) };
        if frame.get("jsonrpc") != Some(&json!("2.0")) {
            return invalid;
        }
        let params = frame.get("params");
        match (frame.get("method"), id, usable) {
            (Some(Value::String(method)), Some(_), Some(id)) => {
                Self::Request { id, method, params }
            }
            (Some(Value::String(method)), None, _) => Self::Notification { method, params },
            (None, Some(_), _) if frame.contains_key("result") || frame.contains_key("error") => {
                Self::Answer
            }
            _ => invalid,
        }
    }
}

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// A result, and what it tells of the board.
    Result { result: Map<String, Value>, tells: Option<Telling> },
    /// This very value as the result.
    Raw(Value),
    /// An error, and what it tells of the board.
    Error(RpcError),
    /// An HTTP status in place of any frame.
    Http { status: u16, body: Value, in_batch: RpcError },
    /// No answer at all.
    Silence,
}

/// The `error` of a JSON-RPC answer. Its code is a number by the letter and anything in the wild.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: Value,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    fn standard(code: i64, message: String) -> Self {
        Self { code: json!(code), message, data: None }
    }

    pub(crate) fn invalid_request() -> Self {
        Self::standard(-32600, "this is not a JSON-RPC 2.0 request".to_owned())
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::standard(-32601, format!("there is no method `{method}`"))
    }

    pub(crate) fn invalid_params(message: impl std::fmt::Display) -> Self {
        Self::standard(-32602, message.to_string())
    }

    /// The whole frame.
    pub(crate) fn frame(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

/// The whole frame of a result.
pub(crate) fn result_frame(id: &Value, result: Value) -> Value {
    // Member by member: `json!` would copy the result, and a page of tools is large.
    Value::Object(Map::from_iter([
        ("jsonrpc".to_owned(), json!("2.0")),
        ("id".to_owned(), id.clone()),
        ("result".to_owned(), result),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_apart() {
        let id = json!(1);
        let null = Value::Null;
        for (frame, expect) in [
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
                Incoming::Request { id: &id, method: "ping", params: None },
            ),
            (
                json!({ "jsonrpc": "2.0", "method": "n" }),
                Incoming::Notification { method: "n", params: None },
            ),
            (json!({ "jsonrpc": "2.0", "id": 1, "result": {} }), Incoming::Answer),
            (json!({ "jsonrpc": "2.0", "id": 1 }), Incoming::Invalid { id: &id }),
            (json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }), Incoming::Invalid { id: &id }),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": 3 }), Incoming::Invalid { id: &id }),
            (
                json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
                Incoming::Invalid { id: &null },
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }),
                Incoming::Invalid { id: &null },
            ),
            (json!("ping"), Incoming::Invalid { id: &null }),
            (json!(null), Incoming::Invalid { id: &null }),
        ] {
            assert_eq!(Incoming::read(&frame), expect, "{frame}");
        }
    }
}
