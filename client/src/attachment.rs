//! An attachment: one owner's seat at one surface, and what was observed from it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::feed::ChangeFeed;
use crate::revision::{ConflictDetection, Revision};
use crate::store::StoreError;
use crate::{ClientId, Invitation, InvitationError, Participant, SessionId};

/// Locates an attachment. It is no credential: every operation presents the owner too (OWNER-1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttachmentId(String);

impl AttachmentId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for AttachmentId {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for AttachmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who an attachment belongs to, in the host's own terms: a user, a tenant, a harness session.
///
/// Only a digest of it is kept, and digests are compared in constant time (OWNER-1).
#[derive(Clone, PartialEq, Eq)]
pub struct Owner(String);

impl Owner {
    /// An owner by the host's name for it.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Bound to the attachment, so that two records do not tell that they have one owner.
    fn digest(&self, id: &AttachmentId) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in ["relay-client owner", id.as_str(), &self.0] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner([redacted])")
    }
}

/// Where an attachment stands in its life (LIFE-1 to LIFE-4).
///
/// ```text
///  attach                 detach
/// --------> Attached ------------------> Detached
///             |  |
///         410 |  | 401
///             |  '--------------------> Unauthorized
///             v
///      SurfaceUnavailable
/// ```
///
/// The three on the right and below are terminal: whichever is reached first stays, nothing leaves
/// it, and every later operation is refused without a request. A stale rejection, a timeout, a lost
/// stream and a refusal of local policy leave an attachment attached (REV-6, LIFE-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentState {
    /// It can be used. Whether the surface has heard of it yet is not part of this state.
    Attached,
    /// The session is gone.
    SurfaceUnavailable,
    /// The relay refused the token.
    Unauthorized,
    /// Its owner left.
    Detached,
}

impl AttachmentState {
    /// Nothing leaves a terminal state.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self != Self::Attached
    }

    /// The code of the error that an operation gets in this state.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::SurfaceUnavailable => "surface_unavailable",
            Self::Unauthorized => "attachment_unauthorized",
            Self::Attached | Self::Detached => "not_attached",
        }
    }
}

impl fmt::Display for AttachmentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attached => "attached",
            Self::SurfaceUnavailable => "surface_unavailable: the session is gone",
            Self::Unauthorized => "attachment_unauthorized: the relay refused the token",
            Self::Detached => "detached",
        })
    }
}

/// An attachment as its owner sees it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Attachment {
    /// Locates it in every later operation.
    pub id: AttachmentId,
    /// What the relay knows this participant's connection by (IDENT-1).
    pub client_id: ClientId,
    /// Where it stands.
    pub state: AttachmentState,
    /// Grows when a handshake made before no longer holds. Observing a revision does not
    /// (STORE-2, MCP-2).
    pub generation: u64,
    /// The relay session.
    pub session_id: SessionId,
    /// The surface that the invitation names.
    pub surface_id: String,
    /// The application that the invitation names.
    pub application: String,
    /// Who takes part.
    pub participant: Participant,
    /// What the next call is pinned to (REV-3).
    pub revision: Option<Revision>,
    /// What was seen of the surface's minting and enforcing (REV-7).
    pub conflict_detection: ConflictDetection,
    /// What was seen of the surface's change feed (FEED-2).
    pub change_feed: ChangeFeed,
    /// The last marker that was observed, also when a refusal dropped the pin (FEED-1).
    pub(crate) last_observed: Option<Revision>,
    pub(crate) owner: [u8; 32],
    /// Forgotten, with its token, at the end.
    pub(crate) invitation: Option<Invitation>,
}

impl Attachment {
    pub(crate) fn new(
        id: AttachmentId,
        client_id: ClientId,
        owner: &Owner,
        invitation: Invitation,
        participant: Participant,
    ) -> Self {
        Self {
            owner: owner.digest(&id),
            id,
            client_id,
            state: AttachmentState::Attached,
            generation: 1,
            session_id: invitation.session_id().clone(),
            surface_id: invitation.surface_id().to_owned(),
            application: invitation.application().to_owned(),
            participant,
            revision: None,
            conflict_detection: ConflictDetection::default(),
            change_feed: ChangeFeed::default(),
            last_observed: None,
            invitation: Some(invitation),
        }
    }

