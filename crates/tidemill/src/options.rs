//! How a database is opened.

use std::path::PathBuf;

use engine::{EngineOptions, FlushMethod, PagerOptions};
use replication::changes::Databases;

use crate::binary_log::Wanted;

/// When a commit is safe. What a call has returned is lost only in what a level says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// On the disk before the commit returns: nothing is lost.
    #[default]
    Synced,
    /// With the operating system before the commit returns, on the disk within about a second: a power cut may lose that
    /// second, a crash of the program nothing.
    Written,
    /// Written and synced about once a second: a power cut or a crash may lose that second.
    EverySecond,
}

/// How a database is opened. Without any setting it is as durable as MySQL's defaults, with a pool of 128 MiB.
///
/// ```no_run
/// use tidemill::{Durability, OpenOptions};
///
/// let database = OpenOptions::new()
///     .buffer_pool_size(1 << 30)
///     .durability(Durability::Written)
///     .variable("sql_mode", "ANSI")
///     .open("./shop-data")?;
/// # Ok::<(), tidemill::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    engine: EngineOptions,
    variables: Vec<(String, String)>,
    binary_log: Option<(String, String)>,
    databases: Databases,
    archive: Option<PathBuf>,
}

impl OpenOptions {
    /// The defaults.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Memory for pages, in bytes: 128 MiB unless told otherwise.
    pub fn buffer_pool_size(self, bytes: u64) -> OpenOptions {
        self.pager(|pager| pager.pool_bytes = bytes)
    }

    /// Space of the log, in bytes: 1 GiB unless told otherwise. More of it lets changed pages be written later.
    pub fn redo_log_capacity(self, bytes: u64) -> OpenOptions {
        self.pager(|pager| pager.log_capacity_bytes = bytes)
    }

    /// Memory of the log, in bytes: 16 MiB unless told otherwise.
    pub fn log_buffer_size(self, bytes: u64) -> OpenOptions {
        self.pager(|pager| pager.log_buffer_bytes = bytes)
    }

    /// When a commit is safe.
    pub fn durability(mut self, durability: Durability) -> OpenOptions {
        self.engine.flush_at_commit = match durability {
            Durability::Synced => 1,
            Durability::Written => 2,
            Durability::EverySecond => 0,
        };
        self
    }

    /// How pages and log reach the disk: past the page cache unless told otherwise.
    pub fn flush_method(self, method: FlushMethod) -> OpenOptions {
        self.pager(|pager| pager.flush_method = method)
    }

    /// Whether pages are guarded against writes that a power cut tears. To be switched off only where the disk writes
    /// 16 KiB as a whole or not at all.
    pub fn doublewrite(self, on: bool) -> OpenOptions {
        self.pager(|pager| pager.doublewrite = on)
    }

    /// Files of tables that are open at once, at most.
    pub fn open_files(self, most: u64) -> OpenOptions {
        self.pager(|pager| pager.open_files = most)
    }

    /// The first value of one of MySQL's system variables: `.variable("sql_mode", "ANSI")`. What the other methods set cannot be
    /// set by its variable.
    pub fn variable(mut self, name: &str, value: &str) -> OpenOptions {
        let name = name.to_ascii_lowercase().replace('-', "_");
        self.variables.push((name, value.to_owned()));
        self
    }

    /// A binary log, whose files are `base` and a number, in the directory unless `base` names another; their names are in `index`. Empty: the
    /// usual names.
    pub fn binary_log(mut self, base: &str, index: &str) -> OpenOptions {
        self.engine.keep_log = true;
        self.binary_log = Some((base.to_owned(), index.to_owned()));
        self
    }

    /// The binary log has what is done in databases of these names alone (`binlog_do_db`), or where there are none, all but what is done in those of
    /// the second (`binlog_ignore_db`).
    pub fn binary_log_databases(mut self, only: &[String], ignored: &[String]) -> OpenOptions {
        self.databases = Databases {
            only: only.to_vec(),
            ignored: ignored.to_vec(),
        };
        self
    }

    /// The files of the binary log are copied into this folder as they come. It must be there, and outside of the directory.
    pub fn binary_log_archive(mut self, dir: impl Into<PathBuf>) -> OpenOptions {
        self.archive = Some(dir.into());
        self
    }

    fn pager(mut self, change: impl FnOnce(&mut PagerOptions)) -> OpenOptions {
        change(&mut self.engine.pager);
        self
    }

    pub(crate) fn engine(&self) -> &EngineOptions {
        &self.engine
    }

    pub(crate) fn wanted_binary_log(&self) -> Option<Wanted<'_>> {
        let log = self.binary_log.as_ref();
        log.map(|(base, index)| Wanted {
            names: (&**base, &**index),
            databases: &self.databases,
            archive: self.archive.as_deref(),
        })
    }

    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }
}
