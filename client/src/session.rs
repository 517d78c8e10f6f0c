//! One attachment at work in one process: the handshake it made, the ids it uses, the exchange
//! that is under way.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};
use tracing::debug;

use crate::attachment::Attachment;
use crate::catalogue::Catalogue;
use crate::client::Inner;
use crate::entropy::NoEntropy;
use crate::error::{Error, Fault, Happened};
use crate::frame::Reply;
use crate::mcp::{self, ExpectInitialize, NextPage, Ready, ToolPages};
use crate::revision::Revision;
use crate::transport::{Deadline, Exchange, Line, Mailbox, Outcome, Verdict};
use crate::trust::DeclaredTrust;

/// How long the notice that nobody waits any more may take behind a deadline.
const FAREWELL: Duration = Duration::from_secs(1);

/// What a process remembers of an attachment. All of it can be lost: another worker, or this one
/// after a restart, makes the handshake again and is pinned by the store.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The generation that the handshake was made in, and its result (MCP-2).
    ready: Option<(u64, Ready)>,
    mailbox: Mailbox,
    ids: RequestIds,
}

impl Memory {
    pub(crate) fn new(ids: RequestIds) -> Self {
        Self { ready: None, mailbox: Mailbox::default(), ids }
    }
}

/// Request ids: random enough that no other client of the session uses one, numbered so that
/// this one does not either (IDENT-2).
#[derive(Debug)]
pub(crate) struct RequestIds {
    prefix: String,
    last: u64,
}

impl RequestIds {
    pub(crate) fn new(entropy: &crate::Entropy) -> Result<Self, NoEntropy> {
        Ok(Self { prefix: entropy.hex::<8>()?, last: 0 })
    }

    fn next(&mut self) -> String {
        self.last += 1;
        format!("{}-{}", self.prefix, self.last)
    }
}

/// An attachment with its turn to speak: exchanges of one attachment in one process go one after
/// another, since each is pinned to what the one before it observed, and two polls of one client
/// id would take each other's answers.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    inner: &'a Inner,
    pub(crate) attachment: Attachment,
    memory: OwnedMutexGuard<Memory>,
}

impl<'a> Session<'a> {
    /// Waits for the attachment's turn, no longer than one exchange may take.
    pub(crate) async fn open(
        inner: &'a Inner,
        attachment: Attachment,
        memory: Arc<Mutex<Memory>>,
    ) -> Result<Self, Error> {
        let deadline = Deadline::after(inner.timeout);
        match timeout_at(deadline.at, memory.lock_owned()).await {
            Ok(memory) => Ok(Self { inner, attachment, memory }),
            Err(_) => Err(deadline.passed(
                "the operation before this one on the same attachment did not end".to_owned(),
                Happened::No,
            )),
        }
    }

    /// The handshake, once per generation and process (MCP-2).
    pub(crate) async fn ready(&mut self, trust: &DeclaredTrust<'_>) -> Result<Ready, Error> {
        if let Some((generation, ready)) = self.memory.ready
            && generation == self.attachment.generation
        {
            return Ok(ready);
        }
        let handshake = ExpectInitialize::new(trust);
        let id = self.memory.ids.next();
        let request = handshake.request(&id, &self.attachment.participant);
        let deadline = Deadline::after(self.inner.timeout);
        let result = self.ask("initialize", &id, &request, deadline).await?;
        let ready = handshake.answered(&result)?;
        let answered = self.line()?.post(&ready.initialized(), deadline).await?;
        if answered.verdict != Verdict::Accepted {
            return Err(answered.into_error("inbox"));
        }
        self.memory.ready = Some((self.attachment.generation, ready));
        debug!(client = %self.attachment.client_id, "the handshake is done");
        Ok(ready)
    }

