//! A table's turn: its worn trees are packed, then pages at the file's end move to free ones in front, then the end is cut off.
//!
//! The table is in use meanwhile, as by a statement that reads it, and given up between two steps for whoever wants to change its definition.

use crate::engine::Engine;
use crate::schema::{Index, Table, TableUse};
use crate::worn_tables::{TableState, TreeState};
use base::PageNo;
use btree::{PACKED_FILL, Packing, Relocated, Relocation};
use pager::{Cut, CutEnd, OpError};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A tree is packed, and a file's end moved, when such a part of it may be had.
fn part(busy: bool) -> u64 {
    if busy { 4 } else { 32 }
}

/// The same of a tree that fills half of the memory for pages.
const LARGE_PART: u64 = 8;

/// Bytes that are filled of a leaf where rows come and go.
const BUSY_FILL: usize = PACKED_FILL / 8 * 7;
/// Steps between two looks at whether others are kept waiting.
const STEPS: u32 = 8;

/// Why a turn was not ended.
enum Ended {
    /// The table is wanted, or it is not to be done any more.
    Later,
    Failed(OpError),
}

impl From<OpError> for Ended {
    fn from(e: OpError) -> Ended {
        Ended::Failed(e)
    }
}

impl Engine {
    /// A table's turn; whether it is to have another though nothing changes.
    pub(super) async fn defragment_table(self: &Arc<Self>, t: &Arc<Table>, busy: bool) -> bool {
        let held = TableUse::announce(t, false);
        let done = match self.turn_goes_on(t) {
            true => self.defragment_held(t, busy).await,
            false => Err(Ended::Later),
        };
        drop(held);
        let id = t.def.id;
        match done {
            Ok(more) => {
                // Its leaves are packed closely when it is quiet.
                let more = more || busy;
                self.defragmenter.with(id, |s| s.settled = !more);
                more
            }
            Err(Ended::Later) => true,
            // What cannot be read or written now may be when it has changed again.
            Err(Ended::Failed(e)) => {
                if let OpError::Corrupt { .. } = e {
                    self.notices
                        .add(format_args!("{} is not defragmented: {e}", t.full_name));
                }
                self.defragmenter.with(id, |s| s.settled = true);
                false
            }
        }
    }

    pub(super) fn turn_goes_on(&self, t: &Table) -> bool {
        let replaced = t.retired.load(Ordering::SeqCst);
        let stop = self.stopping.load(Ordering::Acquire) || !self.defragmenter.is_on();
        !replaced && !stop && t.lock.admits(false)
    }

    async fn defragment_held(self: &Arc<Self>, t: &Arc<Table>, busy: bool) -> Result<bool, Ended> {
        let waiting = self.defragmenter.with(t.def.id, |s| s.cut);
        if let Some(cut) = waiting {
            return self.end_cut(t, cut).await;
        }
        self.defragmenter.learn(t);
        for index in t.indexes.clone() {
            self.pack_index(t, &index, busy).await?;
        }
        self.move_to_front(t, busy).await?;
        let least = self.defragmenter.options.least_pages;
        let space = &t.space;
        let known = self.stepwise(t, || self.pager.space_use(space)).await?;
        let least = least.max(known.end / part(busy) as u32);
        let cut = self.stepwise(t, || self.pager.begin_cut(space, least));
        match cut.await? {
            None => Ok(false),
            Some(cut) => {
                let id = t.def.id;
                self.defragmenter.with(id, |s| {
                    s.cut = Some(cut);
                    s.cut_tries = 0;
                });
                self.end_cut(t, cut).await
            }
        }
    }

    /// One step, while no file has to stay as it is.
    async fn stepwise<R>(
        &self,
        t: &Table,
        step: impl FnMut() -> Result<R, OpError>,
    ) -> Result<R, Ended> {
        // Nothing is waited for with the table in use.
        match self.defragmenter.begin_step() {
            Some(_working) if self.turn_goes_on(t) => Ok(self.pager.run(step).await?),
            _ => Err(Ended::Later),
        }
    }

