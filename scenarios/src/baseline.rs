//! Baselines: failures that are known, each with a reason.
//!
//! A known failure is still run. It has to go on failing, and in the same way: an entry whose
//! case passes, fails differently, expired, or matches nothing fails the run, so that a baseline
//! cannot rot.

use relay_reports::verdict::{Case, Expectation, Verdict};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A baseline file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The client that it speaks of, `name version`. Another client is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The failures that are known.
    pub known: Vec<Known>,
}

/// One failure that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The case's id; without its `[…]`, every case of the scenario's matrix.
    pub case: String,
    /// What breaks, as [`fingerprint`] spells it. Exactly these must break.
    pub fails: Vec<String>,
    /// Why it fails, for people.
    pub reason: String,
    /// Where it is being dealt with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The last day on which it is known, `2027-01-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

/// What is wrong with a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It cannot be read.
    #[error("cannot read the baseline `{path}`: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// It is not a baseline.
    #[error("the baseline `{path}` is wrong:\n{error}")]
    Wrong {
        /// The file.
        path: String,
        /// What and where.
        error: Box<serde_yaml::Error>,
    },
    /// It speaks of another client.
    #[error(
        "the baseline speaks of `{baseline}`, and the client under test is `{client}` \
         (hint: write one for it with `relay-testbed baseline update`)"
    )]
    OtherClient {
        /// The client in the file.
        baseline: String,
        /// The client under test.
        client: String,
    },
    /// An expiry is no date.
    #[error("`expires: {expires}` of `{case}` is no date (write `2027-01-31`)")]
    NoDate {
        /// What stands there.
        expires: String,
        /// The entry.
        case: String,
    },
}

