//! How a client under test is built: every knob of the contract.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Capability;

/// The bound on a result's bytes that clients start from (GUARD-1).
pub const MAX_RESULT_BYTES: u64 = 65_536;
/// The bound on a frame's bytes that clients start from (SSE-3).
pub const MAX_FRAME_BYTES: u64 = 262_144;
/// The deadline of an exchange that clients start from, in milliseconds (SSE-1).
pub const TIMEOUT_MS: u64 = 30_000;

/// How a client is built. Every key is sent, so an adapter needs no defaults of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How exchanges go.
    pub transport: Transport,
    /// Which tools are trusted.
    pub trust: Trust,
    /// Where the token goes (AUTH-1).
    pub auth: Auth,
    /// The deadline of one exchange, both legs, in milliseconds (SSE-1, POLL-4).
    pub timeout_ms: u64,
    /// Results over this many bytes are refused (GUARD-1).
    pub max_result_bytes: u64,
    /// Frames over this many bytes are refused (SSE-3, POLL-5).
    pub max_frame_bytes: u64,
    /// Refuses calls on a surface that answered and minted nothing (REV-8).
    pub require_revision: bool,
    /// Opens the stream before the POST (SSE-5).
    pub subscribe_first: bool,
    /// The long poll's dialect. Means nothing to other transports.
    pub poll: Poll,
    /// Where the client may connect to.
    pub egress: Egress,
    /// Where attachments are kept.
    pub store: Store,
    /// Certificates to trust besides those of the platform, as PEM; none for plain HTTP.
    pub tls_roots_pem: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            transport: Transport::Sse,
            trust: Trust::default(),
            auth: Auth::Query,
            timeout_ms: TIMEOUT_MS,
            max_result_bytes: MAX_RESULT_BYTES,
            max_frame_bytes: MAX_FRAME_BYTES,
            require_revision: false,
            subscribe_first: false,
            poll: Poll::default(),
            egress: Egress::default(),
            store: Store::default(),
            tls_roots_pem: None,
        }
    }
}

/// How exchanges go.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// POST, then an event stream.
    #[default]
    Sse,
    /// POST, then short polls.
    LongPoll,
}

/// Which tools are trusted. Three cases: `undeclared` is true; else `every_tool` is true; else
/// `allow` is the list, and an empty one is a declaration too (TRUST-2).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Trust {
    /// The host has declared nothing (TRUST-1).
    pub undeclared: bool,
    /// The host trusts whatever the surface offers (TRUST-6).
    pub every_tool: bool,
    /// The host trusts these (TRUST-3).
    pub allow: Vec<String>,
    /// Tool name to digest, in the client's own spelling: see `digest` (TRUST-4).
    pub pins: IndexMap<String, String>,
}

/// Where the token goes (AUTH-1).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// In the query.
    #[default]
    Query,
    /// In the `Authorization` header.
    Bearer,
}

/// The long poll's dialect (POLL-6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Poll {
    /// The last segment of the path.
    pub path: String,
    /// Which of the two dialects.
    pub dialect: PollDialect,
    /// How long the relay is asked to hold a poll, in milliseconds. The README's dialect sends
    /// whole seconds, rounded up.
    pub wait_ms: u64,
}

impl Default for Poll {
    fn default() -> Self {
        Self { path: "outbox".into(), dialect: PollDialect::Readme, wait_ms: 5_000 }
    }
}

/// Which long-poll dialect.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PollDialect {
    /// `outbox`, seconds, cursor.
    #[default]
    Readme,
    /// `poll`, milliseconds, subscriber, frames as strings.
    Public,
}

/// Where the client may connect to (EGRESS-1 to EGRESS-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Egress {
    /// The trusted proxy that every request goes through.
    pub proxy: Option<String>,
    /// The opt-in to unverified egress, and to plain HTTP on loopback with it.
    pub allow_unverified: bool,
    /// Hosts that a relay may have.
    pub allowed_hosts: Vec<String>,
    /// Ports that a relay may have.
    pub allowed_ports: Vec<u16>,
}

impl Default for Egress {
    fn default() -> Self {
        Self {
            proxy: None,
            allow_unverified: false,
            allowed_hosts: Vec::new(),
            allowed_ports: vec![443],
        }
    }
}

/// Where attachments are kept (STORE-1).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// Which kind of store.
    pub kind: StoreKind,
    /// For `memory`, a name: agents that give the same one share a store; none is a store of the
    /// agent's own. For `durable`, a path that does not exist yet, or that another worker made.
    pub path: Option<String>,
}

/// Which kind of store.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// In the memory of the process.
    #[default]
    Memory,
    /// In a file that outlives it.
    Durable,
}

