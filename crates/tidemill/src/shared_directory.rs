//! What a database and its connections have in common: the open directory, which the last of them closes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::block_on;
use sql::Instance;

use crate::error::Result;
use crate::open::OpenDirectory;

/// The open directory of a [`Database`](crate::Database).
pub(crate) struct SharedDirectory {
    directory: OpenDirectory,
    closed: AtomicBool,
}

impl SharedDirectory {
    pub(crate) fn new(directory: OpenDirectory) -> SharedDirectory {
        SharedDirectory {
            directory,
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.directory.instance
    }

    /// Closes the directory, before the last user has gone.
    pub(crate) fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::SeqCst);
        Ok(block_on(self.directory.close())?)
    }
}

impl Drop for SharedDirectory {
    fn drop(&mut self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            // Nobody is left to tell; the log has everything that was acknowledged.
            let _unheard = block_on(self.directory.close());
        }
    }
}
