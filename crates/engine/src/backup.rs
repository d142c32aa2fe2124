//! Backups of an engine, and directories from them. What a backup is, and why it comes out right, is the pager's: [`pager::backup`].
//!
//! Must never do: hold up a statement, or a definition's change.

use crate::ddl::catalog_path;
use crate::engine::Engine;
use crate::error::storage;
use crate::schema::CATALOG_ID;
use base::{Environment, Lsn, SpaceId};
use pager::{OpError, RedoTable};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::SqlError;

pub use pager::backup::{
    Backup, BackupError, Chunk, ChunkKind, ChunkPlace, ChunkReader, EXTRA_MAX, Extra, FolderReader,
    FolderWriter, Manifest, RESTORED, Restore, SinceToken, Summary, Taking, Unusable, Verifier,
    manifest_in, verify,
};

impl Engine {
    /// Begins a backup of all tables: [`Backup::next`] gives it piece by piece.
    ///
    /// # Errors
    /// See [`refused`].
    pub async fn begin_backup(self: &Arc<Self>, taking: Taking) -> Result<Backup, SqlError> {
        // Boxed: compiled in this crate and not once more wherever it is awaited.
        let begun = Box::pin(self.pager.begin_backup(taking));
        begun.await.map_err(refused)
    }

    /// Where the record at `at` ends.
    ///
    /// # Errors
    /// 1030: the log cannot be read there.
    pub async fn record_end(&self, at: Lsn) -> Result<Lsn, SqlError> {
        let mut record = Vec::new();
        loop {
            match self.log.read_record(at, &mut record) {
                Ok(()) => return Ok(Lsn(at.0 + record.len() as u64)),
                Err(OpError::Wait(w)) => {
                    let read = self.pager.resolve(w).await;
                    read.map_err(|e| storage(e, "the log"))?;
                }
                Err(e) => return Err(storage(e, "the log")),
            }
        }
    }
}

/// What a client is told who wanted a backup: 1815 where the backup could not go on, else what the storage fails with.
pub fn refused(e: BackupError) -> SqlError {
    match e {
        BackupError::Op(e) => storage(e, "the backup"),
        e => SqlError::internal(&format!("no backup: {e}")),
    }
}

/// Begins to restore a directory, which must not be there or be empty.
///
/// # Errors
/// As [`Restore::begin`].
pub fn restore(environment: &Environment, dir: &Path) -> Result<Restore, Unusable> {
    let mut redo = RedoTable::default();
    btree::register(&mut redo);
    Restore::begin(environment, dir, name_of, &redo)
}

/// The catalog has its name; the others get theirs from their definitions, at the start.
fn name_of(id: SpaceId) -> PathBuf {
    match id.0 {
        CATALOG_ID => catalog_path(),
        id => PathBuf::from(format!("space{id}.tdb")),
    }
}
