use std::fmt;

use subtle::ConstantTimeEq;

/// A session's token. It is compared in constant time and never printed (RELAY-11).
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A token of 16 to 128 characters.
    pub(crate) fn new(text: &str) -> Option<Self> {
        (16..=128).contains(&text.chars().count()).then(|| Self(text.to_owned()))
    }

    /// Whether `text` is this token. Only the length can be learned from the time it takes.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([token])")
    }
}

/// Whether a text is a session id: `^[A-Za-z0-9_-]{4,64}$`.
pub(crate) fn is_session_id(text: &str) -> bool {
    (4..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn tokens_have_sixteen_to_a_hundred_and_twenty_eight_characters() {
        for (length, good) in [(15, false), (16, true), (128, true), (129, false)] {
            assert_eq!(Token::new(&"é".repeat(length)).is_some(), good, "{length}");
        }
    }

    #[test]
    fn a_token_is_itself_only_and_never_printed() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in ["0123456789abcdeF", "0123456789abcde", "0123456789abcdef0", ""] {
            assert!(!token.is(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token([token])");
    }

    #[test]
    fn session_ids_keep_their_pattern() {
        for good in ["abcd", "A-b_9", &"x".repeat(64)] {
            assert!(is_session_id(good), "{good}");
        }
        for bad in ["abc", "ab cd", "ab.cd", "abcd\n", "", "abcdé", &"x".repeat(65)] {
            assert!(!is_session_id(bad), "{bad}");
        }
    }
}
