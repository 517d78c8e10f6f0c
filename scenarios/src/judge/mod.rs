//! Judging: a pure function of a plan and a record.
//!
//! ```text
//! (plan, record) -> read (windows, answers, frames) -> step.rs, outcome.rs, wire.rs -> verdict
//! ```
//!
//! Nothing here runs anything, knows the time, or trusts a client's own account where the record
//! holds evidence. A record can be judged again, later, by a newer version.

mod anomalies;
mod outcome;
mod reading;
mod step;
mod wire;
mod words;

use crate::plan::PlannedCase;
use reading::Reading;
pub use reading::{FAULT, LEAKED};
use relay_reports::record::Record;
use relay_reports::verdict::{Anomaly, Expectation, Verdict};

/// How a length of time on the clock of the record is to be judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timing {
    /// The virtual clock: exact.
    Exact,
    /// The real clock, scaled: lower bounds hold, upper bounds have an allowance, and past it
    /// the machine was too slow to tell.
    Real {
        /// Simulated time to real time.
        scale: f64,
        /// Real time that a machine under load may add to a step, in microseconds.
        allowance_us: u64,
    },
}

/// What judging says of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict, before any baseline.
    pub verdict: Verdict,
    /// Every expectation, in the order of the file.
    pub expectations: Vec<Expectation>,
    /// Anomalies of the surface's history, expected or not.
    pub anomalies: Vec<Anomaly>,
    /// Facts worth keeping.
    pub remarks: Vec<String>,
}

/// Judges a case by its record.
pub fn judge(plan: &PlannedCase, record: &Record, timing: Timing) -> Judgement {
    let reading = Reading::of(plan, record, timing);
    let mut bench = Bench {
        plan,
        reading: &reading,
        expectations: Vec::new(),
        remarks: Vec::new(),
        too_slow: None,
    };
    for (index, (path, step)) in plan.steps().into_iter().enumerate() {
        step::judge(&mut bench, index, &path, step);
    }
    let (anomalies, overwrites) = anomalies::of(&reading);
    bench.remarks.extend(overwrites);
    for (index, outcome) in plan.scenario.then.iter().enumerate() {
        outcome::judge(&mut bench, &format!("then[{index}]"), outcome, &anomalies);
    }
    let verdict = bench.verdict();
    let Bench { expectations, remarks, .. } = bench;
    Judgement { verdict, expectations, anomalies, remarks }
}

/// Where expectations are laid down as they are judged.
struct Bench<'a> {
    plan: &'a PlannedCase,
    reading: &'a Reading<'a>,
    expectations: Vec<Expectation>,
    remarks: Vec<String>,
    too_slow: Option<String>,
}

/// What was found when an expectation was looked at.
struct Finding {
    held: bool,
    seen: String,
    evidence: Vec<u64>,
}

impl Finding {
    fn new(held: bool, seen: impl Into<String>, evidence: Vec<u64>) -> Self {
        Self { held, seen: seen.into(), evidence }
    }
}

impl Bench<'_> {
    fn lay(&mut self, path: &str, expected: impl Into<String>, finding: Finding) {
        let place = self.plan.place(path);
        self.expectations.push(Expectation {
            path: path.to_owned(),
            line: place.line,
            column: place.column,
            source: place.source,
            expected: expected.into(),
            seen: finding.seen,
            held: finding.held,
            evidence: finding.evidence,
        });
    }

    fn verdict(&self) -> Verdict {
        if let Some(reason) = self.reading.testbed_fault() {
            return Verdict::TestbedFault { reason };
        }
        let broken: Vec<_> = self.expectations.iter().filter(|one| !one.held).collect();
        if let Some(first) = broken.first() {
            let more = match broken.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let reason = format!("expected {}, saw {}{more}", first.expected, first.seen);
            return Verdict::Failed { reason };
        }
        if let Some(reason) = &self.too_slow {
            return Verdict::Inconclusive { reason: reason.clone() };
        }
        if self.expectations.is_empty() || !self.reading.anything_answered() {
            let reason = "nothing was proved: the client answered nothing".to_owned();
            return Verdict::Failed { reason };
        }
        if !self.reading.reached_relay() && !self.expects_no_request() {
            let reason = "nothing was proved: no request reached the relay, and the scenario does \
                          not say that none may"
                .to_owned();
            return Verdict::Failed { reason };
        }
        Verdict::Passed
    }

    /// Whether the scenario says in so many words that no request is made.
    fn expects_no_request(&self) -> bool {
        use crate::language::expect::{Count, Outcome, RequestFilter};
        let none = |count: &Option<Count>| count == &Some(Count::Exactly(0));
        self.plan.scenario.then.iter().any(|outcome| match outcome {
            Outcome::Requests(filter) => {
                none(&filter.count)
                    && *filter
                        == RequestFilter { count: filter.count.clone(), ..Default::default() }
            }
            _ => false,
        })
    }
}