impl Config {
    /// The capabilities that a client needs to be built from this, in the set's order.
    pub fn needs(&self) -> Vec<Capability> {
        let long_poll = self.transport == Transport::LongPoll;
        let default_poll = Poll::default();
        let rules = [
            (Capability::TransportSse, self.transport == Transport::Sse),
            (Capability::TransportLongPoll, long_poll && self.poll.dialect == PollDialect::Readme),
            (Capability::PollPublicDialect, long_poll && self.poll.dialect == PollDialect::Public),
            (
                Capability::PollPath,
                long_poll
                    && self.poll.dialect == PollDialect::Readme
                    && self.poll.path != default_poll.path,
            ),
            (Capability::SubscribeFirst, !long_poll && self.subscribe_first),
            (Capability::AuthQuery, self.auth == Auth::Query),
            (Capability::AuthBearer, self.auth == Auth::Bearer),
            (Capability::TrustAllow, !self.trust.undeclared && !self.trust.every_tool),
            (Capability::TrustEveryTool, !self.trust.undeclared && self.trust.every_tool),
            (Capability::TrustUndeclared, self.trust.undeclared),
            (Capability::TrustPins, !self.trust.pins.is_empty()),
            (Capability::RequireRevision, self.require_revision),
            (Capability::MaxResultBytes, self.max_result_bytes != MAX_RESULT_BYTES),
            (Capability::MaxFrameBytes, self.max_frame_bytes != MAX_FRAME_BYTES),
            (Capability::EgressProxy, self.egress.proxy.is_some()),
            (Capability::TlsRoots, self.tls_roots_pem.is_some()),
            (
                Capability::SharedStore,
                self.store.kind == StoreKind::Memory && self.store.path.is_some(),
            ),
            (Capability::DurableStore, self.store.kind == StoreKind::Durable),
        ];
        rules.into_iter().filter(|(_, needed)| *needed).map(|(capability, _)| capability).collect()
    }

    /// The dotted keys that hold something else than their default, those aside that mean nothing
    /// to the transport.
    pub fn changed_keys(&self) -> Vec<String> {
        let (mine, default) = (leaves(self), leaves(&Self::default()));
        let idle = match self.transport {
            Transport::Sse => "poll.",
            Transport::LongPoll => "subscribe_first",
        };
        mine.into_iter()
            .filter(|(key, value)| !key.starts_with(idle) && default.get(key) != Some(value))
            .map(|(key, _)| key)
            .collect()
    }

    /// Every dotted key that `cannot_honour` may name.
    pub fn keys() -> Vec<String> {
        leaves(&Self::default()).into_keys().collect()
    }
}

/// The configuration as one flat map. `trust.pins` is a leaf: its keys are the scenario's.
fn leaves(config: &Config) -> IndexMap<String, Value> {
    let mut flat = IndexMap::new();
    // The type holds strings, numbers, booleans, lists and string-keyed maps only, all of which
    // JSON can hold; there is nothing for this to fail on.
    let Ok(Value::Object(tree)) = serde_json::to_value(config) else { return flat };
    for (key, value) in tree {
        match value {
            Value::Object(inner) => {
                flat.extend(
                    inner.into_iter().map(|(leaf, value)| (format!("{key}.{leaf}"), value)),
                );
            }
            leaf => {
                flat.insert(key, leaf);
            }
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_default_needs_only_what_every_client_has() {
        assert_eq!(
            Config::default().needs(),
            [Capability::TransportSse, Capability::AuthQuery, Capability::TrustAllow]
        );
        assert!(Config::default().changed_keys().is_empty());
    }

    #[test]
    fn a_changed_key_is_named_with_its_path() {
        let mut config = Config::default();
        config.trust.pins.insert("screen_read".into(), "sha256:00".into());
        config.egress.allowed_ports = vec![8443];
        config.timeout_ms = 5;
        assert_eq!(config.changed_keys(), ["trust.pins", "timeout_ms", "egress.allowed_ports"]);
        assert!(config.needs().contains(&Capability::TrustPins));
    }

    #[test]
    fn a_key_that_the_transport_has_no_use_for_is_no_obstacle() {
        let poll = Poll { path: "queue".into(), dialect: PollDialect::Public, wait_ms: 1 };
        let sse = Config { poll, ..Config::default() };
        assert!(sse.changed_keys().is_empty());
        assert_eq!(sse.needs(), Config::default().needs());
        let transport = Transport::LongPoll;
        let long_poll = Config { transport, subscribe_first: true, ..Config::default() };
        assert_eq!(long_poll.changed_keys(), ["transport"]);
        assert!(!long_poll.needs().contains(&Capability::SubscribeFirst));
    }

    #[test]
    fn the_public_dialect_is_a_capability_of_its_own() {
        let config = Config {
            transport: Transport::LongPoll,
            poll: Poll { path: "poll".into(), dialect: PollDialect::Public, wait_ms: 20_000 },
            ..Config::default()
        };
        assert!(config.needs().contains(&Capability::PollPublicDialect));
        assert!(!config.needs().contains(&Capability::TransportLongPoll));
        assert!(!config.needs().contains(&Capability::PollPath));
    }

    #[test]
    fn every_key_is_sent() {
        let sent = serde_json::to_value(Config::default()).unwrap();
        assert_eq!(sent["egress"]["proxy"], Value::Null);
        assert_eq!(sent["store"], serde_json::json!({ "kind": "memory", "path": null }));
        assert_eq!(sent["transport"], "sse");
        assert_eq!(sent["poll"]["dialect"], "readme");
    }
}
