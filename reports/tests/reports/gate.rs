//! Every report passes the gate (AUTH-2).

use crate::fixtures::{TOKEN, run};
use relay_reports::{Format, Redactor, render};

#[test]
fn no_report_holds_the_secret_in_any_spelling() {
    let redactor = Redactor::new([TOKEN]).unwrap();
    for format in Format::ALL {
        let text = render(*format, &run(), &redactor);
        // The part of the secret that no encoding touches.
        assert!(!text.contains("4711"), "{format} holds the secret");
    }
}

#[test]
fn without_the_gate_they_would() {
    // Else the test above could not fail.
    for format in Format::ALL {
        let text = render(*format, &run(), &Redactor::none());
        assert!(text.contains("4711"), "{format} never had the secret");
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
