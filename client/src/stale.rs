//! Whether an error is the surface's refusal of a stale pin (REV-4).

use serde_json::Value;

/// The words for it, without case.
const WORDS: &[&str] =
    &["conflict", "revision_mismatch", "revision_stale", "stale_revision", "precondition_failed"];

/// The HTTP status that means it, which JSON-RPC errors also use as a code.
pub(crate) const CONFLICT: i64 = 409;

/// Whether a JSON-RPC error object says that the pin was stale: in `code`, `data.code` or
/// `data.reason`. Several spellings, because JSON-RPC has no code of its own for it.
pub(crate) fn is_stale_rejection(error: &Value) -> bool {
    let data = |key: &str| error.get("data").and_then(|data| data.get(key));
    [error.get("code"), data("code"), data("reason")].into_iter().flatten().any(says_stale)
}

fn says_stale(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64() == Some(CONFLICT as f64),
        Value::String(word) => {
            let word = word.trim();
            word == "409" || WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_documented_spelling_is_stale_and_nothing_else_is() {
        for (error, expect) in [
            (json!({ "code": 409 }), true),
            (json!({ "code": "409" }), true),
            (json!({ "code": 409.0 }), true),
            (json!({ "code": "conflict" }), true),
            (json!({ "code": " Revision_Mismatch " }), true),
            (json!({ "code": -32000, "data": { "code": 409 } }), true),
            (json!({ "code": -32000, "data": { "code": "409" } }), true),
            (json!({ "code": -32000, "data": { "code": "REVISION_STALE" } }), true),
            (json!({ "code": -32000, "data": { "code": "stale_revision" } }), true),
            (json!({ "code": -32000, "data": { "reason": "precondition_failed" } }), true),
            (json!({ "code": -32000, "data": { "reason": 409 } }), true),
            (json!({ "code": -32000, "message": "conflict" }), false),
            (json!({ "code": -32000, "data": "conflict" }), false),
            (json!({ "code": 412 }), false),
            (json!({ "code": true }), false),
            (json!({ "code": "conflicting" }), false),
            (json!({ "code": 4090 }), false),
            (json!({ "code": ["conflict"] }), false),
            (json!({}), false),
            (json!(null), false),
        ] {
            assert_eq!(is_stale_rejection(&error), expect, "{error}");
        }
    }
}
