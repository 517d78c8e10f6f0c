//! The two ways to hand the surface a frame and wait for its answer.
//!
//! Both are the same exchange: POST the frame to the inbox, then read from the relay until the
//! frame with the same id arrives, under one deadline (TIME-1). They differ in how they read.

mod block;
mod http;
mod long_poll;
mod pace;
mod sse;
mod status;

pub use http::Auth;
pub use long_poll::{Dialect, LongPoll};

pub(crate) use http::{Deadline, Http, HttpConfig, Line, Request};
pub(crate) use long_poll::Mailbox;
pub(crate) use status::Verdict;

use std::fmt;

use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout_at;
use tracing::debug;

use self::http::{BodyEnd, media_type, read_bounded};
use self::status::relay_error_code;
use crate::error::{Error, Fault, Happened};
use crate::frame::{self, Reply};

/// How answers are received. Requests are always POSTed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Sse,
    LongPoll(LongPoll),
}

impl Transport {
    /// A stream of events, opened for each exchange and closed behind it (SSE-1). Start here: one
    /// round trip, and the answer arrives the instant the relay has it.
    #[must_use]
    pub fn sse() -> Self {
        Self(Kind::Sse)
    }

    /// Short ordinary requests (POLL-1), for where a stream does not survive the way: a gateway
    /// that buffers, a runtime without streaming. It parks a worker just as long.
    #[must_use]
    pub fn long_poll(settings: LongPoll) -> Self {
        Self(Kind::LongPoll(settings))
    }

    /// `sse` or `long-poll`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.0 {
            Kind::Sse => "sse",
            Kind::LongPoll(_) => "long-poll",
        }
    }

    pub(crate) fn as_long_poll(&self) -> Option<&LongPoll> {
        match &self.0 {
            Kind::Sse => None,
            Kind::LongPoll(settings) => Some(settings),
        }
    }

    /// Sends the frame of `exchange` and waits for what came of it.
    pub(crate) async fn exchange(
        &self,
        exchange: &Exchange<'_>,
        mailbox: &mut Mailbox,
    ) -> Result<Outcome, Error> {
        match &self.0 {
            Kind::Sse => sse::exchange(exchange).await,
            Kind::LongPoll(settings) => long_poll::exchange(exchange, settings, mailbox).await,
        }
    }
}

/// One frame that wants an answer.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) line: Line<'a>,
    pub(crate) frame: &'a Value,
    /// The frame's id: a text that no other client of the session uses (IDENT-2).
    pub(crate) id: &'a str,
    /// What errors call it: `initialize`, `tools/list`, or the name of a tool.
    pub(crate) name: &'a str,
    pub(crate) deadline: Deadline,
    /// The bound on one frame (SSE-3, POLL-5).
    pub(crate) frame_bytes_max: usize,
    /// Whether the receive leg comes first (SSE-5).
    pub(crate) subscribe_first: bool,
}

/// What came of an exchange.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The surface answered.
    Reply(Reply),
    /// The inbox answered 409: a stale rejection, when the frame was a `tools/call` (REV-4).
    Conflict,
}

impl Exchange<'_> {
    /// POSTs the frame. None when it was answered 409.
    async fn post(&self) -> Result<Option<Response>, Error> {
        let answered = self.line.post(self.frame, self.deadline).await?;
        match answered.verdict {
            Verdict::Accepted => Ok(Some(answered.response)),
            Verdict::Conflict => Ok(None),
            _ => Err(answered.into_error("inbox")),
        }
    }

    /// The answer in the body of the POST's own answer, for relays that give it there (D21).
    /// None when it holds none, which is the rule.
    async fn inline(&self, mut response: Response) -> Option<Result<Outcome, Error>> {
        if media_type(&response) != "application/json" {
            return None;
        }
        let body = read_bounded(&mut response, self.frame_bytes_max, self.id);
        match timeout_at(self.deadline.at, body).await.ok()? {
            Ok(body) if relay_error_code(&body).as_deref() == Some("session_gone") => {
                Some(Err(Error::Gone { route: "inbox", happened: Happened::Unknown }))
            }
            Ok(body) => {
                let reply = frame::reply_in(&body, self.id)?;
                Some(Ok(Outcome::Reply(reply)))
            }
            Err(BodyEnd::TooLarge { ours: true }) => Some(Err(self.answer_too_large())),
            Err(BodyEnd::TooLarge { ours: false } | BodyEnd::Lost) => None,
        }
    }

    /// The answer, from the POST's own body or from the receive leg, whichever has it first.
    async fn first_of(
        &self,
        accepted: Response,
        receive: impl Future<Output = Result<Outcome, Error>>,
    ) -> Result<Outcome, Error> {
        tokio::select! {
            biased;
            Some(outcome) = self.inline(accepted) => outcome,
            outcome = receive => outcome,
        }
    }

    fn timed_out(&self, skipped: &Skipped) -> Error {
        debug!(id = self.id, ?skipped, "no answer before the deadline");
        let what = format!("no answer to `{}` came{skipped}", self.name);
        self.deadline.passed(what, Happened::Unknown)
    }

    /// The bytes were not held, so whether they were a result or an error is not known. That the
    /// surface had handled the call is.
    fn answer_too_large(&self) -> Error {
        Error::ResultRefused {
            tool: self.name.to_owned(),
            what: format!("its frame is over the bound of {} bytes", self.frame_bytes_max),
            happened: Happened::Yes,
        }
    }

    fn lost(&self, what: &str, skipped: &Skipped) -> Error {
        Error::Transport {
            what: format!("{what} before the answer to `{}`{skipped}", self.name),
            fault: Fault::Wire,
            happened: Happened::Unknown,
        }
    }
}

/// What was passed over while waiting. A wait that ends without an answer says it, since one of
/// these may have been the answer (MCP-4).
#[derive(Debug, Default)]
struct Skipped {
    oversized: u32,
    unreadable: u32,
    gateway: Option<u16>,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut notes = Vec::new();
        match self.oversized {
            0 => {}
            1 => notes.push("a frame over the size bound was refused".to_owned()),
            n => notes.push(format!("{n} frames over the size bound were refused")),
        }
        match self.unreadable {
            0 => {}
            1 => notes.push("a frame that could not be read was skipped".to_owned()),
            n => notes.push(format!("{n} frames that could not be read were skipped")),
        }
        if let Some(status) = self.gateway {
            notes.push(format!("a gateway answered {status}"));
        }
        if notes.is_empty() { Ok(()) } else { write!(f, " ({})", notes.join(", ")) }
    }
}
