//! Tables whose files can be copied: FLUSH TABLES .. FOR EXPORT.
//!
//! While the tables are locked for reading, and purge and the defragmenter rest, no page of theirs changes: what was committed is in the files when all pages have been
//! written. Beside each file a description is left, for as long as the tables are locked. An import goes by it ([`super::import`]).
//!
//! Must never do: let a description stand beside a file that may change.

use super::table_path;
use crate::engine::Engine;
use crate::error;
use crate::schema::{Table, TableDef};
use crate::session::Session;
use crate::worn_tables::Pause;
use base::checksum::crc32c;
use base::{Lsn, OpenMode, SpaceId, le};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use types::SqlError;
use types::error::codes;

/// The ending of a description's name.
pub(super) const DESCRIPTION: &str = "cfg";

const MAGIC: u64 = u64::from_le_bytes(*b"TDMLEXP1");
const FORMAT: u32 = 1;
/// Bytes in front of the definition.
const FRONT: usize = 32;
/// No description is longer.
pub(super) const LONGEST: u64 = 64 << 20;

/// What a description says.
pub(super) struct Exported {
    /// The definition; the id is the file's.
    pub(super) def: TableDef,
    /// Where the log ended: no page has changed since.
    pub(super) at: Lsn,
    /// Where the AUTO_INCREMENT counter stands; 0 without one.
    pub(super) next: u64,
}

impl Exported {
    /// The tablespace that it is of.
    pub(super) fn space(&self) -> SpaceId {
        SpaceId(self.def.id)
    }

    fn encode(&self) -> Vec<u8> {
        let mut b = vec![0; FRONT];
        le::put_u64(&mut b, 0, MAGIC);
        le::put_u32(&mut b, 8, FORMAT);
        le::put_u64(&mut b, 16, self.at.0);
        le::put_u64(&mut b, 24, self.next);
        b.extend_from_slice(&self.def.encode());
        let crc = crc32c(&b);
        b.extend_from_slice(&crc.to_le_bytes());
        b
    }

    /// From bytes; `None` if they are none, or a damaged one.
    pub(super) fn decode(b: &[u8]) -> Option<Exported> {
        let end = b.len().checked_sub(4).filter(|end| *end >= FRONT)?;
        let whole = le::get_u64(b, 0) == MAGIC
            && le::get_u32(b, 8) == FORMAT
            && le::get_u32(b, end) == crc32c(&b[..end]);
        whole.then_some(())?;
        Some(Exported {
            def: TableDef::decode(&b[FRONT..end])?,
            at: Lsn(le::get_u64(b, 16)),
            next: le::get_u64(b, 24),
        })
    }
}

/// Tables that can be copied until this is dropped.
struct Exporting {
    engine: Arc<Engine>,
    _still: Pause,
    descriptions: Vec<PathBuf>,
}

impl Exporting {
    fn begin(engine: &Arc<Engine>, _still: Pause) -> Exporting {
        engine.purge.pause();
        Exporting {
            engine: engine.clone(),
            _still,
            descriptions: Vec::new(),
        }
    }

    fn describe(&mut self, t: &Table, at: Lsn) -> io::Result<()> {
        let engine = &self.engine;
        let disk = &engine.environment().disk;
        let file = engine
            .data_dir()
            .join(table_path(&t.def.schema, &t.def.name));
        let path = file.with_extension(DESCRIPTION);
        let next = t.auto_increment_next();
        let def = t.def.clone();
        let bytes = Exported { def, at, next }.encode();
        let aside = file.with_extension("cfg.new");
        let made = disk.open(&aside, OpenMode::Buffered, true)?;
        made.truncate(0)?;
        made.write_now(&bytes, 0)?;
        made.sync_now()?;
        drop(made);
        disk.rename(&aside, &path)?;
        self.descriptions.push(path.clone());
        match path.parent() {
            Some(dir) => disk.sync_dir(dir),
            None => Ok(()),
        }
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        for path in &self.descriptions {
            // One that stays is as it was: an import compares it with the pages.
            let _ = self.engine.environment().disk.remove_file(path);
        }
        self.engine.purge.resume();
    }
}

impl Session {
    /// Writes all of the tables to their files, which stay as they are until [`unlock_tables`](Self::unlock_tables). The session has locked the tables,
    /// and has no transaction.
    ///
    /// # Errors
    /// 1814: one was discarded; 1031: one is temporary; 1811: a description cannot be written; 1205, 1317; what the storage fails with.
    pub async fn export_tables(&mut self, tables: &[Arc<Table>]) -> Result<(), SqlError> {
        for t in tables {
            if t.def.options.discarded {
                return Err(SqlError::tablespace_discarded(&t.def.name));
            }
            if t.def.is_temporary() {
                return Err(SqlError::new(
                    codes::ER_ILLEGAL_HA,
                    format!(
                        "Table storage engine for '{}' doesn't have this option",
                        t.def.name
                    ),
                ));
            }
        }
        let engine = self.engine.clone();
        let still = self.keep_pages_still().await?;
        let mut exporting = Exporting::begin(&engine, still);
        self.wait_unless_killed(engine.purge.idle(), || engine.purge.is_idle())
            .await?;
        for t in tables {
            // As at its first use, which may not have come.
            self.init_counters(t).await?;
        }
        let fail = |e| error::storage(e, "what is exported");
        let at = engine.log.end();
        // Others go on writing their own tables: a gap of theirs in the log must not hide a change of these.
        engine.log.wait_complete(at).await.map_err(fail)?;
        engine.pager().flush_all().await.map_err(fail)?;
        for t in tables {
            exporting.describe(t, at).map_err(|e| {
                let name = &t.full_name;
                cannot_write(&e, &format!("Error writing the description of '{name}'"))
            })?;
        }
        self.while_locked = Some(Box::new(exporting));
        Ok(())
    }
}

/// 1811.
fn cannot_write(e: &io::Error, what: &str) -> SqlError {
    let number = e.raw_os_error().unwrap_or_default();
    SqlError::new(
        codes::ER_IO_WRITE_ERROR,
        format!("IO Write error: ({number}, {e}) {what}"),
    )
}
