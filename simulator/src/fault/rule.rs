use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::mutation::{Mutation, Retarget};
use super::selector::Selector;
use super::stream_shape::{Buffer, Junk, LineEnds, Split};
use crate::duration::Span;

/// One fault: which messages it strikes, and what it does to them.
///
/// A rule has at least one power. Of several rules that choose a message, the first in the list
/// strikes; every rule counts every message that it chooses, whether it strikes or not.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// Which messages it strikes.
    pub on: Selector,

    /// Holds an answer back, or the response of an exchange: for a time, until the next request
    /// of the same client, or for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hoard: Option<Hoard>,
    /// Withholds the bytes of an event stream on its socket, as a buffering proxy does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Lets a message through late. A request is accepted at once and handed to the surface after
    /// this time; anything else is like `hoard` with the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Accepts a message and loses it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drop: bool,
    /// Passes a message on this many times more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub duplicate: Option<u32>,

    /// Answers an exchange with this HTTP status, in place of the relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Answers an exchange with a redirect to another URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Redirect>,
    /// Ends the connection of an exchange, or the one that would have carried an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Close>,
    /// With `status`, `redirect` or `close` on a POST: the frame in it reaches the
    /// surface nonetheless, so that the caller is told of a failure that took effect.
    #[serde(default, skip_serializing_if = "is_false")]
    pub applied: bool,

    /// Changes an answer or a notification on its way to a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutate: Option<Mutation>,
    /// Delivers an answer to somebody who had not asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retarget: Option<Retarget>,
    /// Delivers these values right before the message, each as a frame of its own. The string
    /// `$id` anywhere in them stands for the id of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inject: Vec<Value>,

    /// Cuts the bytes of an event stream into pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// Ends the lines of an event stream like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_ends: Option<LineEnds>,
    /// Begins an event stream with a byte-order mark.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bom: bool,
    /// Puts these before every event of an event stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub junk: Vec<Junk>,

    /// Answers a poll at once, whatever `wait` it asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_wait: bool,
    /// Holds a poll this much longer than it asked for when there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_hold: Option<Span>,

    /// The contract line that the fault breaks, where the built-in one is too general.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaks: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde wants a reference
fn is_false(value: &bool) -> bool {
    !*value
}

impl FaultRule {
    /// A rule without any power yet; give it one before it is used.
    pub fn on(selector: Selector) -> Self {
        Self { on: selector, ..Self::default() }
    }

    /// Whether it answers HTTP in place of the relay, which frames on their way out cannot suffer.
    pub(crate) fn is_about_http(&self) -> bool {
        self.status.is_some() || self.redirect.is_some()
    }

    /// Changes every duration in it, for a run on the real clock that should not take as long.
    pub fn scale(&mut self, scale: &impl Fn(Duration) -> Duration) {
        self.on.scale(scale);
        for span in [&mut self.delay, &mut self.over_hold].into_iter().flatten() {
            span.scale(scale);
        }
        if let Some(Hoard::For(span)) = &mut self.hoard {
            span.scale(scale);
        }
    }
}

/// How long something is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hoard {
    /// For a time: `12s`.
    For(Span),
    /// Until the same client's next JSON-RPC request reaches the relay; it then comes before the
    /// answer to that request. `until-next-request`.
    UntilNextRequest,
    /// For ever: `for-ever`.
    ForEver,
}

impl fmt::Display for Hoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::For(span) => write!(f, "for {span}"),
            Self::UntilNextRequest => f.write_str("until the next request"),
            Self::ForEver => f.write_str("for ever"),
        }
    }
}

impl Serialize for Hoard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::For(span) => span.serialize(serializer),
            Self::UntilNextRequest => serializer.serialize_str("until-next-request"),
            Self::ForEver => serializer.serialize_str("for-ever"),
        }
    }
}

impl<'de> Deserialize<'de> for Hoard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HoardVisitor;
        impl Visitor<'_> for HoardVisitor {
            type Value = Hoard;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration, `until-next-request` or `for-ever`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Hoard, E> {
                match text {
                    "until-next-request" => Ok(Hoard::UntilNextRequest),
                    "for-ever" => Ok(Hoard::ForEver),
                    _ => text.parse().map(Hoard::For).map_err(|why| {
                        E::custom(format!(
                            "{why}; a hoard may also be `until-next-request` or `for-ever`"
                        ))
                    }),
                }
            }
        }
        deserializer.deserialize_any(HoardVisitor)
    }
}

