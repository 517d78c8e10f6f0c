use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use crate::duration::Span;

/// Which messages a rule is about: the name of a route, or a mapping that says more.
///
/// A mapping names exactly one of `route`, `request`, `answer` and `notification`; everything
/// else in it narrows the choice.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Selector(Fields);

/// A selector's mapping.
#[derive(Debug, Clone, PartialEq, Default, DeriveDeserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SelectorFields")]
pub(super) struct Fields {
    /// Whole HTTP exchanges on this route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) route: Option<RouteName>,
    /// Requests of clients with this JSON-RPC method; `*` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,
    /// Answers of the surface to requests with this JSON-RPC method; `*` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<String>,
    /// Notifications with this JSON-RPC method, in either direction; `*` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) notification: Option<String>,
    /// With `route`: only exchanges that carry a frame with this JSON-RPC method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<String>,
    /// Only calls of this tool, or answers to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// Only messages from or to this client: an agent's name, or the id that is sent on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    /// Only the n-th of the messages chosen so far, from 1; a list for several. Absent: each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) nth: Option<Nth>,
    /// Only messages that pass at this time of the case or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Span>,
    /// Only messages that pass before this time of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Span>,
    /// The chance that a chosen message is struck, from 0 to 1, drawn from the case's seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) chance: Option<f64>,
}

impl Selector {
    /// Everything on one route.
    pub fn route(route: RouteName) -> Self {
        Self(Fields { route: Some(route), ..Fields::default() })
    }

    /// Requests of clients with this JSON-RPC method.
    pub fn request(method: impl Into<String>) -> Self {
        Self(Fields { request: Some(method.into()), ..Fields::default() })
    }

    /// Answers to requests with this JSON-RPC method.
    pub fn answer(method: impl Into<String>) -> Self {
        Self(Fields { answer: Some(method.into()), ..Fields::default() })
    }

    /// Notifications with this JSON-RPC method.
    pub fn notification(method: impl Into<String>) -> Self {
        Self(Fields { notification: Some(method.into()), ..Fields::default() })
    }

    /// Only the n-th of them, from 1.
    #[must_use]
    pub fn nth(mut self, nth: u32) -> Self {
        self.0.nth = Some(Nth::One(nth));
        self
    }

    /// Only those about this tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        self.0.tool = Some(tool.into());
        self
    }

    /// Only those from or to this client.
    #[must_use]
    pub fn client(mut self, client: impl Into<String>) -> Self {
        self.0.client = Some(client.into());
        self
    }

    /// Changes the times in it, for a run on the real clock.
    pub fn scale(&mut self, scale: &impl Fn(Duration) -> Duration) {
        for time in [&mut self.0.after, &mut self.0.before].into_iter().flatten() {
            time.scale(scale);
        }
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.0
    }

    /// The client that it is narrowed to, if it is.
    pub fn client_name(&self) -> Option<&str> {
        self.0.client.as_deref()
    }

    /// The same selector, narrowed to another client (`agent` names of a scenario become client
    /// ids once they are known).
    #[must_use]
    pub fn with_client(mut self, client: Option<String>) -> Self {
        self.0.client = client;
        self
    }
}

impl fmt::Display for Selector {
    /// What it chooses, in a few words: `the answer to tools/call`, `POST inbox`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = &self.0;
        match (&fields.route, &fields.request, &fields.answer, &fields.notification) {
            (Some(route), ..) => write!(f, "{}", route.name())?,
            (_, Some(method), ..) => write!(f, "the request {method}")?,
            (_, _, Some(method), _) => write!(f, "the answer to {method}")?,
            (.., Some(method)) => write!(f, "the notification {method}")?,
            (None, None, None, None) => f.write_str("nothing")?,
        }
        if let Some(tool) = &fields.tool {
            write!(f, " of {tool}")?;
        }
        Ok(())
    }
}

