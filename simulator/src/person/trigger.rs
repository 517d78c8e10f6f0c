//! When a person edits: at a time of the case, or when a frame passes.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Edit;
use crate::duration::Span;
use crate::fault::Selector;

/// An edit that a person makes by itself: `{ on: { request: tools/call }, at: before, edit: … }`
/// when a frame passes, or `{ at: 12s, edit: … }` at a time of the case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Words", into = "Words")]
pub struct Trigger {
    /// When.
    pub when: When,
    /// Who edits.
    pub person: String,
    /// What they do.
    pub edit: Edit,
}

/// The moment of an edit.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// When a chosen frame passes.
    Frame {
        /// Which frame.
        on: Box<Selector>,
        /// On which side of it.
        moment: Moment,
    },
    /// This long after the case began.
    Time(Span),
}

/// On which side of a frame an edit is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before the surface handles the frame.
    Before,
    /// After the surface made its answer, and before anybody receives it.
    #[default]
    After,
}

/// The name of a person whom a scenario does not name.
pub const SOMEBODY: &str = "person";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<Box<Selector>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<String>,
    edit: Edit,
}

/// A mapping that is no trigger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTrigger {
    /// Nothing says when.
    #[error("an edit needs a moment: `on: <a frame>`, or `at: <a duration>`")]
    NoMoment,
    /// Beside a frame stands a time.
    #[error("`at` beside `on` is `before` or `after`, and not `{0}`")]
    NotASide(String),
    /// Without a frame there is no before and no after.
    #[error("`at: {0}` needs `on: <a frame>` beside it")]
    NoFrame(String),
    /// The time is none.
    #[error(transparent)]
    NotATime(#[from] crate::duration::BadSpan),
}

impl TryFrom<Words> for Trigger {
    type Error = BadTrigger;

    fn try_from(Words { on, at, person, edit }: Words) -> Result<Self, BadTrigger> {
        let moment = at.as_deref().and_then(|at| match at {
            "before" => Some(Moment::Before),
            "after" => Some(Moment::After),
            _ => None,
        });
        let when = match (on, at, moment) {
            (Some(on), None, _) => When::Frame { on, moment: Moment::default() },
            (Some(on), Some(_), Some(moment)) => When::Frame { on, moment },
            (Some(_), Some(at), None) => return Err(BadTrigger::NotASide(at)),
            (None, None, _) => return Err(BadTrigger::NoMoment),
            (None, Some(at), Some(_)) => return Err(BadTrigger::NoFrame(at)),
            (None, Some(at), None) => When::Time(at.parse()?),
        };
        Ok(Self { when, person: person.unwrap_or_else(|| SOMEBODY.to_owned()), edit })
    }
}

impl From<Trigger> for Words {
    fn from(Trigger { when, person, edit }: Trigger) -> Self {
        let (on, at) = match when {
            When::Frame { on, moment: Moment::Before } => (Some(on), "before".to_owned()),
            When::Frame { on, moment: Moment::After } => (Some(on), "after".to_owned()),
            When::Time(time) => (None, time.to_string()),
        };
        Self { on, at: Some(at), person: Some(person), edit }
    }
}

// The two shapes of a trigger, for the schema alone; an editor shows the words below.
/// An edit that a person makes by itself: when a frame passes, or at a time of the case.
#[derive(JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
enum Shape {
    /// An edit when a frame passes.
    Frame {
        /// Which frame.
        on: Box<Selector>,
        /// `before` the surface handles the frame, or `after` it made its answer and before
        /// anybody receives it. Default `after`.
        #[schemars(default)]
        at: Moment,
        /// Who edits. Default `person`.
        #[schemars(default)]
        person: Option<String>,
        /// What they do.
        edit: Edit,
    },
    /// An edit at a time of the case.
    Time {
        /// How long after the case began.
        at: Span,
        /// Who edits. Default `person`.
        #[schemars(default)]
        person: Option<String>,
        /// What they do.
        edit: Edit,
    },
}

impl JsonSchema for Trigger {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Trigger".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Shape::json_schema(generator)
    }
}

impl fmt::Display for Trigger {
    /// In a few words: `Ada: move screen_7, after the answer to tools/call`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, ", self.person, self.edit)?;
        match &self.when {
            When::Frame { on, moment: Moment::Before } => write!(f, "before {on}"),
            When::Frame { on, moment: Moment::After } => write!(f, "after {on}"),
            When::Time(time) => write!(f, "at {time}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::{Value, json};

    fn read(said: Value) -> Result<Trigger, String> {
        serde_json::from_value(said).map_err(|e: serde_json::Error| e.to_string())
    }

    #[test]
    fn a_trigger_has_a_frame_or_a_time() {
        let edit = json!({ "delete": "screen_1" });
        let on = json!({ "answer": "tools/call", "nth": 2 });
        let before = read(json!({ "on": on, "at": "before", "edit": edit })).unwrap();
        let selector = Box::new(Selector::answer("tools/call").nth(2));
        assert_eq!(before.when, When::Frame { on: selector.clone(), moment: Moment::Before });
        assert_eq!(before.person, SOMEBODY);
        let after = read(json!({ "on": on, "edit": edit, "person": "Ada" })).unwrap();
        assert_eq!(after.when, When::Frame { on: selector, moment: Moment::After });
        let timed = read(json!({ "at": "12s", "edit": edit })).unwrap();
        assert_eq!(timed.when, When::Time("12s".parse().unwrap()));
        for trigger in [before, after, timed] {
            assert_eq!(read(serde_json::to_value(&trigger).unwrap()), Ok(trigger));
        }
    }

    #[test]
    fn what_is_no_trigger_is_refused_in_words() {
        let edit = json!({ "delete": "screen_1" });
        for (said, words) in [
            (json!({ "edit": edit }), "needs a moment"),
            (json!({ "at": "before", "edit": edit }), "`at: before` needs `on"),
            (json!({ "on": "inbox", "at": "12s", "edit": edit }), "is `before` or `after`"),
            (json!({ "at": "12", "edit": edit }), "has no unit"),
            (json!({ "at": "1s" }), "missing field `edit`"),
            (json!({ "at": "1s", "edit": {} }), "needs a verb"),
        ] {
            let refusal = read(said).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
