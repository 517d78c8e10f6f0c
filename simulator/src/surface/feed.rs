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
