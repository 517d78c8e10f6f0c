//! The good answers, one shape an operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Hello;

/// A subject's good answer to an operation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// To `hello`.
    Hello(Hello),
    /// To `attach`.
    Attached(Attached),
    /// To `tools`.
    Tools(Tools),
    /// To `call`.
    Called(Called),
    /// To `changes_since`.
    Changes(Changes),
    /// To `conflict_detection`.
    Detection(Detection),
    /// To `status`.
    Status(Status),
    /// To `detach`.
    Detached(Detached),
    /// To `digest`.
    Digest(Digest),
    /// To `announce`, `reset` and `shutdown`.
    Done(Done),
}

/// The answer to `attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// The client's own id of the attachment.
    pub attachment: String,
    /// The client id that a relay will see (IDENT-1), when the client tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// The answer to `tools`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// The tools that the agent may call, in the surface's order.
    pub tools: Vec<Tool>,
    /// What was refused, and why (TRUST-10). Absent when the client does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<Vec<SetAside>>,
}

/// A tool that the agent may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its description, as a model would read it.
    pub description: String,
    /// The digest of its definition, when the client has such a thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A tool that discovery left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAside {
    /// Its name, as far as it had one.
    pub name: String,
    /// Why it was left out, in the client's words.
    pub why: String,
}

/// The answer to `call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// What a model would read, its frame included (GUARD-2).
    pub text: String,
    /// The revision that the result carried, when the client tells it with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// The answer to `changes_since`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// What is known about the feed (FEED-2).
    pub feed: FeedState,
    /// Whether the answer claims to hold every change (FEED-4).
    pub complete: bool,
    /// Whether the surface could say at all.
    pub answered: bool,
    /// Whether it is safe to conclude that nothing changed (FEED-3, FEED-12).
    pub nothing_changed: bool,
    /// The rows, in the surface's order.
    pub changes: Vec<Change>,
    /// Handles of the changes that the agent shall leave alone (FEED-9).
    pub defer_to: Vec<String>,
    /// Every handle that changed, first seen first (FEED-11).
    pub handles: Vec<String>,
    /// The revision that came with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// One row of a change feed, as the client read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The surface's id of what changed.
    pub handle: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Who did it.
    pub actor: Actor,
    /// The surface's words for it, framed (GUARD-3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// What happened to a handle (FEED-7).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content changed.
    Updated,
    /// It is gone.
    Deleted,
    /// It is somewhere else.
    Moved,
    /// The surface used another word.
    Unknown,
}

/// Who changed something (FEED-8).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A person.
    Human,
    /// This agent.
    Agent,
    /// Neither: a job, a system.
    Other,
    /// Nobody that the client could make out.
    Unknown,
}

/// What is known about a surface's change feed (FEED-2).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FeedState {
    /// Nothing: the surface has not listed its tools.
    NotObserved,
    /// There is none.
    Unavailable,
    /// There is one.
    Offered,
    /// There is one, and it named somebody else than this agent (FEED-10).
    Attributed,
}

/// The answer to `conflict_detection`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detection {
    /// What was seen.
    pub state: DetectionState,
}

/// How much protection against lost updates was seen (REV-7).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DetectionState {
    /// Nothing: the surface has not answered a call.
    NotObserved,
    /// It answered and minted nothing.
    Unavailable,
    /// It mints revisions; whether it minds them was not seen.
    Minted,
    /// It refused a stale pin.
    Enforced,
}

/// The answer to `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Where the attachment is in its life.
    pub state: AttachmentState,
    /// The stored revision, the one that the next call will be pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What was seen of conflict detection.
    pub conflict_detection: DetectionState,
    /// What was seen of the change feed.
    pub change_feed: FeedState,
    /// The client id on the wire, when the client tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// Where an attachment is in its life (LIFE-2).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentState {
    /// It can be used.
    Attached,
    /// The surface is gone.
    SurfaceUnavailable,
    /// The relay did not know its token.
    AttachmentUnauthorized,
    /// It left.
    Detached,
}

/// The answer to `detach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detached {
    /// The attachment's state after it.
    pub state: AttachmentState,
}

/// The answer to `digest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// The digest, in the spelling that `trust.pins` takes.
    pub digest: String,
}

/// The answer to what has nothing to say: `{}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {}
