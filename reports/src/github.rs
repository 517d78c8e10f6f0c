//! A run as workflow commands of GitHub Actions, which show up beside the scenario's own lines.
//!
//! Every line is one command, and everything in it is escaped: whatever a surface wrote, it
//! cannot start a command of its own. For the job's summary, see [`crate::markdown`].

use crate::redact::{Draft, Redactor};
use crate::telling::snippet;
use crate::telling::words::{count, plain, plain_lines};
use crate::verdict::{Case, Expectation, Run, Tally, Verdict};

/// A run as workflow commands, every secret replaced (AUTH-2).
pub fn write(run: &Run, redactor: &Redactor) -> String {
    let run = redactor.clean(run);
    let mut text = String::new();
    for case in &run.cases {
        match case.verdict.tally() {
            Tally::Failed => text.push_str(&failure(case)),
            Tally::Passed if matches!(case.verdict, Verdict::KnownFailure { .. }) => {
                text.push_str(&known(case));
            }
            Tally::Passed | Tally::Skipped => {}
        }
    }
    for entry in &run.stale_baseline {
        text.push_str(&command("error", &[("title", "stale baseline".to_owned())], entry));
    }
    text.push_str(&skipped(&run));
    redactor.release(Draft::from(text))
}

/// One annotation a broken expectation, on its line; one on the scenario when none broke.
fn failure(case: &Case) -> String {
    let title = format!("{}: {}", case.verdict.word(), plain(&case.id));
    let broken: Vec<_> = case.expectations.iter().filter(|e| !e.held).collect();
    if broken.is_empty() {
        let place =
            [("file", plain(&case.file)), ("line", case.line.to_string()), ("title", title)];
        return command("error", &place, case.verdict.reason().unwrap_or_default());
    }
    broken.into_iter().map(|expectation| annotation(case, expectation, &title)).collect()
}

fn annotation(case: &Case, expectation: &Expectation, title: &str) -> String {
    let span = snippet::underline(&expectation.source, expectation.column);
    let chars = expectation.source[span].chars().count().max(1) as u64;
    let place = [
        ("file", plain(&case.file)),
        ("line", expectation.line.to_string()),
        ("col", expectation.column.to_string()),
        ("endColumn", expectation.column.saturating_add(chars - 1).to_string()),
        ("title", title.to_owned()),
    ];
    let mut message = format!("expected: {}\nseen: {}", expectation.expected, expectation.seen);
    for anomaly in &case.anomalies {
        message.push_str(&format!("\n{}: {}", anomaly.kind, anomaly.says));
    }
    command("error", &place, &message)
}

fn known(case: &Case) -> String {
    let place = [
        ("file", plain(&case.file)),
        ("line", case.line.to_string()),
        ("title", format!("known failure: {}", plain(&case.id))),
    ];
    command("notice", &place, case.verdict.reason().unwrap_or_default())
}

/// One notice for all: what was not run deserves a line, not a hundred.
fn skipped(run: &Run) -> String {
    let skipped = run.cases.iter().filter(|case| case.verdict.tally() == Tally::Skipped).count();
    if skipped == 0 {
        return String::new();
    }
    let message = format!("{} skipped; the report says why", count(skipped, "case"));
    command("notice", &[("title", "skipped".to_owned())], &message)
}

fn command(name: &str, properties: &[(&str, String)], message: &str) -> String {
    let properties: Vec<_> =
        properties.iter().map(|(key, value)| format!("{key}={}", property(value))).collect();
    format!("::{name} {}::{}\n", properties.join(","), data(&plain_lines(message)))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
