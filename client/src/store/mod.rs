//! Where attachments are kept between calls and between workers (STORE-1, STORE-2).

mod memory;
mod seal;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use memory::MemoryStore;
pub use seal::SealingKey;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

pub(crate) use seal::Vault;

use std::fmt;

use futures_util::future::BoxFuture;

use crate::AttachmentId;

/// A store of attachments, shared by every worker that may act for them.
///
/// A store keeps bytes under an id and a version beside them. It never looks into the bytes: they
/// hold the relay's token, sealed when the client was given a [`SealingKey`] and in the clear when
/// it was not. The one promise that matters is that [`AttachmentStore::replace`] compares and
/// writes in one step, with no other writer between the two: a check followed by a write loses the
/// update that came in the middle.
pub trait AttachmentStore: Send + Sync {
    /// The record under `id`, with the version that a later [`AttachmentStore::replace`] names.
    fn get<'a>(
        &'a self,
        id: &'a AttachmentId,
    ) -> BoxFuture<'a, Result<Option<Versioned>, StoreError>>;

    /// Keeps a new record as version 1.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when the id is taken.
    fn insert<'a>(
        &'a self,
        id: &'a AttachmentId,
        record: &'a RecordBytes,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Replaces the record that was read at version `read`; its version grows by one.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when the record has another version by now, or is gone. Nothing was
    /// written then.
    fn replace<'a>(
        &'a self,
        id: &'a AttachmentId,
        read: u64,
        record: &'a RecordBytes,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Forgets a record. To forget what is not there succeeds.
    fn remove<'a>(&'a self, id: &'a AttachmentId) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// 1 when it was inserted, one more for every replacement.
    pub version: u64,
    /// The record.
    pub record: RecordBytes,
}

/// An attachment as bytes. They may hold a token, so `Debug` prints their length alone (AUTH-2).
#[derive(Clone, PartialEq, Eq)]
pub struct RecordBytes(Vec<u8>);

impl RecordBytes {
    /// Bytes that a store read back.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes to keep.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for RecordBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordBytes([{} bytes])", self.0.len())
    }
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer was first.
    #[error("another worker wrote the record after version {read} was read")]
    Stale {
        /// The version that the write named.
        read: u64,
    },
    /// The id is taken.
    #[error("a record with this id exists already")]
    Exists,
    /// The store could not be reached or written.
    #[error("the store failed: {what}")]
    Unavailable {
        /// What failed, in the words of the store.
        what: String,
    },
    /// The record cannot be read back: another sealing key, another program, or damage.
    #[error("the record cannot be read: {what}")]
    Unreadable {
        /// What is wrong with it.
        what: String,
    },
}
