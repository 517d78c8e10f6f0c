//! Everything that can leave the client as a failure.

use std::fmt;
use std::time::Duration;

use crate::attachment::{AttachmentId, AttachmentState};
use crate::egress::EgressRefused;
use crate::entropy::NoEntropy;
use crate::store::StoreError;
use crate::trust::Refusal;

/// Whose doing a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The program that uses the client, or its configuration.
    Caller,
    /// The live application behind the relay, or somebody who edits it.
    Surface,
    /// The broker.
    Relay,
    /// What lies between: names, connections, gateways, time.
    Wire,
}

/// Whether what was asked took place on the surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Happened {
    /// It did not: it was refused, or never reached the surface.
    No,
    /// It did, although the answer could not be used (REV-9).
    Yes,
    /// Nobody here can tell. Read before writing again (MCP-5).
    Unknown,
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "the surface was asked nothing, or refused: nothing was applied",
            Self::Yes => "the call had been applied by then: read before writing again",
            Self::Unknown => {
                "whether the surface applied it is unknown: it may have been, so read before \
                 writing again"
            }
        })
    }
}

/// Why an operation failed.
///
/// Three questions have answers as methods: [`Error::fault`], [`Error::happened`] and
/// [`Error::is_terminal`]. [`Error::code`] is stable, for programs. The text is for people and for
/// models in the middle of a turn: it holds no token, no relay URL, and what the surface wrote is
/// framed or quoted in it (AUTH-2, GUARD-3).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client was built with settings that cannot work.
    #[error("the client cannot be built: {what}")]
    Configuration {
        /// Which setting, and why.
        what: String,
    },

    /// An argument of an operation cannot be used. Nothing was sent, and nothing ended (LIFE-5).
    #[error("{what}")]
    Argument {
        /// Which argument, and why.
        what: String,
    },

    /// No trust is declared, or an empty one (TRUST-1, TRUST-2). Nothing was sent.
    #[error(transparent)]
    Untrusted(Refusal),

    /// The tool is not to be called (TRUST-3 to TRUST-7). Nothing was sent to it.
    #[error("{refusal}")]
    ToolRefused {
        /// Which rule refused it.
        refusal: Refusal,
    },

    /// The surface's tool of this name is not there, or not to be trusted as it is now (TRUST-4,
    /// TRUST-10). It was not called.
    #[error("tool `{tool}` was not called: {why}")]
    ToolNotOffered {
        /// The tool.
        tool: String,
        /// Why.
        why: String,
    },

    /// The egress policy refused the relay's address (EGRESS-1 to EGRESS-4). Nothing was sent.
    #[error("{cause}{}", behind_the_post(*.happened))]
    Egress {
        /// Which rule refused it.
        cause: EgressRefused,
        /// [`Happened::Unknown`] when the frame was out and the way back was refused.
        happened: Happened,
    },

    /// There is no attachment under this id.
    #[error("there is no attachment `{id}`: it was never made here, or was forgotten")]
    NotAttached {
        /// The id.
        id: AttachmentId,
    },

    /// The attachment is somebody else's (OWNER-1).
    #[error("attachment `{id}` belongs to another owner: knowing its id gives no right to it")]
    WrongOwner {
        /// The id.
        id: AttachmentId,
    },

    /// The attachment was over before this operation (LIFE-3). Nothing was sent.
    #[error("attachment `{id}` is over ({state}): nothing was sent, attach again to go on")]
    Ended {
        /// The id.
        id: AttachmentId,
        /// How it ended.
        state: AttachmentState,
    },

    /// The relay refused the token: 401 (LIFE-2). The attachment is over.
    #[error(
        "the relay refused the invitation's token on `{route}` (401 attachment_unauthorized): \
         this attachment is over, and only a new invitation helps; {happened}"
    )]
    Unauthorized {
        /// The route that answered.
        route: &'static str,
        /// Whether the operation took place.
        happened: Happened,
    },

    /// The session is gone: 410 (LIFE-2). The attachment is over.
    #[error(
        "the surface's session is gone, said the relay on `{route}` (410 surface_unavailable): \
         this attachment is over, and attaching again needs a new invitation; {happened}"
    )]
    Gone {
        /// The route that answered.
        route: &'static str,
        /// Whether the operation took place.
        happened: Happened,
    },

    /// The surface refused a stale pin: somebody else changed it (REV-5).
    #[error("{what}")]
    SurfaceChanged {
        /// The tool that was refused.
        tool: String,
        /// What a model should know: tool, revision, where it was seen, and what not to do.
        what: String,
    },

    /// The surface mints no revisions, and the client was told to require them (REV-8).
    #[error(
        "this surface mints no revision, so a lost update could not be noticed \
         (conflict_detection_unavailable): `{tool}` was not called, because the host requires \
         revisions"
    )]
    DetectionUnavailable {
        /// The tool that was not called.
        tool: String,
    },

    /// The tool answered with an error, or the surface with a JSON-RPC error (MCP-3).
    #[error("{framed}")]
    Tool {
        /// The tool that was called.
        tool: String,
        /// What the surface said, framed as its words.
        framed: String,
        /// The surface's JSON-RPC code, when it was a whole number. None for `isError`.
        surface_code: Option<i64>,
        /// Whether the call took place.
        happened: Happened,
    },

    /// An answer came and cannot be handed on: over a bound, or with an unusable revision (REV-9).
    #[error("the result of `{tool}` was refused: {what}; {happened}")]
    ResultRefused {
        /// The tool that was called.
        tool: String,
        /// Why.
        what: String,
        /// [`Happened::Yes`] unless the answer may have been an error.
        happened: Happened,
    },

    /// A peer did not speak the protocol.
    #[error("{what}; {happened}")]
    Protocol {
        /// What was wrong.
        what: String,
        /// Whose doing it is.
        fault: Fault,
        /// Whether the operation took place.
        happened: Happened,
    },

    /// A request failed, or a stream ended before the answer (SSE-4).
    #[error("{what}; {happened}")]
    Transport {
        /// What failed.
        what: String,
        /// Whose doing it is.
        fault: Fault,
        /// Whether the operation took place.
        happened: Happened,
    },

    /// The deadline passed (SSE-1, POLL-4, MCP-5).
    #[error("{what} within {}; {happened}", seconds(.after))]
    Timeout {
        /// What did not come.
        what: String,
        /// The whole time that was allowed.
        after: Duration,
        /// Whether the operation took place.
        happened: Happened,
    },

    /// The store of attachments failed (STORE-1, STORE-2).
    #[error("{cause}; {happened}")]
    Store {
        /// What the store said.
        cause: StoreError,
        /// Whether the operation took place.
        happened: Happened,
    },

    /// No random ids could be drawn.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

