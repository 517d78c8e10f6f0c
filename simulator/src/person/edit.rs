//! What a person does to the board, in the words of a scenario.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// One edit by a person, made on the surface itself: no relay, no pin, no refusal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Words", into = "Words")]
pub enum Edit {
    /// `{ move: screen_7, to: { x: 40 } }`
    Move {
        /// The screen.
        id: String,
        /// Where to.
        to: Position,
    },
    /// `{ rename: screen_7, title: Plan }`
    Rename {
        /// The screen.
        id: String,
        /// Its new title.
        title: String,
    },
    /// `{ create: { id: screen_9, title: Risks } }`
    Create {
        /// The screen's id; without one the board chooses.
        id: Option<String>,
        /// Its fields.
        fields: Fields,
    },
    /// `{ update: screen_7, set: { content: "42" } }`
    Update {
        /// The screen.
        id: String,
        /// The fields that change.
        set: Fields,
    },
    /// `{ delete: screen_7 }`
    Delete {
        /// The screen.
        id: String,
    },
    /// `{ undo: true }`: takes back the newest write that was not taken back yet, whoever made
    /// it. Undone again, the one before.
    Undo,
    /// `{ confirm: p1 }`: applies what an agent proposed. The write is the agent's.
    Confirm {
        /// The proposal, as `screen_propose` named it: `p1` for the first of a session.
        proposal: String,
    },
    /// `{ reject: p1 }`: throws away what an agent proposed.
    Reject {
        /// The proposal.
        proposal: String,
    },
}

/// A place on the board, in one direction or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Position {
    /// The distance from the left edge, a whole number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<i64>,
    /// The distance from the top edge, a whole number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<i64>,
}

/// Fields of a screen; what is left out stays, or is the default of a new screen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fields {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its component kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its distance from the left edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<i64>,
    /// Its distance from the top edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<i64>,
    /// What stands in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl Edit {
    /// The edit's verb, which is also the name of the write it makes.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Move { .. } => "move",
            Self::Rename { .. } => "rename",
            Self::Create { .. } => "create",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
            Self::Undo => "undo",
            Self::Confirm { .. } => "confirm",
            Self::Reject { .. } => "reject",
        }
    }
}

impl fmt::Display for Edit {
    /// As a step of a script is told: `move screen_7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Move { id, .. }
            | Self::Rename { id, .. }
            | Self::Update { id, .. }
            | Self::Delete { id } => Some(id),
            Self::Create { id, .. } => id.as_ref(),
            Self::Confirm { proposal } | Self::Reject { proposal } => Some(proposal),
            Self::Undo => None,
        };
        f.write_str(self.verb())?;
        what.map_or(Ok(()), |what| write!(f, " {what}"))
    }
}

/// An edit as it is written: one verb, and the word that belongs to it.
#[derive(Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Words {
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    move_: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Position>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    create: Option<NewScreen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<Fields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reject: Option<String>,
}

/// A screen that a person adds.
#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
struct NewScreen {
    /// The screen's id; without one the board chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its component kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Its distance from the left edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<i64>,
    /// Its distance from the top edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<i64>,
    /// What stands in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// A mapping that is no edit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEdit {
    /// It has no verb.
    #[error(
        "an edit needs a verb (verbs: `move`, `rename`, `create`, `update`, `delete`, `undo`, `confirm`, `reject`)"
    )]
    NoVerb,
    /// It has two.
    #[error("an edit has one verb, and this one has `{one}` and `{other}`")]
    TwoVerbs {
        /// The first.
        one: &'static str,
        /// The second.
        other: &'static str,
    },
    /// The verb lacks its other word.
    #[error("`{verb}` needs `{word}` beside it{hint}")]
    Lacking {
        /// The verb.
        verb: &'static str,
        /// The word.
        word: &'static str,
        /// What that word holds.
        hint: &'static str,
    },
    /// A word stands beside a verb that has no use for it.
    #[error("`{word}` does not belong to `{verb}`")]
    Stray {
        /// The verb.
        verb: &'static str,
        /// The word.
        word: &'static str,
    },
    /// `undo` is something else than `true`.
    #[error("`undo` can only be `true`")]
    UndoNothing,
}

impl TryFrom<Words> for Edit {
    type Error = BadEdit;

