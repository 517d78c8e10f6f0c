//! What changed between two runs and two records.

use crate::fixtures::run;
use relay_reports::verdict::Verdict;
use relay_reports::{Redactor, diff};

#[test]
fn two_runs() {
    let (before, mut after) = (run(), run());
    after.client = "builtin 0.2.0".into();
    after.cases[0].verdict = Verdict::Failed { reason: "1 expectation broke".into() };
    after.cases[1].verdict = Verdict::Passed;
    after.cases[2].expectations[0].held = false;
    after.cases[8].verdict = Verdict::Passed;
    after.cases[11].verdict = Verdict::NotRun { reason: "the client lacks `pace`".into() };
    let gone = after.cases.remove(3);
    after.cases.push(relay_reports::verdict::Case { id: "new.yaml::new".into(), ..gone });
    insta::assert_snapshot!(diff::runs(&before, &after, &Redactor::none()));
}

#[test]
fn a_run_is_no_different_from_itself() {
    assert_eq!(diff::runs(&run(), &run(), &Redactor::none()), "nothing changed\n");
}

#[test]
fn two_records_of_one_scenario() {
    let run = run();
    let record = |nth: usize| run.cases[nth].record.as_ref().unwrap();
    insta::assert_snapshot!(diff::records(record(0), record(1), &Redactor::none()));
    let same = diff::records(record(0), record(0), &Redactor::none());
    assert_eq!(same, "the two records tell the same story\n");
}
