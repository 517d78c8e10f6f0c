//! The guide for authors of adapters says what the types say.

#![allow(clippy::unwrap_used)]
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Capability, Config, ErrorCode, OperationError, Request};

const GUIDE: &str = include_str!("../../../../docs/adapter-guide.md");

/// The rows of the table under `heading` whose header begins with `| column`.
fn rows(heading: &str, column: &str) -> Vec<Vec<String>> {
    let section = GUIDE.split_once(heading).expect(heading).1;
    let table = section.split_once(&format!("\n| {column}")).expect(column).1;
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    table.lines().skip(2).take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// A cell that holds one word in backticks.
fn word(cell: &str) -> String {
    cell.trim_matches('`').to_owned()
}

fn first_words(rows: &[Vec<String>]) -> Vec<String> {
    rows.iter().map(|row| word(&row[0])).collect()
}

#[test]
fn every_capability_is_told_in_its_own_words() {
    let told: Vec<_> = rows("### hello", "capability")
        .into_iter()
        .map(|row| (word(&row[0]), row[1].clone()))
        .collect();
    let known: Vec<_> = Capability::ALL
        .iter()
        .map(|one| (one.as_str().to_owned(), one.meaning().to_owned()))
        .collect();
    assert_eq!(told, known);
}

#[test]
fn every_code_is_told() {
    let known: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    assert_eq!(first_words(&rows("### Failures", "`code`")), known);
}

#[test]
fn every_key_of_the_configuration_is_told_with_its_default() {
    let rows = rows("### config", "key");
    assert_eq!(first_words(&rows), Config::keys());
    let config = serde_json::to_value(Config::default()).unwrap();
    for row in rows {
        let pointer = format!("/{}", word(&row[0]).replace('.', "/"));
        let told = word(&row[1]);
        let told = serde_json::from_str(&told).unwrap_or(json!(told));
        assert_eq!(config.pointer(&pointer), Some(&told), "{}", row[0]);
    }
}

/// Every operation is told and shown, and what is shown is what the types read.
#[test]
fn the_conversation_is_one_that_could_be_had() {
    let conversation = GUIDE.split_once("```jsonl\n").unwrap().1.split_once("```").unwrap().0;
    let mut asked = BTreeMap::new();
    let mut shown = BTreeSet::new();
    for line in conversation.lines() {
        let (way, line) = line.split_at(3);
        assert!(line.is_ascii(), "{line}");
        let value: Value = serde_json::from_str(line).unwrap();
        let id = value["id"].as_u64().unwrap();
        if way == "-> " {
            let request: Request = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&request).unwrap(), value, "every key is shown");
            shown.insert(request.operation.name().to_owned());
            asked.insert(id, request.operation);
        } else {
            let operation = asked.remove(&id).expect("an answer follows its request");
            match value.get("ok") {
                Some(ok) => {
                    operation.read_ok(ok.clone()).unwrap_or_else(|error| panic!("{line}: {error}"));
                }
                None => {
                    serde_json::from_value::<OperationError>(value["error"].clone()).unwrap();
                }
            }
        }
    }
    assert!(asked.is_empty(), "every request is answered");
    let told: BTreeSet<_> = first_words(&rows("### Operations", "`op`")).into_iter().collect();
    assert_eq!(told, shown);
    assert_eq!(told.len(), 12, "one row an operation");
}