impl Baseline {
    /// Reads a baseline.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| BaselineError::Unreadable { path: name.clone(), error })?;
        let baseline: Self = serde_yaml::from_str(&text)
            .map_err(|error| BaselineError::Wrong { path: name, error: Box::new(error) })?;
        for known in &baseline.known {
            if let Some(expires) = &known.expires
                && !is_date(expires)
            {
                let (expires, case) = (expires.clone(), known.case.clone());
                return Err(BaselineError::NoDate { expires, case });
            }
        }
        Ok(baseline)
    }

    /// Refuses a baseline that was written for another client.
    pub fn is_for(&self, client: &str) -> Result<(), BaselineError> {
        match &self.client {
            Some(baseline) if baseline != client => Err(BaselineError::OtherClient {
                baseline: baseline.clone(),
                client: client.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Lays the baseline over the verdicts of a run. `today` is `2027-01-31`. What it returns
    /// are the entries that match no case of the run, each with why.
    pub fn apply(&self, cases: &mut [Case], today: &str) -> Vec<String> {
        let mut stale = Vec::new();
        for known in &self.known {
            let mut matched = false;
            for case in cases.iter_mut().filter(|case| known.matches(&case.id)) {
                matched = true;
                case.verdict = known.verdict(case, today);
            }
            if !matched {
                stale.push(format!("`{}` matches no case of this run", known.case));
            }
        }
        stale
    }
}

impl Known {
    fn matches(&self, id: &str) -> bool {
        id == self.case || id.split(" [").next() == Some(self.case.as_str())
    }

    fn verdict(&self, case: &Case, today: &str) -> Verdict {
        match &case.verdict {
            Verdict::Failed { .. } => {
                let seen = fingerprint(&case.expectations);
                if seen != self.fails {
                    let words = |list: &[String]| {
                        if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
                    };
                    return Verdict::Failed {
                        reason: format!(
                            "it fails otherwise than the baseline says: {} instead of {}",
                            words(&seen),
                            words(&self.fails)
                        ),
                    };
                }
                match &self.expires {
                    Some(expires) if expires.as_str() < today => Verdict::Failed {
                        reason: format!(
                            "the baseline's entry expired on {expires}: {}",
                            self.reason
                        ),
                    },
                    _ => Verdict::KnownFailure { reason: self.reason.clone() },
                }
            }
            Verdict::Passed => Verdict::UnexpectedPass {
                reason: format!(
                    "the baseline says that it fails ({}), and it passes: take the entry out",
                    self.reason
                ),
            },
            other => other.clone(),
        }
    }
}

/// What broke, in a spelling that survives another seed, another machine and another clock: the
/// paths of the broken expectations, and the error that was seen where one was.
pub fn fingerprint(expectations: &[Expectation]) -> Vec<String> {
    let mut broken: Vec<String> = expectations
        .iter()
        .filter(|one| !one.held)
        .map(|one| match error_code(&one.seen) {
            Some(code) => format!("{} saw {code}", one.path),
            None => one.path.clone(),
        })
        .collect();
    broken.dedup();
    broken
}

/// The code at the start of "`timeout` (Timeout: …)".
fn error_code(seen: &str) -> Option<&str> {
    let (code, rest) = seen.strip_prefix('`')?.split_once('`')?;
    rest.starts_with(" (").then_some(code)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let numbers = |at: usize, digits: usize, most: u32| {
        parts.get(at).is_some_and(|part| {
            part.len() == digits
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part.parse::<u32>().is_ok_and(|number| (1..=most).contains(&number))
        })
    };
    parts.len() == 3 && numbers(0, 4, 9999) && numbers(1, 2, 12) && numbers(2, 2, 31)
}

/// The reason of an entry that nobody has looked at yet.
pub const NOT_LOOKED_AT: &str = "not yet looked at";

/// A baseline that says of this run what it was: entries of `before` keep their words.
pub fn updated(before: &Baseline, client: &str, cases: &[Case]) -> Baseline {
    let known = cases
        .iter()
        .filter(|case| case.expectations.iter().any(|one| !one.held))
        .filter(|case| {
            !matches!(case.verdict, Verdict::NotRun { .. } | Verdict::TestbedFault { .. })
        })
        .map(|case| {
            let old = before
                .known
                .iter()
                .find(|known| known.case == case.id)
                .or_else(|| before.known.iter().find(|known| known.matches(&case.id)));
            Known {
                case: case.id.clone(),
                fails: fingerprint(&case.expectations),
                reason: old.map_or_else(|| NOT_LOOKED_AT.to_owned(), |old| old.reason.clone()),
                issue: old.and_then(|old| old.issue.clone()),
                expires: old.and_then(|old| old.expires.clone()),
            }
        })
        .collect();
    Baseline { client: Some(client.to_owned()), known }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use indexmap::IndexMap;

    fn broken(path: &str, seen: &str) -> Expectation {
        Expectation {
            path: path.into(),
            line: 1,
            column: 1,
            source: String::new(),
            expected: String::new(),
            seen: seen.into(),
            held: false,
            evidence: vec![],
        }
    }

    fn case(id: &str, verdict: Verdict, expectations: Vec<Expectation>) -> Case {
        Case {
            id: id.into(),
            name: id.into(),
            file: "f".into(),
            line: 1,
            parameters: IndexMap::new(),
            proves: vec![],
            tags: vec![],
            verdict,
            expectations,
            anomalies: vec![],
            remarks: vec![],
            simulated_us: 0,
            wall_us: 0,
            record: None,
        }
    }

    fn known(case: &str, fails: &[&str]) -> Known {
        Known {
            case: case.into(),
            fails: fails.iter().map(|one| (*one).to_owned()).collect(),
            reason: "it is so".into(),
            issue: None,
            expires: None,
        }
    }

    #[track_caller]
    fn check(entry: Known, case: Case, expect: &str) {
        let mut cases = [case];
        let baseline = Baseline { client: None, known: vec![entry] };
        let stale = baseline.apply(&mut cases, "2026-06-15");
        assert_eq!(cases[0].verdict.word(), expect, "{:?}", cases[0].verdict);
        assert!(stale.is_empty(), "{stale:?}");
    }

    fn failed() -> Verdict {
        Verdict::Failed { reason: "x".into() }
    }

    #[test]
    fn a_failure_is_known_only_while_it_fails_as_written() {
        let fails = ["script[0].expect.error saw timeout"];
        let seen = || vec![broken("script[0].expect.error", "`timeout` (Timeout: late)")];
        let one = "f::a [t=sse]";
        check(known(one, &fails), case(one, failed(), seen()), "known failure");
        check(known("f::a", &fails), case(one, failed(), seen()), "known failure");
        check(known(one, &["script[1]"]), case(one, failed(), seen()), "failed");
        check(known(one, &fails), case(one, Verdict::Passed, vec![]), "unexpected pass");
        let skipped = Verdict::NotRun { reason: "x".into() };
        check(known(one, &fails), case(one, skipped, vec![]), "not run");
        let expired = Known { expires: Some("2026-06-14".into()), ..known(one, &fails) };
        check(expired, case(one, failed(), seen()), "failed");
        let last_day = Known { expires: Some("2026-06-15".into()), ..known(one, &fails) };
        check(last_day, case(one, failed(), seen()), "known failure");
    }

    #[test]
    fn an_entry_that_matches_nothing_is_told() {
        let baseline = Baseline { client: None, known: vec![known("f::gone", &[])] };
        let stale = baseline.apply(&mut [case("f::a", failed(), vec![])], "2026-06-15");
        assert_eq!(stale, ["`f::gone` matches no case of this run"]);
    }

    #[test]
    fn an_update_keeps_the_reasons_that_people_wrote() {
        let before = Baseline { client: None, known: vec![known("f::a", &["old"])] };
        let now = [
            case("f::a [t=sse]", failed(), vec![broken("then[0].pins", "none")]),
            case("f::b", failed(), vec![broken("then[1].order", "none")]),
            case("f::c", Verdict::Passed, vec![]),
        ];
        let after = updated(&before, "x 1", &now);
        assert_eq!(after.known.len(), 2);
        assert_eq!(after.known[0].reason, "it is so");
        assert_eq!(after.known[0].fails, ["then[0].pins"]);
        assert_eq!(after.known[1].reason, "not yet looked at");
    }

    #[test]
    fn dates_are_dates() {
        for (text, expect) in
            [("2026-01-31", true), ("2026-13-01", false), ("soon", false), ("2026-1-1", false)]
        {
            assert_eq!(is_date(text), expect, "{text}");
        }
    }
}
