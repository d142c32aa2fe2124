//! The second pass of recovery: carries out the log's page operations, sorted by page within large chunks so that each page
//! is fetched about once. The chunks are read and sorted by a task of their own: see [`reader`].

mod reader;

pub(crate) use reader::Reading;

use crate::error::OpError;
use crate::log::record::OP_INIT;
use crate::pager::Pager;
use crate::pool::Pin;
use crate::report::{OpenError, Report};
use crate::space::Space;
use base::Lsn;
use reader::Pending;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin as StdPin;
use std::sync::Arc;

/// Pages read ahead of the one being redone.
const AHEAD: usize = 64;

/// Carries out what `reading` reads, to its end.
pub(crate) async fn second_pass(
    pager: &Arc<Pager>,
    mut reading: Reading,
    report: &mut Report,
) -> Result<(), OpenError> {
    let began = pager.environment.clock.now_us();
    while let Some(chunk) = reading.next().await? {
        // Sorted: the last one's is the highest.
        let highest = chunk.ops.last().map_or(0, |o| o.space.0);
        report.max_space = report.max_space.max(highest);
        redo_chunk(pager, &chunk.ops, &chunk.bytes, report).await?;
        reading.give_back(chunk);
    }
    report.redo_us = pager.environment.clock.now_us() - began;
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
    // Each may be of another file, which stays open for it.
    let files = usize::try_from(pager.options.open_files).unwrap_or(AHEAD);
    let ahead_max = AHEAD
        .min(pager.pool.frames() as usize / 4)
        .min(files.max(1));
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
