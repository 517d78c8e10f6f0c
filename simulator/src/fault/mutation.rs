use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is changed in a frame on its way to a client.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Gives the answer another id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<IdChange>,
    /// Makes an error out of a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
    /// Lays this over the frame as a JSON merge patch (RFC 7386): objects are merged, a null takes
    /// a member away, everything else replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Value>,
}

/// Another id for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdChange {
    /// `7` becomes `"7"`; a string becomes the number in it, or its length when it holds none.
    FlipType,
    /// An id that nobody asked with.
    Other,
    /// `null`.
    Null,
    /// `true`.
    True,
    /// No id at all.
    Missing,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RpcError {
    /// Its code; any JSON value, as relays and surfaces send more than numbers.
    pub code: Value,
    /// Its message.
    #[serde(default)]
    pub message: String,
    /// Its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Who gets an answer in place of the client that asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retarget {
    /// This client, by the agent's name or by the id it sends on the wire; the one that asked gets
    /// nothing.
    Client(String),
    /// Every other client; the one that asked gets nothing.
    Others,
    /// Every client, the one that asked included.
    Everyone,
}

impl Mutation {
    /// The frame as it leaves.
    pub(crate) fn apply(&self, frame: &Value) -> Value {
        let mut frame = frame.clone();
        if let (Some(change), Some(object)) = (self.id, frame.as_object_mut()) {
            change.apply(object);
        }
        if let (Some(error), Some(object)) = (&self.error, frame.as_object_mut()) {
            object.shift_remove("result");
            let mut told = Map::new();
            told.insert("code".to_owned(), error.code.clone());
            told.insert("message".to_owned(), Value::from(error.message.clone()));
            if let Some(data) = &error.data {
                told.insert("data".to_owned(), data.clone());
            }
            object.insert("error".to_owned(), Value::Object(told));
        }
        if let Some(patch) = &self.merge {
            merge(&mut frame, patch);
        }
        frame
    }
}

impl IdChange {
    fn apply(self, frame: &mut Map<String, Value>) {
        let id = frame.get("id").cloned().unwrap_or(Value::Null);
        let other = match self {
            Self::FlipType => match &id {
                Value::String(text) => {
                    text.parse::<u64>().map_or(Value::from(text.len()), Value::from)
                }
                other => Value::from(other.to_string()),
            },
            Self::Other => match &id {
                Value::Number(_) => Value::from(9_007_199_254_740_991_u64),
                _ => Value::from("nobody-asked-this"),
            },
            Self::Null => Value::Null,
            Self::True => Value::Bool(true),
            Self::Missing => {
                frame.shift_remove("id");
                return;
            }
        };
        frame.insert("id".to_owned(), other);
    }
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(target) = target {
        for (key, value) in patch {
            if value.is_null() {
                target.shift_remove(key);
            } else {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

/// The value with the string `$id` replaced by an id, at every depth.
pub(crate) fn with_id(value: &Value, id: &Value) -> Value {
    match value {
        Value::String(text) if text == "$id" => id.clone(),
        Value::Array(items) => items.iter().map(|item| with_id(item, id)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, item)| (key.clone(), with_id(item, id))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_mutation_changes_what_it_names_and_nothing_else() {
        let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {"a": 1, "b": {"c": 2}}});
        for (mutation, expect) in [
            (
                json!({"id": "flip-type"}),
                json!({"jsonrpc": "2.0", "id": "7", "result": {"a": 1, "b": {"c": 2}}}),
            ),
            (
                json!({"id": "null"}),
                json!({"jsonrpc": "2.0", "id": null, "result": {"a": 1, "b": {"c": 2}}}),
            ),
            (
                json!({"id": "true"}),
                json!({"jsonrpc": "2.0", "id": true, "result": {"a": 1, "b": {"c": 2}}}),
            ),
            (
                json!({"id": "missing"}),
                json!({"jsonrpc": "2.0", "result": {"a": 1, "b": {"c": 2}}}),
            ),
            (
                json!({"error": {"code": 409}}),
                json!({"jsonrpc": "2.0", "id": 7, "error": {"code": 409, "message": ""}}),
            ),
            (
                json!({"merge": {"result": {"b": {"c": null, "d": [3]}}}}),
                json!({"jsonrpc": "2.0", "id": 7, "result": {"a": 1, "b": {"d": [3]}}}),
            ),
        ] {
            let read: Mutation = serde_json::from_value(mutation.clone()).unwrap();
            assert_eq!(read.apply(&answer), expect, "{mutation}");
        }
    }

    #[test]
    fn ids_flip_between_number_and_string() {
        for (id, flipped) in
            [(json!("41"), json!(41)), (json!("a-b"), json!(3)), (json!(41), json!("41"))]
        {
            let frame = Mutation { id: Some(IdChange::FlipType), ..Mutation::default() }
                .apply(&json!({"id": id, "result": {}}));
            assert_eq!(frame["id"], flipped);
        }
    }

    #[test]
    fn injected_frames_can_borrow_the_id() {
        let borrowed = with_id(&json!({"id": "$id", "params": ["$id", "$ids"]}), &json!(7));
        assert_eq!(borrowed, json!({"id": 7, "params": [7, "$ids"]}));
    }
}
