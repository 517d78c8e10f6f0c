/// Why a relay refuses a request. The status and the code are the contract's (section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No token, or the wrong one for a session that lives (RELAY-1).
    InvalidToken,
    /// The session ended, expired, or never was.
    SessionGone,
    /// `register`: the session lives under another token.
    SessionTaken,
    /// `register`: not a session id.
    InvalidSessionId,
    /// `register`: the body is not JSON.
    InvalidJson,
    /// `register`: the body lacks `session` or `token`.
    MissingFields,
    /// The body is neither a frame nor a batch of frames (RELAY-12).
    InvalidFrame,
    /// The public relays' one answer to a wrong token and to a bad frame.
    InvalidTokenOrFrame,
    /// The body is over 256 KiB (RELAY-8).
    PayloadTooLarge,
    /// No such path.
    NotFound,
    /// No such method there.
    MethodNotAllowed,
}

impl Refusal {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::InvalidToken
            | Self::InvalidTokenOrFrame
            | Self::SessionTaken
            | Self::InvalidSessionId => 401,
            Self::SessionGone => 410,
            Self::InvalidJson | Self::MissingFields | Self::InvalidFrame => 400,
            Self::PayloadTooLarge => 413,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
        }
    }

    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::InvalidToken => "invalid_token",
            Self::SessionGone => "session_gone",
            Self::SessionTaken => "session_taken",
            Self::InvalidSessionId => "invalid_session_id",
            Self::InvalidJson => "invalid_json",
            Self::MissingFields => "missing_fields",
            Self::InvalidFrame => "invalid_frame",
            Self::InvalidTokenOrFrame => "invalid_token_or_frame",
            Self::PayloadTooLarge => "payload_too_large",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
        }
    }
}
