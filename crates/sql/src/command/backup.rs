//! BACKUP SERVER and CLONE LOCAL: a backup to the client, a chunk a row; into a folder of the server's machine; or restored into one at once.
//!
//! What a backup is, is the engine's ([`engine::backup`]). Here is where it goes to, what it says of the binary log, and that KILL ends it.
//!
//! Must never do: hold a lock, or a snapshot.

use std::path::PathBuf;
use std::sync::Arc;

use engine::backup::{
    Backup, Extra, FolderWriter, Manifest, Restore, SinceToken, Taking, Unusable, manifest_in,
    refused, restore,
};
use types::error::codes;
use types::{DataType, LobSize, SqlError, ValueRef};

use crate::context::Session;
use crate::persisted;
use sql_access::Granted;
use sql_exec::server_file;
use sql_exec::unless_killed;
use sql_parser::ast::{self, BackupTo};
use sql_plan::sink::{ColumnMeta, Done, ResultSink};

const MIB: u64 = 1 << 20;

/// Where the chunks go.
enum Target<'s> {
    Client(&'s mut dyn ResultSink),
    Folder(FolderWriter),
    DataDirectory(Box<Restore>, PathBuf),
}

/// What a backup that cannot be written, or used, is to a client.
fn unusable(e: &Unusable) -> SqlError {
    match e {
        Unusable::Io(e) => SqlError::new(
            codes::ER_ERROR_ON_WRITE,
            format!(
                "Error writing file 'backup' (errno: {} - {e})",
                e.raw_os_error().unwrap_or(0)
            ),
        ),
        e => SqlError::internal(&format!("no backup: {e}")),
    }
}

impl Target<'_> {
    async fn put(&mut self, chunk: &[u8]) -> Result<(), SqlError> {
        match self {
            Target::Client(sink) => {
                sink.row_begin();
                sink.value(ValueRef::Bytes(chunk), 0);
                sink.row_end();
                if sink.is_full() || sink.wants_flush() {
                    sink.flush().await?;
                }
                Ok(())
            }
            Target::Folder(f) => f.push(chunk).map_err(|e| unusable(&e.into())),
            Target::DataDirectory(r, _) => r.push(chunk).map(drop).map_err(|e| unusable(&e)),
        }
    }

    fn finish(self, manifest: &Manifest) -> Result<(), SqlError> {
        match self {
            Target::Client(_) => Ok(()),
            Target::Folder(f) => f.finish(manifest).map_err(|e| unusable(&e.into())),
            Target::DataDirectory(mut r, _) => r.finish().map(drop).map_err(|e| unusable(&e)),
        }
    }

    /// What was begun is no backup, and takes no room.
    fn abandon(self) {
        match self {
            Target::Client(_) => {}
            Target::Folder(f) => f.abandon(),
            Target::DataDirectory(r, dir) => {
                drop(r);
                // The folder was made here. What stays is no data directory.
                let _ = std::fs::remove_dir_all(dir);
            }
        }
    }
}

impl Session {
    /// BACKUP SERVER, CLONE LOCAL DATA DIRECTORY.
    pub(crate) async fn backup(
        &mut self,
        _: &Granted,
        asked: &ast::Backup,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        self.implicit_commit().await?;
        let (allowed, datadir) = (
            self.vars.text("secure_file_priv"),
            self.vars.text("datadir"),
        );
        let environment = self.instance.engine.environment().clone();
        let since = match (&asked.since, &asked.to) {
            (None, _) => None,
            (Some(word), BackupTo::Client) => {
                let word = String::from_utf8_lossy(word);
                let token = SinceToken::decode(&word);
                let wrong = || {
                    SqlError::new(
                        codes::ER_WRONG_VALUE,
                        format!("Incorrect SINCE value: '{word}'"),
                    )
                };
                Some(token.ok_or_else(wrong)?)
            }
            (Some(path), _) => {
                let dir = server_file::folder(path, &allowed)?;
                let earlier = manifest_in(&*environment.disk, &dir);
                Some(earlier.map_err(|e| unusable(&e))?.token())
            }
        };
        let taking = Taking {
            since,
            throttle: asked.throttle.unwrap_or(0).saturating_mul(MIB),
            program: format!("tidemill {}", env!("CARGO_PKG_VERSION")),
        };
        let engine = Arc::clone(&self.instance.engine);
        let backup = unless_killed(&self.engine, engine.begin_backup(taking)).await?;
        let mut target = match &asked.to {
            BackupTo::Client => {
                let ty = DataType::Blob(LobSize::Long);
                let columns: Arc<[ColumnMeta]> = [ColumnMeta::computed("chunk", ty, false)].into();
                sink.columns(&columns);
                Target::Client(sink)
            }
            BackupTo::Folder(path) => {
                let dir = server_file::create_folder(path, &allowed, &datadir)?;
                let writer = FolderWriter::new(&environment.disk, &dir);
                Target::Folder(writer.map_err(|e| unusable(&e))?)
            }
            BackupTo::DataDirectory(path) => {
                // As in MySQL, where the folder is bound to nothing but that it is new.
                let dir = server_file::create_folder(path, "", &datadir);
                let dir = dir.map_err(|e| match e.code {
                    codes::ER_FILE_EXISTS_ERROR => {
                        SqlError::db_exists(&String::from_utf8_lossy(path))
                    }
                    _ => e,
                })?;
                let made = restore(&environment, &dir);
                Target::DataDirectory(Box::new(made.map_err(|e| unusable(&e))?), dir)
            }
        };
        let result_set = matches!(target, Target::Client(_));
        match self.take_backup(backup, &mut target).await {
            Ok((manifest, rows)) => {
                target.finish(&manifest)?;
                Ok(Done {
                    result_set,
                    found_rows: rows,
                    ..Done::default()
                })
            }
            Err(e) => {
                target.abandon();
                Err(e)
            }
        }
    }

    async fn take_backup(
        &self,
        mut backup: Backup,
        target: &mut Target<'_>,
    ) -> Result<(Manifest, u64), SqlError> {
        let mut chunks = 0;
        while let Some(chunk) = self.next_chunk(&mut backup).await? {
            target.put(&chunk).await?;
            chunks += 1;
        }
        if let Some(store) = self.instance.persisted.get()
            && !matches!(target, Target::DataDirectory(..))
        {
            let text = persisted::encode(&store.list());
            let chunk = backup.file(Extra::Persisted, text.as_bytes());
            target.put(&chunk.map_err(refused)?).await?;
            chunks += 1;
        }
        let (mut end, mut executed, mut place) = (backup.least_end(), None, None);
        if let Some(log) = self.instance.binary_log.get() {
            let is = unless_killed(&self.engine, log.end_behind(end)).await?;
            // The transactions that it has are those of the backup: none of them lies behind the end, and no other before it.
            if !is.last.is_none() && is.last >= end {
                end = self.instance.engine.record_end(is.last).await?;
            }
            executed = Some(is.executed.to_string());
            place = Some((is.file, is.position));
        }
        let finished = async { backup.finish(end, executed, place).await.map_err(refused) };
        unless_killed(&self.engine, finished).await?;
        while let Some(chunk) = self.next_chunk(&mut backup).await? {
            target.put(&chunk).await?;
            chunks += 1;
        }
        Ok((backup.manifest().clone(), chunks))
    }

    async fn next_chunk(&self, backup: &mut Backup) -> Result<Option<Vec<u8>>, SqlError> {
        let next = async { backup.next().await.map_err(refused) };
        unless_killed(&self.engine, next).await
    }
}
