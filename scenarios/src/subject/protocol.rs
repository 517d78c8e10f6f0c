//! What the testbed and a client under test say to each other.
//!
//! An adapter is a program that holds a client. It reads one JSON value a line from stdin and
//! answers one JSON value a line on stdout; stderr is free for logs. The built-in client answers
//! with the same types, so a runner sees one kind of subject.
//!
//! ```text
//! -> {"id":1,"op":"hello","protocol":1}
//! <- {"id":1,"ok":{"protocol":1,"name":"…","version":"…","language":"…","capabilities":[…],…}}
//! -> {"id":2,"op":"attach","agent":"ada","owner":"…","config":{…},"invitation":{…},"participant":{…}}
//! <- {"id":2,"ok":{"attachment":"surface_1f…","client":"py_9c…"}}
//! -> {"id":3,"op":"call","agent":"ada","owner":"…","tool":"screen_read","arguments":{"id":"screen_7"}}
//! <- {"id":3,"error":{"code":"gone","native":"SurfaceUnavailable","message":"…"}}
//! ```
//!
//! Every key of a request is always sent, so an adapter needs no defaults of its own; keys that
//! may be absent from an answer say so. Answers are read strictly: a key that nobody knows is a
//! typing error in the adapter more often than news from the future.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod answer;
mod capability;
mod config;
mod failure;
#[cfg(test)]
mod guide;
mod hello;

pub use answer::{
    Actor, Answer, Attached, AttachmentState, Called, Change, ChangeKind, Changes, Detached,
    Detection, DetectionState, Digest, Done, FeedState, SetAside, Status, Tool, Tools,
};
pub use capability::{Capability, UnknownCapability};
pub use config::{
    Auth, Config, Egress, MAX_FRAME_BYTES, MAX_RESULT_BYTES, Poll, PollDialect, Store, StoreKind,
    TIMEOUT_MS, Transport, Trust,
};
pub use failure::{ErrorCode, Happened, OperationError};
pub use hello::Hello;

/// The version of this protocol. An adapter answers `hello` with the version it was written for;
/// a testbed that speaks another one says so and runs nothing.
pub const PROTOCOL: u32 = 1;

/// One line to an adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Comes back with the answer. Unique in one life of the adapter.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub operation: Operation,
}

/// What a subject can be asked to do.
///
/// Operations name an agent, not an attachment: an adapter keeps the attachment of each agent,
/// and its client, under the agent's name until `reset`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    /// Who are you? The first line of every life. Answered by [`Hello`].
    Hello {
        /// The version that the testbed speaks.
        protocol: u32,
    },
    /// Builds a client from `config` and attaches it, without any network (LIFE-1).
    /// Answered by [`Attached`]. Boxed because it dwarfs its siblings.
    Attach(Box<Attach>),
    /// Discovers the trusted tools. Answered by [`Tools`].
    Tools(Named),
    /// Calls a tool. Answered by [`Called`].
    Call(Call),
    /// Asks what changed since the agent's last turn. Answered by [`Changes`].
    ChangesSince(Named),
    /// How much protection against lost updates was seen. Answered by [`Detection`].
    ConflictDetection(Named),
    /// Tells the people on the surface what the agent is doing (PRES-1). Answered by [`Done`].
    Announce(Announce),
    /// The attachment as the client keeps it, without network. Answered by [`Status`].
    Status(Named),
    /// Leaves the surface. Answered by [`Detached`].
    Detach(Named),
    /// The digest that the client would pin this definition to (TRUST-5); digests differ by
    /// language. Answered by [`Digest`].
    Digest {
        /// A tool definition as a surface lists it: `name`, `description`, `inputSchema`.
        definition: Value,
    },
    /// Forgets every agent, attachment, store and connection: a new case begins. Answered by
    /// [`Done`].
    Reset,
    /// Answers [`Done`], then exits with status 0. So does the end of stdin.
    Shutdown,
}

impl Operation {
    /// The operation's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Attach(_) => "attach",
            Self::Tools(_) => "tools",
            Self::Call(_) => "call",
            Self::ChangesSince(_) => "changes_since",
            Self::ConflictDetection(_) => "conflict_detection",
            Self::Announce(_) => "announce",
            Self::Status(_) => "status",
            Self::Detach(_) => "detach",
            Self::Digest { .. } => "digest",
            Self::Reset => "reset",
            Self::Shutdown => "shutdown",
        }
    }

    /// The agent it is asked of; none for what concerns the subject as a whole.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Attach(attach) => Some(&attach.agent),
            Self::Call(call) => Some(&call.agent),
            Self::Announce(announce) => Some(&announce.agent),
            Self::Tools(named)
            | Self::ChangesSince(named)
            | Self::ConflictDetection(named)
            | Self::Status(named)
            | Self::Detach(named) => Some(&named.agent),
            Self::Hello { .. } | Self::Digest { .. } | Self::Reset | Self::Shutdown => None,
        }
    }

    /// Reads the `ok` of an answer to this operation.
    ///
    /// # Errors
    /// When it does not have the shape that the operation is answered with.
    pub fn read_ok(&self, ok: Value) -> Result<Answer, serde_json::Error> {
        use serde_json::from_value;
        Ok(match self {
            Self::Hello { .. } => Answer::Hello(from_value(ok)?),
            Self::Attach(_) => Answer::Attached(from_value(ok)?),
            Self::Tools(_) => Answer::Tools(from_value(ok)?),
            Self::Call(_) => Answer::Called(from_value(ok)?),
            Self::ChangesSince(_) => Answer::Changes(from_value(ok)?),
            Self::ConflictDetection(_) => Answer::Detection(from_value(ok)?),
            Self::Status(_) => Answer::Status(from_value(ok)?),
            Self::Detach(_) => Answer::Detached(from_value(ok)?),
            Self::Digest { .. } => Answer::Digest(from_value(ok)?),
            Self::Announce(_) | Self::Reset | Self::Shutdown => Answer::Done(from_value(ok)?),
        })
    }
}

