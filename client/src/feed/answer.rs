//! Where a surface puts the answer of its feed: rows, flags, pages (FEED-4, FEED-5, FEED-12).

use serde_json::Value;

use super::changes::Doubt;
use super::row::{self, Change};

/// The names of the list, first to last. The first three mean changes and nothing else.
const LISTS: [&str; 6] = ["changes", "change_log", "changeLog", "events", "screens", "items"];
const PLAIN: usize = 3;
const COMPLETE: [&str; 3] = ["complete", "is_complete", "isComplete"];
const PARTIAL: [&str; 4] = ["partial", "is_partial", "isPartial", "truncated"];
const MORE: [&str; 9] = [
    "nextCursor",
    "next_cursor",
    "hasMore",
    "has_more",
    "more",
    "nextPage",
    "next_page",
    "nextPageToken",
    "next_page_token",
];

/// A feed's result, with the places where its answer may stand, first to last.
pub(super) struct Answer<'a> {
    result: &'a Value,
    places: Vec<&'a Value>,
}

impl<'a> Answer<'a> {
    pub(super) fn of(result: &'a Value) -> Self {
        let places = [result.get("_meta"), Some(result), result.get("structuredContent")];
        Self { result, places: places.into_iter().flatten().collect() }
    }

    /// Whether the tool says that it failed. What is no flag is taken for one.
    pub(super) fn is_error(&self) -> bool {
        let flag = self.result.get("isError");
        flag.is_some_and(|flag| !matches!(flag, Value::Bool(false) | Value::Null))
    }

    /// The rows of the first list that has some. An empty list hides no full one, and what stands
    /// in a second one, or where nobody looks, is a doubt.
    pub(super) fn rows(&self, doubts: &mut Vec<Doubt>) -> Vec<Change> {
        let is_plain_there = LISTS[..PLAIN].iter().any(|key| self.all(key).any(Value::is_array));
        let mut lists = Vec::new();
        for place in &self.places {
            for (at, key) in LISTS.iter().enumerate() {
                // `screens` beside `changes` is what the surface shows, unless it tells of changes.
                let counts = |listed: &[Value]| {
                    at < PLAIN || !is_plain_there || listed.iter().any(row::tells_a_change)
                };
                match place.get(*key) {
                    Some(Value::Array(listed)) if counts(listed) => lists.push(listed),
                    None | Some(Value::Array(_)) => {}
                    Some(_) if at >= PLAIN && is_plain_there => {}
                    Some(_) => doubts.push(Doubt::NotAList),
                }
            }
        }
        let chosen = lists.iter().find(|listed| !listed.is_empty()).or(lists.first());
        let Some(chosen) = chosen else {
            doubts.push(Doubt::NoRows);
            return Vec::new();
        };
        let rows: Vec<Change> = chosen.iter().filter_map(row::read).collect();
        if rows.len() < chosen.len() {
            doubts.push(Doubt::DroppedRow);
        }
        let is_other = |listed: &Vec<Value>| !listed.is_empty() && listed != *chosen;
        if lists.iter().any(|listed| is_other(listed)) || hides_rows(self.result, &is_other) {
            doubts.push(Doubt::RowsElsewhere);
        }
        rows
    }

    /// Complete unless the surface says otherwise. A flag that is no flag says neither, and an
    /// answer that may be partial is treated as one.
    pub(super) fn is_complete(&self, doubts: &mut Vec<Doubt>) -> bool {
        let complete = self.flags(&COMPLETE).map(Value::as_bool);
        let partial = self.flags(&PARTIAL).map(|flag| flag.as_bool().map(|partial| !partial));
        let said: Vec<Option<bool>> = complete.chain(partial).collect();
        if said.contains(&None) {
            doubts.push(Doubt::UnreadableFlag);
        }
        let is_complete = said.first().is_none_or(|said| said.unwrap_or(false));
        if is_complete && said.contains(&Some(false)) {
            doubts.push(Doubt::Contradiction);
        }
        is_complete
    }

    /// Whether there is more than this page.
    pub(super) fn has_more(&self) -> bool {
        MORE.iter().flat_map(|key| self.all(key)).any(|value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(cursor) => !cursor.is_empty(),
            _ => true,
        })
    }

    fn flags(&self, keys: &'static [&str]) -> impl Iterator<Item = &'a Value> {
        self.places.iter().flat_map(|place| keys.iter().filter_map(|key| place.get(*key)))
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.places.iter().filter_map(move |place| place.get(key))
    }
}

/// Whether rows stand where nobody looks for them: deeper in the result, or as JSON in its text.
/// The parser bounds how deep that can be.
fn hides_rows(value: &Value, is_other: &impl Fn(&Vec<Value>) -> bool) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            Value::Array(listed) if LISTS[..PLAIN].contains(&key.as_str()) => is_other(listed),
            Value::String(text) if key == "text" => is_hidden_in(text, is_other),
            value => hides_rows(value, is_other),
        }),
        Value::Array(listed) => {
            is_other(listed)
                && (listed.iter().any(row::tells_a_change)
                    || listed.iter().any(|value| hides_rows(value, is_other)))
        }
        _ => false,
    }
}

fn is_hidden_in(text: &str, is_other: &impl Fn(&Vec<Value>) -> bool) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str(text).is_ok_and(|value: Value| hides_rows(&value, is_other))
}