    fn try_from(words: Words) -> Result<Self, BadEdit> {
        let verbs = [
            ("move", words.move_.is_some()),
            ("rename", words.rename.is_some()),
            ("create", words.create.is_some()),
            ("update", words.update.is_some()),
            ("delete", words.delete.is_some()),
            ("undo", words.undo.is_some()),
            ("confirm", words.confirm.is_some()),
            ("reject", words.reject.is_some()),
        ];
        let mut given = verbs.into_iter().filter(|(_, given)| *given).map(|(verb, _)| verb);
        let verb = given.next().ok_or(BadEdit::NoVerb)?;
        if let Some(other) = given.next() {
            return Err(BadEdit::TwoVerbs { one: verb, other });
        }
        for (word, given, belongs) in [
            ("to", words.to.is_some(), "move"),
            ("title", words.title.is_some(), "rename"),
            ("set", words.set.is_some(), "update"),
        ] {
            if given && verb != belongs {
                return Err(BadEdit::Stray { verb, word });
            }
        }
        let lacking = |word, hint| BadEdit::Lacking { verb, word, hint };
        if let Some(id) = words.move_ {
            let hint = " (`to: { x: 40 }`, `to: { x: 40, y: 10 }`)";
            let to = words.to.filter(|to| to.x.is_some() || to.y.is_some());
            return Ok(Self::Move { id, to: to.ok_or_else(|| lacking("to", hint))? });
        }
        if let Some(id) = words.rename {
            let title = words.title.ok_or_else(|| lacking("title", " (the new title)"))?;
            return Ok(Self::Rename { id, title });
        }
        if let Some(NewScreen { id, title, kind, x, y, content }) = words.create {
            return Ok(Self::Create { id, fields: Fields { title, kind, x, y, content } });
        }
        if let Some(id) = words.update {
            let set = words.set.filter(|set| *set != Fields::default());
            let hint = " (fields: `title`, `kind`, `x`, `y`, `content`)";
            return Ok(Self::Update { id, set: set.ok_or_else(|| lacking("set", hint))? });
        }
        if let Some(id) = words.delete {
            return Ok(Self::Delete { id });
        }
        if let Some(undo) = words.undo {
            return if undo { Ok(Self::Undo) } else { Err(BadEdit::UndoNothing) };
        }
        match (words.confirm, words.reject) {
            (Some(proposal), _) => Ok(Self::Confirm { proposal }),
            (None, Some(proposal)) => Ok(Self::Reject { proposal }),
            (None, None) => Err(BadEdit::NoVerb),
        }
    }
}

impl From<Edit> for Words {
    fn from(edit: Edit) -> Self {
        let none = Self::default();
        match edit {
            Edit::Move { id, to } => Self { move_: Some(id), to: Some(to), ..none },
            Edit::Rename { id, title } => Self { rename: Some(id), title: Some(title), ..none },
            Edit::Create { id, fields: Fields { title, kind, x, y, content } } => {
                Self { create: Some(NewScreen { id, title, kind, x, y, content }), ..none }
            }
            Edit::Update { id, set } => Self { update: Some(id), set: Some(set), ..none },
            Edit::Delete { id } => Self { delete: Some(id), ..none },
            Edit::Undo => Self { undo: Some(true), ..none },
            Edit::Confirm { proposal } => Self { confirm: Some(proposal), ..none },
            Edit::Reject { proposal } => Self { reject: Some(proposal), ..none },
        }
    }
}

// The shapes of an edit, for the schema alone; an editor shows the words below.
/// One edit by a person, made on the surface itself: no relay, no pin, no refusal.
#[derive(JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
enum Shape {
    /// Moves a screen.
    Move {
        /// The screen.
        r#move: String,
        /// Where to, in one direction or both.
        to: Position,
    },
    /// Gives a screen another title.
    Rename {
        /// The screen.
        rename: String,
        /// Its new title.
        title: String,
    },
    /// Adds a screen.
    Create {
        /// The screen.
        create: NewScreen,
    },
    /// Sets fields of a screen.
    Update {
        /// The screen.
        update: String,
        /// The fields that change.
        set: Fields,
    },
    /// Takes a screen away.
    Delete {
        /// The screen.
        delete: String,
    },
    /// Takes back the newest write that was not taken back yet, whoever made it.
    Undo {
        /// Always `true`.
        undo: bool,
    },
    /// Applies what an agent proposed. The write is the agent's.
    Confirm {
        /// The proposal: `p1` for the first of a session.
        confirm: String,
    },
    /// Throws away what an agent proposed.
    Reject {
        /// The proposal.
        reject: String,
    },
}

impl JsonSchema for Edit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Edit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Shape::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn every_edit_reads_and_prints_back() {
        for (said, told) in [
            (json!({ "move": "screen_7", "to": { "x": 40 } }), "move screen_7"),
            (json!({ "rename": "screen_7", "title": "Plan" }), "rename screen_7"),
            (json!({ "create": { "title": "Risks", "x": 1, "y": 2 } }), "create"),
            (json!({ "create": { "id": "screen_9" } }), "create screen_9"),
            (json!({ "update": "screen_7", "set": { "content": "42" } }), "update screen_7"),
            (json!({ "delete": "screen_7" }), "delete screen_7"),
            (json!({ "undo": true }), "undo"),
            (json!({ "confirm": "p1" }), "confirm p1"),
            (json!({ "reject": "p1" }), "reject p1"),
        ] {
            let edit: Edit = serde_json::from_value(said.clone()).unwrap();
            assert_eq!(edit.to_string(), told);
            assert_eq!(serde_json::to_value(&edit).unwrap(), said);
        }
    }

    #[test]
    fn what_is_no_edit_is_refused_in_words() {
        for (said, words) in [
            (json!({}), "needs a verb"),
            (json!({ "to": { "x": 1 } }), "needs a verb"),
            (json!({ "move": "a", "delete": "a" }), "`move` and `delete`"),
            (json!({ "move": "a" }), "`move` needs `to`"),
            (json!({ "move": "a", "to": {} }), "`move` needs `to`"),
            (json!({ "rename": "a", "to": { "x": 1 }, "title": "T" }), "`to` does not belong"),
            (json!({ "update": "a", "set": {} }), "`update` needs `set`"),
            (json!({ "undo": false }), "can only be `true`"),
            (json!({ "burn": "a" }), "unknown field `burn`"),
        ] {
            let refusal = serde_json::from_value::<Edit>(said.clone()).unwrap_err().to_string();
            assert!(refusal.contains(words), "{said}: {refusal}");
        }
    }
}
