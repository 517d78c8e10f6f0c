//! What must be true at the end.

use super::reading::{LEAKED, Reading};
use super::step::time;
use super::words::{all_of, any_of, count, is_part, short, spelled};
use super::{Bench, Finding, wire};
use crate::language::expect::{
    ExpectAnomalies, ExpectAttachment, ExpectScreen, OneOf, Outcome, Struck,
};
use indexmap::IndexMap;
use relay_reports::record::Event;
use relay_reports::verdict::Anomaly;
use serde_json::Value;

pub(super) fn judge(bench: &mut Bench<'_>, path: &str, outcome: &Outcome, anomalies: &[Anomaly]) {
    match outcome {
        Outcome::Surface(screens) => surface(bench, &format!("{path}.surface"), screens),
        Outcome::Pins(pins) => wire::pins(bench, &format!("{path}.pins"), pins),
        Outcome::Anomalies(expected) => {
            judge_anomalies(bench, &format!("{path}.anomalies"), expected, anomalies);
        }
        Outcome::Requests(filter) => wire::requests(bench, &format!("{path}.requests"), filter),
        Outcome::Frames(filter) => wire::frames(bench, &format!("{path}.frames"), filter),
        Outcome::Order(methods) => wire::order(bench, &format!("{path}.order"), methods),
        Outcome::Never(words) => never(bench, &format!("{path}.never"), words),
        Outcome::Attachment(expected) => attachment(bench, &format!("{path}.attachment"), expected),
        Outcome::Took(took) => {
            let (first, last) =
                (bench.reading.record.entries.first(), bench.reading.record.entries.last());
            let spent = last.map_or(0, |last| last.at) - first.map_or(0, |first| first.at);
            time(bench, &format!("{path}.took"), took, spent, Vec::new());
        }
        Outcome::Pacing(pacing) => wire::pacing(bench, &format!("{path}.pacing"), pacing),
        Outcome::Struck(expected) => struck(bench, &format!("{path}.struck"), expected),
    }
}

fn surface(bench: &mut Bench<'_>, path: &str, screens: &IndexMap<String, ExpectScreen>) {
    let entries = &bench.reading.record.entries;
    let board = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Board { screens } => Some(screens),
        _ => None,
    });
    let writes = |handle: &str| -> Vec<u64> {
        entries
            .iter()
            .filter(|entry| match &entry.event {
                Event::Write { cells, .. } => cells.iter().any(|cell| cell.handle == handle),
                _ => false,
            })
            .map(|entry| entry.seq)
            .collect()
    };
    for (handle, expected) in screens {
        let seen = board.and_then(|board| board.get(handle));
        let path = format!("{path}.{handle}");
        let evidence = writes(handle);
        match expected {
            ExpectScreen::Absent(_) => {
                let words = seen.map_or("absent".to_owned(), |seen| short(&seen.to_string()));
                let finding = Finding::new(board.is_some() && seen.is_none(), words, evidence);
                bench.lay(&path, format!("`{handle}` to be absent"), finding);
            }
            ExpectScreen::Fields(fields) => {
                for (field, value) in fields {
                    let seen = seen.map_or(&Value::Null, |screen| &screen[field.as_str()]);
                    let held = is_part(value, seen);
                    let finding = Finding::new(held, short(&seen.to_string()), evidence.clone());
                    let words = format!("`{handle}.{field}` to be {value}");
                    bench.lay(&format!("{path}.{field}"), words, finding);
                }
            }
        }
    }
}

