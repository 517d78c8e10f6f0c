//! Small words for what was expected and what was seen.

use crate::language::expect::{Count, OneOf, Took};
use serde_json::Value;
use std::fmt::Display;

/// `a`, `a or b`, `a, b or c`, each in backticks.
pub(super) fn any_of<T: Display>(values: &[T]) -> String {
    joined(values, "or")
}

/// `a`, `a and b`, `a, b and c`, each in backticks; `nothing` for none.
pub(super) fn all_of<T: Display>(values: &[T]) -> String {
    if values.is_empty() { "nothing".to_owned() } else { joined(values, "and") }
}

fn joined<T: Display>(values: &[T], last: &str) -> String {
    let words: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}

/// The spelling of a value of one of the language's enumerations.
pub(super) fn spelled<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

/// The spellings of what an expectation allows.
pub(super) fn allowed<T: serde::Serialize>(values: &OneOf<T>) -> Vec<String> {
    values.values().iter().map(spelled).collect()
}

/// `exactly 3`, `at least 1 and at most 4`.
pub(super) fn count(count: &Count) -> String {
    match count {
        Count::Exactly(count) => format!("exactly {count}"),
        Count::Within(bounds) => {
            let least = bounds.at_least.map(|least| format!("at least {least}"));
            let most = bounds.at_most.map(|most| format!("at most {most}"));
            match (least, most) {
                (Some(least), Some(most)) => format!("{least} and {most}"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => "any number".to_owned(),
            }
        }
    }
}

/// `exactly 30s`, `at least 1s and at most 2s`.
pub(super) fn took(took: &Took) -> String {
    match took {
        Took::Exactly(time) => format!("exactly {time}"),
        Took::Within(bounds) => {
            let least = bounds.at_least.map(|least| format!("at least {least}"));
            let most = bounds.at_most.map(|most| format!("at most {most}"));
            match (least, most) {
                (Some(least), Some(most)) => format!("{least} and {most}"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => "any time".to_owned(),
            }
        }
    }
}

/// Microseconds as a person reads them.
pub(super) fn micros(us: u64) -> String {
    relay_simulator::duration::Span::from(std::time::Duration::from_micros(us)).to_string()
}

/// A text short enough for one line of a report. The record holds the whole.
pub(super) fn short(text: &str) -> String {
    const MOST: usize = 300;
    let line = text.replace('\n', "⏎");
    if line.chars().count() <= MOST {
        return line;
    }
    let cut: String = line.chars().take(MOST).collect();
    format!("{cut}… ({} bytes in all)", text.len())
}

/// Whether `part` is in `whole`: objects by their keys, at any depth; everything else exactly.
/// Numbers are compared as numbers, so that `40` is `40.0`.
pub(super) fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|other| is_part(value, other))),
        (Value::Number(part), Value::Number(whole)) => {
            part == whole || part.as_f64() == whole.as_f64()
        }
        _ => part == whole,
    }
}
