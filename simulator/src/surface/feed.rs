//! The change feed: which rows answer "what changed since", and where they stand.
//!
//! Several changes of one handle make one row, for the newest of them: whoever is told re-reads
//! the thing anyway. One case makes two. When the newest change is the asker's own and somebody
//! else's lies unseen below it, a single row would say "this was you" and hide a person's edit
//! behind the agent's own later write; so the newest change of somebody else gets a row as well,
//! and stands first, which is the one that a reader keeps when it wants each handle once (FEED-11).

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::board::{Board, EXISTS, Field, Write};
use super::spec::{Attribute, ChangesSpec, Complete, RowPlace, Tombstones};
use crate::journal::{Author, ChangeRow};

/// One row, before it is spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) handle: String,
    pub(crate) change: &'static str,
    pub(crate) actor: Option<String>,
    pub(crate) write: u64,
}

/// What one question is answered with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FeedAnswer {
    pub(crate) rows: Vec<Row>,
    /// Whether the feed knows that rows are missing.
    pub(crate) partial: bool,
}

/// The rows for these writes, oldest first, as `client` is told of them.
pub(crate) fn rows(writes: &[&Write], board: &Board, client: &str, spec: &ChangesSpec) -> Vec<Row> {
    let mut newest: IndexMap<&str, (Option<&Write>, Option<&Write>)> = IndexMap::new();
    for write in writes {
        let (own, foreign) = newest.entry(write.handle()).or_default();
        if write.is_by(client) {
            *own = Some(write);
        } else {
            *foreign = Some(write);
        }
    }
    let mut told: Vec<&Write> = Vec::new();
    for (handle, (own, foreign)) in newest {
        // A surface that deletes its rows for good has no row left to say that anything happened.
        if spec.tombstones == Tombstones::Drop && !board.screens().contains_key(handle) {
            continue;
        }
        told.extend(foreign);
        told.extend(own.filter(|own| foreign.is_none_or(|foreign| own.number > foreign.number)));
    }
    told.sort_by_key(|write| write.number);
    told.into_iter()
        .map(|write| Row {
            handle: write.handle().to_owned(),
            change: kind_of(write),
            actor: actor_of(write, client, spec),
            write: write.number,
        })
        .collect()
}

/// What a write did, in the feed's words.
fn kind_of(write: &Write) -> &'static str {
    let position = |field: &str| field == Field::X.name() || field == Field::Y.name();
    match write.existence() {
        Some(true) => "created",
        Some(false) => "deleted",
        None if write.cells.iter().all(|cell| position(&cell.field)) => "moved",
        None => "updated",
    }
}

fn actor_of(write: &Write, client: &str, spec: &ChangesSpec) -> Option<String> {
    let words = &spec.actors;
    let person = matches!(write.by.author, Author::Person { .. });
    let word = match spec.attribute {
        Attribute::Everyone if person => &words.person,
        Attribute::Everyone if write.is_by(client) => &words.own,
        Attribute::Everyone => &words.other,
        Attribute::People if person => &words.person,
        Attribute::Wrong if person => &words.own,
        Attribute::Wrong => &words.person,
        Attribute::People | Attribute::Nobody => return None,
    };
    Some(word.clone())
}

impl FeedAnswer {
    /// Puts the rows and the flag where the surface keeps them.
    pub(crate) fn spell(&self, board: &Board, spec: &ChangesSpec) -> Map<String, Value> {
        let rows: Vec<_> = self.rows.iter().map(|row| row.spell(board, spec)).collect();
        let mut body = Map::from_iter([(spec.keys.list.clone(), Value::Array(rows))]);
        match &spec.complete {
            _ if self.partial => body.insert("complete".to_owned(), json!(false)),
            Complete::Unsaid => None,
            Complete::Said(said) => body.insert("complete".to_owned(), json!(said)),
            Complete::Flag { flag, value } => body.insert(flag.clone(), value.clone()),
        };
        let text = Value::Object(body.clone()).to_string();
        let mut result = Map::new();
        result.insert("content".to_owned(), json!([{ "type": "text", "text": text }]));
        match spec.place {
            RowPlace::Meta => _ = result.insert("_meta".to_owned(), Value::Object(body)),
            RowPlace::Top => result.extend(body),
            RowPlace::StructuredContent => {
                result.insert("structuredContent".to_owned(), Value::Object(body));
            }
        }
        result
    }

