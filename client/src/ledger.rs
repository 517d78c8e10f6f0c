//! Attachments between a client and its store: owner checked, sealed, never overwritten unseen.

use std::fmt;
use std::sync::Arc;

use tracing::debug;

use crate::attachment::{Attachment, AttachmentId, AttachmentState, Owner};
use crate::entropy::Entropy;
use crate::error::{Error, Happened};
use crate::store::{AttachmentStore, StoreError, Vault};

/// A write that lost its race is made again on what the winner wrote. A loser means a winner, so
/// losing this often means that a hundred others are at work on one attachment.
const RACES_MAX: usize = 100;

/// The client's side of a store.
#[derive(Clone)]
pub(crate) struct Ledger {
    store: Arc<dyn AttachmentStore>,
    vault: Vault,
    entropy: Entropy,
}

impl Ledger {
    pub(crate) fn new(store: Arc<dyn AttachmentStore>, vault: Vault, entropy: Entropy) -> Self {
        Self { store, vault, entropy }
    }

    pub(crate) async fn insert(&self, attachment: &Attachment) -> Result<(), Error> {
        let record = self.vault.close(&attachment.id, &attachment.to_bytes(), &self.entropy)?;
        self.store.insert(&attachment.id, &record).await.map_err(store_failed)
    }

    /// The attachment, when there is one and it is this owner's (OWNER-1).
    pub(crate) async fn load(&self, owner: &Owner, id: &AttachmentId) -> Result<Attachment, Error> {
        let (attachment, _) = self.read(id).await?;
        if !attachment.belongs_to(owner) {
            return Err(Error::WrongOwner { id: id.clone() });
        }
        Ok(attachment)
    }

    /// Applies an observation to the record as it is now. When another worker wrote in between,
    /// what it wrote is read and the observation is applied to that: observations add to a record,
    /// so nothing of either is lost (STORE-2). What does not change a record writes nothing.
    pub(crate) async fn update(
        &self,
        id: &AttachmentId,
        observe: impl Fn(&mut Attachment),
    ) -> Result<Attachment, Error> {
        for _ in 0..RACES_MAX {
            let (before, version) = self.read(id).await?;
            let mut after = before.clone();
            observe(&mut after);
            if after == before {
                return Ok(after);
            }
            let record = self.vault.close(id, &after.to_bytes(), &self.entropy)?;
            match self.store.replace(id, version, &record).await {
                Ok(()) => return Ok(after),
                Err(StoreError::Stale { .. }) => debug!(%id, version, "another worker was first"),
                Err(error) => return Err(store_failed(error)),
            }
        }
        Err(store_failed(StoreError::Unavailable {
            what: format!("{RACES_MAX} writes in a row came after another worker's"),
        }))
    }

    /// Records how an attachment ended. The verdict stands whether or not it can be written, so a
    /// store that fails now costs later operations a request each, and nothing else.
    pub(crate) async fn end(&self, id: &AttachmentId, end: AttachmentState) {
        if let Err(error) = self.update(id, |attachment| attachment.end(end)).await {
            debug!(%id, code = error.code(), "the end of the attachment could not be stored");
        }
    }

    async fn read(&self, id: &AttachmentId) -> Result<(Attachment, u64), Error> {
        let kept = self.store.get(id).await.map_err(store_failed)?;
        let Some(kept) = kept else { return Err(Error::NotAttached { id: id.clone() }) };
        let bytes = self.vault.open(id, &kept.record).map_err(store_failed)?;
        let attachment = Attachment::from_bytes(id.clone(), &bytes).map_err(store_failed)?;
        Ok((attachment, kept.version))
    }
}

fn store_failed(cause: StoreError) -> Error {
    Error::Store { cause, happened: Happened::No }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("vault", &self.vault).finish_non_exhaustive()
    }
}
