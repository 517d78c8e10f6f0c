//! The page.

use crate::fixtures::{REVERT, TOKEN, run};
use relay_reports::{Redactor, html};
use serde_json::Value;

fn page() -> String {
    html::write(&run(), &Redactor::new([TOKEN]).unwrap())
}

/// What the page's script draws from.
fn data(page: &str) -> Value {
    let start = page.find(r#"id="data">"#).unwrap() + r#"id="data">"#.len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

fn case<'d>(data: &'d Value, id: &str) -> &'d Value {
    let mut cases = data["cases"].as_array().unwrap().iter();
    cases.find(|case| case["id"] == id).unwrap()
}

#[test]
fn what_failed_comes_first() {
    let data = data(&page());
    let cases = data["cases"].as_array().unwrap();
    let words: Vec<_> = cases.iter().map(|case| case["verdict"].as_str().unwrap()).collect();
    assert_eq!(words.first(), Some(&"failed"));
    assert_eq!(words.last(), Some(&"passed"));
    assert_eq!(data["run"]["numbers"], "2 passed, 7 failed, 4 skipped");
}

#[test]
fn the_sequence_has_a_lane_a_party_and_the_state_around_each_write() {
    let data = data(&page());
    let record = &case(&data, REVERT)["record"];
    let lanes = record["lanes"].as_array().unwrap();
    let roles: Vec<_> = lanes.iter().map(|lane| lane["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["person", "agent", "client", "relay", "surface"]);
    let moments = record["moments"].as_array().unwrap();
    let edit = moments.iter().find(|moment| moment["kind"] == "edit").unwrap();
    assert_eq!((&edit["from"], &edit["to"]), (&0.into(), &4.into()));
    assert_eq!(edit["state"][0]["before"]["x"], "0");
    assert_eq!(edit["state"][0]["after"]["x"], "40");
}

#[test]
fn the_page_needs_nothing_else_and_may_load_nothing() {
    let page = page();
    assert!(page.contains("default-src 'none'"));
    for loading in
        ["http://", "https://", "<link rel=\"stylesheet\"", "<script src", "@import", "url("]
    {
        // The one address names SVG, which is a name and not a place.
        let shell = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!shell.contains(loading), "{loading}");
    }
}

#[test]
fn recorded_text_is_never_markup() {
    let page = page();
    assert!(page.contains("\\u003c/script>\\u003cimg src=x"), "the hostile text is in the data");
    assert!(!page.contains("<img"), "and nowhere as markup");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!include_str!("../../src/html/script.js").contains("innerHTML"));
}

#[test]
fn a_large_run_stays_small_and_says_what_it_left_out() {
    let mut large = run();
    let cases = large.cases.clone();
    while large.cases.len() < 1_500 {
        large.cases.extend(cases.iter().cloned());
    }
    let page = html::write(&large, &Redactor::none());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let data = data(&page);
    let cases = data["cases"].as_array().unwrap();
    assert!(cases[0]["record"].is_object(), "a failure keeps its record");
    assert_eq!(cases.last().unwrap()["leftOut"], true, "a passing case loses it first");
}
