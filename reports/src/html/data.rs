//! What the page's script draws from, as JSON that may stand inside a `<script>`.

use crate::console::last_line;
use crate::record::{CellChange, Event, Record};
use crate::telling::moment::{Kind, Moment, Party, Weight};
use crate::telling::words::{elide, plain, plain_lines, span};
use crate::telling::{snippet, teller};
use crate::verdict::{Anomaly, Case, Expectation, Run, Verdict};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};

/// How many characters of an entry's raw JSON the page holds.
const RAW_CHARS: usize = 6_000;

/// How alike what was expected and what was seen must be before their difference is marked word
/// by word, from 0 to 1. Below this, the marks are noise.
const ALIKE: f32 = 0.5;

/// The run as JSON, in at most about `bytes_max` bytes.
pub(super) fn of(run: &Run, bytes_max: usize) -> String {
    let mut cases: Vec<&Case> = run.cases.iter().collect();
    cases.sort_by_key(|case| rank(&case.verdict));
    let mut told: Vec<Value> = cases.iter().map(|case| tell(case)).collect();
    let head = json!({
        "numbers": last_line(run),
        "client": plain(&run.client),
        "testbed": plain(&run.testbed),
        "seed": run.seed.to_string(),
        "clock": plain(&run.clock),
        "wire": plain(&run.wire),
        "simulated": span(run.cases.iter().map(|case| case.simulated_us).sum()),
        "wall": span(run.cases.iter().map(|case| case.wall_us).sum()),
        "stale": run.stale_baseline.iter().map(|entry| plain(entry)).collect::<Vec<_>>(),
    });
    let mut bytes = told.iter().map(|case| embedded(case).len() + 1).sum::<usize>();
    for (case, told) in cases.iter().zip(&mut told) {
        let Some(record) = &case.record else { continue };
        // The raw JSON of what passed is rarely read, and is most of the bytes.
        let story = story(record, rank(&case.verdict) < rank(&Verdict::Passed));
        let fits = bytes + embedded(&story).len() <= bytes_max;
        let (name, value) = if fits { ("record", story) } else { ("leftOut", json!(true)) };
        bytes += name.len() + r#","":"#.len() + embedded(&value).len();
        told[name] = value;
    }
    embedded(&json!({"run": head, "cases": told}))
}

/// The order of the page: what a reader came for first.
fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Failed { .. } => 0,
        Verdict::UnexpectedPass { .. } => 1,
        Verdict::TestbedFault { .. } => 2,
        Verdict::Inconclusive { .. } => 3,
        Verdict::KnownFailure { .. } => 4,
        Verdict::NotRun { .. } => 5,
        Verdict::Passed => 6,
    }
}

/// JSON that holds no `<`, so that nothing in it can end the script that it stands in.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

fn tell(case: &Case) -> Value {
    json!({
        "id": plain(&case.id),
        "name": plain(&case.name),
        "file": plain(&case.file),
        "line": case.line,
        "parameters": case.parameters.iter().map(|(k, v)| format!("{}={}", plain(k), plain(v)))
            .collect::<Vec<_>>(),
        "proves": case.proves,
        "tags": case.tags,
        "verdict": case.verdict.word(),
        "reason": plain_lines(case.verdict.reason().unwrap_or_default()),
        "simulated": span(case.simulated_us),
        "wall": span(case.wall_us),
        "expectations": case.expectations.iter().map(expectation).collect::<Vec<_>>(),
        "anomalies": case.anomalies.iter().map(anomaly).collect::<Vec<_>>(),
        "remarks": case.remarks.iter().map(|remark| plain(remark)).collect::<Vec<_>>(),
    })
}

fn expectation(expectation: &Expectation) -> Value {
    let range = snippet::underline(&expectation.source, expectation.column);
    let (before, after) = (&expectation.source[..range.start], &expectation.source[range.end..]);
    let mut told = json!({
        "line": expectation.line,
        "column": expectation.column,
        "source": [plain(before), plain(&expectation.source[range]), plain(after)],
        "held": expectation.held,
        "expected": plain_lines(&expectation.expected),
    });
    if !expectation.held {
        told["seen"] = json!(plain_lines(&expectation.seen));
        told["evidence"] = json!(expectation.evidence);
        if let Some((expected, seen)) = marked(&expectation.expected, &expectation.seen) {
            told["marks"] = json!([expected, seen]);
        }
    }
    told
}

