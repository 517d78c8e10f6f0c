//! A tool as the surface defines it and a model reads it.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Refusal;

/// A tool's definition: its name, its description and the schema of its arguments.
///
/// The surface's annotations (`readOnlyHint` and the like) are not part of it: they decide nothing
/// here (TRUST-8).
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    name: String,
    description: String,
    input_schema: Map<String, Value>,
}

/// Hex digits of the hash that make a digest: 128 bits.
const DIGEST_HEX_DIGITS: usize = 32;

impl ToolDefinition {
    /// Reads one entry of a `tools/list` result.
    ///
    /// # Errors
    /// When it has no name, or its parts are of the wrong kind. A missing schema is an empty one,
    /// a missing description an empty text.
    pub fn read(listed: &Value) -> Result<Self, Refusal> {
        let malformed = |why| Refusal::Malformed { why };
        let listed = listed.as_object().ok_or(malformed("it is not an object"))?;
        let name = match listed.get("name") {
            Some(Value::String(name)) if !name.trim().is_empty() => name.clone(),
            Some(Value::String(_)) => return Err(malformed("its name is blank")),
            Some(_) => return Err(malformed("its name is not a text")),
            None => return Err(malformed("it has no name")),
        };
        let description = match listed.get("description") {
            Some(Value::String(description)) => description.clone(),
            None | Some(Value::Null) => String::new(),
            Some(_) => return Err(malformed("its description is not a text")),
        };
        let input_schema = match listed.get("inputSchema") {
            Some(Value::Object(schema)) => schema.clone(),
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err(malformed("its `inputSchema` is not an object")),
        };
        Ok(Self { name, description, input_schema })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, as the surface wrote it: surface text, wherever a model may read it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON Schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> &Map<String, Value> {
        &self.input_schema
    }

    /// A digest of everything that a model reads (TRUST-5): `sha256:` and the first 32 hex digits
    /// of SHA-256 over compact JSON of `{description, inputSchema, name}`, keys sorted by code
    /// point at every depth, the order of lists kept.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut canonical = String::new();
        canonical.push_str("{\"description\":");
        write_text(&self.description, &mut canonical);
        canonical.push_str(",\"inputSchema\":");
        write_object(&self.input_schema, &mut canonical);
        canonical.push_str(",\"name\":");
        write_text(&self.name, &mut canonical);
        canonical.push('}');
        let hash = hex::encode(Sha256::digest(canonical.as_bytes()));
        format!("sha256:{}", &hash[..DIGEST_HEX_DIGITS])
    }
}

/// Compact JSON with sorted keys. serde_json keeps the order of the wire here, and a key's order
/// must not matter. The recursion is as deep as its own reader allows.
fn write_value(value: &Value, into: &mut String) {
    match value {
        Value::Object(fields) => write_object(fields, into),
        Value::Array(items) => {
            into.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    into.push(',');
                }
                write_value(item, into);
            }
            into.push(']');
        }
        Value::String(text) => write_text(text, into),
        Value::Null | Value::Bool(_) | Value::Number(_) => into.push_str(&value.to_string()),
    }
}

fn write_object(fields: &Map<String, Value>, into: &mut String) {
    // Bytes of UTF-8 compare as code points do.
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
    into.push('{');
    for (at, (key, value)) in sorted.into_iter().enumerate() {
        if at > 0 {
            into.push(',');
        }
        write_text(key, into);
        into.push(':');
        write_value(value, into);
    }
    into.push('}');
}

/// serde_json leaves non-ASCII and `/` as they are, as the digest wants them.
fn write_text(text: &str, into: &mut String) {
    into.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn digest(listed: Value) -> String {
        ToolDefinition::read(&listed).unwrap().digest()
    }

    #[test]
    fn the_published_vector_is_met() {
        let listed = json!({
            "name": "surface_write",
            "description": "Write to the surface.",
            "inputSchema": { "type": "object" },
        });
        assert_eq!(digest(listed), "sha256:5ab496568589a2e1901b1b49c27b22bc");
    }

    #[test]
    fn order_of_keys_does_not_matter_and_order_of_lists_does() {
        let schema = |text: &str| {
            let schema: Value = serde_json::from_str(text).unwrap();
            digest(json!({ "name": "t", "inputSchema": schema }))
        };
        assert_eq!(
            schema(r#"{"a":1,"b":{"d":[1,2],"c":2}}"#),
            schema(r#"{"b":{"c":2,"d":[1,2]},"a":1}"#)
        );
        assert_ne!(schema(r#"{"a":[1,2]}"#), schema(r#"{"a":[2,1]}"#));
        assert_ne!(schema("{}"), schema(r#"{"a":{}}"#));
        assert_ne!(schema(r#"{"a":{}}"#), schema(r#"{"a":[]}"#));
    }

    #[test]
    fn everything_a_model_reads_is_in_the_digest_and_annotations_are_not() {
        let base = json!({ "name": "t", "description": "d", "inputSchema": { "x": "é/\u{2028}" } });
        let changed = |key: &str, value: Value| {
            let mut listed = base.clone();
            listed[key] = value;
            digest(listed)
        };
        assert_ne!(changed("name", json!("u")), digest(base.clone()));
        assert_ne!(changed("description", json!("d ")), digest(base.clone()));
        assert_ne!(changed("inputSchema", json!({})), digest(base.clone()));
        assert_eq!(changed("annotations", json!({ "readOnlyHint": true })), digest(base.clone()));
        let mut absent = base.clone();
        absent.as_object_mut().unwrap().remove("description");
        assert_eq!(digest(absent), changed("description", json!("")));
    }

    #[test]
    fn what_is_no_definition_says_why() {
        for (listed, words) in [
            (json!("x"), "not an object"),
            (json!({}), "no name"),
            (json!({ "name": 7 }), "not a text"),
            (json!({ "name": " " }), "blank"),
            (json!({ "name": "t", "description": [] }), "description"),
            (json!({ "name": "t", "inputSchema": "x" }), "inputSchema"),
            (json!({ "name": "t", "inputSchema": [] }), "inputSchema"),
        ] {
            let refused = ToolDefinition::read(&listed).unwrap_err().to_string();
            assert!(refused.contains(words), "{listed}: {refused}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(
                fields.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect(),
            ),
            Value::Array(items) => items.iter().map(reversed).collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn no_order_of_keys_changes_a_digest(schema in any_json()) {
            let listed = |schema: &Value| json!({ "name": "t", "inputSchema": { "s": schema } });
            prop_assert_eq!(digest(listed(&schema)), digest(listed(&reversed(&schema))));
        }
    }
}
