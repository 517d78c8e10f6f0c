//! What a CI reads.

use crate::fixtures::{REVERT, TOKEN, run};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus};
use relay_reports::{Redactor, junit};

fn written() -> String {
    junit::write(&run(), &Redactor::new([TOKEN]).unwrap())
}

/// The one test case whose name starts so.
fn find<'r>(report: &'r Report, start: &str) -> &'r TestCase {
    let mut all = report.test_suites.iter().flat_map(|suite| &suite.test_cases);
    all.find(|test| test.name.as_str().starts_with(start)).unwrap()
}

#[test]
fn it_parses_and_counts() {
    let report = Report::deserialize_from_str(&written()).unwrap();
    // Five failed cases, an unexpected pass, and the stale entry of the baseline.
    assert_eq!((report.tests, report.failures, report.errors, report.skipped), (14, 7, 1, 5));
    let suites: Vec<_> = report.test_suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(suites[0], "suites/revision.yaml");
    assert_eq!(suites.last(), Some(&"baseline"));
}

#[test]
fn a_known_failure_is_skipped_in_sight() {
    let report = Report::deserialize_from_str(&written()).unwrap();
    let known = find(&report, "a dropped row makes no calm");
    let TestCaseStatus::Skipped { message, .. } = &known.status else { panic!("not skipped") };
    let said = message.as_ref().unwrap().as_str();
    assert!(said.starts_with("known failure: rows without a handle"), "{said}");
}

#[test]
fn a_failure_tells_what_was_expected_seen_and_where() {
    let report = Report::deserialize_from_str(&written()).unwrap();
    let revert = find(&report, REVERT.split_once("::").unwrap().1);
    assert_eq!(revert.classname.as_ref().unwrap().as_str(), "suites/two-writers.yaml");
    let TestCaseStatus::NonSuccess { kind, ty, description, .. } = &revert.status else {
        panic!("not a failure");
    };
    assert_eq!(*kind, NonSuccessKind::Failure);
    assert_eq!(ty.as_ref().unwrap().as_str(), "revert");
    let text = description.as_ref().unwrap().as_str();
    for part in [
        "suites/two-writers.yaml:31:5\n    - anomalies: none",
        "expected: no anomaly between the two writers\n    seen: 1 anomaly: revert of screen_7.x",
        "what stops it: deferring",
        "alice → surface  move: screen_7 x 0 → 40",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

#[test]
fn a_testbed_fault_is_an_error_and_nobody_elses() {
    let report = Report::deserialize_from_str(&written()).unwrap();
    let fault = find(&report, "a call after the worker restarts");
    let TestCaseStatus::NonSuccess { kind, .. } = &fault.status else { panic!("not an error") };
    assert_eq!(*kind, NonSuccessKind::Error);
}

#[test]
fn it_reads_well() {
    let text = written();
    let start = text.find("<testsuite name=\"suites/guard.yaml\"").unwrap();
    let end = text.find("<testsuite name=\"suites/adapter.yaml\"").unwrap();
    insta::assert_snapshot!(&text[start..end]);
}

#[test]
fn no_secret_and_no_character_that_xml_forbids() {
    let text = written();
    assert!(!text.contains("4711"));
    let forbidden =
        |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    assert_eq!(text.find(forbidden), None);
}
