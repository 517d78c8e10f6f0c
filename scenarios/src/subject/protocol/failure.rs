//! The bad answers: a closed list of codes, and what the client itself said.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A failure, as the client gave it to its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationError {
    /// Which failure it was, in the testbed's words.
    pub code: ErrorCode,
    /// What the client itself calls it: a class, a variant, a code.
    pub native: String,
    /// The client's words, untouched.
    pub message: String,
    /// Whether the operation took effect, as far as the client says. Absent when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened: Option<Happened>,
}

/// Whether an operation took effect on the surface (MCP-5, REV-9).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    /// Nothing was applied.
    No,
    /// It was applied.
    Yes,
    /// It may have been.
    Unknown,
}

/// Every failure that a client can hand to its caller, and one that is not the client's.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The relay answered 401: the attachment is over (LIFE-2).
    Unauthorized,
    /// The relay answered 410, or said `session_gone`: the attachment is over (LIFE-2).
    Gone,
    /// The surface refused a stale pin (REV-5).
    SurfaceChangedUnderYou,
    /// `require_revision` refused a call on a surface that mints nothing (REV-8).
    ConflictDetectionUnavailable,
    /// Trust refused a tool, or discovery itself (TRUST-1 to TRUST-7).
    ToolRefused,
    /// Other local policy refused: egress, owner, invitation, a bad argument (LIFE-5).
    PolicyRefused,
    /// The surface answered with an error: a JSON-RPC error, or `isError` (MCP-3).
    ToolError,
    /// The peer said something that the client cannot use: a wrong protocol version, a malformed
    /// answer, one over a bound (MCP-1, MCP-4, GUARD-1, REV-2).
    ProtocolError,
    /// The wire failed: refused connection, another HTTP status, a stream that ended early (SSE-4).
    TransportError,
    /// The exchange's deadline passed (TIME-1).
    Timeout,
    /// The attachment does not exist, or is over already (LIFE-3).
    NotAttached,
    /// Something left the client that is none of its own errors (MCP-4).
    ForeignException,
    /// The adapter's own failure. Never counted for or against the client.
    AdapterError,
}

impl ErrorCode {
    /// Every code, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::Unauthorized,
        Self::Gone,
        Self::SurfaceChangedUnderYou,
        Self::ConflictDetectionUnavailable,
        Self::ToolRefused,
        Self::PolicyRefused,
        Self::ToolError,
        Self::ProtocolError,
        Self::TransportError,
        Self::Timeout,
        Self::NotAttached,
        Self::ForeignException,
        Self::AdapterError,
    ];

    /// The code's spelling on the wire and in scenarios.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::Gone => "gone",
            Self::SurfaceChangedUnderYou => "surface_changed_under_you",
            Self::ConflictDetectionUnavailable => "conflict_detection_unavailable",
            Self::ToolRefused => "tool_refused",
            Self::PolicyRefused => "policy_refused",
            Self::ToolError => "tool_error",
            Self::ProtocolError => "protocol_error",
            Self::TransportError => "transport_error",
            Self::Timeout => "timeout",
            Self::NotAttached => "not_attached",
            Self::ForeignException => "foreign_exception",
            Self::AdapterError => "adapter_error",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_code_is_spelt_alike_in_text_and_in_json() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
