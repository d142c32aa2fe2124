//! The task that reads the log for the second pass: it goes behind the first pass, as far as that one has verified the
//! records, and has chunks ready when the pages can be changed.

use crate::log::{Scanner, Segments};
use base::lock::{Mutex, MutexGuard};
use base::{Event, Lsn, PageNo, SpaceId, Spawn};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of log whose operations are sorted by page at once.
const CHUNK: usize = 32 << 20;
/// Records of the first pass between two looks at how far it is.
const TOLD_EVERY: u64 = 4096;

/// One page operation waiting to be carried out.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    pub(super) space: SpaceId,
    pub(super) page: PageNo,
    /// Position in the log: (record start, record end).
    pub(super) start: Lsn,
    pub(super) end: Lsn,
    pub(super) op: u8,
    pub(super) flags: u8,
    pub(super) at: u32,
    pub(super) len: u16,
}

/// Operations of a stretch of the log, sorted by page and within a page by position, and their payloads in the same order:
/// whoever carries them out reads memory forwards.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) ops: Vec<Pending>,
    pub(super) bytes: Vec<u8>,
}

/// What is sorted into a chunk: operations and payloads as the log has them, and what they are sorted by, with their places.
#[derive(Default)]
struct Unsorted {
    ops: Vec<Pending>,
    bytes: Vec<u8>,
    keys: Vec<(u64, u32)>,
}

impl Unsorted {
    fn bytes_used(&self) -> usize {
        self.bytes.len() + self.ops.len() * size_of::<Pending>()
    }

    /// Moves everything into `chunk`.
    fn sort_into(&mut self, chunk: &mut Chunk) {
        let key = |o: &Pending| u64::from(o.space.0) << 32 | u64::from(o.page.0);
        self.keys.clear();
        let keys = self.ops.iter().zip(0u32..).map(|(o, i)| (key(o), i));
        self.keys.extend(keys);
        // Places break ties: within a page the log's order stays.
        self.keys.sort_unstable();
        chunk.ops.reserve(self.ops.len());
        chunk.bytes.reserve(self.bytes.len());
        for (_, i) in &self.keys {
            let mut op = self.ops[*i as usize];
            let payload = &self.bytes[op.at as usize..op.at as usize + op.len as usize];
            op.at = chunk.bytes.len() as u32;
            chunk.bytes.extend_from_slice(payload);
            chunk.ops.push(op);
        }
        self.ops.clear();
        self.bytes.clear();
    }
}

/// How far the first pass has verified the log.
#[derive(Default)]
struct Progress {
    verified: AtomicU64,
    over: AtomicBool,
    changed: Event,
}

/// Between the task that reads and the one that carries out.
#[derive(Default)]
struct Handover {
    state: Mutex<Slots>,
    changed: Event,
}

#[derive(Default)]
struct Slots {
    full: VecDeque<io::Result<Chunk>>,
    empty: Option<Chunk>,
    /// Nothing more will be put in, or taken out.
    over: bool,
    /// Everything was put in: the reader came to its end.
    complete: bool,
}

impl Handover {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.state.lock()
    }

    /// Puts a chunk in when fewer than `most` wait; gives one to fill, or none when nobody wants more.
    async fn put(&self, chunk: io::Result<Chunk>, most: usize) -> Option<Chunk> {
        let mut chunk = Some(chunk);
        let next = self
            .changed
            .wait_for(|| {
                let mut s = self.lock();
                if s.over {
                    return Some(None);
                }
                if s.full.len() >= most {
                    return None;
                }
                s.full.extend(chunk.take());
                Some(Some(s.empty.take().unwrap_or_default()))
            })
            .await;
        if !base::mutant!("part-of-the-log-handed-over-without-a-word") {
            self.changed.fire();
        }
        next
    }

    fn end(&self) {
        self.lock().over = true;
        self.changed.fire();
    }
}

/// Ends the handover however its holder ends.
struct Ends(Arc<Handover>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The reading of the log for the second pass. Dropping it ends the task.
pub(crate) struct Reading {
    to: Ends,
    progress: Arc<Progress>,
    records: u64,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.progress.over.store(true, Ordering::Release);
        self.progress.changed.fire();
    }
}

impl Reading {
    /// Starts the task, to read from `from` as far as it is told. At most about `room` bytes wait to be taken, and at
    /// least one chunk.
    pub(crate) fn start(
        spawn: &dyn Spawn,
        segments: Segments,
        jumps: Vec<(Lsn, Lsn)>,
        from: Lsn,
        room: u64,
    ) -> Reading {
        let handover = Arc::new(Handover::default());
        let progress = Arc::new(Progress::default());
        let task = read(Source {
            segments,
            jumps,
            from,
            most: (room / (2 * CHUNK as u64)).clamp(1, 8) as usize,
            progress: progress.clone(),
            to: Ends(handover.clone()),
        });
        spawn.spawn("redo-reader", Box::pin(task));
        Reading {
            to: Ends(handover),
            progress,
            records: 0,
        }
    }

