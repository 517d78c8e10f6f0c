//! Verdicts: what judging said of each case, and of the run.

use crate::record::Record;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What judging says of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Every expectation held, and something was proved.
    Passed,
    /// At least one expectation broke, or nothing was proved.
    Failed {
        /// In one sentence.
        reason: String,
    },
    /// It failed, and the baseline says that it would, and how.
    KnownFailure {
        /// The baseline's reason.
        reason: String,
    },
    /// The baseline says that it fails, and it passed, or failed in another way.
    UnexpectedPass {
        /// In one sentence.
        reason: String,
    },
    /// It was not run: the client declared that it lacks what the scenario needs.
    NotRun {
        /// What is lacking.
        reason: String,
    },
    /// On the real clock: too slow to tell.
    Inconclusive {
        /// What was too slow.
        reason: String,
    },
    /// The testbed or the adapter broke. Never blamed on the client.
    TestbedFault {
        /// What broke.
        reason: String,
    },
}

impl Verdict {
    /// The word that stands before a case in every report.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed { .. } => "failed",
            Self::KnownFailure { .. } => "known failure",
            Self::UnexpectedPass { .. } => "unexpected pass",
            Self::NotRun { .. } => "not run",
            Self::Inconclusive { .. } => "inconclusive",
            Self::TestbedFault { .. } => "testbed fault",
        }
    }

    /// The sentence that goes with it, when there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed { reason }
            | Self::KnownFailure { reason }
            | Self::UnexpectedPass { reason }
            | Self::NotRun { reason }
            | Self::Inconclusive { reason }
            | Self::TestbedFault { reason } => Some(reason),
        }
    }

    /// Which of the three numbers of the last line counts it.
    pub fn tally(&self) -> Tally {
        match self {
            Self::Passed | Self::KnownFailure { .. } => Tally::Passed,
            Self::Failed { .. } | Self::UnexpectedPass { .. } | Self::TestbedFault { .. } => {
                Tally::Failed
            }
            Self::NotRun { .. } | Self::Inconclusive { .. } => Tally::Skipped,
        }
    }
}

/// The three numbers of a run's last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tally {
    /// Passed, or failed as the baseline says.
    Passed,
    /// Failed, passed against the baseline, or broke.
    Failed,
    /// Not run, or not told.
    Skipped,
}

/// One expectation of a case, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// A stable name inside the scenario, for baselines: `script[2].expect.error`.
    pub path: String,
    /// The line of the scenario file it stands on, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// That line of the file, as written.
    pub source: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was seen, in words.
    pub seen: String,
    /// Whether it held.
    pub held: bool,
    /// Sequence numbers of the record's entries that show it.
    pub evidence: Vec<u64>,
}

/// An anomaly between two writers (contract, section 5), as a report tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anomaly {
    /// `lost_update`, `revert`, `resurrection`, `false_calm`, `needless_refusal`, …
    pub kind: String,
    /// What happened, in a sentence or two.
    pub says: String,
    /// What would have stopped it.
    pub protection: String,
    /// Sequence numbers of the record's entries that make it.
    pub evidence: Vec<u64>,
}

/// One case of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// `file::name [axis=value, …]`, unique in a run.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// The scenario's file, as the user named it.
    pub file: String,
    /// The line where the scenario starts, from 1.
    pub line: u64,
    /// The values of the matrix.
    pub parameters: IndexMap<String, String>,
    /// The contract ids that it proves.
    pub proves: Vec<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// What judging said.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Every expectation, in the order of the file.
    pub expectations: Vec<Expectation>,
    /// Anomalies that the surface's history holds, expected or not.
    pub anomalies: Vec<Anomaly>,
    /// Facts worth keeping beside the verdict, such as which of two allowed branches was taken.
    pub remarks: Vec<String>,
    /// Time on the case's clock, in microseconds.
    pub simulated_us: u64,
    /// Time on the wall, in microseconds. Never part of a record.
    pub wall_us: u64,
    /// What happened, when it is kept: always for a case that did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The version of this JSON's shape.
    pub format: u32,
    /// The version of the testbed.
    pub testbed: String,
    /// The client under test, `name version`.
    pub client: String,
    /// The seed.
    pub seed: u64,
    /// `virtual` or `real`.
    pub clock: String,
    /// `unix`, `tcp` or `tls`.
    pub wire: String,
    /// Entries of the baseline that match no case, each with why.
    pub stale_baseline: Vec<String>,
    /// The cases, in the order of the plan.
    pub cases: Vec<Case>,
}

impl Run {
    /// How many passed, failed and were skipped.
    pub fn tally(&self) -> (usize, usize, usize) {
        self.cases.iter().fold((0, 0, 0), |(p, f, s), case| match case.verdict.tally() {
            Tally::Passed => (p + 1, f, s),
            Tally::Failed => (p, f + 1, s),
            Tally::Skipped => (p, f, s + 1),
        })
    }
}
