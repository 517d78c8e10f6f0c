//! The steps of a script.

use super::expect::Expect;
use crate::subject::protocol::Priority;
use relay_simulator::duration::Span as Duration;
use relay_simulator::fault::FaultRule;
use relay_simulator::person::Edit;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One step: exactly one of `agent`, `person`, `relay`, `wait`, `faults` and `together`, with
/// what it must lead to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a step")]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A name by which `then` speaks of this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// An agent does something and waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentAct>,
    /// A person edits the surface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonAct>,
    /// Something happens to the relay or its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelayAct>,
    /// Time passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Duration>,
    /// Within `together`: the step begins this long after the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
    /// From here on these faults are in force instead of the ones before. An empty list clears
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Vec<FaultRule>>,
    /// Steps that run at the same time. The next step waits for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Vec<Step>>,
    /// What the agent's act must lead to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// What an agent does: a plain word (`tools`), or a mapping with one of `call`, `announce` and
/// `does`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an agent's act")]
#[serde(untagged)]
pub enum AgentAct {
    /// An act that needs nothing said about it.
    Plain(PlainAct),
    /// An act with particulars.
    With(Box<ActWith>),
}

/// Acts that need nothing said about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an act")]
#[serde(rename_all = "snake_case")]
pub enum PlainAct {
    /// Takes up the invitation. An agent that was not told to attaches by itself before its
    /// first act.
    Attach,
    /// Discovers the tools.
    Tools,
    /// Asks what changed since its last turn.
    ChangesSince,
    /// Asks how conflicts are detected here.
    ConflictDetection,
    /// Asks for the attachment's state.
    Status,
    /// Leaves.
    Detach,
}

/// An act with particulars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "an agent's act")]
#[serde(deny_unknown_fields)]
pub struct ActWith {
    /// Which agent, when there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Calls this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// `false` says that the surface does not offer that tool, and that this is the point. A tool
    /// that is not on the board is a mistake otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    /// The arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<Map<String, Value>>,
    /// Announces what it is about to do (PRES-1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announce: Option<AnnounceAct>,
    /// One of the plain acts, when `by` or `owner` must be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does: Option<PlainAct>,
    /// Presents another owner than its own (OWNER-1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// An activity, as people see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an activity")]
#[serde(deny_unknown_fields)]
pub struct AnnounceAct {
    /// What the agent does: `editing`, `reading`, …
    pub action: String,
    /// The handle that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// How much it asks for attention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
}

/// What a person does, and who it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "a person's edit")]
pub struct PersonAct {
    /// The person's name; `person` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The edit.
    #[serde(flatten)]
    pub edit: Edit,
}

impl<'de> Deserialize<'de> for PersonAct {
    /// By hand, because serde cannot refuse unknown keys beside a flattened part.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        let by = match map.remove("by") {
            None => None,
            Some(by) => Some(String::deserialize(by).map_err(D::Error::custom)?),
        };
        let edit = Edit::deserialize(Value::Object(map)).map_err(D::Error::custom)?;
        Ok(Self { by, edit })
    }
}

impl PlainAct {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Attach => "attach",
            Self::Tools => "tools",
            Self::ChangesSince => "changes_since",
            Self::ConflictDetection => "conflict_detection",
            Self::Status => "status",
            Self::Detach => "detach",
        }
    }
}

/// Something that happens to the relay or its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a relay's act")]
#[serde(rename_all = "kebab-case")]
pub enum RelayAct {
    /// The surface's host ends the session: 410 from here on.
    EndSession,
    /// The session was idle for too long: 410 from here on.
    ExpireSession,
    /// The relay restarts and forgets every session, mailbox and stream.
    Restart,
    /// The session's token is replaced: the old one is wrong from here on, 401.
    RevokeToken,
}
