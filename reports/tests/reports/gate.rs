//! Every report passes the gate (AUTH-2), and none crashes on odd input.

use crate::fixtures::{REVERT, TOKEN, run};
use relay_reports::console::{Options, Printer};
use relay_reports::verdict::{Case, Run};
use relay_reports::{Format, Redactor, diff, record_file, render};
use std::time::Duration;

/// Everything that can be asked of this crate, by name.
fn everything(run: &Run, redactor: &Redactor) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Format::ALL
        .iter()
        .map(|format| (format.to_string(), render(*format, run, redactor)))
        .collect();
    let mut add = |name: &str, text: String| texts.push((name.to_owned(), text));
    let options = Options { colour: true, verbose: true, timeline: true, width: 80 };
    let printer = Printer::new(options, redactor);
    let recorded = |case: &&Case| case.record.is_some();
    let case = run.cases.iter().filter(recorded).find(|case| case.id.starts_with("guard")).unwrap();
    let record = case.record.as_ref().unwrap();
    let other = run.cases.iter().find(|case| case.id == REVERT).unwrap();
    add("printer.case", printer.case(case));
    add("printer.timeline", printer.timeline(case));
    add("printer.record", printer.record(record));
    add("printer.summary", printer.summary(run, Duration::ZERO));
    add("record_file", record_file::write(record, redactor));
    add("diff.records", diff::records(other.record.as_ref().unwrap(), record, redactor));
    let empty = Run { cases: Vec::new(), ..run.clone() };
    add("diff.runs", diff::runs(&empty, run, redactor));
    texts
}

#[test]
fn no_report_holds_the_secret_in_any_spelling() {
    let redactor = Redactor::new([TOKEN]).unwrap();
    for (name, text) in everything(&run(), &redactor) {
        // The part of the secret that no encoding touches.
        assert!(!text.contains("4711"), "{name} holds the secret");
        assert!(text.contains("token]") || text.contains("token\\]"), "{name} has no mark");
    }
}

#[test]
fn without_the_gate_they_would() {
    // Else the test above could not fail.
    for (name, text) in everything(&run(), &Redactor::none()) {
        assert!(text.contains("4711"), "{name} never had the secret");
    }
}

#[test]
fn formats_are_found_by_name() {
    for format in Format::ALL {
        assert_eq!(format.name().parse(), Ok(*format));
    }
    let error = "pdf".parse::<Format>().unwrap_err().to_string();
    assert!(error.starts_with("unknown report `pdf` (known: `console`, `junit`"), "{error}");
}

#[test]
fn odd_places_in_a_scenario_are_told_all_the_same() {
    let sources = ["", " ", "é", "\t- x: {", "漢字: [", "\u{9b}\u{202e}'", "a\nb"];
    let mut odd = run();
    let case = odd.cases[1].clone();
    odd.cases.clear();
    for source in sources {
        for (line, column) in [(0, 0), (1, 1), (u64::MAX, u64::MAX), (7, 3)] {
            let mut case = case.clone();
            for expectation in &mut case.expectations {
                expectation.source = source.into();
                (expectation.line, expectation.column) = (line, column);
                expectation.evidence = vec![0, 1, u64::MAX];
            }
            odd.cases.push(case);
        }
    }
    let printer_width = |width| Options { width, timeline: true, ..Options::default() };
    for format in Format::ALL {
        assert!(!render(*format, &odd, &Redactor::none()).is_empty(), "{format}");
    }
    for width in [0, 1, 40, 10_000] {
        let redactor = Redactor::none();
        let printer = Printer::new(printer_width(width), &redactor);
        assert!(odd.cases.iter().all(|case| printer.case(case).contains("seen")));
    }
}
