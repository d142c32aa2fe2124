//! Opening and closing a database in a directory.

use std::path::Path;
use std::sync::Arc;

use base::block_on;
use sql_expr::vars::GlobalVars;

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::open;
use crate::options::OpenOptions;
use crate::shared_directory::SharedDirectory;

/// An open database. Clones share it; the last one to go closes it.
///
/// One process owns a directory at a time; a second gets [`ErrorKind::InUse`](crate::ErrorKind::InUse).
#[derive(Clone)]
pub struct Database(Arc<SharedDirectory>);

impl Database {
    /// Opens the database in `dir`, making it if the directory is empty or missing. After a crash this recovers it first.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse) or [`ErrorKind::Open`](crate::ErrorKind::Open).
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
        shared.close()
    }
}

impl OpenOptions {
    /// Opens the database in `dir`, making it if the directory is empty or missing. After a crash this recovers it first.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse); [`ErrorKind::Open`](crate::ErrorKind::Open), also for a variable that does not exist
    /// or does not take the value.
    pub fn open(&self, dir: impl AsRef<Path>) -> Result<Database> {
        let environment = base::real::environment();
        let opened = open::open(dir.as_ref(), self, &environment, GlobalVars::new());
        Ok(Database(Arc::new(SharedDirectory::new(block_on(opened)?))))
    }
}
