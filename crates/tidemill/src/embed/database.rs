//! Opening and closing a database in a directory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::block_on;

use super::connection::Connection;
use super::error::{Error, ErrorKind, Result};
use crate::open::{Open, open};
use crate::options::{self, FileSystem};

/// An open database. Clones share it; the last one to go closes it.
///
/// One process owns a directory at a time; a second gets [`ErrorKind::InUse`].
#[derive(Clone)]
pub struct Database(Arc<Shared>);

pub(super) struct Shared {
    pub(super) open: Open,
    closed: AtomicBool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            // Nobody is left to tell; the log has everything that was acknowledged.
            let _unheard = block_on(self.open.close());
        }
    }
}

impl Database {
    /// Opens the database in `dir`, making it if the directory is empty or missing. After a crash this recovers it first.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`] or [`ErrorKind::Open`].
    pub fn open(dir: impl AsRef<Path>) -> Result<Database> {
        OpenOptions::new().open(dir)
    }

    /// A new connection, with all privileges.
    ///
    /// # Errors
    /// None today; the signature leaves room.
    pub fn connect(&self) -> Result<Connection> {
        Ok(Connection::new(Arc::clone(&self.0)))
    }

    /// Writes everything out and frees the directory. Dropping the last handle does so too, without telling what
    /// went wrong.
    ///
    /// # Errors
    /// Connections or clones are left (they keep the database open), or the last writes fail.
    pub fn close(self) -> Result<()> {
        let shared = Arc::try_unwrap(self.0)
            .map_err(|_| Error::usage("connections or clones of the database are in use"))?;
        shared.closed.store(true, Ordering::SeqCst);
        Ok(block_on(shared.open.close())?)
    }
}

/// How a database is opened. Without any setting it is as durable as MySQL's defaults, with a pool of 128 MiB.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    arguments: Vec<String>,
}

impl OpenOptions {
    /// The defaults.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Memory for pages, in bytes.
    pub fn buffer_pool_size(self, bytes: u64) -> OpenOptions {
        self.set("innodb-buffer-pool-size", &bytes.to_string())
    }

    /// Any option of the server by MySQL's name: `.set("innodb-flush-log-at-trx-commit", "2")`.
    pub fn set(mut self, name: &str, value: &str) -> OpenOptions {
        self.arguments.push(format!("--{name}={value}"));
        self
    }

    /// Opens the database in `dir`, making it if the directory is empty or missing.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`], or [`ErrorKind::Open`] also for an unknown option.
    pub fn open(&self, dir: impl AsRef<Path>) -> Result<Database> {
        let parsed = options::parse(self.arguments.iter().cloned(), &FileSystem)
            .map_err(|e| Error::new(ErrorKind::Open, e.to_string()))?;
        let mut options = parsed.options;
        options.datadir = dir.as_ref().to_owned();
        let open = block_on(open(&options))?;
        Ok(Database(Arc::new(Shared {
            open,
            closed: AtomicBool::new(false),
        })))
    }
}