    /// Every page of the surface's tools, admitted or set aside, under one deadline: a surface
    /// that drips pages holds a worker no longer than one that is silent (TRUST-9, TIME-1).
    pub(crate) async fn discover(
        &mut self,
        ready: Ready,
        trust: &DeclaredTrust<'_>,
    ) -> Result<Catalogue, Error> {
        let deadline = Deadline::after(self.inner.timeout);
        let mut pages = ToolPages::default();
        let mut cursor = None;
        let cut = loop {
            let id = self.memory.ids.next();
            let request = ready.list_tools(&id, cursor.as_deref());
            let result = self.ask("tools/list", &id, &request, deadline).await?;
            match pages.read(result)? {
                NextPage::At(next) => cursor = Some(next),
                NextPage::Whole => break None,
                NextPage::Cut(why) => break Some(why.to_owned()),
            }
        };
        Ok(Catalogue::sort(pages.tools, cut, trust))
    }

    /// A request of the handshake or of discovery, whose only good answer is a result.
    async fn ask(
        &mut self,
        name: &str,
        id: &str,
        request: &Value,
        deadline: Deadline,
    ) -> Result<Value, Error> {
        match self.exchange(name, id, request, deadline).await? {
            Outcome::Reply(Reply::Result(result)) => Ok(result),
            Outcome::Reply(Reply::Error(error)) => {
                let surface = &self.attachment.surface_id;
                let framed = self.inner.surface_error(surface, name, &error)?;
                Err(Error::Protocol {
                    what: format!("the surface refused `{name}`: {framed}"),
                    fault: Fault::Surface,
                    happened: Happened::No,
                })
            }
            Outcome::Conflict => Err(Error::Transport {
                what: format!("the relay answered `{name}` with 409, which means nothing here"),
                fault: Fault::Relay,
                happened: Happened::No,
            }),
        }
    }

    /// The call itself.
    pub(crate) async fn call(
        &mut self,
        ready: Ready,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Outcome, Error> {
        let id = self.memory.ids.next();
        let pin = self.attachment.revision.as_ref().map(Revision::token);
        let request = ready.call_tool(&id, tool, arguments, pin);
        let deadline = Deadline::after(self.inner.timeout);
        let outcome = self.exchange(tool, &id, &request, deadline).await;
        if let Err(error) = &outcome
            && error.happened() == Happened::Unknown
            && !error.is_terminal()
        {
            self.give_up_on(&id, deadline).await;
        }
        outcome
    }

    async fn exchange(
        &mut self,
        name: &str,
        id: &str,
        frame: &Value,
        deadline: Deadline,
    ) -> Result<Outcome, Error> {
        let exchange = Exchange {
            line: Line {
                http: &self.inner.http,
                invitation: self.attachment.live_invitation()?,
                client_id: &self.attachment.client_id,
            },
            frame,
            id,
            name,
            deadline,
            frame_bytes_max: self.inner.frame_bytes_max,
            subscribe_first: self.inner.subscribe_first,
        };
        self.inner.transport.exchange(&exchange, &mut self.memory.mailbox).await
    }

    /// Tells the surface that nobody waits for `id` any more, as well as it can be told: within
    /// the deadline while some of it is left, and otherwise from a task of its own, so that the
    /// caller is not held past it (MCP-5, TIME-1). What becomes of the notice changes nothing.
    async fn give_up_on(&self, id: &str, deadline: Deadline) {
        let Ok(line) = self.line() else { return };
        let notice = mcp::cancelled(id, "the client no longer waits for the answer");
        if Instant::now() < deadline.at {
            let soon = Deadline { at: deadline.at.min(Instant::now() + FAREWELL), ..deadline };
            let _ = line.post(&notice, soon).await;
            return;
        }
        let (http, invitation, client_id) =
            (self.inner.http.clone(), line.invitation.clone(), line.client_id.clone());
        tokio::spawn(async move {
            let line = Line { http: &http, invitation: &invitation, client_id: &client_id };
            let _ = line.post(&notice, Deadline::after(FAREWELL)).await;
        });
    }

    pub(crate) fn line(&self) -> Result<Line<'_>, Error> {
        Ok(Line {
            http: &self.inner.http,
            invitation: self.attachment.live_invitation()?,
            client_id: &self.attachment.client_id,
        })
    }
}