/// Both texts in parts, each with whether the other lacks it; none when they have too little in
/// common.
fn marked(expected: &str, seen: &str) -> Option<(Value, Value)> {
    let (expected, seen) = (plain_lines(expected), plain_lines(seen));
    let diff = TextDiff::from_words(&expected, &seen);
    if diff.ratio() < ALIKE {
        return None;
    }
    let side = |mine: ChangeTag| {
        let parts = diff
            .iter_all_changes()
            .filter(|change| change.tag() == ChangeTag::Equal || change.tag() == mine);
        Value::Array(parts.map(|change| json!([change.value(), change.tag() == mine])).collect())
    };
    Some((side(ChangeTag::Delete), side(ChangeTag::Insert)))
}

fn anomaly(anomaly: &Anomaly) -> Value {
    json!({
        "kind": plain(&anomaly.kind).replace('_', " "),
        "says": plain_lines(&anomaly.says),
        "protection": plain_lines(&anomaly.protection),
        "evidence": anomaly.evidence,
    })
}

/// A record as lanes and moments.
fn story(record: &Record, raw: bool) -> Value {
    let moments = teller::tell(record);
    let lanes = lanes(&moments);
    let mut states = States::before(record);
    let told = moments.iter().zip(&record.entries).map(|(moment, entry)| {
        let mut told = told(moment, &lanes);
        if let Event::Write { cells, .. } = &entry.event {
            told["state"] = states.step(cells);
        }
        if raw {
            let text = serde_json::to_string_pretty(&entry.event).unwrap_or_default();
            told["raw"] = json!(elide(&text, RAW_CHARS));
        }
        told
    });
    let told: Vec<Value> = told.collect();
    let lanes: Vec<Value> =
        lanes.iter().map(|party| json!({"name": party.name(), "role": role(party)})).collect();
    json!({"lanes": lanes, "moments": told})
}

fn told(moment: &Moment, lanes: &[Party]) -> Value {
    let (from, to) = ends(moment, lanes);
    json!({
        "seq": moment.seq,
        "at": moment.at,
        "kind": moment.kind.word(),
        "from": from,
        "to": to,
        "title": moment.title,
        "details": moment.details,
        "weight": moment.weight as u8,
    })
}

/// The lanes that a moment goes from and to. A step that an agent takes goes from the agent to the
/// client that speaks for it; its words begin with the agent's name.
fn ends(moment: &Moment, lanes: &[Party]) -> (Option<usize>, Option<usize>) {
    let lane = |party: &Party| lanes.iter().position(|lane| lane == party);
    if moment.kind == Kind::Step
        && moment.weight == Weight::Story
        && let Some(name) = moment.title.split(' ').next()
    {
        return (lane(&Party::Agent(name.to_owned())), lane(&Party::Client(name.to_owned())));
    }
    (lane(&moment.from), lane(&moment.to))
}

/// From left to right: people, then each agent beside its client, relay, surface.
fn lanes(moments: &[Moment]) -> Vec<Party> {
    let mut lanes: Vec<Party> = vec![Party::Relay, Party::Surface];
    for party in moments.iter().flat_map(|moment| [&moment.from, &moment.to]) {
        if *party != Party::Testbed && !lanes.contains(party) {
            lanes.push(party.clone());
        }
    }
    let place = |party: &Party| match party {
        Party::Testbed | Party::Person(_) => 0,
        Party::Agent(_) | Party::Client(_) => 1,
        Party::Relay => 2,
        Party::Surface => 3,
    };
    // Parties of one kind stand by name; an agent comes before the client that speaks for it.
    lanes.sort_by(|a, b| (place(a), a.name(), a).cmp(&(place(b), b.name(), b)));
    lanes
}

fn role(party: &Party) -> &'static str {
    match party {
        Party::Testbed => "testbed",
        Party::Person(_) => "person",
        Party::Agent(_) => "agent",
        Party::Client(_) => "client",
        Party::Relay => "relay",
        Party::Surface => "surface",
    }
}

