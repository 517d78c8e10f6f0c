//! The words of the `surface:` section of a scenario. An empty section is a fully protecting
//! surface; every power of it can be taken away by one word.

mod changes;
mod revisions;
mod tools;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use changes::{
    ActorWords, Attribute, ChangesSpec, Complete, ExpiredSince, FeedTool, RowKeys, RowPlace,
    Tombstones,
};
pub(crate) use revisions::MintPlace;
pub use revisions::{
    CodeWord, Enforce, MarkerShape, Mint, Per, Rejection, RevisionsSpec, UnknownRejection, Unpinned,
};
pub use tools::{Definition, ErrorAnswer, ExtraTool, Redefinition, ScriptedAnswer, ToolsSpec};

/// The live application that agents and people edit: a board of screens, its tools, its
/// revisions and its change feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SurfaceSpec {
    /// The surface's id, as an invitation names it. Default `board`.
    pub id: String,
    /// The application's name, as an invitation and the handshake name it. Default `planner`.
    pub application: String,
    /// The screens on the board when the session opens, by handle. Without this word there are
    /// three: `screen_1` (Budget, a chart at 0, 0), `screen_2` (Roadmap, a timeline at 400, 0)
    /// and `screen_3` (Notes, a note at 0, 300). `{}` is an empty board.
    pub screens: IndexMap<String, ScreenSpec>,
    /// Which revisions the surface mints, and which pins it refuses.
    pub revisions: RevisionsSpec,
    /// The change feed.
    pub changes: ChangesSpec,
    /// The protocol revision that the handshake answers; `null` answers none (MCP-1).
    pub protocol_version: Option<String>,
    /// The tools on offer.
    pub tools: ToolsSpec,
    /// Whether moving, renaming or updating a screen that does not exist makes it, as an upsert
    /// does. A deleted screen comes back this way without anybody having said so. Default false.
    pub upsert: bool,
}

/// One screen as the session opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenSpec {
    /// Its title. Default `Untitled`.
    pub title: String,
    /// Its component kind: `chart`, `table`, `note`, … Default `note`.
    pub kind: String,
    /// Its distance from the left edge, a whole number. Default 0.
    pub x: i64,
    /// Its distance from the top edge, a whole number. Default 0.
    pub y: i64,
    /// What stands in it. Default empty.
    pub content: String,
}

impl Default for SurfaceSpec {
    fn default() -> Self {
        let screen = |title: &str, kind: &str, x, y| ScreenSpec {
            title: title.to_owned(),
            kind: kind.to_owned(),
            x,
            y,
            content: String::new(),
        };
        Self {
            id: "board".to_owned(),
            application: "planner".to_owned(),
            screens: IndexMap::from([
                ("screen_1".to_owned(), screen("Budget", "chart", 0, 0)),
                ("screen_2".to_owned(), screen("Roadmap", "timeline", 400, 0)),
                ("screen_3".to_owned(), screen("Notes", "note", 0, 300)),
            ]),
            revisions: RevisionsSpec::default(),
            changes: ChangesSpec::default(),
            protocol_version: Some("2025-06-18".to_owned()),
            tools: ToolsSpec::default(),
            upsert: false,
        }
    }
}

impl Default for ScreenSpec {
    fn default() -> Self {
        Self {
            title: "Untitled".to_owned(),
            kind: "note".to_owned(),
            x: 0,
            y: 0,
            content: String::new(),
        }
    }
}

