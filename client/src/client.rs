//! The client: every operation an owner has on an attachment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Map, Value};
use tracing::{Instrument, debug, debug_span};

use crate::activity::Activity;
use crate::attachment::{Attachment, AttachmentId, AttachmentState, Owner};
use crate::builder::ClientBuilder;
use crate::catalogue::Catalogue;
use crate::entropy::Entropy;
use crate::error::{Error, Happened};
use crate::feed::Changes;
use crate::guard::ResultGuard;
use crate::ledger::Ledger;
use crate::revision::{ConflictDetection, Revision};
use crate::session::{Memory, RequestIds, Session};
use crate::transport::{Deadline, Http, Line, Request, Transport, Verdict};
use crate::trust::{DeclaredTrust, TrustPolicy};
use crate::{ClientId, Invitation, Participant};

/// A client of Human+ relays, for any number of attachments of any number of owners.
///
/// Cheap to clone; clones share connections, settings and what they know of handshakes. Every
/// operation presents the owner again (OWNER-1), reads the attachment from the store and writes
/// what it observed back (STORE-1). Each exchange with the surface parks its task for at most the
/// timeout (TIME-1): a call that has to make the handshake first consists of three. Operations on
/// one attachment wait for each other within a process.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) http: Arc<Http>,
    pub(crate) transport: Transport,
    pub(crate) trust: TrustPolicy,
    pub(crate) guard: ResultGuard,
    pub(crate) timeout: Duration,
    pub(crate) frame_bytes_max: usize,
    pub(crate) require_revision: bool,
    pub(crate) subscribe_first: bool,
    pub(crate) ledger: Ledger,
    pub(crate) entropy: Entropy,
    /// What this process remembers of the attachments it used.
    pub(crate) memories: Mutex<BTreeMap<AttachmentId, Arc<tokio::sync::Mutex<Memory>>>>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallResult {
    /// What the surface answered, framed with its provenance: this is what a model may read
    /// (GUARD-2).
    pub framed: String,
    /// The marker that this answer minted, which the next call is pinned to.
    pub revision: Option<Revision>,
}

impl Client {
    /// Settings for a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn from_inner(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Takes a seat at a surface. Nothing is sent: the surface hears of it at first use (LIFE-1).
    ///
    /// # Errors
    /// When no ids can be drawn or the store fails.
    pub async fn attach(
        &self,
        owner: &Owner,
        invitation: Invitation,
        participant: Participant,
    ) -> Result<Attachment, Error> {
        let entropy = &self.0.entropy;
        let id = AttachmentId::from(entropy.hex::<16>()?);
        let client_id = ClientId::random(entropy.bytes()?);
        let attachment = Attachment::new(id, client_id, owner, invitation, participant);
        self.0.ledger.insert(&attachment).await?;
        debug!(attachment = %attachment.id, client = %attachment.client_id, "attached");
        Ok(attachment)
    }

    /// The tools that the surface offers now and that trust admits; the others are named with the
    /// reason (TRUST-3 to TRUST-10).
    ///
    /// # Errors
    /// As every operation: see [`Error`].
    pub async fn tools(&self, owner: &Owner, id: &AttachmentId) -> Result<Catalogue, Error> {
        let work = async {
            let trust = self.trust()?;
            let mut session = self.open(owner, id).await?;
            let ready = before_the_call(session.ready(&trust).await)?;
            before_the_call(session.discover(ready, &trust).await)
        };
        self.settle(id, work.instrument(debug_span!("tools", attachment = %id)).await).await
    }

    /// Calls a tool, pinned to the last revision that was observed (REV-3).
    ///
    /// The surface's tools are listed anew first, so a definition that changed since it was pinned
    /// is caught before the call (TRUST-4).
    ///
    /// # Errors
    /// [`Error::SurfaceChanged`] when somebody else changed the surface: nothing was applied, the
    /// next call is unpinned, and the same arguments must not be sent again (REV-5, REV-6). After
    /// [`Error::Timeout`] and every other error with [`Happened::Unknown`] the call may have been
    /// applied. It is never sent again by the client (MCP-5).
    pub async fn call(
        &self,
        owner: &Owner,
        id: &AttachmentId,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallResult, Error> {
        let work = async {
            let trust = self.trust()?;
            trust.admit_name(tool).map_err(|refusal| Error::ToolRefused { refusal })?;
            let mut session = self.open(owner, id).await?;
            self.require_detection(&session.attachment, tool)?;
            let ready = before_the_call(session.ready(&trust).await)?;
            let catalogue = before_the_call(session.discover(ready, &trust).await)?;
            catalogue.must_offer(tool)?;
            // Another worker may have observed something while the tools were listed.
            session.attachment = self.0.ledger.load(owner, id).await?;
            self.require_detection(&session.attachment, tool)?;
            let answer = self.0.call_pinned(&mut session, ready, tool, arguments).await?;
            self.0.accept(&session.attachment, tool, &answer).await
        };
        self.settle(id, work.instrument(debug_span!("call", attachment = %id, tool)).await).await
    }

    /// What changed on the surface since the last marker that was observed (FEED-1 to FEED-13).
    ///
    /// A surface without a trusted feed is no error: the answer says that it cannot say. Asking is
    /// allowed on a surface that mints nothing, whatever is required of it: a question overwrites
    /// nothing.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn changes_since(&self, owner: &Owner, id: &AttachmentId) -> Result<Changes, Error> {
        let work = async {
            let trust = self.trust()?;
            let mut session = self.open(owner, id).await?;
            let ready = before_the_call(session.ready(&trust).await)?;
            let catalogue = before_the_call(session.discover(ready, &trust).await)?;
            session.attachment = self.0.ledger.load(owner, id).await?;
            self.0.ask_feed(&mut session, ready, &catalogue).await
        };
        self.settle(id, work.instrument(debug_span!("changes", attachment = %id)).await).await
    }

