//! TAP, workflow commands, Markdown and HAR.

use crate::fixtures::{TOKEN, run};
use relay_reports::{Format, Redactor, render};
use serde_json::Value;

fn written(format: Format) -> String {
    render(format, &run(), &Redactor::new([TOKEN]).unwrap())
}

#[test]
fn tap() {
    insta::assert_snapshot!(written(Format::Tap));
}

#[test]
fn github() {
    let text = written(Format::Github);
    for line in text.lines() {
        assert!(line.starts_with("::error ") || line.starts_with("::notice "), "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn markdown() {
    insta::assert_snapshot!(written(Format::Markdown));
}

#[test]
fn a_summary_that_would_be_too_long_says_what_it_leaves_out() {
    let mut many = run();
    let case = many.cases[1].clone();
    many.cases = vec![case; 600];
    let text = render(Format::Markdown, &many, &Redactor::none());
    assert!(text.len() < 1_000_000 + 200, "{}", text.len());
    assert!(text.contains("more failures left out here"), "nothing was left out");
}

#[test]
fn har_holds_every_exchange_on_the_cases_clock() {
    let har: Value = serde_json::from_str(&written(Format::Har)).unwrap();
    assert_eq!(har["log"]["version"], "1.2");
    let entries = har["log"]["entries"].as_array().unwrap();
    let held = entries
        .iter()
        .find(|entry| entry["time"] == 30_000)
        .expect("the stream that waited for 30 s");
    assert_eq!(held["startedDateTime"], "1970-01-01T00:00:02.034000Z");
    assert_eq!(held["timings"]["receive"], 30_000);
    insta::assert_snapshot!(serde_json::to_string_pretty(&entries[5]).unwrap());
}