    /// Packs the leaves of a tree, if they have lost enough.
    async fn pack_index(&self, t: &Table, index: &Index, busy: bool) -> Result<(), Ended> {
        let (tree, id) = (&index.tree, index.tree.index_id());
        let now = tree.wear();
        let (base, loose) = self.defragmenter.with(t.def.id, |s| {
            let tree = state(s, id);
            (tree.base, tree.loose)
        });
        let removed = now.0.saturating_sub(base.0);
        let split = now.1.saturating_sub(base.1);
        // Where rows come and go all the time splits are to be expected, and leaves get room for the next ones.
        let (lost, fill) = match busy {
            true => (removed, BUSY_FILL),
            false => (removed + split, PACKED_FILL),
        };
        let pages = self.stepwise(t, || tree.measure(false)).await?.pages;
        let least = u64::from(self.defragmenter.options.least_pages);
        // All leaves are read for it, and push others out of memory where there are many.
        let part = match pages > self.pool_pages() / 2 {
            true => part(busy).min(LARGE_PART),
            false => part(busy),
        };
        if lost < (pages / part).max(least) * PACKED_FILL as u64 && (busy || !loose) {
            return Ok(());
        }
        let mut packing = Packing::new(fill);
        let mut commits = self.counters.commits.get();
        let clock = &self.environment().clock;
        let mut more = true;
        while more {
            let begun = clock.now_us();
            for _ in 0..STEPS {
                more = self.stepwise(t, || tree.pack_step(&mut packing)).await?;
                if !more {
                    break;
                }
            }
            self.pace(t, begun, &mut commits).await;
        }
        let saved = packing.saved * PACKED_FILL as u64;
        let split: u64 = t.indexes.iter().map(|i| i.tree.wear().1).sum();
        self.defragmenter.with(t.def.id, |s| {
            s.saved = (s.saved.0 + saved, split);
            let tree = state(s, id);
            tree.base = now;
            tree.loose = busy;
            tree.space.met = packing.met;
            tree.space.saved += packing.saved;
            tree.space.packed += 1;
        });
        Ok(())
    }

    /// Moves pages from behind where the file could end to free ones in front of that.
    async fn move_to_front(&self, t: &Table, busy: bool) -> Result<(), Ended> {
        let space = &t.space;
        let known = self.stepwise(t, || self.pager.space_use(space)).await?;
        let least = self.defragmenter.options.least_pages;
        if known.end - known.used < least.max(known.used / part(busy) as u32) {
            return Ok(());
        }
        let limit = PageNo(known.used);
        let mut commits = self.counters.commits.get();
        let clock = &self.environment().clock;
        'trees: for index in &t.indexes {
            let mut at = Relocation::default();
            loop {
                let begun = clock.now_us();
                for _ in 0..STEPS {
                    let step = self.stepwise(t, || index.tree.relocate(&mut at, limit));
                    match step.await? {
                        Relocated::Moved => self.defragmenter.with(t.def.id, |s| {
                            state(s, index.tree.index_id()).space.moved += 1;
                        }),
                        Relocated::More => {}
                        Relocated::NoRoom => break 'trees,
                        Relocated::End => continue 'trees,
                    }
                }
                self.pace(t, begun, &mut commits).await;
            }
        }
        Ok(())
    }

    /// Cuts the end off, once recovery would begin behind all that has happened there; whether to come again for it.
    async fn end_cut(&self, t: &Table, cut: Cut) -> Result<bool, Ended> {
        let end = self.stepwise(t, || self.pager.finish_cut(&t.space, &cut));
        let end = end.await?;
        Ok(self.defragmenter.with(t.def.id, |s| match end {
            CutEnd::Done => {
                s.cut_pages += u64::from(cut.room.saturating_sub(cut.end));
                s.cut = None;
                // What has changed while it waited has its turn.
                true
            }
            // A backup is being taken.
            CutEnd::NotYet if self.pager.may_cut(&cut) => true,
            CutEnd::NotYet => s.cut_waits(),
            CutEnd::Grown => {
                s.cut = None;
                true
            }
        }))
    }
}

fn state(s: &mut TableState, index: u32) -> &mut TreeState {
    s.trees.entry(index).or_default()
}
