//! What other programs and later commands read.

use crate::fixtures::{TOKEN, run};
use relay_reports::{Redactor, json};
use serde_json::Value;

#[test]
fn a_run_reads_back_as_it_was() {
    let run = run();
    let text = json::write(&run, &Redactor::none());
    assert_eq!(json::read("run.json", &text).unwrap(), run);
}

#[test]
fn a_saved_run_holds_no_secret_and_is_written_the_same_again() {
    let text = json::write(&run(), &Redactor::new([TOKEN]).unwrap());
    assert!(!text.contains("4711"));
    let again = json::write(&json::read("run.json", &text).unwrap(), &Redactor::none());
    assert_eq!(again, text);
}

#[test]
fn the_shape_is_the_one_that_the_schema_tells() {
    let saved: Value = serde_json::from_str(&json::write(&run(), &Redactor::none())).unwrap();
    let schema = json::schema();
    for field in saved.as_object().unwrap().keys() {
        assert!(schema["properties"][field].is_object(), "{field} is not in the schema");
    }
    insta::assert_snapshot!(saved["cases"][6]);
}

#[test]
fn refusals_say_why() {
    let refusal = |text: &str| json::read("run.json", text).unwrap_err().to_string();
    assert_eq!(
        refusal(r#"{"format":2,"testbed":"9.0.0"}"#),
        "run.json: the run has format 2, and this version reads up to 1; it was written by a \
         newer testbed (`9.0.0`)"
    );
    assert_eq!(refusal("{\n  oops"), "run.json:2:3: not a saved run: key must be a string");
    assert_eq!(
        refusal(r#"{"format":1}"#),
        "run.json:1:12: not a saved run: missing field `testbed`"
    );
}
