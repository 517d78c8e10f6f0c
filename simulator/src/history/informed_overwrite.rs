//! Informed overwrites: an agent that has seen a person's value and writes a new one has decided
//! something. That is no anomaly, and a person may still want to know.

use serde::Serialize;

use super::revert::earlier;
use super::telling::evidence;
use super::timeline::History;

/// An agent's write over a person's value that the agent had seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InformedOverwrite {
    /// The agent's client.
    pub client: String,
    /// What was overwritten with what.
    pub says: String,
    /// Sequence numbers of the entries that make it, in order.
    pub evidence: Vec<u64>,
}

/// Every informed overwrite, in order.
pub fn informed_overwrites(history: &History) -> Vec<InformedOverwrite> {
    let informed = history.overwrites(|cell, client| {
        cell.person.number <= cell.seen && earlier(history, cell, client).is_none()
    });
    informed
        .into_iter()
        .map(|overwrite| InformedOverwrite {
            client: overwrite.client.to_owned(),
            says: format!(
                "{} {}, having seen it",
                history.agent(overwrite.client),
                overwrite.says(history)
            ),
            evidence: evidence(overwrite.entries(history)),
        })
        .collect()
}