    /// The first pass has verified another record, which ends at `end`.
    #[inline]
    pub(crate) fn verified(&mut self, end: Lsn) {
        self.records += 1;
        if self.records.is_multiple_of(TOLD_EVERY) {
            self.tell(end);
        }
    }

    fn tell(&self, end: Lsn) {
        self.progress.verified.store(end.0, Ordering::Release);
        self.progress.changed.fire();
    }

    /// The log ends at `end`.
    pub(crate) fn finish(&self, end: Lsn) {
        self.progress.verified.store(end.0, Ordering::Release);
        self.progress.over.store(true, Ordering::Release);
        if !base::mutant!("end-of-the-log-found-without-a-word") {
            self.progress.changed.fire();
        }
    }

    /// The next chunk, or none after the last.
    pub(super) async fn next(&mut self) -> io::Result<Option<Chunk>> {
        let handover = &self.to.0;
        let r = handover
            .changed
            .wait_for(|| {
                let mut s = handover.lock();
                match s.full.pop_front() {
                    Some(c) => Some(Some(c)),
                    None => s.over.then_some(None),
                }
            })
            .await;
        if !base::mutant!("part-of-the-log-taken-without-a-word") {
            handover.changed.fire();
        }
        match r {
            Some(chunk) => chunk.map(Some),
            None if handover.lock().complete => Ok(None),
            None => Err(io::Error::other("the task that reads the log died")),
        }
    }

    /// A chunk whose memory may be used again.
    pub(super) fn give_back(&self, mut chunk: Chunk) {
        chunk.ops.clear();
        chunk.bytes.clear();
        self.to.0.lock().empty = Some(chunk);
    }
}

/// What the task reads, and where to.
struct Source {
    segments: Segments,
    jumps: Vec<(Lsn, Lsn)>,
    from: Lsn,
    most: usize,
    progress: Arc<Progress>,
    to: Ends,
}

async fn read(source: Source) {
    let Source { progress, to, .. } = &source;
    let mut scan = Scanner::known(&source.segments, &source.jumps, source.from, source.from);
    let mut chunk = Chunk::default();
    let mut raw = Unsorted::default();
    loop {
        let at = scan.position().0;
        // How far to read, and whether more will come.
        let (until, over) = progress
            .changed
            .wait_for(|| {
                let over = progress.over.load(Ordering::Acquire);
                let until = progress.verified.load(Ordering::Acquire);
                (over || until > at).then_some((Lsn(until), over))
            })
            .await;
        scan.known_until(until);
        if let Err(e) = fill(&mut scan, until, &mut raw) {
            to.0.put(Err(e), source.most).await;
            return;
        }
        let all = over && scan.position() >= until;
        if raw.bytes_used() < CHUNK && !all {
            continue;
        }
        raw.sort_into(&mut chunk);
        match to.0.put(Ok(chunk), source.most).await {
            Some(c) => chunk = c,
            None => return,
        }
        if all {
            to.0.lock().complete = true;
            return;
        }
    }
}

/// Adds the operations below `until`, as many as a chunk holds.
fn fill(scan: &mut Scanner<'_>, until: Lsn, raw: &mut Unsorted) -> io::Result<()> {
    while scan.position() < until && raw.bytes_used() < CHUNK {
        let Some((start, rec_end, r)) = scan.next_record()? else {
            // A jump may be the last thing.
            break;
        };
        for op in r.ops() {
            raw.ops.push(Pending {
                space: op.space,
                page: op.page,
                start,
                end: rec_end,
                op: op.op,
                flags: op.flags,
                at: raw.bytes.len() as u32,
                len: op.payload.len() as u16,
            });
            raw.bytes.extend_from_slice(op.payload);
        }
    }
    if scan.position() < until && raw.bytes_used() < CHUNK {
        return Err(io::Error::other("the log changed while it was read"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::block_on;
    use base::perturb::perturbed;

    /// One chunk at a time, each side delayed wherever the other may come in between: all arrive, and both come to their ends.
    #[test]
    fn who_reads_the_log_and_who_carries_it_out_wait_for_each_other() {
        const CHUNKS: u64 = 200;
        let handover = Arc::new(Handover::default());
        let mut reading = Reading {
            to: Ends(handover.clone()),
            progress: Arc::default(),
            records: 0,
        };
        let reader = std::thread::spawn(move || {
            let ends = Ends(handover);
            perturbed(1, || {
                for n in 0..CHUNKS {
                    let mut chunk = Chunk::default();
                    chunk.bytes.extend_from_slice(&n.to_le_bytes());
                    assert!(block_on(ends.0.put(Ok(chunk), 1)).is_some());
                }
            });
            ends.0.lock().complete = true;
        });
        perturbed(2, || {
            for n in 0..CHUNKS {
                let chunk = block_on(reading.next()).expect("no error").expect("more");
                assert_eq!(chunk.bytes, n.to_le_bytes());
            }
            assert!(block_on(reading.next()).expect("no error").is_none());
        });
        reader.join().expect("no panic");
    }
}
