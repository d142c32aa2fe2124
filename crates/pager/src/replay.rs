//! The second pass of recovery: carries out the log's page operations, sorted by page within large chunks so that each page
//! is fetched about once. One task reads and sorts the next chunk while this one carries out the last.

use crate::error::OpError;
use crate::log::record::OP_INIT;
use crate::log::{Log, Scanner};
use crate::pager::Pager;
use crate::pool::Pin;
use crate::report::{OpenError, Report};
use crate::space::Space;
use base::{Event, Lsn, PageNo, SpaceId};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin as StdPin;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of log whose operations are sorted by page at once.
const CHUNK: usize = 32 << 20;
/// Pages read ahead of the one being redone.
const AHEAD: usize = 64;

/// One page operation waiting to be carried out.
struct Pending {
    space: SpaceId,
    page: PageNo,
    /// Position in the log: (record start, record end).
    start: Lsn,
    end: Lsn,
    op: u8,
    flags: u8,
    at: u32,
    len: u16,
}

/// Operations of a stretch of the log, sorted by page and within a page by position, and their payloads.
#[derive(Default)]
struct Chunk {
    ops: Vec<Pending>,
    bytes: Vec<u8>,
}

/// Between the task that reads and the one that carries out: one chunk full and one empty at a time, no more.
#[derive(Default)]
struct Handover {
    state: Mutex<Slots>,
    changed: Event,
}

#[derive(Default)]
struct Slots {
    full: Option<io::Result<Chunk>>,
    empty: Option<Chunk>,
    /// Nothing more will be put in, or taken out.
    over: bool,
    /// Everything was put in: the reader came to its end.
    complete: bool,
}

impl Handover {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Puts a chunk in when there is room; gives one to fill, or none when nobody wants more.
    async fn put(&self, chunk: io::Result<Chunk>) -> Option<Chunk> {
        let mut chunk = Some(chunk);
        let next = self
            .changed
            .wait_for(|| {
                let mut s = self.lock();
                if s.over {
                    return Some(None);
                }
                if s.full.is_some() {
                    return None;
                }
                s.full = chunk.take();
                Some(Some(s.empty.take().unwrap_or_default()))
            })
            .await;
        self.changed.fire();
        next
    }

    /// The next chunk, or none after the last.
    async fn take(&self) -> Option<io::Result<Chunk>> {
        let r = self
            .changed
            .wait_for(|| {
                let mut s = self.lock();
                match s.full.take() {
                    Some(c) => Some(Some(c)),
                    None => s.over.then_some(None),
                }
            })
            .await;
        self.changed.fire();
        r
    }

