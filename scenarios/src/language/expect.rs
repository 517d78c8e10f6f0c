//! What must be true: of a step's outcome, and at the end.

use crate::subject::protocol::{
    Actor, AttachmentState, ChangeKind, DetectionState, ErrorCode, FeedState, Happened,
};
use indexmap::IndexMap;
use relay_simulator::duration::Span as Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One value, or several that are all right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOf<T> {
    /// Only this.
    One(T),
    /// Any of these. Which one was taken is remarked in the report.
    Any(Vec<T>),
}

impl<T> OneOf<T> {
    /// The values that are right.
    pub fn values(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Any(values) => values,
        }
    }
}

/// What a step's outcome must be. Every part that is given must hold; a step without `expect`
/// must simply succeed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "an expectation")]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The act fails with this code, or with one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<OneOf<ErrorCode>>,
    /// Where the contract leaves it open: the act succeeds, or fails with one of these codes.
    /// Which it was is remarked in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub may_fail: Option<OneOf<ErrorCode>>,
    /// Words that the error's message holds, each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub says: Vec<String>,
    /// Words that neither the answer nor the error's message holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub never_says: Vec<String>,
    /// Whether the client says that a failed call took effect (MCP-5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happened: Option<OneOf<Happened>>,
    /// The name of an earlier step whose answer, or error message, reads differently from this
    /// one's: a fresh nonce (GUARD-2), words of its own (TRUST-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs_from: Option<String>,
    /// Text that the call's result holds, each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Tools that discovery lists, and ones that it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ExpectTools>,
    /// What the change feed's answer says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ExpectChanges>,
    /// The attachment's state, from `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<OneOf<AttachmentState>>,
    /// How conflicts are detected, from `conflict_detection` or `status` (REV-7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_detection: Option<OneOf<DetectionState>>,
    /// The feed's state, from `status` or `changes_since` (FEED-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_feed: Option<OneOf<FeedState>>,
    /// How long the act took, on the case's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took: Option<Took>,
    /// How many HTTP requests the act made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Count>,
}

/// What discovery must answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "expected tools")]
#[serde(deny_unknown_fields, default)]
pub struct ExpectTools {
    /// These are listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// These are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// These were left out, and that was told (TRUST-10).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
}

/// What the change feed's answer must say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "expected changes")]
#[serde(deny_unknown_fields, default)]
pub struct ExpectChanges {
    /// Whether the surface could answer at all (FEED-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<bool>,
    /// Whether calm may be concluded (FEED-3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_changed: Option<bool>,
    /// Whether the answer claims completeness (FEED-4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// Handles to defer to, in any order, no more and no fewer (FEED-9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer_to: Option<Vec<String>>,
    /// Handles that changed, in order (FEED-11).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handles: Option<Vec<String>>,
    /// Rows, in order: each a handle with its kind and actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<ExpectRow>>,
}

/// One row of the change feed's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an expected row")]
#[serde(deny_unknown_fields)]
pub struct ExpectRow {
    /// The handle.
    pub handle: String,
    /// `created`, `updated`, `deleted`, `moved` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ChangeKind>,
    /// `human`, `agent`, `other` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

/// A length of time: exactly this, or within bounds. On the real clock bounds are scaled, and
/// the upper one has a measured allowance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a length of time")]
#[serde(untagged)]
pub enum Took {
    /// Exactly this, to the millisecond.
    Exactly(Duration),
    /// Within bounds, both included.
    Within(TimeBounds),
}

/// Bounds of a length of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "time bounds")]
#[serde(deny_unknown_fields, default)]
pub struct TimeBounds {
    /// No shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Duration>,
    /// No longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Duration>,
}

/// A number of things: exactly this, or within bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a count")]
#[serde(untagged)]
pub enum Count {
    /// Exactly this many.
    Exactly(u64),
    /// Within bounds, both included.
    Within(CountBounds),
}

/// Bounds of a number of things.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "count bounds")]
#[serde(deny_unknown_fields, default)]
pub struct CountBounds {
    /// No fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u64>,
    /// No more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u64>,
}

impl Count {
    /// Whether a number is right.
    pub fn holds(&self, seen: u64) -> bool {
        match self {
            Self::Exactly(count) => seen == *count,
            Self::Within(bounds) => {
                bounds.at_least.is_none_or(|least| seen >= least)
                    && bounds.at_most.is_none_or(|most| seen <= most)
            }
        }
    }
}

/// Something that must be true at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an outcome")]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// Screens of the surface: fields that must have these values, or `absent`.
    Surface(IndexMap<String, ExpectScreen>),
    /// The pins of the calls that reached the surface, in order; `none` for an unpinned one.
    Pins(ExpectPins),
    /// The anomalies of the surface's history: `none`, or exactly these kinds.
    Anomalies(ExpectAnomalies),
    /// HTTP requests that reached the relay.
    Requests(RequestFilter),
    /// Frames that clients sent.
    Frames(FrameFilter),
    /// The methods of the frames that clients sent, in order, from the first.
    Order(Vec<String>),
    /// Text that is nowhere: not in an answer, an error, a log line, a header. The word `token`
    /// stands for the session's token, which may be in the place the contract gives it only.
    Never(OneOf<String>),
    /// The state of an attachment at the end.
    Attachment(ExpectAttachment),
    /// How much time the whole script took, on the case's clock.
    Took(Took),
    /// The time between one request of a route and the next.
    Pacing(Pacing),
    /// A fault of the scenario struck this often: proof that it was put to the test.
    Struck(Struck),
}