impl Error {
    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Configuration { .. } => "invalid_configuration",
            Self::Argument { .. } => "invalid_argument",
            Self::Untrusted(_) | Self::Egress { .. } => "policy_refused",
            Self::ToolRefused { .. } | Self::ToolNotOffered { .. } => "tool_refused",
            Self::NotAttached { .. } => "not_attached",
            Self::WrongOwner { .. } => "wrong_owner",
            Self::Ended { state, .. } => state.code(),
            Self::Unauthorized { .. } => "attachment_unauthorized",
            Self::Gone { .. } => "surface_unavailable",
            Self::SurfaceChanged { .. } => "surface_changed_under_you",
            Self::DetectionUnavailable { .. } => "conflict_detection_unavailable",
            Self::Tool { .. } => "tool_error",
            Self::ResultRefused { .. } => "result_refused",
            Self::Protocol { .. } => "protocol_error",
            Self::Transport { .. } => "transport_error",
            Self::Timeout { .. } => "timeout",
            Self::Store { .. } => "store_error",
            Self::NoEntropy(_) => "no_entropy",
        }
    }

    /// Whose doing it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Configuration { .. }
            | Self::Argument { .. }
            | Self::Untrusted(_)
            | Self::ToolRefused { .. }
            | Self::Egress { .. }
            | Self::NotAttached { .. }
            | Self::WrongOwner { .. }
            | Self::Ended { .. }
            | Self::Unauthorized { .. }
            | Self::Store { .. }
            | Self::NoEntropy(_) => Fault::Caller,
            Self::Gone { .. }
            | Self::SurfaceChanged { .. }
            | Self::DetectionUnavailable { .. }
            | Self::ToolNotOffered { .. }
            | Self::Tool { .. }
            | Self::ResultRefused { .. } => Fault::Surface,
            Self::Protocol { fault, .. } | Self::Transport { fault, .. } => *fault,
            Self::Timeout { .. } => Fault::Wire,
        }
    }

    /// Whether what was asked took place.
    #[must_use]
    pub fn happened(&self) -> Happened {
        match self {
            Self::Configuration { .. }
            | Self::Argument { .. }
            | Self::Untrusted(_)
            | Self::ToolRefused { .. }
            | Self::ToolNotOffered { .. }
            | Self::NotAttached { .. }
            | Self::WrongOwner { .. }
            | Self::Ended { .. }
            | Self::SurfaceChanged { .. }
            | Self::DetectionUnavailable { .. }
            | Self::NoEntropy(_) => Happened::No,
            Self::Egress { happened, .. }
            | Self::Unauthorized { happened, .. }
            | Self::Gone { happened, .. }
            | Self::Tool { happened, .. }
            | Self::ResultRefused { happened, .. }
            | Self::Protocol { happened, .. }
            | Self::Transport { happened, .. }
            | Self::Timeout { happened, .. }
            | Self::Store { happened, .. } => *happened,
        }
    }

    /// Whether the attachment is over: no later operation on it will succeed (LIFE-2, LIFE-3).
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Unauthorized { .. } | Self::Gone { .. } | Self::Ended { .. })
    }

    /// The same failure, of an operation that did or did not take place. A failed handshake is
    /// `No` for the call that never came; a stream that was lost behind an accepted frame is
    /// `Unknown`.
    pub(crate) fn with_happened(mut self, now: Happened) -> Self {
        if let Self::Egress { happened, .. }
        | Self::Unauthorized { happened, .. }
        | Self::Gone { happened, .. }
        | Self::Tool { happened, .. }
        | Self::ResultRefused { happened, .. }
        | Self::Protocol { happened, .. }
        | Self::Transport { happened, .. }
        | Self::Timeout { happened, .. }
        | Self::Store { happened, .. } = &mut self
        {
            *happened = now;
        }
        self
    }

    pub(crate) fn surface_protocol(what: impl Into<String>) -> Self {
        Self::Protocol { what: what.into(), fault: Fault::Surface, happened: Happened::Unknown }
    }
}

fn behind_the_post(happened: Happened) -> String {
    match happened {
        Happened::No => String::new(),
        Happened::Yes | Happened::Unknown => {
            format!("; the frame itself had been posted before, so {happened}")
        }
    }
}

/// `30 s`, `1.5 s`, `250 ms`.
fn seconds(duration: &Duration) -> String {
    if duration.as_millis() < 1000 {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_never_says_that_nothing_was_written() {
        let error = Error::Timeout {
            what: "no answer to `screen_move` came".to_owned(),
            after: Duration::from_millis(1500),
            happened: Happened::Unknown,
        };
        assert_eq!(
            error.to_string(),
            "no answer to `screen_move` came within 1.5 s; whether the surface applied it is \
             unknown: it may have been, so read before writing again"
        );
        let before_the_call = error.with_happened(Happened::No);
        assert_eq!(before_the_call.happened(), Happened::No);
        assert!(before_the_call.to_string().ends_with("nothing was applied"));
    }
}