/// The routes by the names that a scenario uses.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, DeriveDeserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RouteName {
    /// A client's `POST inbox`.
    Inbox,
    /// A client's event stream, `GET events`.
    Events,
    /// `outbox`: the long poll of the README's dialect.
    Outbox,
    /// A client's long poll in either dialect, `GET poll` or `GET outbox`.
    Poll,
    /// A client's receive leg of any kind: an event stream or a long poll.
    Receive,
    /// `POST unregister`.
    Unregister,
    /// `POST register`.
    Register,
    /// `GET` of the base URL.
    Health,
}

impl RouteName {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Events => "events",
            Self::Outbox => "outbox",
            Self::Poll => "poll",
            Self::Receive => "receive",
            Self::Unregister => "unregister",
            Self::Register => "register",
            Self::Health => "health",
        }
    }
}

/// Which of the chosen messages, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Nth {
    /// One of them.
    One(#[schemars(range(min = 1))] u32),
    /// Several of them.
    Several(Vec<u32>),
}

impl Nth {
    pub(super) fn includes(&self, number: u32) -> bool {
        match self {
            Self::One(one) => *one == number,
            Self::Several(several) => several.contains(&number),
        }
    }
}

impl<'de> Deserialize<'de> for Nth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NthVisitor;
        impl<'de> Visitor<'de> for NthVisitor {
            type Value = Nth;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 1, or a list of them")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Nth, E> {
                count(number).map(Nth::One)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Nth, E> {
                count(number).map(Nth::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Nth, A::Error> {
                let mut several = Vec::new();
                while let Some(number) = seq.next_element::<i64>()? {
                    several.push(count(number)?);
                }
                if several.is_empty() {
                    return Err(de::Error::custom("an empty `nth` chooses nothing"));
                }
                Ok(Nth::Several(several))
            }
        }

        fn count<E: de::Error>(number: impl TryInto<u32> + fmt::Display + Copy) -> Result<u32, E> {
            match number.try_into() {
                Ok(count) if count > 0 => Ok(count),
                _ => {
                    Err(E::custom(format!("`nth` counts from 1, and `{number}` is no such number")))
                }
            }
        }
        deserializer.deserialize_any(NthVisitor)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SelectorVisitor;
        impl<'de> Visitor<'de> for SelectorVisitor {
            type Value = Selector;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a route's name, or a mapping with `route`, `request`, `answer` or `notification`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Selector, E> {
                RouteName::deserialize(name.into_deserializer()).map(Selector::route)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Selector, A::Error> {
                let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
                complaint(&fields).map_or(Ok(Selector(fields)), |why| Err(de::Error::custom(why)))
            }
        }
        deserializer.deserialize_any(SelectorVisitor)
    }
}

/// What is wrong with a mapping that is well-formed field by field.
fn complaint(fields: &Fields) -> Option<String> {
    let named = [
        fields.route.is_some(),
        fields.request.is_some(),
        fields.answer.is_some(),
        fields.notification.is_some(),
    ];
    let named = named.into_iter().filter(|named| *named).count();
    if named != 1 {
        let count = if named == 0 { "none" } else { "more than one" };
        return Some(format!(
            "`on` names exactly one of `route`, `request`, `answer` and `notification`, and this \
             names {count} of them"
        ));
    }
    if fields.method.is_some() && fields.route.is_none() {
        return Some(
            "`method` narrows a `route`; requests, answers and notifications are named by their \
             method already"
                .to_owned(),
        );
    }
    if let Some(chance) = fields.chance
        && !(0.0..=1.0).contains(&chance)
    {
        return Some(format!("a `chance` is from 0 to 1, and `{chance}` is not"));
    }
    None
}

impl JsonSchema for Selector {
    fn schema_name() -> Cow<'static, str> {
        "Selector".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let route = generator.subschema_for::<RouteName>();
        let fields = generator.subschema_for::<Fields>();
        json_schema!({
            "description": "Which messages: the name of a route, or a mapping that names exactly \
                            one of `route`, `request`, `answer` and `notification`.",
            "anyOf": [route, fields],
        })
    }
}
