//! How a subject introduces itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Capability, Config};

/// Who answers, and what it can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version of the protocol that the adapter was written for.
    pub protocol: u32,
    /// The client's name, as its users know it: the name of its package.
    pub name: String,
    /// The client's own version, asked from the installed package, not written down.
    pub version: String,
    /// The language it is written in, with its version where that matters: `Python 3.11`.
    pub language: String,
    /// What it can do. What it lacks is skipped and counted, never passed.
    pub capabilities: Vec<Capability>,
    /// Keys of `config` that it cannot honour, dotted: `max_frame_bytes`, `poll.wait_ms`.
    /// A case that sets one of them to something else than its default is not run.
    #[serde(default)]
    pub cannot_honour: Vec<String>,
    /// The smallest step of its timeout in milliseconds: 1000 for a client that takes whole
    /// seconds. Scaled timeouts are rounded up to it.
    #[serde(default = "one")]
    pub timeout_step_ms: u64,
}

impl Hello {
    /// Whether the subject has a capability.
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// Why a client of this kind cannot be built from `config`, one reason a missing thing.
    /// Empty when it can.
    pub fn obstacles(&self, config: &Config) -> Vec<String> {
        let missing = config
            .needs()
            .into_iter()
            .filter(|capability| !self.can(*capability))
            .map(|capability| format!("`{}` lacks the capability `{capability}`", self.name));
        let deaf = config
            .changed_keys()
            .into_iter()
            .filter(|key| self.cannot_honour.iter().any(|deaf| deaf == key))
            .map(|key| format!("`{}` cannot honour `{key}`", self.name));
        missing.chain(deaf).collect()
    }
}

fn one() -> u64 {
    1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn hello() -> Hello {
        serde_json::from_value(json!({
            "protocol": 1,
            "name": "example",
            "version": "0.1",
            "language": "Python 3.12",
            "capabilities": ["transport-sse", "auth-query", "trust-allow"],
            "cannot_honour": ["max_frame_bytes"],
        }))
        .unwrap()
    }

    #[test]
    fn a_plain_configuration_meets_no_obstacle() {
        assert!(hello().obstacles(&Config::default()).is_empty());
        assert_eq!(hello().timeout_step_ms, 1);
    }

    #[test]
    fn every_obstacle_is_named() {
        let mut config = Config { require_revision: true, max_frame_bytes: 9, ..Config::default() };
        config.trust.every_tool = true;
        assert_eq!(
            hello().obstacles(&config),
            [
                "`example` lacks the capability `trust-every-tool`",
                "`example` lacks the capability `require-revision`",
                "`example` lacks the capability `max-frame-bytes`",
                "`example` cannot honour `max_frame_bytes`",
            ]
        );
    }
}