/// The surface's state, write by write.
///
/// A record holds it whole only at its end. Undoing the writes from there gives it at the start;
/// without an end, what the writes themselves tell is all that is known.
struct States {
    screens: IndexMap<String, Map<String, Value>>,
}

impl States {
    fn before(record: &Record) -> Self {
        let end = record.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Board { screens } => Some(screens),
            _ => None,
        });
        let mut states = Self { screens: IndexMap::new() };
        for (handle, fields) in end.into_iter().flatten() {
            let fields = fields.as_object().cloned().unwrap_or_default();
            states.screens.insert(handle.clone(), fields);
        }
        for entry in record.entries.iter().rev() {
            if let Event::Write { cells, .. } = &entry.event {
                cells.iter().rev().for_each(|cell| states.set(cell, &cell.old));
            }
        }
        states
    }

    /// Applies a write, and tells every thing that it touched, before and after.
    fn step(&mut self, cells: &[CellChange]) -> Value {
        let mut handles: Vec<&str> = cells.iter().map(|cell| cell.handle.as_str()).collect();
        handles.dedup();
        let before: Vec<Value> = handles.iter().map(|handle| self.shown(handle)).collect();
        cells.iter().for_each(|cell| self.set(cell, &cell.new));
        let touched = handles.iter().zip(before).map(|(handle, before)| {
            json!({"handle": plain(handle), "before": before, "after": self.shown(handle)})
        });
        Value::Array(touched.collect())
    }

    fn shown(&self, handle: &str) -> Value {
        let Some(fields) = self.screens.get(handle) else { return Value::Null };
        let shown = fields.iter().map(|(name, value)| {
            (plain(name), Value::String(elide(&crate::telling::words::value(value), 120)))
        });
        Value::Object(shown.collect())
    }

    fn set(&mut self, cell: &CellChange, value: &Value) {
        if cell.field == "exists" {
            if *value != Value::Bool(true) {
                self.screens.shift_remove(&cell.handle);
            } else {
                self.screens.entry(cell.handle.clone()).or_default();
            }
            return;
        }
        if value.is_null() {
            if let Some(fields) = self.screens.get_mut(&cell.handle) {
                fields.shift_remove(&cell.field);
            }
            return;
        }
        let fields = self.screens.entry(cell.handle.clone()).or_default();
        fields.insert(cell.field.clone(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(handle: &str, field: &str, old: Value, new: Value) -> CellChange {
        CellChange { handle: handle.into(), field: field.into(), old, new }
    }

    #[test]
    fn nothing_in_the_data_can_end_its_script() {
        let text = embedded(&json!({"a": "</script><!--"}));
        assert_eq!(text, r#"{"a":"\u003c/script>\u003c!--"}"#);
    }

    #[test]
    fn the_state_before_a_write_is_what_the_end_and_the_writes_say() {
        let mut states = States { screens: IndexMap::new() };
        let created = [
            change("a", "exists", json!(false), json!(true)),
            change("a", "x", Value::Null, json!(1)),
        ];
        let moved = [change("a", "x", json!(1), json!(2))];
        let deleted = [
            change("a", "x", json!(2), Value::Null),
            change("a", "exists", json!(true), json!(false)),
        ];
        let told = |before: Value, after: Value| json!([{"handle": "a", "before": before, "after": after}]);
        assert_eq!(states.step(&created), told(Value::Null, json!({"x": "1"})));
        assert_eq!(states.step(&moved), told(json!({"x": "1"}), json!({"x": "2"})));
        assert_eq!(states.step(&deleted), told(json!({"x": "2"}), Value::Null));
    }

    #[test]
    fn only_texts_that_are_alike_are_marked_word_by_word() {
        let (expected, seen) =
            marked("the pins are none, r1", "the pins are none, none").unwrap_or_default();
        assert_eq!(expected[0], json!(["the", false]));
        assert!(expected.as_array().is_some_and(|parts| parts.contains(&json!(["r1", true]))));
        assert!(seen.as_array().is_some_and(|parts| parts.contains(&json!(["none", true]))));
        assert_eq!(marked("a timeout", "it succeeded with much else"), None);
    }
}
