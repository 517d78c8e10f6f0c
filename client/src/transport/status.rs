//! What an HTTP answer of the relay means (LIFE-2, REV-4), as a pure function.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// What the relay said to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Any 2xx.
    Accepted,
    /// The token is not valid: 401, whatever the body says.
    Unauthorized,
    /// The session is gone: 410, or another status whose JSON error code says so.
    Gone,
    /// 409, which on a `tools/call` is a stale rejection.
    Conflict,
    /// A gateway gave up on the request: what lay behind it may still have taken it.
    GatewayGaveUp,
    /// A redirect, which is never followed (EGRESS-5).
    Redirect,
    /// Any other 4xx: the request was refused as it came.
    Refused,
    /// Any other status. What became of the request is unknown.
    Failed,
}

/// Statuses that a gateway between client and relay answers with when *its* patience ended, or
/// when it could not reach the relay for the moment. On a poll they are an empty answer (C03).
const GATEWAY: [u16; 5] = [408, 502, 503, 504, 524];

/// Judges a status and the error code that its JSON body held, if it held one.
pub(crate) fn judge(status: u16, code: Option<&str>) -> Verdict {
    match status {
        401 => Verdict::Unauthorized,
        410 => Verdict::Gone,
        _ if code == Some("session_gone") => Verdict::Gone,
        200..=299 => Verdict::Accepted,
        300..=399 => Verdict::Redirect,
        409 => Verdict::Conflict,
        _ if GATEWAY.contains(&status) => Verdict::GatewayGaveUp,
        400..=499 => Verdict::Refused,
        _ => Verdict::Failed,
    }
}

/// The relay's own error code in a JSON body: `{"error": "session_gone"}`.
///
/// A JSON-RPC frame has an `error` too. That one is the surface's word about one call and says
/// nothing about the session.
pub(crate) fn relay_error_code(body: &[u8]) -> Option<String> {
    // Every answer comes by here: what is no error is skipped without a tree being built of it.
    #[derive(Deserialize)]
    struct Body {
        jsonrpc: Option<IgnoredAny>,
        #[serde(default)]
        error: Value,
    }
    // An array would be read as the fields in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let Body { jsonrpc, error } = serde_json::from_slice(body).ok()?;
    if jsonrpc.is_some() {
        return None;
    }
    let code = error.as_str().or_else(|| error.get("code")?.as_str())?;
    Some(code.to_owned())
}

/// The verdict in an event of the events route: `event: error`, the code as data, bare or as the
/// JSON of any other route (LIFE-2). None for every other code, which ends nothing.
pub(crate) fn judge_error_event(data: &str) -> Option<Verdict> {
    let code = relay_error_code(data.as_bytes());
    let quoted = serde_json::from_str::<String>(data).ok();
    match code.as_deref().or(quoted.as_deref()).unwrap_or(data.trim()) {
        "session_gone" => Some(Verdict::Gone),
        "invalid_token" => Some(Verdict::Unauthorized),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_and_a_code_have_one_verdict() {
        let table: &[(u16, Option<&str>, Verdict)] = &[
            (200, None, Verdict::Accepted),
            (202, Some("whatever"), Verdict::Accepted),
            (204, None, Verdict::Accepted),
            (200, Some("session_gone"), Verdict::Gone),
            (401, None, Verdict::Unauthorized),
            (401, Some("session_gone"), Verdict::Unauthorized),
            (410, None, Verdict::Gone),
            (410, Some("invalid_token"), Verdict::Gone),
            (404, Some("session_gone"), Verdict::Gone),
            (503, Some("session_gone"), Verdict::Gone),
            (409, Some("session_gone"), Verdict::Gone),
            (404, Some("not_found"), Verdict::Refused),
            (403, Some("invalid_token"), Verdict::Refused),
            (409, Some("conflict"), Verdict::Conflict),
            (307, None, Verdict::Redirect),
            (413, Some("payload_too_large"), Verdict::Refused),
            (408, None, Verdict::GatewayGaveUp),
            (502, None, Verdict::GatewayGaveUp),
            (503, None, Verdict::GatewayGaveUp),
            (504, None, Verdict::GatewayGaveUp),
            (524, None, Verdict::GatewayGaveUp),
            (500, None, Verdict::Failed),
            (101, None, Verdict::Failed),
            (999, None, Verdict::Failed),
        ];
        for (status, code, verdict) in table {
            assert_eq!(judge(*status, *code), *verdict, "{status} {code:?}");
        }
    }

    #[test]
    fn only_a_json_error_code_of_the_relay_is_one() {
        let table: &[(&str, Option<&str>)] = &[
            (r#"{"error":"session_gone"}"#, Some("session_gone")),
            (r#"{"error":{"code":"session_gone"}}"#, Some("session_gone")),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":"session_gone"}}"#, None),
            (r#"{"message":"session_gone"}"#, None),
            ("session_gone", None),
            ("<html>session_gone</html>", None),
            (r#"["session_gone"]"#, None),
            (r#"[null,"session_gone"]"#, None),
            ("", None),
        ];
        for (body, code) in table {
            assert_eq!(relay_error_code(body.as_bytes()).as_deref(), *code, "{body}");
        }
    }

    #[test]
    fn an_error_event_is_read_bare_and_as_json() {
        for gone in ["session_gone", "\"session_gone\"", r#"{"error":"session_gone"}"#] {
            assert_eq!(judge_error_event(gone), Some(Verdict::Gone));
        }
        for unauthorized in ["invalid_token", r#"{"error": "invalid_token"}"#] {
            assert_eq!(judge_error_event(unauthorized), Some(Verdict::Unauthorized));
        }
        for other in ["", "overloaded", "not session_gone", r#"{"error":"overloaded"}"#] {
            assert_eq!(judge_error_event(other), None);
        }
    }
}