    pub(crate) fn belongs_to(&self, owner: &Owner) -> bool {
        self.owner.ct_eq(&owner.digest(&self.id)).into()
    }

    /// The invitation of an attachment that is not over.
    pub(crate) fn live_invitation(&self) -> Result<&Invitation, Error> {
        match &self.invitation {
            Some(invitation) if !self.state.is_terminal() => Ok(invitation),
            _ => Err(Error::Ended { id: self.id.clone(), state: self.state }),
        }
    }

    /// Ends it; the first end stays. The token is of no more use, so it is not kept.
    pub(crate) fn end(&mut self, end: AttachmentState) {
        if self.state.is_terminal() {
            return;
        }
        self.state = end;
        self.generation += 1;
        self.invitation = None;
    }

    /// An answer that reached the caller minted `revision`, or nothing (REV-7, FEED-13).
    pub(crate) fn observe(&mut self, revision: Option<&Revision>) {
        self.conflict_detection = self.conflict_detection.answered(revision.is_some());
        if let Some(revision) = revision {
            self.revision = Some(revision.clone());
            self.last_observed = Some(revision.clone());
        }
    }

    /// The surface refused `pin` as stale (REV-6, REV-7). A marker that another worker observed
    /// meanwhile was not refused, so it stays.
    pub(crate) fn refused_as_stale(&mut self, pin: &Revision) {
        self.conflict_detection = self.conflict_detection.refused_a_stale_pin();
        if self.revision.as_ref() == Some(pin) {
            self.revision = None;
        }
    }
}

/// An attachment as a store keeps it. A reader of an older version would drop what it does not
/// know on the next write, so unknown fields are refused.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: u32,
    client_id: String,
    owner: String,
    state: AttachmentState,
    generation: u64,
    relay_base_url: Option<String>,
    token: Option<String>,
    session_id: String,
    surface_id: String,
    application: String,
    participant: Participant,
    revision: Option<Revision>,
    last_observed: Option<Revision>,
    conflict_detection: ConflictDetection,
    change_feed: ChangeFeed,
}

const FORMAT: u32 = 1;

impl Attachment {
    /// The bytes that a store keeps. They hold the token, in the clear until they are sealed.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let invitation = self.invitation.as_ref();
        let record = Record {
            format: FORMAT,
            client_id: self.client_id.as_str().to_owned(),
            owner: hex::encode(self.owner),
            state: self.state,
            generation: self.generation,
            relay_base_url: invitation.map(|it| it.relay_base_url().as_str().to_owned()),
            token: invitation.map(|it| it.token().expose().to_owned()),
            session_id: self.session_id.as_str().to_owned(),
            surface_id: self.surface_id.clone(),
            application: self.application.clone(),
            participant: self.participant.clone(),
            revision: self.revision.clone(),
            last_observed: self.last_observed.clone(),
            conflict_detection: self.conflict_detection,
            change_feed: self.change_feed,
        };
        // Every key is a string and no value of a record can fail to serialize.
        #[allow(clippy::unwrap_used)]
        serde_json::to_vec(&record).unwrap()
    }

    pub(crate) fn from_bytes(id: AttachmentId, bytes: &[u8]) -> Result<Self, StoreError> {
        // serde's message would quote the record, and the record holds the token.
        let record: Record = serde_json::from_slice(bytes)
            .map_err(|_| unreadable("it is not of the shape that this version writes"))?;
        if record.format != FORMAT {
            return Err(unreadable("another version of this library wrote it"));
        }
        let mut owner = [0; 32];
        hex::decode_to_slice(&record.owner, &mut owner)
            .map_err(|_| unreadable("its owner is no digest"))?;
        let invalid = |_: InvitationError| unreadable("its invitation is not valid");
        let invitation = match (&record.relay_base_url, record.token) {
            (Some(url), Some(token)) => Some(
                Invitation::builder()
                    .relay_base_url(url)
                    .session_id(&record.session_id)
                    .token(token)
                    .surface_id(&record.surface_id)
                    .application(&record.application)
                    .build()
                    .map_err(invalid)?,
            ),
            _ => None,
        };
        Ok(Self {
            id,
            client_id: ClientId::new(record.client_id)
                .map_err(|_| unreadable("its client id is not valid"))?,
            state: record.state,
            generation: record.generation,
            session_id: SessionId::new(record.session_id)
                .map_err(|_| unreadable("its session id is not valid"))?,
            surface_id: record.surface_id,
            application: record.application,
            participant: record.participant,
            revision: record.revision,
            conflict_detection: record.conflict_detection,
            change_feed: record.change_feed,
            last_observed: record.last_observed,
            owner,
            invitation,
        })
    }
}

