//! A durable store in one file, for the workers of one host.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{AttachmentStore, RecordBytes, StoreError, Versioned};
use crate::AttachmentId;

/// How long a write waits for another process's write. Each is one row, so this is reached only
/// when a process was stopped in the middle of one.
const BUSY: Duration = Duration::from_secs(5);

/// Attachments in an SQLite file, shared by processes.
///
/// A new file is readable by its owner alone on Unix. Records hold the relay's token unless the
/// client has a [`SealingKey`](super::SealingKey). Each operation is one short statement on the
/// calling thread: there is no pool of threads behind it, and a write that meets another process's
/// write waits for it, at most 5 s.
pub struct SqliteStore(Mutex<Connection>);

impl SqliteStore {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the file cannot be opened, or is no database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        make_private(path)?;
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        // The file's own rollback journal, not a write-ahead log: a log would need two more files
        // with the same protection, and a write here is one row.
        connection
            .execute_batch(
                "PRAGMA synchronous = FULL;
                 PRAGMA secure_delete = ON;
                 CREATE TABLE IF NOT EXISTS attachment (
                     id TEXT PRIMARY KEY,
                     version INTEGER NOT NULL,
                     record BLOB NOT NULL
                 ) STRICT;",
            )
            .map_err(failed)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// A panic in another holder cannot tear the connection: SQLite rolls an unfinished statement
    /// back by itself.
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn get_now(&self, id: &AttachmentId) -> Result<Option<Versioned>, StoreError> {
        self.with(|connection| {
            connection
                .prepare_cached("SELECT version, record FROM attachment WHERE id = ?1")
                .and_then(|mut statement| {
                    statement
                        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                        .optional()
                })
                .map_err(failed)?
                .map(|(version, record): (i64, Vec<u8>)| {
                    let version = u64::try_from(version).map_err(|_| StoreError::Unreadable {
                        what: format!("its version is {version}"),
                    })?;
                    Ok(Versioned { version, record: RecordBytes::new(record) })
                })
                .transpose()
        })
    }

    fn insert_now(&self, id: &AttachmentId, record: &RecordBytes) -> Result<(), StoreError> {
        self.with(|connection| {
            let rows = connection
                .execute(
                    "INSERT INTO attachment (id, version, record) VALUES (?1, 1, ?2)
                     ON CONFLICT (id) DO NOTHING",
                    params![id.as_str(), record.as_bytes()],
                )
                .map_err(failed)?;
            if rows == 1 { Ok(()) } else { Err(StoreError::Exists) }
        })
    }

    /// One statement that names the version it read is the compare and the write in one step.
    fn replace_now(
        &self,
        id: &AttachmentId,
        read: u64,
        record: &RecordBytes,
    ) -> Result<(), StoreError> {
        let stale = StoreError::Stale { read };
        let Ok(version) = i64::try_from(read) else { return Err(stale) };
        self.with(|connection| {
            // Immediate: the lock is taken before the row is read, so that two processes queue
            // for it rather than both reading and one failing.
            let transaction = connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .map_err(failed)?;
            let rows = transaction
                .execute(
                    "UPDATE attachment SET version = version + 1, record = ?3
                     WHERE id = ?1 AND version = ?2",
                    params![id.as_str(), version, record.as_bytes()],
                )
                .map_err(failed)?;
            transaction.commit().map_err(failed)?;
            if rows == 1 { Ok(()) } else { Err(stale) }
        })
    }

    fn remove_now(&self, id: &AttachmentId) -> Result<(), StoreError> {
        self.with(|connection| {
            connection
                .execute("DELETE FROM attachment WHERE id = ?1", [id.as_str()])
                .map_err(failed)?;
            Ok(())
        })
    }
}

impl AttachmentStore for SqliteStore {
    fn get<'a>(
        &'a self,
        id: &'a AttachmentId,
    ) -> BoxFuture<'a, Result<Option<Versioned>, StoreError>> {
        ready(self.get_now(id)).boxed()
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
        ready(self.remove_now(id)).boxed()
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SqliteStore(..)")
    }
}

fn failed(error: rusqlite::Error) -> StoreError {
    StoreError::Unavailable { what: error.to_string() }
}

/// SQLite makes files that everybody may read; a file made here before it opens them is the
/// owner's alone, and its journal takes the same mode.
#[cfg(unix)]
fn make_private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;

    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Unavailable { what: error.to_string() }),
    }
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> Result<(), StoreError> {
    Ok(())
}