    /// The rows as the record keeps them.
    pub(crate) fn told(&self) -> Vec<ChangeRow> {
        self.rows
            .iter()
            .map(|row| ChangeRow {
                handle: row.handle.clone(),
                write: row.write,
                actor: row.actor.clone(),
            })
            .collect()
    }

    /// Cells whose values the rows tell: a row that says created or deleted tells whether the
    /// screen is there. No row tells a value of anything else.
    pub(crate) fn cells(&self) -> Vec<String> {
        let tells = |row: &&Row| row.change == "created" || row.change == "deleted";
        let mut cells: Vec<_> =
            self.rows.iter().filter(tells).map(|row| format!("{}.{EXISTS}", row.handle)).collect();
        cells.dedup();
        cells
    }
}

impl Row {
    fn spell(&self, board: &Board, spec: &ChangesSpec) -> Value {
        let mut row = Map::new();
        row.insert(spec.keys.handle.clone(), json!(self.handle));
        row.insert(spec.keys.change.clone(), json!(self.change));
        if let Some(actor) = &self.actor {
            row.insert(spec.keys.actor.clone(), json!(actor));
        }
        if spec.keys.component && spec.keys.change != "kind" {
            row.extend(self.last_value(board, Field::Kind).map(|kind| ("kind".to_owned(), kind)));
        }
        row.extend(self.last_value(board, Field::Title).map(|title| ("title".to_owned(), title)));
        Value::Object(row)
    }

