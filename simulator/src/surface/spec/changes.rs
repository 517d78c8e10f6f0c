//! `surface.changes`: the feed that answers what changed since a marker, and who did it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The change feed (SURF-6 to SURF-9).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangesSpec {
    /// The name of the feed's tool, or `none` for a surface without a feed. Default
    /// `changes_since`.
    pub tool: FeedTool,
    /// Whose changes a row attributes. Default `everyone`.
    pub attribute: Attribute,
    /// What a deletion leaves behind. Default `keep`.
    pub tombstones: Tombstones,
    /// What the feed says of its own completeness. Default `unsaid`.
    pub complete: Complete,
    /// Whether the feed itself refuses a stale pin. Clients pin every call, so that such a feed
    /// refuses to answer exactly when it has news. Default false.
    pub enforce: bool,
    /// Where the rows stand in the answer. Default `_meta`.
    #[serde(rename = "in")]
    pub place: RowPlace,
    /// How many of the newest writes the feed remembers; without this word, all of them. A
    /// `since` from before the oldest is expired.
    pub remembers: Option<usize>,
    /// What the feed answers to a `since` that is expired or that it never minted. Default
    /// `error`.
    pub expired: ExpiredSince,
    /// The keys of a row.
    pub keys: RowKeys,
    /// The words for actors.
    pub actors: ActorWords,
}

/// The name of the feed's tool (FEED-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum FeedTool {
    /// There is no feed.
    None,
    /// It has this name.
    Named(String),
}

/// The names by which a client recognises a feed.
const FEED_NAMES: [&str; 4] = ["changes_since", "surface_changes", "what_changed", "changes"];

impl FeedTool {
    /// The name, when there is a feed.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Named(name) => Some(name),
        }
    }
}

impl Default for FeedTool {
    fn default() -> Self {
        Self::Named(FEED_NAMES[0].to_owned())
    }
}

impl From<FeedTool> for String {
    fn from(tool: FeedTool) -> Self {
        match tool {
            FeedTool::None => "none".to_owned(),
            FeedTool::Named(name) => name,
        }
    }
}

impl<'de> Deserialize<'de> for FeedTool {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let plain = text.to_ascii_lowercase().replace('_', "");
        if text == "none" {
            Ok(Self::None)
        } else if FEED_NAMES.iter().any(|name| name.replace('_', "") == plain) {
            Ok(Self::Named(text))
        } else {
            Err(serde::de::Error::custom(format!(
                "`{text}` is not the name of a feed (names: `none`, `changes_since`, \
                 `surface_changes`, `what_changed`, `changes`, in any case, also without the \
                 underscore; a tool of another name is an extra tool)"
            )))
        }
    }
}

impl JsonSchema for FeedTool {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FeedTool".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The name of the feed's tool: `changes_since`, `surface_changes`, `what_changed` or `changes`, in any case, also without the underscore; `none` for no feed.",
            "pattern": "^(none|[Cc][Hh][Aa][Nn][Gg][Ee][Ss](_?[Ss][Ii][Nn][Cc][Ee])?|[Ss][Uu][Rr][Ff][Aa][Cc][Ee]_?[Cc][Hh][Aa][Nn][Gg][Ee][Ss]|[Ww][Hh][Aa][Tt]_?[Cc][Hh][Aa][Nn][Gg][Ee][Dd])$",
            "examples": ["changes_since", "surface_changes", "what_changed", "changes", "none"],
        })
    }
}

/// Whose changes a row attributes (SURF-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attribute {
    /// A person's are a person's, the asking agent's own are an agent's, another agent's are
    /// somebody else's: a client reads `agent` as its own.
    #[default]
    Everyone,
    /// A person's are a person's; rows of agents name nobody.
    People,
    /// No row names anybody.
    Nobody,
    /// A person's are an agent's, and an agent's are a person's.
    Wrong,
}

/// What a deletion leaves behind (SURF-4, SURF-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tombstones {
    /// A row `deleted`, and a revision that has moved.
    #[default]
    Keep,
    /// Nothing: no row, and no revision moves, as on a surface that deletes its rows for good.
    Drop,
}

/// What the feed says of its own completeness (FEED-4).
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Complete {
    /// `unsaid`: no flag at all.
    #[default]
    Unsaid,
    /// `true` or `false`: the flag `complete`, with this value.
    Said(bool),
    /// `{flag, value}`: another flag, or a value that is no boolean.
    Flag {
        /// The flag's key: `is_complete`, `isComplete`, `partial`, `truncated`, …
        flag: String,
        /// Its value.
        value: Value,
    },
}