fn judge_anomalies(
    bench: &mut Bench<'_>,
    path: &str,
    expected: &ExpectAnomalies,
    found: &[Anomaly],
) {
    let wanted: Vec<String> = match expected {
        ExpectAnomalies::None(_) => Vec::new(),
        ExpectAnomalies::Kinds(kinds) => kinds.iter().map(spelled).collect(),
    };
    let mut kinds: Vec<&str> = found.iter().map(|anomaly| anomaly.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let held = kinds.iter().all(|kind| wanted.iter().any(|word| word == kind))
        && wanted.iter().all(|word| kinds.contains(&word.as_str()));
    let told: Vec<String> = found.iter().map(|one| format!("{}: {}", one.kind, one.says)).collect();
    let seen = if told.is_empty() { "no anomaly".to_owned() } else { told.join("; ") };
    let evidence = found.iter().flat_map(|anomaly| anomaly.evidence.iter().copied()).collect();
    let words = match wanted.as_slice() {
        [] => "no anomaly".to_owned(),
        wanted => format!("exactly the anomalies {}", all_of(wanted)),
    };
    bench.lay(path, words, Finding::new(held, seen, evidence));
}

/// Text that is nowhere in what the client sent, told or logged.
fn never(bench: &mut Bench<'_>, path: &str, words: &OneOf<String>) {
    for word in words.values() {
        let needle = if word == "token" { LEAKED } else { word.as_str() };
        let places = places_of(bench.reading, needle);
        let seen = match places.len() {
            0 => "it is nowhere".to_owned(),
            many => format!("it is in {many} entries of the record"),
        };
        let name = if word == "token" { "the token".to_owned() } else { format!("`{word}`") };
        bench.lay(
            path,
            format!("{name} to be nowhere"),
            Finding::new(places.is_empty(), seen, places),
        );
    }
}

fn places_of(reading: &Reading<'_>, needle: &str) -> Vec<u64> {
    let holds = |text: &str| text.contains(needle);
    let tells = |value: &Value| value_holds(value, &holds);
    reading
        .record
        .entries
        .iter()
        .filter(|entry| match &entry.event {
            Event::Answer { ok, error, .. } => {
                ok.as_ref().is_some_and(tells)
                    || error
                        .as_ref()
                        .is_some_and(|error| holds(&error.message) || holds(&error.native))
            }
            Event::Log { message, .. } => holds(message),
            Event::Request { query, headers, .. } => {
                query.values().chain(headers.values()).any(|value| holds(value))
            }
            Event::Frame { frame, direction, .. } => {
                *direction == relay_reports::record::Direction::ToSurface && tells(frame)
            }
            _ => false,
        })
        .map(|entry| entry.seq)
        .collect()
}

fn value_holds(value: &Value, holds: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().any(|item| value_holds(item, holds)),
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| holds(key) || value_holds(value, holds))
        }
        _ => false,
    }
}

fn attachment(bench: &mut Bench<'_>, path: &str, expected: &ExpectAttachment) {
    let agent =
        expected.agent.as_deref().or_else(|| bench.plan.scenario.sole_agent()).unwrap_or_default();
    let last = bench.reading.record.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Attachment { agent: of, state, .. } if of == agent => Some((entry.seq, state)),
        _ => None,
    });
    let wanted = spelled(&expected.state);
    let finding = match last {
        Some((seq, state)) => Finding::new(*state == wanted, format!("`{state}`"), vec![seq]),
        None => Finding::new(false, "no state told", Vec::new()),
    };
    bench.lay(path, format!("the attachment of `{agent}` to be {}", any_of(&[wanted])), finding);
}

fn struck(bench: &mut Bench<'_>, path: &str, expected: &Struck) {
    let strikes: Vec<u64> = bench
        .reading
        .record
        .entries
        .iter()
        .filter(|entry| match &entry.event {
            Event::Fault { rule, .. } => {
                expected.rule.is_none_or(|wanted| *rule as u64 + 1 == wanted)
            }
            _ => false,
        })
        .map(|entry| entry.seq)
        .collect();
    let seen = strikes.len() as u64;
    let finding = Finding::new(expected.count.holds(seen), format!("{seen}"), strikes);
    bench.lay(path, format!("{} strikes of a fault", count(&expected.count)), finding);
}
