//! What the answer to a call means: refused as stale, an error, or a result.

use serde_json::{Map, Value};

use crate::attachment::Attachment;
use crate::catalogue::Catalogue;
use crate::client::{CallResult, Inner};
use crate::error::{Error, Happened};
use crate::feed::{self, Change, ChangeFeed, Changes};
use crate::frame::Reply;
use crate::guard::quote;
use crate::mcp::Ready;
use crate::revision::Revision;
use crate::session::Session;
use crate::stale;
use crate::transport::Outcome;
use crate::trust::ToolDefinition;

impl Inner {
    /// Makes the call and gives its result. A stale rejection is recorded and told here (REV-5,
    /// REV-6); an error of the surface comes back framed (MCP-3). `isError` is left to the caller.
    pub(crate) async fn call_pinned(
        &self,
        session: &mut Session<'_>,
        ready: Ready,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Value, Error> {
        let pin = session.attachment.revision.clone();
        match session.call(ready, tool, arguments).await? {
            Outcome::Conflict => {}
            Outcome::Reply(Reply::Error(error)) if stale::is_stale_rejection(&error) => {}
            Outcome::Reply(Reply::Error(error)) => {
                let surface = &session.attachment.surface_id;
                return Err(self.surface_error(surface, tool, &error)?);
            }
            Outcome::Reply(Reply::Result(result)) => return Ok(result),
        }
        if let Some(pin) = &pin {
            let id = session.attachment.id.clone();
            self.ledger.update(&id, |attachment| attachment.refused_as_stale(pin)).await?;
        }
        Err(changed_under_you(tool, pin.as_ref()))
    }

    /// Hands a result to the caller, or refuses it in words that say that the call had been
    /// applied (REV-9). What it minted is stored once it is certain to be handed on (FEED-13).
    pub(crate) async fn accept(
        &self,
        attachment: &Attachment,
        tool: &str,
        result: &Value,
    ) -> Result<CallResult, Error> {
        let text = text_of(result);
        let nonce = self.entropy.hex::<16>()?;
        let framed = self.guard.guard(&attachment.surface_id, tool, &text, &nonce);
        if is_error(result) {
            let framed =
                framed.map_err(|too_large| refused(tool, &too_large, Happened::Unknown))?;
            return Err(Error::Tool {
                tool: tool.to_owned(),
                framed: framed.to_string(),
                surface_code: None,
                happened: Happened::Unknown,
            });
        }
        let framed = framed.map_err(|too_large| refused(tool, &too_large, Happened::Yes))?;
        let revision = Revision::read_from(result, tool)
            .map_err(|unusable| refused(tool, &unusable, Happened::Yes))?;
        self.ledger
            .update(&attachment.id, |attachment| attachment.observe(revision.as_ref()))
            .await
            .map_err(|error| error.with_happened(Happened::Yes))?;
        Ok(CallResult { framed: framed.to_string(), revision })
    }

    /// Asks the trusted feed what changed, if there is one (FEED-1, FEED-2).
    pub(crate) async fn ask_feed(
        &self,
        session: &mut Session<'_>,
        ready: Ready,
        catalogue: &Catalogue,
    ) -> Result<Changes, Error> {
        let id = session.attachment.id.clone();
        let feed_tool = catalogue.tools.iter().find(|tool| feed::is_feed(tool.name()));
        let state = session.attachment.change_feed.listed(feed_tool.is_some());
        let Some(tool) = feed_tool.map(ToolDefinition::name) else {
            self.ledger
                .update(&id, |attachment| {
                    attachment.change_feed = attachment.change_feed.listed(false);
                })
                .await?;
            return Ok(Changes::cannot_say(state));
        };
        // Also behind a refusal that dropped the pin: asking what changed is how an agent recovers.
        let since = session.attachment.last_observed.as_ref().map(Revision::token);
        let arguments = since.map(|since| ("since".to_owned(), Value::from(since)));
        let arguments = arguments.into_iter().collect();
        let result = self.call_pinned(session, ready, tool, &arguments).await?;
        let changes = self.guard_changes(&session.attachment.surface_id, tool, &result, state)?;
        self.ledger
            .update(&id, |attachment| {
                attachment.change_feed = attachment.change_feed.listed(true);
                if changes.feed() == ChangeFeed::Attributed {
                    attachment.change_feed = attachment.change_feed.attributed();
                }
                // An answer with holes did not tell everything up to its marker, so the next one
                // is asked from the marker before it (FEED-13).
                if changes.doubts().is_empty() {
                    attachment.observe(changes.revision());
                }
            })
            .await
            .map_err(|error| error.with_happened(Happened::Yes))?;
        Ok(changes)
    }

    /// A feed's answer within the bounds of every result, its labels framed (GUARD-1, GUARD-3).
    fn guard_changes(
        &self,
        surface: &str,
        tool: &str,
        result: &Value,
        state: ChangeFeed,
    ) -> Result<Changes, Error> {
        let over = |why: &dyn std::fmt::Display| refused(tool, why, Happened::Yes);
        let changes = Changes::read(result, state, tool).map_err(|unusable| over(&unusable))?;
        let words = |row: &Change| row.handle.len() + row.label.as_ref().map_or(0, String::len);
        self.guard
            .check(changes.rows().iter().map(words).sum())
            .map_err(|too_large| over(&too_large))?;
        changes.with_labels(|label| {
            let nonce = self.entropy.hex::<16>()?;
            match self.guard.guard(surface, tool, label, &nonce) {
                Ok(framed) => Ok(framed.to_string()),
                Err(too_large) => Err(over(&too_large)),
            }
        })
    }

    /// A JSON-RPC error of the surface: its code and its message, framed (MCP-3, GUARD-3).
    pub(crate) fn surface_error(
        &self,
        surface: &str,
        tool: &str,
        error: &Value,
    ) -> Result<Error, Error> {
        let code = error.get("code").and_then(Value::as_i64);
        let happened = match code {
            // JSON-RPC's own codes for a request that was never dispatched.
            Some(-32700 | -32600 | -32601 | -32602) => Happened::No,
            _ => Happened::Unknown,
        };
        let nonce = self.entropy.hex::<16>()?;
        let framed = self
            .guard
            .guard(surface, tool, &error_text(error), &nonce)
            .map_err(|too_large| refused(tool, &too_large, happened))?;
        Ok(Error::Tool {
            tool: tool.to_owned(),
            framed: framed.to_string(),
            surface_code: code,
            happened,
        })
    }
}

/// What a model would read of a result: its texts, and everything else as JSON. Without content it
/// is the structured half.
fn text_of(result: &Value) -> String {
    let Some(content) = result.get("content").and_then(Value::as_array).filter(|it| !it.is_empty())
    else {
        return match result.get("structuredContent") {
            Some(structured) => structured.to_string(),
            None => result.to_string(),
        };
    };
    let parts = content.iter().map(|item| match (item.get("type"), item.get("text")) {
        (Some(Value::String(kind)), Some(Value::String(text))) if kind == "text" => text.clone(),
        _ => item.to_string(),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// A tool's own word that it failed. Anything but `true` is no such word.
fn is_error(result: &Value) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}

/// The surface's code, message and data, as text to be framed.
fn error_text(error: &Value) -> String {
    let code = error.get("code").map(|code| format!("code {code}: ")).unwrap_or_default();
    let message = match error.get("message") {
        Some(Value::String(message)) => message.clone(),
        Some(other) => other.to_string(),
        None => "no message".to_owned(),
    };
    let data = error.get("data").map(|data| format!("\n{data}")).unwrap_or_default();
    format!("{code}{message}{data}")
}

fn refused(tool: &str, why: &dyn std::fmt::Display, happened: Happened) -> Error {
    Error::ResultRefused { tool: tool.to_owned(), what: why.to_string(), happened }
}

/// The refusal, in words for the model that receives it in the middle of a turn (REV-5).
fn changed_under_you(tool: &str, pin: Option<&Revision>) -> Error {
    let basis = match pin {
        Some(pin) => format!(
            "the call was made from revision {}, seen on `{}`, and somebody else has changed the \
             surface since",
            quote(pin.token()),
            pin.seen_on(),
        ),
        None => "the call was made from no revision, and the surface says that somebody else has \
                 changed it"
            .to_owned(),
    };
    Error::SurfaceChanged {
        tool: tool.to_owned(),
        what: format!(
            "surface_changed_under_you: `{tool}` was refused, and nothing was applied. {}. Do not \
             send the same arguments again: that would overwrite the other change. Read the \
             surface again, then decide what is still needed.",
            capitalized(&basis),
        ),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
