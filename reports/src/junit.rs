//! A run as JUnit XML, for the test tab of a CI.
//!
//! One suite is one scenario file and one test case is one case, both named as the run names
//! them, so that a CI's history of a case survives everything but renaming it. What the format
//! cannot say is said so that a pipeline does the right thing: a known failure is *skipped* with
//! its reason, which keeps the pipeline green and the failure in sight; an unexpected pass is a
//! failure; a fault of the testbed is an *error*, since it says nothing about the client.

use crate::console::excerpt_for;
use crate::redact::{Draft, Redactor};
use crate::telling::words::{plain, plain_lines};
use crate::verdict::{Case, Expectation, Run, Verdict};
use indexmap::IndexMap;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// A run as JUnit XML, every secret replaced (AUTH-2).
pub fn write(run: &Run, redactor: &Redactor) -> String {
    let run = redactor.clean(run);
    let mut report = Report::new("relay-testbed");
    report.set_time(wall(&run.cases));
    report.add_test_suites(suites(&run));
    // Serializing fails only where its writer does, and a string does not.
    #[allow(clippy::unwrap_used)]
    let text = report.to_string().unwrap();
    redactor.release(Draft::from(text))
}

fn suites(run: &Run) -> Vec<TestSuite> {
    let mut files: IndexMap<&str, Vec<&Case>> = IndexMap::new();
    for case in &run.cases {
        files.entry(case.file.as_str()).or_default().push(case);
    }
    let suite = |(file, cases): (&str, Vec<&Case>)| {
        let mut suite = TestSuite::new(plain(file));
        suite.set_time(wall(cases.iter().copied()));
        suite.add_properties(
            [
                ("client", run.client.as_str()),
                ("testbed", run.testbed.as_str()),
                ("seed", run.seed.to_string().as_str()),
                ("clock", run.clock.as_str()),
                ("wire", run.wire.as_str()),
            ]
            .map(|(name, value)| Property::new(name, plain(value))),
        );
        suite.add_test_cases(cases.into_iter().map(test_case));
        suite
    };
    let mut suites: Vec<TestSuite> = files.into_iter().map(suite).collect();
    suites.extend(stale_baseline(run));
    suites
}

fn test_case(case: &Case) -> TestCase {
    let mut test = TestCase::new(name(case), status(case));
    test.set_classname(plain(&case.file));
    test.set_time(Duration::from_micros(case.wall_us));
    test.set_assertions(case.expectations.len());
    test.extra.insert("file".into(), plain(&case.file).into());
    test.extra.insert("line".into(), case.line.to_string().into());
    let mut property = |name: String, value: &str| {
        test.add_property(Property::new(name, plain(value)));
    };
    property("proves".to_owned(), &case.proves.join(" "));
    property("verdict".to_owned(), case.verdict.word());
    for (axis, value) in &case.parameters {
        property(format!("parameter.{}", plain(axis)), value);
    }
    if !case.tags.is_empty() {
        property("tags".to_owned(), &case.tags.join(" "));
    }
    let simulated = Duration::from_micros(case.simulated_us);
    property("simulated_seconds".to_owned(), &format!("{:.3}", simulated.as_secs_f64()));
    for remark in &case.remarks {
        property("remark".to_owned(), remark);
    }
    test
}

/// The case's id without its file, which is the class.
fn name(case: &Case) -> String {
    plain(case.id.split_once("::").map_or(case.id.as_str(), |(_, name)| name))
}

fn status(case: &Case) -> TestCaseStatus {
    let reason = plain(case.verdict.reason().unwrap_or_default());
    let told = || format!("{}: {reason}", case.verdict.word());
    let mut status = match &case.verdict {
        Verdict::Passed => return TestCaseStatus::success(),
        Verdict::KnownFailure { .. } | Verdict::NotRun { .. } | Verdict::Inconclusive { .. } => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(told());
            return status;
        }
        Verdict::Failed { .. } => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(reason);
            status
        }
        Verdict::UnexpectedPass { .. } => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(told());
            status
        }
        Verdict::TestbedFault { .. } => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(told());
            status
        }
    };
    status.set_type(kind(case));
    status.set_description(description(case));
    status
}

/// What a CI groups failures by: the first anomaly, else the first broken expectation's word.
fn kind(case: &Case) -> String {
    match &case.verdict {
        Verdict::Failed { .. } => match case.anomalies.first() {
            Some(anomaly) => plain(&anomaly.kind),
            None if case.expectations.iter().any(|e| !e.held) => "expectation".to_owned(),
            None => "nothing_proved".to_owned(),
        },
        other => other.word().replace(' ', "_"),
    }
}

/// Everything that a reader of a CI's page needs without opening anything else.
fn description(case: &Case) -> String {
    let mut text = format!("{}\n", plain_lines(case.verdict.reason().unwrap_or_default()));
    for broken in case.expectations.iter().filter(|expectation| !expectation.held) {
        text.push_str(&expectation(case, broken));
    }
    for anomaly in &case.anomalies {
        text.push_str(&format!(
            "\nanomaly {}: {}\nwhat stops it: {}\n",
            plain(&anomaly.kind),
            plain_lines(&anomaly.says),
            plain(&anomaly.protection),
        ));
    }
    let excerpt = excerpt_for(case);
    if !excerpt.is_empty() {
        text.push_str("\nwhat happened\n");
        text.push_str(&excerpt);
    }
    text
}

fn expectation(case: &Case, broken: &Expectation) -> String {
    format!(
        "\n{}:{}:{}\n    {}\nexpected: {}\n    seen: {}\n",
        plain(&case.file),
        broken.line,
        broken.column,
        plain(broken.source.trim()),
        plain_lines(&broken.expected),
        plain_lines(&broken.seen),
    )
}

/// Entries of the baseline that match nothing fail a run, so they have to be seen here too.
fn stale_baseline(run: &Run) -> Option<TestSuite> {
    if run.stale_baseline.is_empty() {
        return None;
    }
    let mut suite = TestSuite::new("baseline");
    for entry in &run.stale_baseline {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type("stale_baseline").set_message(plain(entry));
        let mut test = TestCase::new(plain(entry), status);
        test.set_classname("baseline");
        suite.add_test_case(test);
    }
    Some(suite)
}

fn wall<'c>(cases: impl IntoIterator<Item = &'c Case>) -> Duration {
    Duration::from_micros(cases.into_iter().map(|case| case.wall_us).sum())
}