/// A surface section that reads well and cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A screen's handle is not one that tools and markers can carry.
    #[error("a screen cannot have the handle `{0}` (a handle has 1 to 128 characters)")]
    Handle(String),
    /// A word names a tool that the surface does not have.
    #[error("there is no tool `{tool}` to {verb} (tools: {})", .tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", "))]
    NoSuchTool {
        /// The tool that was named.
        tool: String,
        /// What was to be done with it: `hide`, `redefine`.
        verb: &'static str,
        /// The tools there are.
        tools: Vec<String>,
    },
    /// Two extra tools have one name.
    #[error("two extra tools are called `{0}`")]
    ExtraTwice(String),
    /// A scripted answer says two things at once.
    #[error(
        "an answer of tool `{tool}` says both `{one}` and `{other}` (one answer is one of `text`, `bytes`, `nest`, `raw`, `error`, `silent`)"
    )]
    TwoAnswersInOne {
        /// The tool.
        tool: String,
        /// The first word.
        one: &'static str,
        /// The second.
        other: &'static str,
    },
    /// A scripted answer nests deeper than a JSON writer can follow.
    #[error(
        "an answer of tool `{tool}` nests {depth} deep (the most is {most}; deeper frames are a fault of the relay)"
    )]
    TooDeep {
        /// The tool.
        tool: String,
        /// The depth asked for.
        depth: usize,
        /// The depth there can be.
        most: usize,
    },
    /// A redefinition that ends before it begins.
    #[error(
        "the new definition of `{tool}` ends after {until} calls and begins after {after} (`until` must be the larger)"
    )]
    EndsBeforeItBegins {
        /// The tool.
        tool: String,
        /// When it begins.
        after: u64,
        /// When it ends.
        until: u64,
    },
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_section_is_a_fully_protecting_surface() {
        let spec: SurfaceSpec = serde_json::from_value(json!({})).unwrap();
        assert_eq!(spec, SurfaceSpec::default());
        let said = serde_json::to_value(&spec).unwrap();
        assert_eq!(
            said["revisions"],
            json!({ "mint": "_meta.revision", "per": "screen", "enforce": "writes",
                    "reject": "code-409", "marker": "text", "unpinned": "allow" })
        );
        assert_eq!(said["changes"]["tool"], "changes_since");
        assert_eq!(said["changes"]["attribute"], "everyone");
        assert_eq!(said["changes"]["tombstones"], "keep");
        assert_eq!(said["changes"]["complete"], "unsaid");
        assert_eq!(said["changes"]["in"], "_meta");
        assert_eq!(said["screens"]["screen_2"]["kind"], "timeline");
    }

    #[test]
    fn every_section_reads_back_as_it_was_written() {
        let said = json!({
            "id": "b", "application": "a", "screens": { "screen_7": { "title": "Budget" } },
            "revisions": { "mint": "_meta.etag", "per": "field", "enforce": "every-call",
                           "reject": "data.reason=precondition_failed", "marker": { "bytes": 513 },
                           "unpinned": "refuse" },
            "changes": { "tool": "none", "attribute": "wrong", "tombstones": "drop",
                         "complete": false, "enforce": true, "in": "structuredContent",
                         "expired": "calm", "remembers": 3 },
            "protocol_version": null,
            "tools": { "hide": ["screen_list"], "page_size": 2 },
            "upsert": true
        });
        let spec: SurfaceSpec = serde_json::from_value(said).unwrap();
        let again: SurfaceSpec =
            serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
        assert_eq!(again, spec);
        assert_eq!(spec.protocol_version, None);
        assert_eq!(spec.changes.complete, Complete::Said(false));
    }

    #[test]
    fn a_word_that_is_not_ours_is_refused() {
        for bad in [
            json!({ "revision": {} }),
            json!({ "revisions": { "mint": "_meta.rev" } }),
            json!({ "revisions": { "reject": "409" } }),
            json!({ "changes": { "tool": "whatever_changed" } }),
            json!({ "changes": { "complete": "maybe" } }),
            json!({ "screens": { "screen_1": { "z": 1 } } }),
            json!({ "tools": { "page_size": 0 } }),
        ] {
            assert!(serde_json::from_value::<SurfaceSpec>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_schema_describes_every_word() {
        let schema = serde_json::to_value(schemars::schema_for!(SurfaceSpec)).unwrap();
        for word in ["id", "application", "screens", "revisions", "changes", "tools", "upsert"] {
            assert!(
                schema["properties"][word]["description"].is_string(),
                "{word} has no description"
            );
        }
    }
}
