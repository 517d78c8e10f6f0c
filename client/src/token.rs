//! What names and opens a relay session: parsed once, at the edge.

use std::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// The shortest token of the contract, in characters.
const TOKEN_CHARS_MIN: usize = 16;
/// The longest token of the contract, in characters.
const TOKEN_CHARS_MAX: usize = 128;

/// A session's token.
///
/// It is never printed (AUTH-2): `Debug` says that there is one, there is no `Display`, and it
/// does not serialize by itself. Who needs the characters says so with [`Token::expose`].
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes a token of 16 to 128 characters, none of them a control character: those would make
    /// more of a header than one token.
    ///
    /// # Errors
    /// When it is of another shape. The message tells its length and never its characters.
    pub fn new(token: impl Into<String>) -> Result<Self, TokenError> {
        let token = token.into();
        let chars = token.chars().count();
        if !(TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX).contains(&chars) {
            return Err(TokenError::Length { chars });
        }
        if token.contains(char::is_control) {
            return Err(TokenError::Control);
        }
        Ok(Self(token))
    }

    /// The characters, for the one place that puts them on the wire.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}

/// In constant time, so that nobody learns a token by trying.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Token {}

/// A text that no relay gives out as a token. It is not repeated (AUTH-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is too short or too long.
    #[error(
        "a relay token has {TOKEN_CHARS_MIN} to {TOKEN_CHARS_MAX} characters, and this one has \
         {chars}"
    )]
    Length {
        /// What it has.
        chars: usize,
    },
    /// It holds a line end or another control character.
    #[error("a relay token holds no control characters, and this one does")]
    Control,
}

/// A relay session's id: `^[A-Za-z0-9_-]{4,64}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// Takes a session id.
    ///
    /// # Errors
    /// When it is of another shape.
    pub fn new(id: impl Into<String>) -> Result<Self, SessionIdError> {
        let id = id.into();
        let is_plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if is_plain && (4..=64).contains(&id.len()) { Ok(Self(id)) } else { Err(SessionIdError) }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = SessionIdError;

    fn try_from(id: String) -> Result<Self, SessionIdError> {
        Self::new(id)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

/// A text that is no session id. It is not repeated: whoever mixed up the fields of an invitation
/// may have put the token here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a relay session id has 4 to 64 letters, digits, `_` or `-`, and this one has not")]
pub struct SessionIdError;

/// What a relay knows one attachment by (IDENT-1): never empty, unique to the attachment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClientId(String);

/// Random bytes in a new client id: enough that two clients of a session never meet.
const CLIENT_ID_BYTES: usize = 12;

impl ClientId {
    /// A new id from random bytes.
    #[must_use]
    pub fn random(bytes: [u8; CLIENT_ID_BYTES]) -> Self {
        Self(format!("rc_{}", hex::encode(bytes)))
    }

    /// Takes an id that was made before.
    ///
    /// # Errors
    /// When it is empty, longer than 128 characters, or would not survive a query unescaped.
    pub fn new(id: impl Into<String>) -> Result<Self, ClientIdError> {
        let id = id.into();
        let is_plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.:".contains(&b));
        if is_plain && (1..=128).contains(&id.len()) { Ok(Self(id)) } else { Err(ClientIdError) }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ClientId {
    type Error = ClientIdError;

    fn try_from(id: String) -> Result<Self, ClientIdError> {
        Self::new(id)
    }
}

impl From<ClientId> for String {
    fn from(id: ClientId) -> Self {
        id.0
    }
}

/// A text that is no client id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a client id has 1 to 128 letters, digits, `_`, `-`, `.` or `:`, and this one has not")]
pub struct ClientIdError;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_token_has_16_to_128_characters() {
        for (chars, expect) in [(0, false), (15, false), (16, true), (128, true), (129, false)] {
            // Characters, not bytes: the public relay counts them so.
            assert_eq!(Token::new("é".repeat(chars)).is_ok(), expect, "{chars}");
        }
    }

    #[test]
    fn a_token_is_one_header_value() {
        for odd in ["\n", "\r\nX: y", "\0", "\u{7f}", "\t"] {
            let token = format!("sesame-open{odd}-please");
            assert_eq!(Token::new(token).unwrap_err(), TokenError::Control, "{odd:?}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let secret = "sesame-open-please";
        let token = Token::new(secret).unwrap();
        assert!(!format!("{token:?} {:?}", Some(&token)).contains("sesame"));
        let refused = Token::new("sesame").unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("sesame"));
        assert_eq!(token, Token::new(secret).unwrap());
        assert_ne!(token, Token::new("sesame-open-pleasf").unwrap());
    }

    #[test]
    fn session_ids_have_their_shape() {
        for (id, expect) in [
            ("abcd", true),
            ("A-b_9", true),
            ("abc", false),
            ("ab cd", false),
            ("ab.cd", false),
            ("abcd\n", false),
            ("abcdé", false),
            ("", false),
        ] {
            assert_eq!(SessionId::new(id).is_ok(), expect, "{id:?}");
        }
        assert!(SessionId::new("a".repeat(64)).is_ok());
        assert!(SessionId::new("a".repeat(65)).is_err());
    }

    #[test]
    fn a_client_id_is_never_empty() {
        assert!(ClientId::new("").is_err());
        assert!(ClientId::new("a&b").is_err());
        let drawn = ClientId::random([7; 12]);
        assert_eq!(ClientId::new(drawn.as_str()).unwrap(), drawn);
        assert!(serde_json::from_str::<ClientId>("\"\"").is_err());
    }
}
