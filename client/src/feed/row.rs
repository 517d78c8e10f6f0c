//! One row of a change feed. Surfaces spell rows in several ways; each is read by one table.

use std::fmt;

use serde_json::{Map, Value};

use crate::revision::whole;

/// One change, as the surface told it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The surface's own id of what changed: surface text, never interpreted.
    pub handle: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Who did it.
    pub actor: ChangeActor,
    /// The surface's words for it, when it gave any. Framed before it reaches a caller (GUARD-3).
    pub label: Option<String>,
}

/// What happened to a handle (FEED-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content changed.
    Updated,
    /// It is gone.
    Deleted,
    /// It is elsewhere: every handle is still good, and every position is not.
    Moved,
    /// The surface used another word.
    Unknown,
}

/// Who made a change (FEED-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeActor {
    /// A person.
    Human,
    /// This agent.
    Agent,
    /// Neither: a job, a system.
    Other,
    /// Nobody that could be made out. Never a default for anybody.
    Unknown,
}

impl ChangeActor {
    /// Whether the change is to be left alone: unless the surface positively said that this agent
    /// made it (FEED-9).
    #[must_use]
    pub fn deserves_deference(self) -> bool {
        self != Self::Agent
    }
}

const HANDLES: [&str; 7] = ["handle", "id", "screen_id", "screenId", "node_id", "nodeId", "key"];
const KINDS: [&str; 6] = ["change", "change_kind", "changeKind", "event", "action", "op"];
const ACTORS: [&str; 7] =
    ["actor_type", "actorType", "actor", "by", "author", "changed_by", "changedBy"];
const LABELS: [&str; 3] = ["label", "title", "name"];

/// Reads a row. None when it names no handle: such a row cannot be acted on, and a handle is not
/// made up (FEED-6).
pub(super) fn read(row: &Value) -> Option<Change> {
    let row = row.as_object()?;
    let handle = HANDLES.iter().find_map(|key| handle(row.get(*key)?))?;
    // `kind` is often a component's ("chart") beside the `change`. It is asked only where no key of
    // the change is there.
    let kind = first(row, &KINDS).or_else(|| row.get("kind")).and_then(word);
    let kind = kind.as_deref().map_or(ChangeKind::Unknown, kind_of);
    let actor = first(row, &ACTORS).and_then(word);
    let actor = actor.as_deref().map_or(ChangeActor::Unknown, actor_of);
    let label = LABELS
        .iter()
        .filter_map(|key| row.get(*key)?.as_str())
        .find(|label| !label.trim().is_empty())
        .map(str::to_owned);
    Some(Change { handle, kind, actor, label })
}

fn handle(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        // An integer of any size the reader could hold: it is an id, not a revision.
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Number(number) => whole(number),
        _ => None,
    }
}

/// The value of the first key that is there. It decides alone: a second key would be asked about
/// `operator` whether it is the agent, and could say yes (FEED-8). Null says nothing and is not
/// there.
fn first<'a>(row: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().filter_map(|key| row.get(*key)).find(|value| !value.is_null())
}

fn word(value: &Value) -> Option<String> {
    Some(value.as_str()?.trim().to_lowercase())
}

/// Whether a value is a row of a feed and nothing else: it names a handle, and what happened to it
/// or who did it.
pub(super) fn tells_a_change(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| {
        HANDLES.iter().any(|key| fields.get(*key).and_then(handle).is_some())
            && KINDS.iter().chain(&ACTORS).any(|key| fields.contains_key(*key))
    })
}

fn kind_of(word: &str) -> ChangeKind {
    match word {
        "created" | "create" | "added" | "add" | "inserted" => ChangeKind::Created,
        "updated" | "update" | "changed" | "edited" | "modified" => ChangeKind::Updated,
        "deleted" | "delete" | "removed" | "remove" => ChangeKind::Deleted,
        "moved" | "move" | "reordered" | "reorder" | "reparented" => ChangeKind::Moved,
        _ => ChangeKind::Unknown,
    }
}

fn actor_of(word: &str) -> ChangeActor {
    match word {
        "human" | "user" | "person" => ChangeActor::Human,
        "agent" | "assistant" | "self" | "me" => ChangeActor::Agent,
        "other" | "system" | "job" | "service" => ChangeActor::Other,
        _ => ChangeActor::Unknown,
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
            Self::Moved => "moved",
            Self::Unknown => "unknown",
        })
    }
}