/// An agent, and the owner that the operation is done for (OWNER-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The agent, by its name in the scenario.
    pub agent: String,
    /// The owner. Usually the one that attached; a scenario may present another.
    pub owner: String,
}

/// The arguments of `attach`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attach {
    /// The agent, by its name in the scenario. A name that is attached already is attached anew:
    /// the old attachment is forgotten, not detached.
    pub agent: String,
    /// The owner that the attachment shall belong to.
    pub owner: String,
    /// How the client is built.
    pub config: Config,
    /// The surface's invitation.
    pub invitation: Invitation,
    /// How people on the surface see the agent.
    pub participant: Participant,
    /// An attachment id. When given, nothing is attached: the agent is one more worker, which
    /// takes up that attachment from the store of `config` (STORE-1). Needs the capability
    /// `shared-store` or `durable-store`.
    pub resume: Option<String>,
}

/// The ticket to a surface, as the surface issued it. It may be malformed: refusing it is the
/// client's business (INVITE-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    /// The relay's base URL.
    pub relay_base_url: String,
    /// The session.
    pub session_id: String,
    /// The session's token.
    pub token: Secret,
    /// The surface.
    pub surface_id: String,
    /// The application that owns the surface.
    pub application: String,
}

/// The agent as people on the surface see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Participant {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its colour, as CSS writes it.
    pub color: String,
}

/// The arguments of `call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The agent.
    pub agent: String,
    /// The owner that is presented.
    pub owner: String,
    /// The tool's name, exactly as it is to be asked for.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// The arguments of `announce` (PRES-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Announce {
    /// The agent.
    pub agent: String,
    /// The owner that is presented.
    pub owner: String,
    /// What the agent is doing, in a few words.
    pub action: String,
    /// The handle that it is doing it to; absent for the surface as a whole.
    pub target: Option<String>,
    /// How much it asks of the people who see it.
    pub priority: Priority,
    /// Ties announcements of one piece of work together.
    pub correlation_id: Option<String>,
}

/// How much an announcement asks of the people who see it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Nobody needs to look.
    Background,
    /// The usual.
    #[default]
    Normal,
    /// Somebody should look.
    Attention,
    /// The agent waits for somebody.
    Blocking,
}

/// A string that must not be seen: a token. It goes over the protocol as it is, since the client
/// needs it, and is hidden from `Debug` (AUTH-2).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The string itself, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn named() -> Named {
        Named { agent: "ada".into(), owner: "owner-1".into() }
    }

    fn attach() -> Attach {
        Attach {
            agent: "ada".into(),
            owner: "owner-1".into(),
            config: Config::default(),
            invitation: Invitation {
                relay_base_url: "http://127.0.0.1:1".into(),
                session_id: "board-1".into(),
                token: Secret::new("token-of-sixteen-or-more"),
                surface_id: "board".into(),
                application: "planner".into(),
            },
            participant: Participant {
                id: "ada".into(),
                name: "Ada".into(),
                color: "#7c3aed".into(),
            },
            resume: None,
        }
    }

    #[test]
    fn a_request_is_flat_and_reads_back() {
        let request = Request { id: 7, operation: Operation::ChangesSince(named()) };
        let sent = serde_json::to_value(&request).unwrap();
        assert_eq!(
            sent,
            json!({ "id": 7, "op": "changes_since", "agent": "ada", "owner": "owner-1" })
        );
        assert_eq!(serde_json::from_value::<Request>(sent).unwrap(), request);

        let request = Request { id: 8, operation: Operation::Attach(Box::new(attach())) };
        let sent = serde_json::to_value(&request).unwrap();
        assert_eq!(sent["resume"], Value::Null, "absent keys are sent too");
        assert_eq!(serde_json::from_value::<Request>(sent).unwrap(), request);
    }

    #[test]
    fn a_token_is_sent_and_never_shown() {
        let request = Operation::Attach(Box::new(attach()));
        assert!(!format!("{request:?}").contains("sixteen"));
        assert!(serde_json::to_string(&request).unwrap().contains("sixteen"));
    }

    #[test]
    fn the_name_of_an_operation_is_its_op() {
        for operation in [
            Operation::Hello { protocol: PROTOCOL },
            Operation::Attach(Box::new(attach())),
            Operation::Tools(named()),
            Operation::ChangesSince(named()),
            Operation::ConflictDetection(named()),
            Operation::Status(named()),
            Operation::Detach(named()),
            Operation::Digest { definition: json!({}) },
            Operation::Reset,
            Operation::Shutdown,
        ] {
            assert_eq!(serde_json::to_value(&operation).unwrap()["op"], operation.name());
        }
    }

    #[test]
    fn an_answer_with_a_key_that_nobody_knows_is_not_read() {
        let call = Operation::Call(Call {
            agent: "ada".into(),
            owner: "owner-1".into(),
            tool: "screen_read".into(),
            arguments: Map::new(),
        });
        assert!(call.read_ok(json!({ "text": "hi" })).is_ok());
        let error = call.read_ok(json!({ "text": "hi", "txet": "hi" })).unwrap_err();
        assert!(error.to_string().contains("txet"), "{error}");
        assert!(Operation::Reset.read_ok(json!({})).is_ok());
        assert!(Operation::Reset.read_ok(json!(null)).is_err());
    }
}
