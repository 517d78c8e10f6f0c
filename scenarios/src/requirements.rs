//! The requirement registry: every id of the contract that a scenario may claim to prove.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// One line of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its id, such as `REV-6`.
    pub id: String,
    /// Who owes it.
    pub party: Party,
    /// What is owed, in one sentence.
    pub text: String,
}

/// Who owes a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The client that speaks for an agent.
    Client,
    /// The broker between clients and the surface.
    Relay,
    /// The application that owns the state.
    Surface,
}

/// Every requirement, in the contract's order.
pub fn all() -> &'static [Requirement] {
    static ALL: OnceLock<Vec<Requirement>> = OnceLock::new();
    ALL.get_or_init(|| {
        let text = include_str!("../suites/requirements.yaml");
        // The file is compiled in, and a test reads it: what fails here fails there first.
        serde_yaml::from_str(text).unwrap_or_else(|error| panic!("requirements.yaml: {error}"))
    })
}

/// The requirement of this id.
pub fn find(id: &str) -> Option<&'static Requirement> {
    all().iter().find(|requirement| requirement.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_reads_and_no_id_stands_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for requirement in all() {
            assert!(seen.insert(&requirement.id), "{} stands twice", requirement.id);
            assert!(requirement.text.ends_with('.'), "{}: not a sentence", requirement.id);
        }
        assert!(seen.len() > 90, "only {} requirements", seen.len());
        assert!(find("REV-6").is_some());
    }
}
