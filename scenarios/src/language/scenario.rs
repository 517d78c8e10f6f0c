//! One scenario: who takes part, what happens, what must be true.

use super::expect::Outcome;
use super::step::Step;
use crate::subject::protocol::{Auth, Capability, PollDialect, Transport};
use indexmap::IndexMap;
use relay_simulator::duration::Span as Duration;
use relay_simulator::person::Trigger;
use relay_simulator::relay::RelaySpec;
use relay_simulator::surface::SurfaceSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One scenario, one YAML document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a scenario")]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What is asserted, as a sentence. It names the case in every report.
    pub name: String,
    /// Why the scenario exists, for a reader of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Contract ids that the scenario proves. At least one: a scenario that proves nothing is an
    /// error.
    pub proves: Vec<String>,
    /// Free words for `--tag`. Scenarios that provoke an anomaly carry its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Capabilities that a client must have declared. A client that lacks one is not run, and
    /// the case is counted as skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Capability>,
    /// Axes and their values. The scenario becomes one case for each combination; `${axis}`
    /// stands for the value, anywhere in the document.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub matrix: IndexMap<String, Vec<Value>>,
    /// Names for values that are used more than once, as `${name}`.
    #[serde(default, rename = "let", skip_serializing_if = "IndexMap::is_empty")]
    pub bindings: IndexMap<String, Value>,
    /// The surface and its powers. Left out: a board that protects its people in every way.
    #[serde(default)]
    pub surface: SurfaceSpec,
    /// The relay and what goes wrong with it. Left out: a relay that keeps its contract.
    #[serde(default)]
    pub relay: RelaySpec,
    /// How every agent's client is configured. An agent's own `client:` is laid over it.
    #[serde(default)]
    pub client: ClientSpec,
    /// The agents by name, when there is more than the one that is simply called `agent`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub agents: IndexMap<String, AgentSpec>,
    /// Edits that people make by themselves: when a frame passes, or at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<Trigger>,
    /// What happens, one step after the other.
    pub script: Vec<Step>,
    /// What must be true at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<Outcome>,
}

/// The agent that a scenario without `agents:` has.
pub const THE_AGENT: &str = "agent";

impl Scenario {
    /// The names of the agents, in order.
    pub fn agent_names(&self) -> Vec<&str> {
        if self.agents.is_empty() {
            vec![THE_AGENT]
        } else {
            self.agents.keys().map(String::as_str).collect()
        }
    }

    /// The agent that a step means when it names none: the only one there is.
    pub fn sole_agent(&self) -> Option<&str> {
        match self.agent_names().as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// How a client is configured. What is left out is the contract's default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "a client")]
#[serde(deny_unknown_fields, default)]
pub struct ClientSpec {
    /// Which transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Which tools are trusted. Left out: every tool of the stock board is on the allowlist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustSpec>,
    /// Where the token goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// The deadline of one exchange (TIME-1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// The bound on a result, in bytes (GUARD-1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<u64>,
    /// The bound on a frame, in bytes (SSE-3, POLL-5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_frame_bytes: Option<u64>,
    /// Refuse calls on a surface that mints no revision (REV-8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_revision: Option<bool>,
    /// Open the stream before the POST (SSE-5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe_first: Option<bool>,
    /// How the long poll is spoken (POLL-6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<PollSpec>,
    /// Which relays may be reached, and how (EGRESS-1 to EGRESS-4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<EgressSpec>,
    /// What the invitation says in place of the truth (INVITE-1, EGRESS-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationSpec>,
}

/// Which tools a client trusts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a trust policy")]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrustSpec {
    /// None is declared (TRUST-1).
    Undeclared,
    /// Every tool that the surface offers, those reserved for people excepted.
    EveryTool,
    /// Only these.
    #[serde(untagged)]
    Allow(AllowList),
}

/// An allowlist, with pins of definitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an allowlist")]
#[serde(deny_unknown_fields)]
pub struct AllowList {
    /// Names of tools. An empty list is declared trust in nothing (TRUST-2).
    pub allow: Vec<String>,
    /// Tools whose definition is pinned (TRUST-4): to `as-offered`, the definition that the
    /// surface offers at the start, or to a digest.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub pins: IndexMap<String, String>,
}

/// The word for a pin to the definition that the surface offers at the start.
pub const AS_OFFERED: &str = "as-offered";

/// How a long poll is spoken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a poll configuration")]
#[serde(deny_unknown_fields)]
pub struct PollSpec {
    /// Whose dialect.
    #[serde(default)]
    pub dialect: PollDialect,
    /// The path's last segment, when it is not the dialect's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How long a poll is asked to be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Duration>,
}

/// What a client may reach. Left out, a scenario opts into unverified egress on loopback, since
/// the relay stands there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "an egress policy")]
#[serde(deny_unknown_fields, default)]
pub struct EgressSpec {
    /// The opt-in for isolated local use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_unverified: Option<bool>,
    /// Hosts that may be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<String>>,
    /// Ports that may be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_ports: Option<Vec<u16>>,
}

/// An invitation that somebody tampered with. What is left out is true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "an invitation")]
#[serde(deny_unknown_fields, default)]
pub struct InvitationSpec {
    /// The relay's base URL. `$authority` in it stands for host and port of the case's relay, so
    /// that a client that is taken in is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
    /// The session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The token. It stands in the scenario, so it is no secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// One agent of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "an agent")]
#[serde(deny_unknown_fields, default)]
pub struct AgentSpec {
    /// Whose agent it is (OWNER-1). Left out: `owner`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The agent whose attachment this one works on, as a second worker that shares its store
    /// (STORE-1). It attaches to nothing of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub works_on: Option<String>,
    /// The name that people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The colour that people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The agent's own configuration, laid over the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientSpec>,
}
