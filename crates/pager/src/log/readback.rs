//! Reading records back, for old versions of rows, rollback and purge: from memory while they are there, else block-wise from the files.
//!
//! Blocks that were read are kept, by need and up to a share of the buffer pool, in stripes that threads share. They are small: a version chain
//! of a row that changes with thousands of others has each of its records in another block, and the next row's chain has its records in the
//! same ones. Whoever reads records backwards, as purge and rollback do, gets four blocks at once. What nobody can need any more is given up with
//! the log's files.
//!
//! Nothing here waits for more than what it reads; what it reads is verified before anybody sees it.

use super::Log;
use super::record::{self, Record};
use crate::error::{OpError, Wait};
use base::{AlignedBuf, IoBuf, Lsn};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of the log that are kept and given up together.
const BLOCK: u64 = 16 << 10;
/// Blocks that are read at once where somebody goes from one to the next.
const RUN: u64 = 4;
/// Neighbours are in different ones.
const STRIPES: usize = 16;
/// Bytes that are kept at most, and the least that this may be.
const MOST: u64 = 32 << 20;
const LEAST: u64 = 4 << 20;

/// A part of a file, as it was when it was read.
struct CachedBlock {
    /// Up to here the log was written then.
    end: u64,
    bytes: Box<[u8]>,
}

/// Some of the blocks.
#[derive(Default)]
struct Stripe {
    /// By their first position.
    blocks: HashMap<u64, Arc<CachedBlock>>,
    /// Their first positions, to draw one from.
    starts: Vec<u64>,
    drawn: u64,
}

/// The blocks that were read back.
pub(super) struct Blocks {
    stripes: [Mutex<Stripe>; STRIPES],
    /// Blocks of a stripe, at most.
    most: usize,
}

impl Stripe {
    fn insert(&mut self, start: u64, block: Arc<CachedBlock>, most: usize) {
        if self.blocks.insert(start, block).is_some() {
            return;
        }
        if self.starts.len() >= most {
            // Any of them: whoever goes through more blocks than there is room for, and begins again, would never find one where the oldest goes.
            self.drawn = self
                .drawn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let i = (self.drawn >> 33) as usize % self.starts.len();
            let gone = self.starts.swap_remove(i);
            self.blocks.remove(&gone);
        }
        self.starts.push(start);
    }
}

impl Blocks {
    /// As many as fit a buffer pool of so many bytes.
    pub(super) fn for_pool(pool_bytes: u64) -> Blocks {
        let bytes = (pool_bytes / 16).clamp(LEAST, MOST);
        Blocks {
            stripes: Default::default(),
            most: (bytes / BLOCK) as usize / STRIPES,
        }
    }

    fn stripe(&self, start: u64) -> MutexGuard<'_, Stripe> {
        let stripe = &self.stripes[(start / BLOCK) as usize % STRIPES];
        stripe.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The block that begins at `start`, if it holds the log's byte `at`.
    fn get(&self, start: u64, at: u64) -> Option<Arc<CachedBlock>> {
        let block = self.stripe(start).blocks.get(&start).cloned();
        block.filter(|b| at < b.end)
    }

    fn insert(&self, start: u64, block: CachedBlock) {
        self.stripe(start).insert(start, Arc::new(block), self.most);
    }

    /// Gives up what lies before `lsn`.
    pub(super) fn forget_before(&self, lsn: Lsn) {
        for stripe in &self.stripes {
            let mut s = stripe.lock().unwrap_or_else(|e| e.into_inner());
            let Stripe { blocks, starts, .. } = &mut *s;
            starts.retain(|start| start + BLOCK > lsn.0);
            blocks.retain(|start, _| start + BLOCK > lsn.0);
            if starts.is_empty() {
                *s = Stripe::default();
            }
        }
    }

    /// Bytes kept.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        let of = |s: &Mutex<Stripe>| s.lock().unwrap().starts.len() as u64 * BLOCK;
        self.stripes.iter().map(of).sum()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64) -> CachedBlock {
        CachedBlock {
            end: start + BLOCK,
            bytes: vec![0; BLOCK as usize].into(),
        }
    }

    #[test]
    fn blocks_are_kept_up_to_their_share_and_given_up_with_the_log() {
        let blocks = Blocks::for_pool(0);
        for n in 0..4096 {
            blocks.insert(n * BLOCK, block(n * BLOCK));
        }
        assert_eq!(blocks.bytes(), LEAST);
        blocks.forget_before(Lsn(4000 * BLOCK));
        assert!(blocks.bytes() < 100 * BLOCK);
        assert!((4000..4096).any(|n| blocks.get(n * BLOCK, n * BLOCK).is_some()));
        blocks.forget_before(Lsn(5000 * BLOCK));
        assert_eq!(blocks.bytes(), 0);
    }

    #[test]
    fn who_goes_round_through_more_than_there_is_room_for_finds_some() {
        let blocks = Blocks::for_pool(0);
        let n = LEAST / BLOCK * 3 / 2;
        let mut found = 0;
        for i in 0..10 * n {
            let start = i % n * BLOCK;
            match blocks.get(start, start) {
                Some(_) => found += 1,
                None => blocks.insert(start, block(start)),
            }
        }
        assert!(found > 3 * n, "{found} of {}", 10 * n);
    }
}