/// What the feed says of its own completeness (FEED-4).
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum CompleteWords {
    /// `true` or `false`: the flag `complete`, with this value.
    Said(bool),
    /// `unsaid`: no flag at all.
    Word(Unsaid),
    /// Another flag, or a value that is no boolean.
    Flag(FlagWords),
}

/// `unsaid`: no flag at all.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unsaid {
    /// No flag at all.
    Unsaid,
}

/// Another flag, or a value that is no boolean.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlagWords {
    /// The flag's key: `is_complete`, `isComplete`, `partial`, `truncated`, …
    flag: String,
    /// Its value.
    value: Value,
}

impl Serialize for Complete {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::Unsaid => CompleteWords::Word(Unsaid::Unsaid),
            Self::Said(said) => CompleteWords::Said(said),
            Self::Flag { flag, value } => CompleteWords::Flag(FlagWords { flag, value }),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Complete {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match CompleteWords::deserialize(deserializer) {
            Ok(CompleteWords::Word(Unsaid::Unsaid)) => Ok(Self::Unsaid),
            Ok(CompleteWords::Said(said)) => Ok(Self::Said(said)),
            Ok(CompleteWords::Flag(FlagWords { flag, value })) => Ok(Self::Flag { flag, value }),
            Err(_) => Err(serde::de::Error::custom(
                "`complete` is `unsaid`, `true`, `false`, or `{ flag: <key>, value: <anything> }`",
            )),
        }
    }
}

impl JsonSchema for Complete {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Complete".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        CompleteWords::json_schema(generator)
    }
}

/// Where the rows stand in the answer (FEED-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum RowPlace {
    /// In `_meta`.
    #[default]
    #[serde(rename = "_meta")]
    Meta,
    /// At the top of the result.
    #[serde(rename = "top")]
    Top,
    /// In `structuredContent`.
    #[serde(rename = "structuredContent")]
    StructuredContent,
}

/// What the feed answers to a `since` that is expired or that it never minted (SURF-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpiredSince {
    /// A JSON-RPC error that says so.
    #[default]
    Error,
    /// The rows that it still has, and `complete: false`.
    Partial,
    /// The rows that it still has, as if they were all; none for a marker that it never minted.
    /// A falsely calm answer is what this is for.
    Calm,
}

/// The keys of a row, and of the list that holds the rows (FEED-5 to FEED-8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RowKeys {
    /// The key of the list. Default `changes`.
    pub list: String,
    /// The key of a row's handle. Default `screen_id`.
    pub handle: String,
    /// The key of what happened. Default `change`.
    pub change: String,
    /// The key of the actor. Default `actor_type`.
    pub actor: String,
    /// Whether a row also tells the screen's component kind, under `kind`. Default true.
    pub component: bool,
}

impl Default for RowKeys {
    fn default() -> Self {
        Self {
            list: "changes".to_owned(),
            handle: "screen_id".to_owned(),
            change: "change".to_owned(),
            actor: "actor_type".to_owned(),
            component: true,
        }
    }
}

/// The words for actors (FEED-8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActorWords {
    /// For a person. Default `human`.
    pub person: String,
    /// For the agent that asks. Default `agent`.
    pub own: String,
    /// For another agent. Default `other`.
    pub other: String,
}

impl Default for ActorWords {
    fn default() -> Self {
        Self { person: "human".to_owned(), own: "agent".to_owned(), other: "other".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn a_feed_may_have_every_name_that_clients_know() {
        for name in ["changes_since", "ChangesSince", "WHAT_CHANGED", "whatchanged", "changes"] {
            let tool: FeedTool = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(tool.name(), Some(name));
        }
        assert_eq!(serde_json::from_value::<FeedTool>(json!("none")).unwrap(), FeedTool::None);
        for name in ["list_changes", "changes_since_2", "", "none_"] {
            assert!(serde_json::from_value::<FeedTool>(json!(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn completeness_is_unsaid_said_or_a_flag_of_its_own() {
        let flag = Complete::Flag { flag: "truncated".to_owned(), value: json!("yes") };
        for (said, expect) in [
            (json!("unsaid"), Complete::Unsaid),
            (json!(true), Complete::Said(true)),
            (json!({ "flag": "truncated", "value": "yes" }), flag),
        ] {
            let complete: Complete = serde_json::from_value(said.clone()).unwrap();
            assert_eq!(complete, expect);
            assert_eq!(serde_json::to_value(&complete).unwrap(), said);
        }
        let refusal = serde_json::from_value::<Complete>(json!("yes")).unwrap_err().to_string();
        assert!(refusal.contains("`unsaid`, `true`, `false`"), "{refusal}");
    }
}
