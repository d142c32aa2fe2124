//! The files of LOAD DATA that a source with statements in its binary log sends in blocks, until their statements come: temporary files, of which
//! nothing is left when the transaction ends or the server does. All temporary files of a server together have a limit; what is beyond it is an error.

use std::collections::HashMap;
use std::sync::Arc;

use engine::{TempFile, TempFiles};
use types::SqlError;
use wire::ProtocolError;
use wire::binlog::load::FileBlock;

use super::stopped::Stopped;

/// Files that one transaction may have that were not loaded yet. A source has one at a time.
const MOST: usize = 64;

/// The files that have come, by the numbers that their events give them.
#[derive(Default)]
pub(super) struct Loads {
    files: HashMap<u32, TempFile>,
}

impl Loads {
    /// Takes a block. `first`: a file begins with it, and takes the place of one with the same number.
    ///
    /// # Errors
    /// There is no such file, or there are too many; 1114: they are too large; what the disk answers.
    pub async fn block(
        &mut self,
        temporary: &Arc<TempFiles>,
        block: &FileBlock<'_>,
        first: bool,
    ) -> Result<(), Stopped> {
        if first {
            self.files.remove(&block.file);
            if self.files.len() >= MOST {
                return Err(ProtocolError::Malformed.into());
            }
            self.files.insert(block.file, temporary.create()?);
        }
        let file = self.files.get_mut(&block.file);
        let file = file.ok_or(ProtocolError::Malformed)?;
        let written: Result<u64, SqlError> = file.append(block.bytes).await;
        written?;
        Ok(())
    }

    /// Gives the file, which is whole.
    ///
    /// # Errors
    /// There is no such file.
    pub fn remove(&mut self, file: u32) -> Result<TempFile, ProtocolError> {
        self.files.remove(&file).ok_or(ProtocolError::Malformed)
    }

    /// They will not be loaded.
    pub fn clear(&mut self) {
        self.files.clear();
    }
}
