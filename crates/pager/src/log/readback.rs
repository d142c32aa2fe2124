//! Reading records back, for rollback and purge: from memory while they are there, else block-wise from the files.
//!
//! Nothing here waits for more than the block it reads; what it reads is verified before anybody sees it.

use super::Log;
use super::record::{self, Record};
use crate::error::{OpError, Wait};
use base::{AlignedBuf, IoBuf, Lsn};

/// Block of the cache for records read back from the files.
const BLOCK: u64 = 64 * 1024;
const BLOCKS_CACHED: usize = 64;

/// A part of a file, as it was when it was read.
pub(super) struct Block {
    start: u64,
    /// Up to here the log was written when the block was read.
    end: u64,
    bytes: AlignedBuf,
}

impl Log {
    /// Copies the record at `lsn` into `out` (cleared first): from memory, else from blocks read before; else says to
    /// wait for [`Log::fetch`].
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
        let mut blocks = self.blocks.lock().unwrap_or_else(|e| e.into_inner());
        let mut at = lsn.0;
        let mut want = record::RECORD_HEADER;
        while out.len() < want {
            let start = at / BLOCK * BLOCK;
            let here = |b: &Block| b.start == start && at < b.end;
            let Some(i) = blocks.iter().position(here) else {
                return Err(OpError::Wait(Wait::LogRead(Lsn(at))));
            };
            if i > 0
                && let Some(b) = blocks.remove(i)
            {
                blocks.push_front(b);
            }
            let from = (at - start) as usize;
            let n = (want - out.len()).min((blocks[0].end - at) as usize);
            out.extend_from_slice(&blocks[0].bytes[from..from + n]);
            at += n as u64;
            if out.len() == record::RECORD_HEADER && want == record::RECORD_HEADER {
                want = record::claimed_len(out).ok_or(OpError::LogDamaged(lsn))?;
            }
        }
        drop(blocks);
        Record::verify(out, lsn)
            .map(|_| ())
            .ok_or(OpError::LogDamaged(lsn))
    }

    /// Reads the block around `lsn` from the files into the cache.
    pub async fn fetch(&self, lsn: Lsn) -> Result<(), OpError> {
        let start = lsn.0 / BLOCK * BLOCK;
        // The ring is much larger than a block: a block that begins before the ring's start ends before the log does.
        self.wait_written(Lsn((start + BLOCK).min(self.end().0)))
            .await?;
        // The end of the log may be within the block; what comes behind is read again when it is wanted.
        let end = self.written().0.min(start + BLOCK);
        if lsn.0 >= end {
            return Err(OpError::LogDamaged(lsn));
        }
        let (file, off) = self
            .segments
            .locate(Lsn(start))
            .map_err(OpError::io)?
            .ok_or(OpError::LogDamaged(lsn))?;
        let (buf, r) = base::seams::read(
            &*file,
            IoBuf::owned(AlignedBuf::zeroed(BLOCK as usize)),
            off,
        )
        .await;
        r.map_err(OpError::io)?;
        let Some(bytes) = buf.into_owned() else {
            return Err(OpError::LogDamaged(lsn));
        };
        let mut blocks = self.blocks.lock().unwrap_or_else(|e| e.into_inner());
        blocks.retain(|b| b.start != start);
        blocks.push_front(Block { start, end, bytes });
        blocks.truncate(BLOCKS_CACHED);
        Ok(())
    }
}