    fn give_back(&self, mut chunk: Chunk) {
        chunk.ops.clear();
        chunk.bytes.clear();
        self.lock().empty = Some(chunk);
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

pub(crate) async fn second_pass(
    pager: &Arc<Pager>,
    jumps: Vec<(Lsn, Lsn)>,
    from: Lsn,
    end: Lsn,
    report: &mut Report,
) -> Result<(), OpenError> {
    let began = pager.seams.clock.now_us();
    let handover = Ends(Arc::new(Handover::default()));
    let reader = read_chunks(
        pager.log.clone(),
        jumps,
        from,
        end,
        Ends(handover.0.clone()),
    );
    pager.seams.spawn.spawn("redo-reader", Box::pin(reader));
    while let Some(chunk) = handover.0.take().await {
        let chunk = chunk?;
        // Sorted: the last one's is the highest.
        let highest = chunk.ops.last().map_or(0, |o| o.space.0);
        report.max_space = report.max_space.max(highest);
        redo_chunk(pager, &chunk.ops, &chunk.bytes, report).await?;
        handover.0.give_back(chunk);
    }
    if !handover.0.lock().complete {
        return Err(io::Error::other("the task that reads the log died").into());
    }
    report.redo_us = pager.seams.clock.now_us() - began;
    Ok(())
}

async fn read_chunks(log: Arc<Log>, jumps: Vec<(Lsn, Lsn)>, from: Lsn, end: Lsn, to: Ends) {
    let mut scan = Scanner::known(log.segments(), &jumps, from, end);
    let mut chunk = Chunk::default();
    while scan.position() < end {
        if let Err(e) = fill(&mut scan, end, &mut chunk) {
            to.0.put(Err(e)).await;
            return;
        }
        match to.0.put(Ok(chunk)).await {
            Some(c) => chunk = c,
            None => return,
        }
    }
    to.0.lock().complete = true;
}

fn fill(scan: &mut Scanner<'_>, end: Lsn, chunk: &mut Chunk) -> io::Result<()> {
    while scan.position() < end && chunk.bytes.len() + chunk.ops.len() * 48 < CHUNK {
        let Some((start, rec_end, r)) = scan.next_record()? else {
            break;
        };
        for op in r.ops() {
            chunk.ops.push(Pending {
                space: op.space,
                page: op.page,
                start,
                end: rec_end,
                op: op.op,
                flags: op.flags,
                at: chunk.bytes.len() as u32,
                len: op.payload.len() as u16,
            });
            chunk.bytes.extend_from_slice(op.payload);
        }
    }
    if scan.position() < end && chunk.ops.is_empty() {
        return Err(io::Error::other("the log changed while it was read"));
    }
    // Stable: within a page the log's order stays.
    chunk.ops.sort_by_key(|o| (o.space.0, o.page.0));
    Ok(())
}

type Fetching = StdPin<Box<dyn Future<Output = Result<Pin, OpError>> + Send>>;

async fn redo_chunk(
    pager: &Arc<Pager>,
    ops: &[Pending],
    bytes: &[u8],
    report: &mut Report,
) -> Result<(), OpenError> {
    let groups: Vec<&[Pending]> = ops
        .chunk_by(|a, b| (a.space, a.page) == (b.space, b.page))
        .collect();
    let mut ahead: VecDeque<(usize, Arc<Space>, Option<Fetching>)> = VecDeque::new();
    let mut next = 0;
    let ahead_max = AHEAD.min(pager.pool.frames() as usize / 4);
    loop {
        while next < groups.len() && ahead.len() < ahead_max {
            let g = groups[next];
            match pager.pool.spaces.get(g[0].space) {
                None => *report.missing_spaces.entry(g[0].space.0).or_default() += g.len() as u64,
                Some(s) => {
                    s.ensure_room(g[0].page.0)?;
                    let there = s.translation.get(g[0].page.0).is_some();
                    let fetch: Option<Fetching> = if there || g[0].flags & OP_INIT != 0 {
                        // Nothing to read; one that is evicted before its turn is fetched then.
                        None
                    } else {
                        let (pool, s, p) = (pager.pool.clone(), s.clone(), g[0].page);
                        let mut f: Fetching = Box::pin(async move { pool.fetch(&s, p).await });
                        // Start the read now; the result is awaited when its turn comes.
                        let early =
                            std::future::poll_fn(|cx| std::task::Poll::Ready(f.as_mut().poll(cx)))
                                .await;
                        Some(match early {
                            std::task::Poll::Ready(r) => Box::pin(std::future::ready(r)),
                            std::task::Poll::Pending => f,
                        })
                    };
                    ahead.push_back((next, s, fetch));
                }
            }
            next += 1;
        }
        let Some((i, space, fetch)) = ahead.pop_front() else {
            return Ok(());
        };
        let r = match fetch {
            None => Ok(None),
            Some(f) => f.await.map(Some),
        };
        match r {
            Ok(pin) => {
                redo_page(pager, &space, groups[i], bytes, report).await?;
                drop(pin);
            }
            Err(OpError::Corrupt { space, page, why }) => {
                report.damaged.push((space, page, why.to_string()))
            }
            Err(e) => return Err(e.into()),
        }
    }
}

async fn redo_page(
    pager: &Arc<Pager>,
    space: &Arc<Space>,
    ops: &[Pending],
    bytes: &[u8],
    report: &mut Report,
) -> Result<(), OpenError> {
    let page = ops[0].page;
    let mut pins: Vec<Pin> = Vec::new();
    loop {
        let latched = if ops[0].flags & OP_INIT != 0 {
            pager.pool.fresh(space, page)
        } else {
            pager.pool.exclusive(space, page)
        };
        let mut g = match latched {
            Ok(g) => g,
            Err(OpError::Wait(w)) => {
                pins.extend(pager.resolve(w).await?);
                continue;
            }
            Err(e) => return Err(e.into()),
        };
        g.keep();
        // A record may change a page more than once: whether it is done already is judged by its first operation.
        let mut doing = Lsn::NONE;
        for o in ops {
            if g.lsn() >= o.end && doing != o.start && !base::mutant!("redo-applied-twice") {
                report.skipped += 1;
                continue;
            }
            doing = o.start;
            g.meta().mark_dirty(o.start);
            let payload = &bytes[o.at as usize..o.at as usize + o.len as usize];
            if let Err(why) = pager.redo.apply(o.op, g.page_mut(), payload, o.start) {
                report.damaged.push((
                    space.id(),
                    page,
                    format!("operation {} at {}: {why}", o.op, o.start),
                ));
                // Half done and not to be trusted: whoever reads it is told so, now and after it was written out.
                g.page_mut().poison();
                return Ok(());
            }
            g.page_mut().set_lsn(o.end);
            report.applied += 1;
        }
        return Ok(());
    }
}