fn unreadable(what: &str) -> StoreError {
    StoreError::Unreadable { what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn attachment() -> Attachment {
        let invitation = Invitation::builder()
            .relay_base_url("https://relay.example/relay")
            .session_id("sess-1")
            .token("a-token-of-sixteen")
            .surface_id("board")
            .application("planner")
            .build()
            .unwrap();
        let ada = Participant::new("agent-1", "Ada", "#336699");
        let client_id = ClientId::random([7; 12]);
        Attachment::new("a".into(), client_id, &Owner::new("o"), invitation, ada)
    }

    fn marker(token: &str) -> Revision {
        let result = json!({ "_meta": { "revision": token } });
        Revision::read_from(&result, "screen_read").unwrap().unwrap()
    }

    #[test]
    fn the_first_end_stays_and_forgets_the_token() {
        use AttachmentState as S;
        for first in [S::SurfaceUnavailable, S::Unauthorized, S::Detached] {
            for later in [S::SurfaceUnavailable, S::Unauthorized, S::Detached] {
                let mut ended = attachment();
                ended.end(first);
                ended.end(later);
                assert_eq!((ended.state, ended.generation), (first, 2));
                assert!(!String::from_utf8(ended.to_bytes()).unwrap().contains("sixteen"));
                assert!(matches!(
                    ended.live_invitation(),
                    Err(Error::Ended { state, .. }) if state == first
                ));
            }
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let mut seen = attachment();
        seen.observe(Some(&marker(" r1 ")));
        seen.refused_as_stale(&marker(" r1 "));
        seen.change_feed = seen.change_feed.listed(true).attributed();
        let mut ended = seen.clone();
        ended.end(AttachmentState::Unauthorized);
        for before in [attachment(), seen, ended] {
            let after = Attachment::from_bytes("a".into(), &before.to_bytes()).unwrap();
            assert_eq!(after, before);
        }
    }

    #[test]
    fn a_record_that_cannot_be_read_is_refused_without_repeating_it() {
        let good: serde_json::Value = serde_json::from_slice(&attachment().to_bytes()).unwrap();
        let with = |field: &str, value: serde_json::Value| {
            let mut record = good.clone();
            record[field] = value;
            record.to_string()
        };
        for bad in [
            String::new(),
            "a-token-of-sixteen".to_owned(),
            with("format", json!(2)),
            with("owner", json!("zz")),
            with("token", json!("short")),
            with("client_id", json!("")),
            with("from_the_future", json!(true)),
        ] {
            let error = Attachment::from_bytes("a".into(), bad.as_bytes()).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sixteen"), "{error}");
        }
    }

    #[test]
    fn an_owner_is_bound_to_the_attachment_and_never_shown() {
        let one = attachment();
        assert!(one.belongs_to(&Owner::new("o")));
        for other in ["", "O", "o ", "oo"] {
            assert!(!one.belongs_to(&Owner::new(other)), "{other:?}");
        }
        assert_ne!(one.owner, Owner::new("o").digest(&"b".into()));
        assert!(!format!("{:?}", Owner::new("tenant-3")).contains("tenant"));
    }
}