    /// What was seen of the surface's conflict detection so far (REV-7). Nothing is sent.
    ///
    /// # Errors
    /// When the attachment is not this owner's, or is over.
    pub async fn conflict_detection(
        &self,
        owner: &Owner,
        id: &AttachmentId,
    ) -> Result<ConflictDetection, Error> {
        let attachment = self.0.ledger.load(owner, id).await?;
        attachment.live_invitation()?;
        Ok(attachment.conflict_detection)
    }

    /// The attachment as the store has it, also when it is over. Nothing is sent.
    ///
    /// # Errors
    /// When the attachment is not this owner's.
    pub async fn status(&self, owner: &Owner, id: &AttachmentId) -> Result<Attachment, Error> {
        self.0.ledger.load(owner, id).await
    }

    /// Shows people what the participant is about to do (PRES-1). No reply is waited for.
    ///
    /// # Errors
    /// As every operation: see [`Error`].
    pub async fn announce(
        &self,
        owner: &Owner,
        id: &AttachmentId,
        activity: Activity,
    ) -> Result<(), Error> {
        let work = async {
            self.trust()?;
            let attachment = self.0.ledger.load(owner, id).await?;
            let line = self.0.line(&attachment)?;
            let frame = activity.frame(&attachment);
            let answered = line.post(&frame, Deadline::after(self.0.timeout)).await?;
            match answered.verdict {
                Verdict::Accepted => Ok(()),
                _ => Err(answered.into_error("inbox")),
            }
        };
        self.settle(id, work.instrument(debug_span!("announce", attachment = %id)).await).await
    }

    /// Leaves the surface. A session that is gone by then counts as left (LIFE-4).
    ///
    /// # Errors
    /// When the relay could not be told; the attachment stays attached then, unless it refused the
    /// token.
    pub async fn detach(&self, owner: &Owner, id: &AttachmentId) -> Result<(), Error> {
        let attachment = self.0.ledger.load(owner, id).await?;
        if attachment.state == AttachmentState::SurfaceUnavailable {
            return Ok(());
        }
        let work = async {
            let line = self.0.line(&attachment)?;
            // Without a declared trust nothing ever reached the relay, and nothing does now
            // (TRUST-1).
            if self.trust().is_err() {
                return Ok(());
            }
            let request = Request {
                method: Method::POST,
                path: "unregister",
                route: "unregister",
                query: Vec::new(),
                accept: "application/json",
                frame: None,
            };
            let answered = line.send(request, Deadline::after(self.0.timeout)).await?;
            match answered.verdict {
                Verdict::Accepted => Ok(()),
                _ => Err(answered.into_error("unregister")),
            }
        };
        let left = work.instrument(debug_span!("detach", attachment = %id)).await;
        match self.settle(id, left).await {
            Ok(()) => {
                self.0
                    .ledger
                    .update(id, |attachment| attachment.end(AttachmentState::Detached))
                    .await?;
                self.forget(id);
                Ok(())
            }
            Err(Error::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn trust(&self) -> Result<DeclaredTrust<'_>, Error> {
        self.0.trust.declared().map_err(Error::Untrusted)
    }

    /// The attachment, this owner's and not over, with its turn to speak.
    async fn open(&self, owner: &Owner, id: &AttachmentId) -> Result<Session<'_>, Error> {
        let attachment = self.0.ledger.load(owner, id).await?;
        if attachment.state.is_terminal() {
            self.forget(id);
        }
        attachment.live_invitation()?;
        let mut session = Session::open(&self.0, attachment, self.memory(id)?).await?;
        // What went before in the queue may have ended the attachment.
        session.attachment = self.0.ledger.load(owner, id).await?;
        session.attachment.live_invitation()?;
        Ok(session)
    }

    fn memory(&self, id: &AttachmentId) -> Result<Arc<tokio::sync::Mutex<Memory>>, Error> {
        let mut memories = self.0.memories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = memories.get(id) {
            return Ok(Arc::clone(memory));
        }
        let ids = RequestIds::new(&self.0.entropy)?;
        let memory = Arc::new(tokio::sync::Mutex::new(Memory::new(ids)));
        memories.insert(id.clone(), Arc::clone(&memory));
        Ok(memory)
    }

    fn forget(&self, id: &AttachmentId) {
        self.0.memories.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// A verdict of the relay ends the attachment, whichever operation met it (LIFE-2).
    async fn settle<T>(&self, id: &AttachmentId, result: Result<T, Error>) -> Result<T, Error> {
        let end = match &result {
            Err(Error::Gone { .. }) => AttachmentState::SurfaceUnavailable,
            Err(Error::Unauthorized { .. }) => AttachmentState::Unauthorized,
            _ => return result,
        };
        debug!(attachment = %id, state = %end, "the attachment is over");
        self.0.ledger.end(id, end).await;
        self.forget(id);
        result
    }

    fn require_detection(&self, attachment: &Attachment, tool: &str) -> Result<(), Error> {
        if self.0.require_revision
            && attachment.conflict_detection == ConflictDetection::Unavailable
        {
            return Err(Error::DetectionUnavailable { tool: tool.to_owned() });
        }
        Ok(())
    }
}

impl Inner {
    pub(crate) fn line<'a>(&'a self, attachment: &'a Attachment) -> Result<Line<'a>, Error> {
        Ok(Line {
            http: &self.http,
            invitation: attachment.live_invitation()?,
            client_id: &attachment.client_id,
        })
    }
}

/// What fails before the call leaves is not the call.
fn before_the_call<T>(result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| error.with_happened(Happened::No))
}
