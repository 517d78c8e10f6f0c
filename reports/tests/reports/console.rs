//! What a person reads in a terminal.

use crate::fixtures::{REVERT, TOKEN, run};
use relay_reports::Redactor;
use relay_reports::console::{Options, Printer};
use std::time::Duration;

fn redactor() -> Redactor {
    Redactor::new([TOKEN]).unwrap()
}

/// Everything that a run prints.
fn printed(options: Options) -> String {
    let redactor = redactor();
    let printer = Printer::new(options, &redactor);
    let run = run();
    let mut text: String = run.cases.iter().map(|case| printer.case(case)).collect();
    text.push_str(&printer.summary(&run, Duration::from_millis(1_530)));
    text
}

#[test]
fn a_run_tells_its_failures_and_ends_in_numbers() {
    insta::assert_snapshot!(printed(Options::default()));
}

#[test]
fn verbose_tells_every_case() {
    let text = printed(Options { verbose: true, ..Options::default() });
    let quiet = printed(Options::default());
    let added: String =
        text.lines().filter(|line| !quiet.contains(line)).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(added);
}

#[test]
fn colours_change_nothing_but_the_colours() {
    let coloured = printed(Options { colour: true, ..Options::default() });
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some(start) = rest.find('\u{1b}') {
        plain.push_str(&rest[..start]);
        rest = &rest[start + rest[start..].find('m').unwrap() + 1..];
    }
    plain.push_str(rest);
    let tidy = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(tidy(&plain), tidy(&printed(Options::default())));
}

#[test]
fn the_last_line_is_for_scripts() {
    for colour in [false, true] {
        let text = printed(Options { colour, ..Options::default() });
        assert_eq!(text.lines().last(), Some("2 passed, 7 failed, 4 skipped"));
    }
    let redactor = Redactor::none();
    let printer = Printer::new(Options::default(), &redactor);
    let mut none_skipped = run();
    none_skipped.cases.truncate(2);
    let text = printer.summary(&none_skipped, Duration::ZERO);
    assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let text = printed(Options { width: 60, ..Options::default() });
    let case = text.split("FAIL ").find(|case| case.starts_with("deadline")).unwrap();
    insta::assert_snapshot!(case);
}

#[test]
fn a_timeline_draws_the_whole_case() {
    let redactor = redactor();
    let printer = Printer::new(Options::default(), &redactor);
    let run = run();
    let case = run.cases.iter().find(|case| case.id == REVERT).unwrap();
    insta::assert_snapshot!(printer.timeline(case));
}

#[test]
fn no_control_character_of_a_surface_reaches_the_terminal() {
    let text = printed(Options { verbose: true, ..Options::default() });
    let found = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(found, None);
    assert!(text.contains("[token]") && !text.contains("4711"));
}

#[test]
fn a_saved_record_is_drawn_like_its_case() {
    let redactor = redactor();
    let printer = Printer::new(Options::default(), &redactor);
    let run = run();
    let case = run.cases.iter().find(|case| case.id == REVERT).unwrap();
    let drawn = printer.record(case.record.as_ref().unwrap());
    let unmarked = printer.timeline(case).replace('▌', " ");
    // The evidence of a verdict may show a line that the record alone does not.
    for line in drawn.lines() {
        assert!(unmarked.contains(line), "{line}");
    }
    assert!(drawn.lines().count() > 30);
}
