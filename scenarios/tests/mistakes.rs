//! Mistakes in scenarios, as the user sees them. The snapshots pin the words; read them aloud.

use relay_scenarios::language::diagnostic::Source;
use relay_scenarios::language::parse_file;

/// Every mistake of a file, one after the other.
fn shown(name: &str, text: &str) -> String {
    match parse_file(&Source::new(name, text)) {
        Ok(cases) => format!("nothing is wrong: {} cases", cases.len()),
        Err(diagnostics) => {
            let all: Vec<String> = diagnostics.iter().map(|one| one.render(false)).collect();
            all.join("\n\n")
        }
    }
}

macro_rules! mistakes {
    ($($test:ident = $file:literal),+ $(,)?) => {$(
        #[test]
        fn $test() {
            insta::assert_snapshot!(shown($file, include_str!(concat!("mistakes/", $file))));
        }
    )+};
}

mistakes! {
    every_slip_of_the_pen_is_shown_at_its_place = "typos.yaml",
    references_that_lead_nowhere_are_shown = "references.yaml",
    a_key_that_stands_twice_is_shown = "duplicate-key.yaml",
    what_is_no_yaml_is_shown = "not-yaml.yaml",
    variables_that_are_none_are_shown = "variables.yaml",
    a_scenario_that_proves_nothing_is_shown = "nothing-proved.yaml",
}

#[test]
fn a_good_scenario_has_no_mistake_and_one_case_for_each_combination() {
    let text = "\
name: good
proves: [REV-3]
matrix: { transport: [sse, long-poll], x: [1, 2, 3] }
script:
  - agent: { call: screen_move, with: { id: screen_1, x: \"${x}\" } }
";
    let cases = parse_file(&Source::new("good.yaml", text)).expect("it is good");
    assert_eq!(cases.len(), 6);
    let last = cases.last().expect("there are six");
    assert_eq!(last.parameters["transport"], "long-poll");
    assert_eq!(last.parameters["x"], "3");
    let json = serde_json::to_value(&last.scenario).expect("a scenario is JSON");
    assert_eq!(json["client"]["transport"], "long-poll");
    assert_eq!(json["script"][0]["agent"]["with"]["x"], 3, "a lone reference keeps its type");
}

#[test]
fn no_text_makes_the_reader_panic() {
    let good = include_str!("../suites/two-writers/revert.yaml");
    for cut in (0..good.len()).step_by(7).filter(|cut| good.is_char_boundary(*cut)) {
        let _shown = shown("cut.yaml", &good[..cut]);
    }
    for text in [
        "",
        "\u{feff}",
        "---\n---\n",
        "[]",
        "7",
        "- a",
        "name: [",
        "a: &a [*a]",
        "\t",
        "${",
        "name: ${x",
    ] {
        assert!(!shown("odd.yaml", text).starts_with("nothing is wrong"), "{text:?}");
    }
}
