//! The gate that every report passes: no secret leaves it (AUTH-2).
//!
//! Two types make it hard to walk around. A renderer is given a [`Clean`] value, which only a
//! [`Redactor`] can make: nothing that a renderer could cut in half, wrap, escape or measure
//! holds a secret any more. And it gives back a [`Draft`], which only a [`Redactor`] can turn
//! into text: what was put together from two clean halves is looked at once more.

mod scrub;
mod spelling;

use spelling::Needle;
use std::fmt;
use std::ops::Deref;

pub(crate) use scrub::Scrub;

/// What stands where a secret stood.
pub const MARK: &str = "[token]";

/// The shortest secret that is looked for, in characters: the shortest token of the contract
/// (section 1). Replacing a shorter one would blank out ordinary words.
pub const SECRET_CHARS_MIN: usize = 16;

/// A secret that cannot be looked for. It says how long the secret is, never what it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a secret of {chars} characters is too short to be redacted: fewer than {SECRET_CHARS_MIN} \
     would blank out ordinary words"
)]
pub struct SecretTooShort {
    /// How many characters it has.
    pub chars: usize,
}

/// Knows the secrets of a run and replaces them by [`MARK`], in every spelling that a report
/// could give them: raw, percent-encoded, JSON-escaped, escaped for XML, and mixtures.
#[derive(Default)]
pub struct Redactor {
    needles: Vec<Needle>,
    /// Bytes that a spelling of a secret can start with, for a quick first look.
    starts: Vec<u8>,
}

impl Redactor {
    /// A redactor of these secrets.
    pub fn new<S: AsRef<str>>(
        secrets: impl IntoIterator<Item = S>,
    ) -> Result<Self, SecretTooShort> {
        let mut redactor = Self::default();
        for secret in secrets {
            let secret = secret.as_ref();
            let chars = secret.chars().count();
            if chars < SECRET_CHARS_MIN {
                return Err(SecretTooShort { chars });
            }
            redactor.needles.push(Needle::new(secret));
            redactor.starts.extend(secret.bytes().next());
        }
        if !redactor.needles.is_empty() {
            redactor.starts.extend(*b"%\\&+");
        }
        redactor.starts.sort_unstable();
        redactor.starts.dedup();
        Ok(redactor)
    }

    /// For a run that had no secret: a saved one, whose secrets were replaced when it was saved.
    pub fn none() -> Self {
        Self::default()
    }

    /// `text` with every secret replaced.
    pub fn redact(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        let mut at = 0;
        while let Some(start) = self.next_candidate(text, at) {
            match self.needles.iter().filter_map(|needle| needle.ends_at(text, start)).max() {
                Some(end) => {
                    out.push_str(&text[copied..start]);
                    out.push_str(MARK);
                    copied = end;
                    at = end;
                }
                None => at = start + 1,
            }
        }
        out.push_str(&text[copied..]);
        out
    }

    /// Makes a value fit for a renderer.
    pub(crate) fn clean<T: Scrub + Clone>(&self, value: &T) -> Clean<T> {
        let mut value = value.clone();
        if !self.needles.is_empty() {
            value.scrub(self);
        }
        Clean(value)
    }

    /// Lets a finished report out.
    pub(crate) fn release(&self, draft: Draft) -> String {
        if self.needles.is_empty() { draft.0 } else { self.redact(&draft.0) }
    }

    fn next_candidate(&self, text: &str, from: usize) -> Option<usize> {
        if self.starts.is_empty() {
            return None;
        }
        let bytes = text.as_bytes().get(from..)?;
        bytes.iter().position(|byte| self.starts.binary_search(byte).is_ok()).map(|at| from + at)
    }
}

/// Says how many secrets there are, never which.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.needles.len())
    }
}

/// A value without secrets. Only a [`Redactor`] makes one.
pub(crate) struct Clean<T>(T);

impl<T> Deref for Clean<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A report that has not passed the gate yet. Only a [`Redactor`] can read it.
pub(crate) struct Draft(String);

impl From<String> for Draft {
    fn from(text: String) -> Self {
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Every character that some encoding spells in a way of its own.
    const TOKEN: &str = "s3cr&t/\"tök\\n%+<é😀";

    fn redacted(text: &str) -> String {
        Redactor::new([TOKEN]).unwrap().redact(text)
    }

    fn percent(text: &str) -> String {
        text.bytes().map(|byte| format!("%{byte:02X}")).collect()
    }

    #[test]
    fn every_spelling_is_replaced() {
        let json = serde_json::to_string(TOKEN).unwrap();
        let json_twice = serde_json::to_string(&json).unwrap();
        let ascii: String = TOKEN.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let html =
            TOKEN.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").to_owned();
        let spellings = [
            TOKEN.to_owned(),
            percent(TOKEN),
            percent(TOKEN).to_lowercase(),
            percent(TOKEN).replace('%', "%25"),
            json[1..json.len() - 1].to_owned(),
            json_twice[3..json_twice.len() - 3].to_owned(),
            ascii.clone(),
            ascii.to_uppercase().replace('U', "u"),
            html.clone(),
            html.replace('&', "&amp;"),
            TOKEN.chars().map(|c| format!("&#{};", c as u32)).collect(),
            TOKEN.chars().map(|c| format!("&#x{:X};", c as u32)).collect(),
            TOKEN.replace('/', "\\/"),
            format!("s3cr{}", percent(&TOKEN[4..])),
        ];
        for spelling in spellings {
            assert_eq!(redacted(&format!("token={spelling}&x=1")), "token=[token]&x=1");
        }
    }

    #[test]
    fn everything_else_is_left_alone() {
        let cut = &TOKEN[..TOKEN.len() - 4];
        for text in ["", "s3cr", cut, "100 % \\ & + done", "%", "\\", "&", "&amp;", "%2", "\\u00"] {
            assert_eq!(redacted(text), text);
        }
    }

    #[test]
    fn the_longest_of_two_secrets_goes_and_neighbours_both_go() {
        let short = "aaaaaaaaaaaaaaaa";
        let long = "aaaaaaaaaaaaaaaaZZZZ";
        let redactor = Redactor::new([short, long]).unwrap();
        assert_eq!(redactor.redact(&format!("<{long}{short}>")), "<[token][token]>");
    }

    #[test]
    fn a_secret_that_would_blank_out_words_is_refused_without_telling_it() {
        let error = Redactor::new(["passed"]).unwrap_err();
        assert_eq!(error, SecretTooShort { chars: 6 });
        assert!(!error.to_string().contains("passed"));
    }

    #[test]
    fn debug_tells_no_secret() {
        let shown = format!("{:?}", Redactor::new([TOKEN]).unwrap());
        assert_eq!(shown, "Redactor(1 secrets)");
    }
}