impl fmt::Display for ChangeActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Other => "other",
            Self::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(row: Value, expect: Option<(&str, ChangeKind, ChangeActor)>) {
        let read = read(&row);
        let seen = read.as_ref().map(|change| (change.handle.as_str(), change.kind, change.actor));
        assert_eq!(seen, expect, "{row}");
    }

    use ChangeActor as A;
    use ChangeKind as K;

    #[test]
    fn the_handle_is_the_first_usable_key() {
        for key in HANDLES {
            check(json!({ key: "x" }), Some(("x", K::Unknown, A::Unknown)));
        }
        check(json!({ "handle": "h", "id": "i" }), Some(("h", K::Unknown, A::Unknown)));
        check(json!({ "handle": " ", "id": 7 }), Some(("7", K::Unknown, A::Unknown)));
        check(json!({ "id": 0 }), Some(("0", K::Unknown, A::Unknown)));
        check(json!({ "id": -3 }), Some(("-3", K::Unknown, A::Unknown)));
        check(json!({ "id": " a " }), Some((" a ", K::Unknown, A::Unknown)));
        for row in [
            json!({}),
            json!({ "id": true }),
            json!({ "id": 1.5 }),
            json!({ "id": null }),
            json!({ "id": {} }),
            json!({ "handle": "" }),
            json!("x"),
            json!(null),
            json!([]),
        ] {
            check(row, None);
        }
    }

    #[test]
    fn every_spelling_of_a_kind_is_known_without_case() {
        let table: [(&[&str], K); 4] = [
            (&["created", "create", "added", "add", "inserted"], K::Created),
            (&["updated", "update", "changed", "edited", "modified"], K::Updated),
            (&["deleted", "delete", "removed", "remove"], K::Deleted),
            (&["moved", "move", "reordered", "reorder", "reparented"], K::Moved),
        ];
        for (words, kind) in table {
            for word in words {
                for key in KINDS.iter().chain(&["kind"]) {
                    check(json!({ "id": "x", *key: word }), Some(("x", kind, A::Unknown)));
                }
                let shouted = format!(" {} ", word.to_uppercase());
                check(json!({ "id": "x", "change": shouted }), Some(("x", kind, A::Unknown)));
            }
        }
    }

    #[test]
    fn a_component_kind_is_no_event() {
        check(json!({ "id": "x", "kind": "chart" }), Some(("x", K::Unknown, A::Unknown)));
        check(
            json!({ "id": "x", "change": "moved", "kind": "update" }),
            Some(("x", K::Moved, A::Unknown)),
        );
        check(
            json!({ "id": "x", "change": "flipped", "kind": "deleted" }),
            Some(("x", K::Unknown, A::Unknown)),
        );
        for change in [json!(7), json!(""), json!({}), json!(true)] {
            check(
                json!({ "id": "x", "change": change, "op": "removed", "kind": "deleted" }),
                Some(("x", K::Unknown, A::Unknown)),
            );
        }
        check(
            json!({ "id": "x", "change": null, "op": "removed" }),
            Some(("x", K::Deleted, A::Unknown)),
        );
    }

    #[test]
    fn an_actor_that_is_not_known_is_nobody() {
        let table: [(&[&str], A); 3] = [
            (&["human", "user", "person", " Human "], A::Human),
            (&["agent", "assistant", "self", "me", "AGENT"], A::Agent),
            (&["other", "system", "job", "service"], A::Other),
        ];
        for (words, actor) in table {
            for word in words {
                for key in ACTORS {
                    check(json!({ "id": "x", key: word }), Some(("x", K::Unknown, actor)));
                }
            }
        }
        for word in ["operator", "sales-team", "", "humans", "bot"] {
            check(json!({ "id": "x", "actor": word }), Some(("x", K::Unknown, A::Unknown)));
        }
        check(json!({ "id": "x", "actor": true }), Some(("x", K::Unknown, A::Unknown)));
        for first in [json!("operator"), json!(""), json!(true), json!({ "type": "agent" })] {
            let row = json!({ "id": "x", "actor_type": first, "by": "agent" });
            check(row, Some(("x", K::Unknown, A::Unknown)));
        }
        let row = json!({ "id": "x", "actor_type": null, "by": "agent" });
        check(row, Some(("x", K::Unknown, A::Agent)));
        check(json!({ "id": "x", "actor_id": "human" }), Some(("x", K::Unknown, A::Unknown)));
    }

    #[test]
    fn only_this_agents_own_changes_need_no_deference() {
        for (actor, expect) in
            [(A::Human, true), (A::Other, true), (A::Unknown, true), (A::Agent, false)]
        {
            assert_eq!(actor.deserves_deference(), expect);
        }
    }
}