impl JsonSchema for Hoard {
    fn schema_name() -> Cow<'static, str> {
        "Hoard".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let span = generator.subschema_for::<Span>();
        json_schema!({
            "description": "How long something is held back.",
            "anyOf": [{"enum": ["until-next-request", "for-ever"]}, span],
        })
    }
}

/// An HTTP answer out of a script: a bare status, or a mapping.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status(StatusFields);

/// An HTTP answer's parts.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StatusFields")]
struct StatusFields {
    /// The HTTP status.
    #[schemars(range(min = 200, max = 599))]
    code: u16,
    /// The body: a string as it is, anything else as JSON. Absent: the relay's own error body for
    /// 401, 410 and 413, and an empty body otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
    /// The content type; `application/json` unless the body is a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// More headers.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    headers: IndexMap<String, String>,
}

impl Status {
    /// A bare status.
    pub fn code(code: u16) -> Self {
        Self(StatusFields { code, body: None, content_type: None, headers: IndexMap::new() })
    }

    /// The same with a body.
    #[must_use]
    pub fn body(mut self, body: Value) -> Self {
        self.0.body = Some(body);
        self
    }

    pub(crate) fn number(&self) -> u16 {
        self.0.code
    }

    pub(crate) fn headers(&self) -> &IndexMap<String, String> {
        &self.0.headers
    }

    /// The body's text and its content type.
    pub(crate) fn content(&self) -> (String, Option<String>) {
        let own = || match self.0.code {
            401 => r#"{"error":"invalid_token"}"#.to_owned(),
            410 => r#"{"error":"session_gone"}"#.to_owned(),
            413 => r#"{"error":"payload_too_large"}"#.to_owned(),
            _ => String::new(),
        };
        let (text, is_json) = match &self.0.body {
            Some(Value::String(text)) => (text.clone(), false),
            Some(value) => (value.to_string(), true),
            None => {
                let text = own();
                let is_json = !text.is_empty();
                (text, is_json)
            }
        };
        let of_body = is_json.then(|| "application/json".to_owned());
        (text, self.0.content_type.clone().or(of_body))
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatusVisitor;
        impl<'de> Visitor<'de> for StatusVisitor {
            type Value = Status;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an HTTP status, or a mapping with `code`")
            }

            fn visit_u64<E: de::Error>(self, code: u64) -> Result<Status, E> {
                u16::try_from(code).map(Status::code).map_err(|_| {
                    E::custom(format!("`{code}` is not an HTTP status (one is from 200 to 599)"))
                })
            }

            fn visit_i64<E: de::Error>(self, code: i64) -> Result<Status, E> {
                self.visit_u64(u64::try_from(code).unwrap_or(u64::MAX))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Status, A::Error> {
                StatusFields::deserialize(de::value::MapAccessDeserializer::new(map)).map(Status)
            }
        }
        deserializer.deserialize_any(StatusVisitor)
    }
}

impl JsonSchema for Status {
    fn schema_name() -> Cow<'static, str> {
        "Status".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<StatusFields>();
        json_schema!({
            "description": "An HTTP status, or a mapping with `code` and more.",
            "anyOf": [{"type": "integer", "minimum": 200, "maximum": 599}, fields],
        })
    }
}

/// A redirect to another URL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    /// The HTTP status: 301, 302 (the default), 303, 307 or 308.
    #[serde(default = "found")]
    pub code: u16,
    /// What the `location` header says, as it is.
    pub to: String,
}

fn found() -> u16 {
    302
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Close {
    /// Reset at once (RST on TCP).
    Reset,
    /// Closed in the middle of the response, without finishing it: a body with a length is cut in
    /// half, a stream has no last chunk.
    Cut,
    /// The response ends early, and as if that were all: a stream closes cleanly.
    End,
    /// Nothing is sent any more, and nothing is closed.
    BlackHole,
}

impl fmt::Display for Close {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset => "reset the connection",
            Self::Cut => "cut the connection in the middle",
            Self::End => "ended the response early",
            Self::BlackHole => "let the connection go silent",
        })
    }
}
