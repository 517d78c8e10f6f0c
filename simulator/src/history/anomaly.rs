//! The names of what goes wrong, and the list of all that did.

use std::fmt;

use serde::Serialize;

use super::timeline::History;
use super::{
    double_apply, false_calm, leak, lost_update, needless_refusal, resurrection, revert,
    self_deference,
};

/// One thing that went wrong between two writers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    /// Its name.
    pub kind: AnomalyKind,
    /// The client whose agent did it or suffered it.
    pub client: String,
    /// What happened, in a sentence that the person at the board understands.
    pub says: String,
    /// What would have stopped it.
    pub protection: String,
    /// Sequence numbers of the entries that make it, in order.
    pub evidence: Vec<u64>,
}

/// The eight anomalies (contract, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnomalyKind {
    /// An agent overwrote what it had never seen.
    LostUpdate,
    /// An agent saw a person's edit and put its own value back.
    Revert,
    /// What a person deleted came back.
    Resurrection,
    /// "Nothing changed" was said, and something had.
    FalseCalm,
    /// A call was refused although nothing it depended on had moved.
    NeedlessRefusal,
    /// An agent stood aside for itself.
    SelfDeference,
    /// One agent read another's answer.
    Leak,
    /// One call, two effects.
    DoubleApply,
}

impl AnomalyKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::LostUpdate,
        Self::Revert,
        Self::Resurrection,
        Self::FalseCalm,
        Self::NeedlessRefusal,
        Self::SelfDeference,
        Self::Leak,
        Self::DoubleApply,
    ];

    /// Its name in scenarios and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::LostUpdate => "lost_update",
            Self::Revert => "revert",
            Self::Resurrection => "resurrection",
            Self::FalseCalm => "false_calm",
            Self::NeedlessRefusal => "needless_refusal",
            Self::SelfDeference => "self_deference",
            Self::Leak => "leak",
            Self::DoubleApply => "double_apply",
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Everything that went wrong, in the order in which it came true.
///
/// A write over a person's deletion is a resurrection and nothing else; of what else an agent's
/// write does to a person's values, what the agent had not seen is a lost update, what it had
/// seen and put back is a revert.
pub fn anomalies(history: &History) -> Vec<Anomaly> {
    let finders = [
        lost_update::find,
        revert::find,
        resurrection::find,
        false_calm::find,
        needless_refusal::find,
        self_deference::find,
        leak::find,
        double_apply::find,
    ];
    let mut found: Vec<_> = finders.into_iter().flat_map(|find| find(history)).collect();
    found.sort_by_key(|anomaly| (anomaly.evidence.last().copied(), anomaly.kind));
    found
}