/// What a screen must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an expected screen")]
#[serde(untagged)]
pub enum ExpectScreen {
    /// Not there.
    Absent(Absent),
    /// There, with these values among its fields.
    Fields(Map<String, Value>),
}

/// The word `absent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "the word `absent`")]
#[serde(rename_all = "snake_case")]
pub enum Absent {
    /// Not there.
    Absent,
}

/// What the pins must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "expected pins")]
#[serde(untagged)]
pub enum ExpectPins {
    /// Of every call.
    All(Vec<String>),
    /// Of some calls.
    Some(PinFilter),
}

/// Which calls, and their pins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "expected pins")]
#[serde(deny_unknown_fields)]
pub struct PinFilter {
    /// Only calls of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only calls of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The pins, in order; `none` for an unpinned call, `any` for one that is pinned to
    /// something.
    pub are: Vec<String>,
}

/// What anomalies must be found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "expected anomalies")]
#[serde(untagged)]
pub enum ExpectAnomalies {
    /// None.
    None(NoneWord),
    /// Exactly these kinds, each at least once.
    Kinds(Vec<AnomalyKind>),
}

/// The word `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "the word `none`")]
#[serde(rename_all = "snake_case")]
pub enum NoneWord {
    /// None.
    None,
}

/// The anomalies between two writers (contract, section 5).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[schemars(title = "an anomaly")]
#[serde(rename_all = "snake_case")]
pub enum AnomalyKind {
    /// The agent overwrote what it had never seen.
    LostUpdate,
    /// The agent saw a person's edit and put its own value back.
    Revert,
    /// A deleted thing came back.
    Resurrection,
    /// "Nothing changed" was said, and something had.
    FalseCalm,
    /// Refused although nothing it depended on had moved.
    NeedlessRefusal,
    /// The agent stood aside for itself.
    SelfDeference,
    /// One agent read another's answer.
    Leak,
    /// One call, two effects.
    DoubleApply,
}

/// Which HTTP requests, and how many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "expected requests")]
#[serde(deny_unknown_fields, default)]
pub struct RequestFilter {
    /// Of this route: `inbox`, `events`, `outbox`, `poll`, `unregister`; `receive` for a stream or
    /// a poll of either dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Answered with this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Made during the step of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<String>,
    /// Made after the step of this name was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// With these in the query: a value, `present` or `absent`. The token's value is `[token]`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub query: IndexMap<String, String>,
    /// With these headers: a value, `present` or `absent`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
    /// How many there are. Left out: at least one, and then `every` may be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// Every request that the filter finds has these in its query. None found is red.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub every_query: IndexMap<String, String>,
    /// Every request that the filter finds has these headers. None found is red.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub every_headers: IndexMap<String, String>,
}

/// Which frames of clients, and how many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(title = "expected frames")]
#[serde(deny_unknown_fields, default)]
pub struct FrameFilter {
    /// With this JSON-RPC method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Calls of this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Sent during the step of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<String>,
    /// Sent after the step of this name was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// With these among their params, at any depth that is written out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Value>>,
    /// How many there are. Left out: at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// The ids of the frames that the filter finds are all different, also between agents
    /// (IDENT-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_ids: Option<bool>,
}

/// What an attachment must be at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "an expected attachment")]
#[serde(deny_unknown_fields)]
pub struct ExpectAttachment {
    /// Whose; the only agent's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its state, as `status` told it last.
    pub state: AttachmentState,
}

/// The time between one request of a route and the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a pacing")]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// The route, as in `requests`.
    pub route: String,
    /// During the step of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<String>,
    /// From a response's end to the next request, no shorter than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_at_least: Option<Duration>,
    /// From a response's end to the next request, no longer than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_at_most: Option<Duration>,
}

/// How often a fault struck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "a fault that struck")]
#[serde(deny_unknown_fields)]
pub struct Struck {
    /// Which rule, counted from 1 in the order of `relay.faults`; any when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<u64>,
    /// How often.
    pub count: Count,
}
