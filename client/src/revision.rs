//! Revisions: the surface's marker for the state that it showed, carried and never read.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest marker, in bytes: it is kept on the attachment and sent with every call.
pub const REVISION_BYTES_MAX: usize = 512;

/// The names of a marker, first to last.
const KEYS: [&str; 5] = ["revision", "surfaceRevision", "surface_revision", "version", "etag"];

/// The largest whole number that every JSON reader agrees on.
const WHOLE_MAX: u64 = 1 << 53;

/// A marker that a surface minted, and the tool whose answer carried it.
///
/// It is opaque (REV-2): two are the same or not, and that is all that can be said of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    token: String,
    seen_on: String,
}

impl Revision {
    /// Reads the marker of a result, first in `_meta`, then at the top level (REV-1). None when
    /// the surface minted nothing.
    ///
    /// # Errors
    /// When there is one and it is too long to be an identifier (REV-2).
    pub fn read_from(result: &Value, tool: &str) -> Result<Option<Self>, UnusableRevision> {
        let places = [result.get("_meta"), Some(result)];
        let values = places.into_iter().flatten();
        let mut values = values.flat_map(|place| KEYS.iter().filter_map(|key| place.get(*key)));
        let Some(token) = values.find_map(marker) else { return Ok(None) };
        if token.len() > REVISION_BYTES_MAX {
            return Err(UnusableRevision { bytes: token.len() });
        }
        Ok(Some(Self { token, seen_on: tool.to_owned() }))
    }

    /// The marker as it goes back: a text exactly as the surface spelled it, a whole number in its
    /// digits.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The tool whose answer carried it.
    #[must_use]
    pub fn seen_on(&self) -> &str {
        &self.seen_on
    }
}

/// A value that is a marker: a string that is not blank, or a whole number.
fn marker(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => whole(number),
        _ => None,
    }
}

/// A whole number as every language spells it: `7.0` is `7`, and past 2^53 there is no spelling
/// that all of them agree on.
pub(crate) fn whole(number: &serde_json::Number) -> Option<String> {
    if let Some(number) = number.as_u64() {
        return (number <= WHOLE_MAX).then(|| number.to_string());
    }
    if let Some(number) = number.as_i64() {
        return (number.unsigned_abs() <= WHOLE_MAX).then(|| number.to_string());
    }
    let number = number.as_f64()?;
    if number.fract() != 0.0 || number.abs() > WHOLE_MAX as f64 {
        return None;
    }
    // Exact: it has no fraction and fits (the line above).
    Some((number as i64).to_string())
}

/// A marker that cannot be carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its revision has {bytes} bytes, and {REVISION_BYTES_MAX} are the most: a revision is an \
     identifier, not a payload"
)]
pub struct UnusableRevision {
    bytes: usize,
}

/// How much protection from lost updates this surface was seen to have (REV-7).
///
/// ```text
/// NotObserved --answered without a revision--> Unavailable
///      \                                           |
///       `--------answered with a revision----------+--> Minted --a stale pin was refused--> Enforced
/// ```
///
/// Minted is not protection: it says that calls are pinned, not that pins are minded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictDetection {
    /// The surface has not answered a call.
    #[default]
    NotObserved,
    /// It answered and minted nothing: a lost update would pass in silence.
    Unavailable,
    /// It mints. Whether it refuses stale pins was not seen.
    Minted,
    /// It refused a stale pin. That happened, so it stays.
    Enforced,
}

impl ConflictDetection {
    /// Whether the surface answered and minted nothing: a lost update would pass in silence.
    #[must_use]
    pub fn is_unavailable(self) -> bool {
        self == Self::Unavailable
    }

    /// After a result, with or without a revision. An error result says nothing about minting and
    /// does not come here (REV-8).
    pub(crate) fn answered(self, minted: bool) -> Self {
        match (self, minted) {
            (Self::Enforced, _) => Self::Enforced,
            (_, true) => Self::Minted,
            (Self::NotObserved, false) => Self::Unavailable,
            (state, false) => state,
        }
    }

    /// After a stale pin was refused.
    pub(crate) fn refused_a_stale_pin(self) -> Self {
        Self::Enforced
    }
}

impl fmt::Display for ConflictDetection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotObserved => "not_observed",
            Self::Unavailable => "unavailable",
            Self::Minted => "minted",
            Self::Enforced => "enforced",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(result: Value, expect: Option<&str>) {
        let read = Revision::read_from(&result, "screen_read").unwrap();
        assert_eq!(read.as_ref().map(Revision::token), expect, "{result}");
    }

    #[test]
    fn a_marker_is_read_from_every_documented_place_in_order() {
        for key in KEYS {
            check(json!({ key: "r42" }), Some("r42"));
            check(json!({ "_meta": { key: "r42" } }), Some("r42"));
        }
        check(json!({ "_meta": { "revision": "in" }, "revision": "out" }), Some("in"));
        check(json!({ "_meta": { "etag": "e" }, "revision": "r" }), Some("e"));
        check(json!({ "_meta": { "etag": "e", "version": 1 } }), Some("1"));
        check(json!({ "version": 1, "etag": "e" }), Some("1"));
        check(json!({ "_meta": { "revision": "" }, "revision": "r" }), Some("r"));
        check(json!({ "_meta": "r42" }), None);
        check(json!({}), None);
        check(json!([]), None);
    }

    #[test]
    fn a_string_goes_back_as_it_came() {
        check(json!({ "revision": " r 42 " }), Some(" r 42 "));
        check(json!({ "revision": "W/\"x\"" }), Some("W/\"x\""));
        check(json!({ "revision": "é\u{200b}" }), Some("é\u{200b}"));
    }

    #[test]
    fn a_whole_number_is_a_marker_and_nothing_else_is() {
        check(json!({ "revision": 42 }), Some("42"));
        check(json!({ "revision": 0 }), Some("0"));
        check(json!({ "revision": -7 }), Some("-7"));
        check(json!({ "revision": 7.0 }), Some("7"));
        check(serde_json::from_str(r#"{"revision":1e3}"#).unwrap(), Some("1000"));
        check(serde_json::from_str(r#"{"revision":-0.0}"#).unwrap(), Some("0"));
        check(json!({ "revision": 9_007_199_254_740_992_u64 }), Some("9007199254740992"));
        check(json!({ "revision": 9_007_199_254_740_993_u64 }), None);
        check(serde_json::from_str(r#"{"revision":1e300}"#).unwrap(), None);
        for other in [json!(true), json!(1.5), json!({}), json!([]), json!(null), json!(" \n")] {
            check(json!({ "revision": other }), None);
        }
    }

    #[test]
    fn a_payload_is_no_marker() {
        let fits = "é".repeat(256);
        check(json!({ "revision": fits.clone() }), Some(fits.as_str()));
        let result = json!({ "revision": format!("{fits}x") });
        let refused = Revision::read_from(&result, "t").unwrap_err();
        assert!(refused.to_string().contains("an identifier, not a payload"));
    }

    #[test]
    fn detection_only_ever_grows() {
        use ConflictDetection as D;
        for (state, minted, expect) in [
            (D::NotObserved, false, D::Unavailable),
            (D::NotObserved, true, D::Minted),
            (D::Unavailable, false, D::Unavailable),
            (D::Unavailable, true, D::Minted),
            (D::Minted, false, D::Minted),
            (D::Minted, true, D::Minted),
            (D::Enforced, false, D::Enforced),
            (D::Enforced, true, D::Enforced),
        ] {
            assert_eq!(state.answered(minted), expect, "{state} {minted}");
            assert_eq!(state.refused_a_stale_pin(), D::Enforced);
        }
    }
}
