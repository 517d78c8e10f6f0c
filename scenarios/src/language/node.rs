//! YAML values that remember where they stand.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_yaml::Spanned;
use std::fmt;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
    /// The byte where it starts.
    pub start: usize,
    /// Its length in bytes; 0 when only the start is known.
    pub len: usize,
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// What YAML can hold, as the scenario language reads it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, `~`, or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that JSON can hold.
    Number(serde_json::Number),
    /// Text, quoted or not.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file. Keys are unique: the parser refuses duplicates.
    Map(Vec<(Key, Node)>),
}

/// A mapping's key and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The key's text.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

impl Node {
    /// The value of a key of a mapping.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// A key of a mapping with its value.
    pub fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        match &self.value {
            Value::Map(entries) => {
                entries.iter().find(|(key, _)| key.name == name).map(|(key, node)| (key, node))
            }
            _ => None,
        }
    }

    /// The node behind a path of keys and indices, or the nearest one above it that exists.
    pub fn nearest(&self, path: &[PathStep]) -> &Node {
        let Some((first, rest)) = path.split_first() else { return self };
        let next = match (first, &self.value) {
            (PathStep::Key(key), _) => self.get(key),
            (PathStep::Index(index), Value::List(items)) => items.get(*index),
            (PathStep::Index(_), _) => None,
        };
        next.map_or(self, |node| node.nearest(rest))
    }

    /// Where a path stands: the value, or its key when the value is a whole block, so that a caret
    /// points at one word.
    pub fn place(&self, path: &[PathStep]) -> Span {
        let node = self.nearest(path);
        let (Value::Map(_) | Value::List(_), Some((PathStep::Key(key), above))) =
            (&node.value, path.split_last())
        else {
            return node.span;
        };
        self.nearest(above).entry(key).map_or(node.span, |(key, _)| key.span)
    }

    /// The value without its places.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(value) => Json::Number(value.clone()),
            Value::Text(value) => Json::String(value.clone()),
            Value::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(entries) => Json::Object(
                entries.iter().map(|(key, node)| (key.name.clone(), node.to_json())).collect(),
            ),
        }
    }

    /// `a mapping`, `a list`, `text`, … for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// One step of a path into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// Into a mapping.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// A path in its usual spelling, `script[2].expect`.
pub fn path_text(path: &[PathStep]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            PathStep::Key(key) if text.is_empty() => text.push_str(key),
            PathStep::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            PathStep::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

impl From<serde_yaml::Location> for Span {
    fn from(location: serde_yaml::Location) -> Self {
        let bytes = |value: Option<u64>| value.and_then(|value| usize::try_from(value).ok());
        Self {
            line: location.line(),
            column: location.column(),
            start: bytes(location.span().byte_offset()).unwrap_or(usize::MAX),
            len: bytes(location.span().byte_len()).unwrap_or(0),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { value: spanned.value, span: spanned.referenced.into() })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any YAML value that JSON can hold")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom(format!("`{value}` is a number that JSON cannot hold")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let key = Key { name: key.value, span: key.referenced.into() };
            map.push((key, entries.next_value()?));
        }
        Ok(Value::Map(map))
    }
}
