//! A run as TAP version 14, for harnesses that read it.
//!
//! A known failure is `not ok … # TODO`, which TAP says is no failure; what was not run is
//! `ok … # SKIP`.

use crate::redact::{Draft, Redactor};
use crate::telling::words::plain;
use crate::verdict::{Case, Run, Verdict};
use serde_json::{Value, json};

/// A run as TAP, every secret replaced (AUTH-2).
pub fn write(run: &Run, redactor: &Redactor) -> String {
    let run = redactor.clean(run);
    let points = run.cases.len() + run.stale_baseline.len();
    let mut text = format!("TAP version 14\n1..{points}\n");
    for (nth, case) in run.cases.iter().enumerate() {
        text.push_str(&point(nth + 1, case));
    }
    for (nth, entry) in run.stale_baseline.iter().enumerate() {
        let number = run.cases.len() + nth + 1;
        text.push_str(&format!("not ok {number} - stale baseline: {}\n", escaped(entry)));
    }
    redactor.release(Draft::from(text))
}

fn point(number: usize, case: &Case) -> String {
    let reason = escaped(case.verdict.reason().unwrap_or_default());
    let word = case.verdict.word();
    let (result, directive) = match &case.verdict {
        Verdict::Passed => ("ok", String::new()),
        Verdict::Failed { .. } | Verdict::UnexpectedPass { .. } | Verdict::TestbedFault { .. } => {
            ("not ok", String::new())
        }
        Verdict::KnownFailure { .. } => ("not ok", format!(" # TODO {word}: {reason}")),
        Verdict::NotRun { .. } | Verdict::Inconclusive { .. } => {
            ("ok", format!(" # SKIP {word}: {reason}"))
        }
    };
    let mut text = format!("{result} {number} - {}{directive}\n", escaped(&case.id));
    if result == "not ok" && directive.is_empty() {
        text.push_str(&diagnostics(case));
    }
    text
}

/// A YAML block. Its values are JSON, which YAML holds whole and which needs no escaping of ours.
fn diagnostics(case: &Case) -> String {
    let broken = case.expectations.iter().filter(|expectation| !expectation.held);
    let broken: Vec<Value> = broken
        .map(|expectation| {
            json!({
                "line": expectation.line,
                "column": expectation.column,
                "source": plain(expectation.source.trim()),
                "expected": plain(&expectation.expected),
                "seen": plain(&expectation.seen),
            })
        })
        .collect();
    let anomalies: Vec<Value> = case
        .anomalies
        .iter()
        .map(|anomaly| {
            json!({
                "kind": plain(&anomaly.kind),
                "says": plain(&anomaly.says),
                "protection": plain(&anomaly.protection),
            })
        })
        .collect();
    let mut text = "  ---\n".to_owned();
    let mut field = |name: &str, value: Value| text.push_str(&format!("  {name}: {value}\n"));
    field("verdict", json!(case.verdict.word()));
    field("message", json!(plain(case.verdict.reason().unwrap_or_default())));
    field("file", json!(plain(&case.file)));
    field("line", json!(case.line));
    field("proves", json!(case.proves));
    if !broken.is_empty() {
        field("broken", Value::Array(broken));
    }
    if !anomalies.is_empty() {
        field("anomalies", Value::Array(anomalies));
    }
    text.push_str("  ...\n");
    text
}

/// A description or a reason: one line, in which `#` begins no directive.
fn escaped(text: &str) -> String {
    plain(text).replace('\\', "\\\\").replace('#', "\\#")
}
