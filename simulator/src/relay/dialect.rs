//! Where relays differ, each difference a named switch.

use super::frame::Leniency;

/// How a relay behaves where the contract and the public relays part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The HTTP status of an accepted frame.
    pub(crate) accepted: u16,
    /// Whether `Authorization: Bearer` is read (AUTH-1).
    pub(crate) reads_bearer: bool,
    /// Whether a bad frame has an answer of its own (RELAY-12), or shares the wrong token's.
    pub(crate) bad_frame_is_400: bool,
    /// Whether a body past the limit is answered (RELAY-12), or the connection just closed.
    pub(crate) answers_oversize: bool,
    /// Whether the errors of `events` are JSON, or event streams.
    pub(crate) events_errors_are_json: bool,
    /// Whether a 404 carries CORS headers.
    pub(crate) cors_on_404: bool,
    /// Whether health answers with any query, or on the exact path only.
    pub(crate) health_with_query: bool,
    /// Whether a missing or odd `direction` means outbound.
    pub(crate) outbound_by_default: bool,
    /// Whether every line of a frame gets a `data:` of its own (RELAY-9).
    pub(crate) prefixes_every_line: bool,
    /// Whether `GET outbox`, the README's long poll, is served.
    pub(crate) serves_outbox_poll: bool,
    /// Whether receivers are clients, whose answers are routed by client and typed id (RELAY-2),
    /// wait for a client without a receive leg (RELAY-3), and whose presence is told once
    /// (RELAY-6); or streams and pollers, with answers routed by the id's text alone, kept for
    /// nobody, and a presence each (see [`super::subscribers`]).
    pub(crate) routes_by_client: bool,
    /// Whether batches are split into their members, or passed on whole to everybody.
    pub(crate) splits_batches: bool,
    /// Whether `unregister` with a client ends that client only (RELAY-10).
    pub(crate) unregisters_one: bool,
    /// Whether `unregister` of a session that is gone is 410, or 200 `alreadyGone`.
    pub(crate) unregister_gone_is_410: bool,
    /// Whether a poll that is released by the session's end is answered 410, or empty.
    pub(crate) released_poll_is_410: bool,
    /// Whether `wait` is read as a number, or as the digits that it begins with.
    pub(crate) strict_wait: bool,
    /// Whether a preflight is answered 200 on any path, or 204 on the relay's own.
    pub(crate) preflight_is_200: bool,
    /// The name that health gives.
    pub(crate) service: &'static str,
    /// Whether a result beside `error: null` is a bad frame.
    pub(crate) null_error_is_bad: bool,
    /// Whether bytes that are not UTF-8 become U+FFFD instead of making a bad frame.
    pub(crate) lossy_utf8: bool,
}

impl Dialect {
    /// The contract, section 3, in full.
    pub(crate) const README: Self = Self {
        accepted: 202,
        reads_bearer: true,
        bad_frame_is_400: true,
        answers_oversize: true,
        events_errors_are_json: true,
        cors_on_404: true,
        health_with_query: true,
        outbound_by_default: true,
        prefixes_every_line: true,
        serves_outbox_poll: true,
        routes_by_client: true,
        splits_batches: true,
        unregisters_one: true,
        unregister_gone_is_410: true,
        released_poll_is_410: true,
        strict_wait: true,
        preflight_is_200: true,
        service: "relay-simulator",
        null_error_is_bad: false,
        lossy_utf8: false,
    };

    /// The public Node relay, as it was observed.
    pub(crate) const PUBLIC_NODE: Self = Self {
        accepted: 200,
        reads_bearer: false,
        bad_frame_is_400: false,
        answers_oversize: false,
        events_errors_are_json: false,
        cors_on_404: false,
        health_with_query: false,
        outbound_by_default: false,
        prefixes_every_line: false,
        serves_outbox_poll: false,
        routes_by_client: false,
        splits_batches: false,
        unregisters_one: false,
        unregister_gone_is_410: false,
        released_poll_is_410: false,
        strict_wait: false,
        preflight_is_200: false,
        service: "agent-integrations-relay",
        null_error_is_bad: true,
        lossy_utf8: true,
    };

    pub(crate) fn leniency(&self) -> Leniency {
        Leniency { null_error_is_bad: self.null_error_is_bad, lossy_utf8: self.lossy_utf8 }
    }
}
