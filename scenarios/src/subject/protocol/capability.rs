//! The closed set of things that a client may or may not be able to do.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares the set once: variant, spelling, meaning. The guide's table is tested against it.
macro_rules! capabilities {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal),+ $(,)?) => {
        /// Something that a client can do and another may not.
        ///
        /// The set is closed, so that a misspelt one is noticed instead of skipping half a suite.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Capability { $($(#[doc = $doc])+ $variant),+ }

        impl Capability {
            /// Every capability, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its spelling in `hello` and in a scenario's `needs:`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// What a client that has it does.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

capabilities! {
    /// Exchanges by POST and an event stream (SSE-1).
    TransportSse = "transport-sse",
    /// Exchanges by short requests, in the README's dialect (POLL-1).
    TransportLongPoll = "transport-long-poll",
    /// Long polls in the dialect of the public relays: `poll`, milliseconds, subscriber (POLL-6).
    PollPublicDialect = "poll-public-dialect",
    /// The last segment of the long poll's path can be set.
    PollPath = "poll-path",
    /// Can open the stream before the POST (SSE-5).
    SubscribeFirst = "subscribe-first",
    /// Sends the token in the query (AUTH-1).
    AuthQuery = "auth-query",
    /// Sends the token as `Authorization: Bearer` (AUTH-1).
    AuthBearer = "auth-bearer",
    /// Takes an allowlist of tools (TRUST-3).
    TrustAllow = "trust-allow",
    /// Can trust every tool that is not reserved (TRUST-6).
    TrustEveryTool = "trust-every-tool",
    /// Can be left without any declared trust, and refuses then (TRUST-1).
    TrustUndeclared = "trust-undeclared",
    /// Pins tool definitions to digests, and answers `digest` (TRUST-4).
    TrustPins = "trust-pins",
    /// Names the tools that discovery left out, and why (TRUST-10).
    SetAside = "set-aside",
    /// Pins calls to revisions and answers `conflict_detection` (REV-7).
    ConflictDetection = "conflict-detection",
    /// Can refuse surfaces that mint no revision (REV-8).
    RequireRevision = "require-revision",
    /// Answers `changes_since` (FEED-2).
    ChangeFeed = "change-feed",
    /// Answers `announce` (PRES-1).
    Announce = "announce",
    /// Bounds results, and the bound can be set (GUARD-1).
    MaxResultBytes = "max-result-bytes",
    /// Bounds frames, and the bound can be set (SSE-3, POLL-5).
    MaxFrameBytes = "max-frame-bytes",
    /// Bounds an exchange by a timeout of its own (TIME-1).
    Timeout = "timeout",
    /// Says of a failed call whether it took effect (MCP-5, REV-9).
    Happened = "happened",
    /// Refuses relays by URL, host, port and address (EGRESS-2 to EGRESS-4).
    EgressPolicy = "egress-policy",
    /// Sends every request through a proxy that it was given (EGRESS-1).
    EgressProxy = "egress-proxy",
    /// Trusts the roots it is given, so that TLS can be tried against a testbed.
    TlsRoots = "tls-roots",
    /// Binds an attachment to its owner (OWNER-1).
    Owner = "owner",
    /// One process holds several attached agents.
    SeveralAgents = "several-agents",
    /// Operations of different agents run at the same time; answers may come in any order.
    ConcurrentAgents = "concurrent-agents",
    /// Several clients in one process can share one store (STORE-1).
    SharedStore = "shared-store",
    /// The store outlives the process (STORE-1).
    DurableStore = "durable-store",
    /// What the client logs, debug level included, is on stderr (AUTH-2).
    LogCapture = "log-capture",
    /// Runs on the testbed's virtual clock. Only the built-in client can.
    VirtualClock = "virtual-clock",
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A capability that is not in the set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown capability `{name}`{hint}")]
pub struct UnknownCapability {
    name: String,
    hint: String,
}

impl FromStr for Capability {
    type Err = UnknownCapability;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if let Some(found) = Self::ALL.iter().find(|capability| capability.as_str() == name) {
            return Ok(*found);
        }
        let nearest = Self::ALL
            .iter()
            .map(|capability| (strsim::damerau_levenshtein(name, capability.as_str()), capability))
            .min_by_key(|(distance, _)| *distance);
        let hint = match nearest {
            // A third of the word may be wrong; past that, the nearest name is noise.
            Some((distance, capability)) if distance * 3 <= capability.as_str().len() => {
                format!(" (did you mean `{capability}`?)")
            }
            _ => {
                let all: Vec<_> = Self::ALL.iter().map(|one| format!("`{one}`")).collect();
                format!(" (known: {})", all.join(", "))
            }
        };
        Err(UnknownCapability { name: name.chars().take(80).collect(), hint })
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Capability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Capability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Capability".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = Self::ALL.iter().map(|capability| capability.as_str()).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_capability_reads_back_from_its_spelling() {
        for capability in Capability::ALL {
            assert_eq!(capability.as_str().parse::<Capability>().unwrap(), *capability);
            assert!(!capability.meaning().is_empty());
        }
    }

    #[test]
    fn a_misspelt_capability_is_told_its_neighbour() {
        let error = "transport-see".parse::<Capability>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown capability `transport-see` (did you mean `transport-sse`?)"
        );
        let far = "telepathy".parse::<Capability>().unwrap_err();
        assert!(far.to_string().contains("known: `transport-sse`, "), "{far}");
    }
}
