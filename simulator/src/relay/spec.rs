use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dialect::Dialect;
use crate::duration::Span;
use crate::fault::FaultRule;

/// The `relay:` section of a scenario.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RelaySpec {
    /// Whom the relay behaves like.
    pub dialect: DialectName,
    /// How long a session lives that nobody uses; `4h` unless it is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
    /// Which of the legal shapes the answers to the README's long poll have.
    pub poll_body: PollShape,
    /// What goes wrong, first match first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRule>,
}

/// Whom a relay behaves like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DialectName {
    /// The contract in full, with the long polls of both dialects.
    #[default]
    Readme,
    /// The public Node relay, as it was observed.
    PublicNode,
}

impl DialectName {
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::Readme => Dialect::README,
            Self::PublicNode => Dialect::PUBLIC_NODE,
        }
    }
}

/// The shape of a long poll's answer in the README's dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PollShape {
    /// `{"frames":[…],"cursor":"17"}`
    #[default]
    Frames,
    /// `{"events":[…],"next":17}`
    Events,
    /// `{"messages":[…],"last_event_id":"17"}`
    Messages,
    /// A bare list of frames, without a cursor.
    List,
    /// One bare frame, without a cursor; an empty list when there is none.
    One,
}
