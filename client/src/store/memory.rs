//! A store for one process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, ready};

use super::{AttachmentStore, RecordBytes, StoreError, Versioned};
use crate::AttachmentId;

/// Attachments in memory: shared by the tasks of one process and gone with it.
#[derive(Default)]
pub struct MemoryStore(Mutex<BTreeMap<String, Versioned>>);

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Every write is one assignment, so a panic elsewhere cannot have left half of one.
    fn records(&self) -> MutexGuard<'_, BTreeMap<String, Versioned>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert_now(&self, id: &AttachmentId, record: &RecordBytes) -> Result<(), StoreError> {
        let mut records = self.records();
        if records.contains_key(id.as_str()) {
            return Err(StoreError::Exists);
        }
        records.insert(id.to_string(), Versioned { version: 1, record: record.clone() });
        Ok(())
    }

    fn replace_now(
        &self,
        id: &AttachmentId,
        read: u64,
        record: &RecordBytes,
    ) -> Result<(), StoreError> {
        match self.records().get_mut(id.as_str()) {
            Some(kept) if kept.version == read => {
                *kept = Versioned { version: read + 1, record: record.clone() };
                Ok(())
            }
            _ => Err(StoreError::Stale { read }),
        }
    }
}

impl AttachmentStore for MemoryStore {
    fn get<'a>(
        &'a self,
        id: &'a AttachmentId,
    ) -> BoxFuture<'a, Result<Option<Versioned>, StoreError>> {
        ready(Ok(self.records().get(id.as_str()).cloned())).boxed()
    }

    fn insert<'a>(
        &'a self,
        id: &'a AttachmentId,
        record: &'a RecordBytes,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(self.insert_now(id, record)).boxed()
    }

    fn replace<'a>(
        &'a self,
        id: &'a AttachmentId,
        read: u64,
        record: &'a RecordBytes,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(self.replace_now(id, read, record)).boxed()
    }

    fn remove<'a>(&'a self, id: &'a AttachmentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.records().remove(id.as_str());
        ready(Ok(())).boxed()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} attachments)", self.records().len())
    }
}