    /// The value that a field has, or had when its screen went.
    fn last_value(&self, board: &Board, field: Field) -> Option<Value> {
        if let Some(screen) = board.screens().get(&self.handle) {
            return Some(screen.get(field).clone());
        }
        board
            .writes()
            .iter()
            .rev()
            .flat_map(|write| &write.cells)
            .find(|cell| cell.handle == self.handle && cell.field == field.name())
            .map(|cell| cell.old.clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use crate::journal::Event;
    use crate::surface::bench::{Bench, revision};

    fn code(answer: &Value) -> &Value {
        &answer["error"]["code"]
    }

    fn rows(answer: &Value) -> Vec<(String, String, String)> {
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
        let rows = answer["result"]["_meta"]["changes"].as_array().unwrap();
        rows.iter()
            .map(|row| (text(row, "screen_id"), text(row, "change"), text(row, "actor_type")))
            .collect()
    }

    fn row(handle: &str, change: &str, actor: &str) -> (String, String, String) {
        (handle.to_owned(), change.to_owned(), actor.to_owned())
    }

    #[test]
    fn the_feed_names_who_did_what_since() {
        let mut bench = Bench::new(json!({}));
        bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
        bench.call("a", None, "screen_rename", json!({ "id": "screen_2", "title": "Mine" }));
        bench.call("b", None, "screen_create", json!({ "kind": "table" }));
        bench.edit(json!({ "delete": "screen_3" }));
        let answer = bench.call("a", None, "changes_since", json!({ "since": "r1" }));
        assert_eq!(
            rows(&answer),
            [
                row("screen_1", "moved", "human"),
                row("screen_2", "updated", "agent"),
                row("screen_4", "created", "other"),
                row("screen_3", "deleted", "human"),
            ]
        );
        let first = &answer["result"]["_meta"]["changes"][0];
        assert_eq!((&first["kind"], &first["title"]), (&json!("chart"), &json!("Budget")));
        assert_eq!(answer["result"]["_meta"]["changes"][3]["title"], "Notes");
        assert_eq!(answer["result"]["_meta"].get("complete"), None);
        assert_eq!(revision(&answer), "r5");
        let calm = bench.call("a", Some("r5"), "changes_since", json!({ "since": "r5" }));
        assert_eq!(rows(&calm), []);
        let everything = bench.call("b", None, "changes_since", json!({}));
        assert_eq!(rows(&everything).len(), 4);
        assert_eq!(rows(&everything)[1], row("screen_2", "updated", "other"));
    }

    #[test]
    fn a_persons_edit_is_not_hidden_behind_the_agents_own_later_write() {
        let mut bench = Bench::new(json!({ "revisions": { "enforce": "never" } }));
        bench.edit(json!({ "rename": "screen_1", "title": "Hers" }));
        let own = bench.call("a", Some("r1"), "screen_move", json!({ "id": "screen_1", "x": 1 }));
        assert_eq!(revision(&own), "r1");
        let answer = bench.call("a", None, "changes_since", json!({ "since": "r1" }));
        let both = [row("screen_1", "updated", "human"), row("screen_1", "moved", "agent")];
        assert_eq!(rows(&answer), both);
        bench.edit(json!({ "move": "screen_1", "to": { "x": 7 } }));
        let answer = bench.call("a", None, "changes_since", json!({ "since": "r1" }));
        assert_eq!(rows(&answer), [row("screen_1", "moved", "human")]);
    }

    #[test]
    fn attribution_can_be_partial_absent_or_wrong() {
        for (attribute, person, own) in [
            ("everyone", "human", "agent"),
            ("people", "human", "-"),
            ("nobody", "-", "-"),
            ("wrong", "agent", "human"),
        ] {
            let mut bench = Bench::new(json!({ "changes": { "attribute": attribute } }));
            bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
            bench.call("a", None, "screen_move", json!({ "id": "screen_2", "x": 1 }));
            let answer = bench.call("a", None, "changes_since", json!({ "since": "r1" }));
            let expect = [row("screen_1", "moved", person), row("screen_2", "moved", own)];
            assert_eq!(rows(&answer), expect, "{attribute}");
        }
    }

    #[test]
    fn a_dropped_tombstone_is_neither_a_row_nor_a_new_revision() {
        let mut bench = Bench::new(json!({ "changes": { "tombstones": "drop" } }));
        bench.edit(json!({ "move": "screen_3", "to": { "x": 40 } }));
        bench.edit(json!({ "delete": "screen_3" }));
        let answer = bench.call("a", None, "changes_since", json!({ "since": "r1" }));
        assert_eq!(rows(&answer), []);
        assert_eq!(revision(&answer), "r2");
        let Some(Event::Delivery { as_of, .. }) = bench.events().pop() else {
            panic!("no delivery")
        };
        assert_eq!(as_of, 3);
    }

    #[test]
    fn a_since_that_is_not_remembered_is_never_calm_unless_that_is_wanted() {
        for (expired, partial, rows_kept) in
            [("error", None, 0), ("partial", Some(json!(false)), 1), ("calm", None, 1)]
        {
            let mut bench =
                Bench::new(json!({ "changes": { "remembers": 1, "expired": expired } }));
            bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
            bench.edit(json!({ "move": "screen_2", "to": { "x": 40 } }));
            let fresh = bench.call("a", None, "changes_since", json!({ "since": "r2" }));
            assert_eq!(rows(&fresh).len(), 1);
            for since in ["r1", "never-minted"] {
                let answer = bench.call("a", None, "changes_since", json!({ "since": since }));
                if expired == "error" {
                    assert_eq!(*code(&answer), json!(-32602));
                    continue;
                }
                let kept = if since == "r1" { rows_kept } else { 0 };
                assert_eq!(rows(&answer).len(), kept, "{expired} {since}");
                assert_eq!(
                    answer["result"]["_meta"].get("complete"),
                    partial.as_ref(),
                    "{expired}"
                );
            }
        }
    }

    #[test]
    fn who_sends_no_marker_is_answered_with_what_is_left() {
        let mut bench = Bench::new(json!({ "changes": { "remembers": 1 } }));
        bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
        bench.edit(json!({ "move": "screen_2", "to": { "x": 40 } }));
        let answer = bench.call("a", None, "changes_since", json!({}));
        assert_eq!(rows(&answer), [row("screen_2", "moved", "human")]);
        assert_eq!(answer["result"]["_meta"]["complete"], false);
    }

    #[test]
    fn rows_stand_where_the_surface_keeps_them_under_its_own_keys() {
        let mut bench = Bench::new(json!({ "changes": {
            "in": "structuredContent", "complete": { "flag": "truncated", "value": "no" },
            "keys": { "list": "events", "handle": "node_id", "change": "kind", "actor": "by" },
            "actors": { "person": "user" } } }));
        bench.edit(json!({ "move": "screen_1", "to": { "x": 40 } }));
        let answer = bench.call("a", None, "changes_since", json!({ "since": "r1" }));
        assert_eq!(
            answer["result"]["structuredContent"],
            json!({ "events": [{ "node_id": "screen_1", "kind": "moved", "by": "user", "title": "Budget" }],
                    "truncated": "no" })
        );
        let mut top = Bench::new(json!({ "changes": { "in": "top", "complete": true } }));
        let answer = top.call("a", None, "changes_since", json!({ "since": "r1" }));
        assert_eq!(answer["result"]["changes"], json!([]));
        assert_eq!(answer["result"]["complete"], true);
        let mut none = Bench::new(json!({ "changes": { "tool": "none" } }));
        assert_eq!(*code(&none.call("a", None, "changes_since", json!({}))), json!(-32602));
    }
}
