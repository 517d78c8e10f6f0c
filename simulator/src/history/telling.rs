//! How anomalies are told: the same words for the same things, short and without jargon.

use serde_json::Value;

use super::facts::Write;
use super::timeline::History;
use crate::journal::Author;

/// How many characters of a value a sentence quotes.
const VALUE_CHARS_MAX: usize = 40;

impl History {
    /// An agent, by its name when it has one.
    pub(super) fn agent(&self, client: &str) -> String {
        self.names.get(client).cloned().unwrap_or_else(|| format!("agent `{client}`"))
    }

    /// Who wrote.
    pub(super) fn author(&self, write: &Write) -> String {
        match &write.author {
            Author::Person { name } => name.clone(),
            Author::Agent { client } => self.agent(client),
        }
    }
}

/// A value, short enough for a sentence.
pub(super) fn value(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= VALUE_CHARS_MAX {
        return text;
    }
    let head: String = text.chars().take(VALUE_CHARS_MAX - 1).collect();
    format!("{head}…")
}

/// Several things in a row: `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// Sequence numbers in order, each once.
pub(super) fn evidence(seqs: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut seqs: Vec<_> = seqs.into_iter().collect();
    seqs.sort_unstable();
    seqs.dedup();
    seqs
}
