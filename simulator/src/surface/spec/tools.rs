//! `surface.tools`: what is hidden, added, paged, and redefined while a session runs.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The tools on offer. The stock board has `screen_list`, `screen_read`, `screen_create`,
/// `screen_rename`, `screen_move`, `screen_update`, `screen_delete`, `screen_propose` (stages a
/// write that a person confirms), `screen_confirm` (belongs to the person: calling it is always
/// refused) and the change feed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsSpec {
    /// Stock tools that this surface does not have.
    pub hide: Vec<String>,
    /// Further tools, with scripted answers, listed after the stock ones. One that has the name
    /// of a stock tool stands in its place.
    pub extra: Vec<ExtraTool>,
    /// How many tools a page of `tools/list` holds; without this word, all of them (TRUST-9).
    pub page_size: Option<NonZeroUsize>,
    /// Whether the last page's cursor leads to that page again, for ever. Default false.
    pub endless: bool,
    /// Definitions that change while the session runs (SURF-10).
    pub redefine: Vec<Redefinition>,
}

/// A tool with scripted answers. It writes nothing and reads nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtraTool {
    /// Its name, sent exactly as written here, however unlikely.
    pub name: String,
    /// Its description.
    #[serde(default)]
    pub description: String,
    /// Its input schema. Default: an object, of anything.
    #[serde(default = "any_object", rename = "inputSchema")]
    pub input_schema: Value,
    /// Its annotations, which decide nothing (TRUST-8). Without this word, none are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// Its answers, in turn; the last one answers every later call. Without this word it answers
    /// `ok`.
    #[serde(default)]
    pub answers: Vec<ScriptedAnswer>,
}

fn any_object() -> Value {
    serde_json::json!({ "type": "object" })
}

/// One answer of an extra tool: exactly one of `text`, `bytes`, `nest`, `raw`, `error` and
/// `silent`; none of them answers the text `ok`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedAnswer {
    /// A result whose content is this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A result whose content is a text of this many bytes (GUARD-1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// A result whose `structuredContent` holds lists nested this deep (MCP-4), 1,000 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nest: Option<usize>,
    /// This very value as the JSON-RPC `result`, nothing added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// A JSON-RPC error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorAnswer>,
    /// No answer at all.
    pub silent: bool,
    /// Whether the result says `isError: true` (MCP-3). It then mints no revision.
    pub is_error: bool,
}

/// A JSON-RPC error as a script gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorAnswer {
    /// Its `code`, any JSON value.
    pub code: Value,
    /// Its `message`. Default empty.
    #[serde(default)]
    pub message: String,
    /// Its `data`, when there is some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A tool whose definition changes while the session runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redefinition {
    /// The tool, by the name it has at first.
    pub tool: String,
    /// After how many answered `tools/call` of the session the new definition is listed.
    pub after: u64,
    /// After how many the old one is back. Without this word, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// What changes.
    pub to: Definition,
    /// Whether `notifications/tools/list_changed` says so at both moments. Default false.
    #[serde(default)]
    pub announce: bool,
}

/// What a definition changes to; a word that is left out stays as it was.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Definition {
    /// The new name; the old one is then unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The new description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The new input schema. Calls are still read as before.
    #[serde(rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Map<String, Value>>,
    /// The new annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Map<String, Value>>,
    /// Whether the tool is gone. Default false.
    pub gone: bool,
}
