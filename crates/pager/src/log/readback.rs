//! Reading records back, for old versions of rows, rollback and purge: from memory while they are there, else block-wise from the files.
//!
//! Blocks that were read are kept ([`super::block_cache`]). Whoever reads records backwards, as purge and rollback do, gets four blocks at once.
//!
//! Nothing here waits for more than what it reads; what it reads is verified before anybody sees it.

use super::Log;
use super::block_cache::{BLOCK, CachedBlock};
use super::record::{self, Record};
use crate::error::{OpError, Wait};
use base::{AlignedBuf, IoBuf, Lsn};

/// Blocks that are read at once where somebody goes from one to the next.
const RUN: u64 = 4;

impl Log {
    /// Copies the record at `lsn` into `out` (cleared first): from memory, else from blocks read before; else says to
    /// wait for [`Log::fetch`].
    ///
    /// # Errors
    /// [`OpError::Wait`] for [`Log::fetch`]; [`OpError::LogDamaged`]: there is no such record.
    pub fn read_record(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), OpError> {
        out.clear();
        out.resize(record::RECORD_HEADER, 0);
        if self.ring.copy_out(lsn, &mut out[..])
            && let Some(len) = record::claimed_len(out)
        {
            out.resize(len, 0);
            if self.ring.copy_out(lsn, &mut out[..]) {
                return Ok(());
            }
        }
        out.clear();
        self.read_cached(lsn, out)
    }

    fn read_cached(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), OpError> {
        let mut at = lsn.0;
        let mut want = record::RECORD_HEADER;
        while out.len() < want {
            let start = at / BLOCK * BLOCK;
            let Some(block) = self.blocks.get(start, at) else {
                return Err(OpError::Wait(Wait::LogRead(Lsn(at))));
            };
            let from = (at - start) as usize;
            let n = (want - out.len()).min((block.end - at) as usize);
            out.extend_from_slice(&block.bytes[from..from + n]);
            at += n as u64;
            if out.len() == record::RECORD_HEADER && want == record::RECORD_HEADER {
                want = record::claimed_len(out).ok_or(OpError::LogDamaged(lsn))?;
            }
        }
        Record::verify(out, lsn)
            .map(|_| ())
            .ok_or(OpError::LogDamaged(lsn))
    }

    /// Reads the block around `lsn` from the files, and the ones before it where somebody comes from the one behind.
    ///
    /// # Errors
    /// [`OpError::LogDamaged`]: the log has no such position any more; [`OpError::Io`], [`OpError::Short`].
    pub async fn fetch(&self, lsn: Lsn) -> Result<(), OpError> {
        let block = lsn.0 / BLOCK * BLOCK;
        let backwards = self.blocks.get(block + BLOCK, block + BLOCK).is_some();
        let segment = block / self.segments.size() * self.segments.size();
        let first = match backwards {
            true => block.saturating_sub((RUN - 1) * BLOCK).max(segment),
            false => block,
        };
        // The ring is much larger than a block: a block that begins before the ring's start ends before the log does.
        self.wait_written(Lsn((block + BLOCK).min(self.end().0)))
            .await?;
        // The end of the log may be within the block; what comes behind is read again when it is wanted.
        let end = self.written().0.min(block + BLOCK);
        if lsn.0 >= end {
            return Err(OpError::LogDamaged(lsn));
        }
        let (file, off) = self
            .segments
            .locate(Lsn(first))
            .map_err(OpError::io)?
            .ok_or(OpError::LogDamaged(lsn))?;
        let len = (block + BLOCK - first) as usize;
        let room = IoBuf::owned(AlignedBuf::zeroed(len));
        let (buf, r) = base::environment::read(&*file, room, off).await;
        r.map_err(OpError::io)?;
        for (start, bytes) in (first..)
            .step_by(BLOCK as usize)
            .zip(buf.bytes().chunks(BLOCK as usize))
        {
            let end = end.min(start + BLOCK);
            let bytes = bytes.into();
            self.blocks.insert(start, CachedBlock { end, bytes });
        }
        Ok(())
    }
}
