//! Range scans. A scan is a position, not a latch: each call looks at one leaf after the other, copies out the rows that
//! are wanted, and survives whatever happens to the tree in between.

use super::ahead::{next_candidate, read_candidates};
use super::candidates::{Candidate, Candidates};
use super::conflict::{Conflict, ConflictCheck, RowLock};
use super::guard_cursor::GuardCursor;
use super::read::{Reader, current};
use super::read_mode::mode_of;
use super::reference::is_of_foreign_key;
use super::same_entry::SameEntry;
use super::scan_spec::{End, KeyBound, ScanSpec, names_one_row, successor};
use super::unmatched::{Unmatched, unmatched};
use super::{LockWait, Pins, ReadMode, RowBatch, Session};
use crate::error;
use crate::lock::Mode;
use crate::mvcc::{Seen, VersionWalk};
use crate::record::{HEADER, RowRef, RowVersion};
use crate::schema::{Cover, Table};
use btree::{Direction, ScanPos, ScanState, Visit};
use pager::{OpError, Wait};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use types::SqlError;

/// Entries that a consistent scan gathers at a time at the most, whatever is asked for.
const LARGEST_REACH: usize = 256;

/// A scan in progress.
pub struct Scan {
    pub(super) table: Arc<Table>,
    pub(super) index: usize,
    pub(super) pos: ScanPos,
    pub(super) end: End,
    pub(super) direction: Direction,
    pub(super) mode: ReadMode,
    pub(super) done: bool,
    /// What of the range is to be guarded still; `None`: nothing is.
    pub(super) guard: Option<Box<RefCell<GuardCursor>>>,
    /// No more than one row can have what the range stands for.
    pub(super) unique: bool,
    /// The lock table knows that rows are going to be guarded.
    registered: bool,
    pub(super) candidates: Candidates,
    pub(super) walk: VersionWalk,
    /// As [`Scan::passing_unmatched`] says.
    passes: bool,
    /// What makes rows of entries that the snapshot is sure of, and the row made last.
    cover: Option<Arc<Cover>>,
    made: Vec<u8>,
    /// Entries that are gathered at a time, at the least: more each time, since a row that is looked at need not be taken.
    reach: usize,
}

impl Scan {
    /// Passes rows that others are changing and that did not match before: nobody waits for those (InnoDB's semi-consistent read). Only
    /// where rows that do not match are not locked either, and only by the clustered index, as there.
    #[must_use]
    pub fn passing_unmatched(mut self) -> Scan {
        self.passes = true;
        self
    }

    /// Takes rows from the entries of the index where they say enough: then only the columns that `cover` was made for are in them, and
    /// all others look like NULL.
    ///
    /// # Panics
    /// It is one of another index.
    #[must_use]
    pub fn covered(mut self, cover: Option<&Arc<Cover>>) -> Scan {
        assert!(
            cover.is_none_or(|c| c.index() == self.index),
            "the index that is read"
        );
        self.cover = cover.cloned();
        self
    }
}

/// What the visitor of one leaf came to.
pub(super) enum Stop {
    Wait(Wait),
    Conflict(Conflict),
    Sql(SqlError),
    Storage(OpError),
}

/// How a locking scan judges rows and locks them.
struct Locking {
    check: ConflictCheck,
    /// `None`: rows are not locked, but their writers waited for.
    mode: Option<Mode>,
    wait: LockWait,
    /// Rows that do not match are locked too.
    all: bool,
}

/// Decides about rows; an error ends the scan. Called under a page latch: must only look. A consistent read asks once a
/// row; a locking one may ask again about a row that it had to wait for.
pub type Filter<'f> = dyn FnMut(RowRef<'_>) -> Result<bool, SqlError> + Send + 'f;

impl Session {
    /// Begins a scan.
    pub fn scan(&mut self, t: &Arc<Table>, spec: ScanSpec) -> Scan {
        let mode = self.effective(spec.mode);
        let guard = self.guarding(mode).map(|exclusive| {
            let rows = (spec.index == 0).then(|| mode_of(exclusive));
            let c = GuardCursor::new(&spec.lower, &spec.upper, spec.backward, rows);
            Box::new(RefCell::new(c))
        });
        let unique = guard.is_some() && names_one_row(t, &spec);
        let mut done = false;
        let (pos, end) = if spec.backward {
            let pos = match &spec.upper {
                KeyBound::None => ScanPos::start(),
                KeyBound::Excluded(p) => ScanPos::past(p),
                KeyBound::Included(p) => {
                    successor(p).map_or_else(ScanPos::start, |s| ScanPos::past(&s))
                }
            };
            let end = match spec.lower {
                KeyBound::None => End::Open,
                KeyBound::Included(p) => End::AtLeast(p),
                KeyBound::Excluded(p) => match successor(&p) {
                    Some(s) => End::AtLeast(s),
                    None => {
                        done = true;
                        End::Open
                    }
                },
            };
            (pos, end)
        } else {
            let pos = match &spec.lower {
                KeyBound::None => ScanPos::start(),
                KeyBound::Included(p) => ScanPos::at(p),
                KeyBound::Excluded(p) => match successor(p) {
                    Some(s) => ScanPos::at(&s),
                    None => {
                        done = true;
                        ScanPos::start()
                    }
                },
            };
            let end = match spec.upper {
                KeyBound::None => End::Open,
                KeyBound::Excluded(p) => End::Below(p),
                KeyBound::Included(p) => successor(&p).map_or(End::Open, End::Below),
            };
            (pos, end)
        };
        Scan {
            table: t.clone(),
            index: spec.index,
            pos,
            end,
            direction: if spec.backward {
                Direction::Backward
            } else {
                Direction::Forward
            },
            mode,
            done,
            unique,
            guard,
            registered: false,
            candidates: Candidates::default(),
            walk: VersionWalk::default(),
            passes: false,
            cover: None,
            reach: 1,
            made: Vec::new(),
        }
    }

    /// Adds up to about `max_rows` rows for which `filter` says yes to `batch`; false when the scan is over. A batch may
    /// come back empty although more follows.
    ///
    /// # Errors
    /// As [`Session::get`]; what `filter` fails with.
    pub async fn next_batch(
        &mut self,
        scan: &mut Scan,
        batch: &mut RowBatch,
        max_rows: usize,
        filter: &mut Filter<'_>,
    ) -> Result<bool, SqlError> {
        if batch
            .table
            .as_ref()
            .is_none_or(|t| !Arc::ptr_eq(t, &scan.table))
        {
            batch.clear();
            batch.table = Some(scan.table.clone());
        }
        let from = batch.len();
        let mut pins = Pins::new();
        let name = scan.table.clone();
        if scan.mode == ReadMode::Consistent {
            self.wait_for_seen_commits().await?;
        }
        let index = &name.indexes[scan.index];
        if self.snapshot.is_some_and(|s| index.is_younger_than(s.lsn)) {
            // The index holds nothing of what the snapshot sees.
            let e = OpError::Dropped(name.space_id());
            return Err(error::storage(e, &name.full_name));
        }
        if scan.index == 0 && scan.guard.is_some() && !scan.registered && name.is_lasting() {
            let id = scan.table.def.indexes[0].id;
            let me = self.need_txid();
            self.engine.locks.register_guard(me, id);
            scan.registered = true;
        }
        while !scan.done && batch.len() < max_rows {
            self.interrupt.check()?;
            self.yield_if_due().await;
            let stop = if scan.index == 0 {
                self.scan_leaf(scan, batch, max_rows, filter)
            } else {
                self.scan_secondary(scan, batch, max_rows, filter)
            };
            match stop {
                Ok(()) => pins.clear(),
                Err(Stop::Wait(w)) => self.resolve(w, &mut pins, &name.full_name).await?,
                Err(Stop::Conflict(b)) => {
                    self.resolve_conflict(b, &mut pins, &name.full_name).await?
                }
                Err(Stop::Sql(e)) => return Err(e),
                Err(Stop::Storage(e)) => return Err(error::storage(e, &name.full_name)),
            }
        }
        self.finish_outside(scan.index, batch, from, filter).await?;
        Ok(!scan.done)
    }

    /// Reads the overflow columns of rows that have them and asks the filter about those rows.
    async fn finish_outside(
        &self,
        index: usize,
        batch: &mut RowBatch,
        from: usize,
        filter: &mut Filter<'_>,
    ) -> Result<(), SqlError> {
        let mut i = from;
        while let Some(at) = batch.next_raw(i) {
            let Some(t) = batch.table.clone() else {
                return Ok(());
            };
            let outside = self.read_outside(&t, batch.row_bytes(at)).await?;
            batch.set_outside(at, outside);
            let holds = match batch.take_found_by(at) {
                None => true,
                Some(entry) => SameEntry {
                    t: &t,
                    index,
                    entry: &entry,
                    sure: false,
                    buf: Vec::new(),
                }
                .holds(batch.row(at)),
            };
            if holds && filter(batch.row(at))? {
                i = at + 1;
            } else {
                batch.remove(at);
                i = at;
            }
        }
        Ok(())
    }

    /// What to judge locking reads by; `None` for consistent ones.
    fn scan_check(&mut self, scan: &Scan) -> Option<Locking> {
        let id = scan.table.def.indexes[0].id;
        let (mode, wait) = self.row_lock(scan.mode)?;
        let mut check = self.conflict_check(id, wait);
        let newest = is_of_foreign_key(scan.mode);
        if newest {
            check.snapshot = None;
        }
        Some(Locking {
            check,
            mode,
            wait,
            all: self.guards_ranges() && !newest,
        })
    }

    /// One leaf of the clustered index.
    fn scan_leaf(
        &mut self,
        scan: &mut Scan,
        batch: &mut RowBatch,
        max_rows: usize,
        filter: &mut Filter<'_>,
    ) -> Result<(), Stop> {
        let check = self.scan_check(scan);
        let (snapshot, committed) = if check.is_none() {
            self.reader_snapshots()
        } else {
            (None, None)
        };
        let reader = Reader {
            session: self,
            snapshot,
            committed,
            me: self.txid,
        };
        let Scan {
            table,
            pos,
            end,
            direction,
            walk,
            guard,
            passes,
            ..
        } = scan;
        let t: &Table = table;
        let locking = check.as_ref().map(|l| (l, guard.as_deref()));
        let stop: Cell<Option<Stop>> = Cell::new(None);
        // All up to the edge of the leaf, or to the end of the range, is guarded too.
        let guarded_to = |edge: Option<&[u8]>| match locking {
            Some((l, Some(g))) => match l.check.guard_to(&mut g.borrow_mut(), edge) {
                Ok(()) => true,
                Err(b) => {
                    stop.set(Some(Stop::Conflict(b)));
                    false
                }
            },
            _ => true,
        };
        let mut read = 0u64;
        let visit = |key: &[u8], value: &[u8]| {
            read += 1;
            let taken = match locking {
                None => take_consistent(&reader, walk, t, key, value, batch, filter),
                Some((l, guard)) => {
                    if is_external(value) {
                        reader.session.hold_versions();
                    }
                    let looked = match *passes && !l.all {
                        true => unmatched(&reader, &l.check, walk, t, value, filter),
                        false => Unmatched::No,
                    };
                    match looked {
                        Unmatched::Yes => Ok(()),
                        Unmatched::No => take_current(l, guard, t, key, value, batch, filter),
                        Unmatched::Storage(e) => Err(storage(e)),
                        Unmatched::Conflict(c) => Err(Stop::Conflict(c)),
                    }
                }
            };
            match taken {
                Ok(()) if batch.len() >= max_rows => Visit::Stop,
                Ok(()) => Visit::Next,
                Err(s) => {
                    stop.set(Some(s));
                    Visit::StopBefore
                }
            }
        };
        let tree = &t.indexes[0].tree;
        let r = tree.scan_range(pos, (*direction, end.key()), visit, guarded_to);
        self.engine.counters.rows_read.add(read);
        if let Some(s) = stop.into_inner() {
            if let Some(g) = guard
                && !base::mutant!("scan-goes-on-where-it-waited")
            {
                // Nobody guards what lies between the last row locked and here while this one waits: it is looked at again.
                g.borrow().seek(pos);
            }
            return Err(s);
        }
        match r {
            Ok(ScanState::End) => {
                scan.done = true;
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(e) => Err(storage(e)),
        }
    }

    /// Entries of one leaf of a secondary index, then their rows.
    fn scan_secondary(
        &mut self,
        scan: &mut Scan,
        batch: &mut RowBatch,
        max_rows: usize,
        filter: &mut Filter<'_>,
    ) -> Result<(), Stop> {
        let check = self.scan_check(scan);
        let (snapshot, committed) = if check.is_none() {
            self.reader_snapshots()
        } else {
            (None, None)
        };
        if scan.candidates.is_empty() {
            let guards = match &check {
                Some(l) if scan.guard.is_some() => {
                    Some(self.conflict_check(scan.table.def.indexes[scan.index].id, l.wait))
                }
                _ => None,
            };
            let seen = match is_of_foreign_key(scan.mode) {
                true => None,
                false => snapshot.or(self.write_snapshot()),
            };
            let mut most = max_rows - batch.len();
            if check.is_none() && snapshot.is_some() {
                most = most.max(scan.reach);
                scan.reach = (2 * most).min(LARGEST_REACH);
            }
            self.gather(scan, seen, check.is_some(), guards.as_ref(), most)?;
            if scan.cover.is_none() && self.waited.has_waited() {
                read_candidates(&scan.table, &mut scan.candidates);
            }
        }
        let reader = Reader {
            session: self,
            snapshot,
            committed,
            me: self.txid,
        };
        let t = scan.table.clone();
        while let Some(c) = scan.candidates.first() {
            let sure = c.sure || base::mutant!("entry-taken-whoever-wrote-it");
            if let (Some(cover), true) = (&scan.cover, sure) {
                take_covered(cover, &t, &c, &mut scan.made, batch, filter)?;
                scan.candidates.pop();
                if batch.len() >= max_rows {
                    break;
                }
                continue;
            }
            let walk = &mut scan.walk;
            let before = batch.len();
            let mut same = SameEntry {
                t: &t,
                index: scan.index,
                entry: c.entry,
                sure: c.sure,
                buf: Vec::new(),
            };
            let r = t.indexes[0].tree.get(c.key, |value| {
                let Some(value) = value else { return Ok(()) };
                let mut f = |row: RowRef<'_>| Ok(same.holds(row) && filter(row)?);
                match &check {
                    None => take_consistent(&reader, walk, &t, c.key, value, batch, &mut f),
                    Some(l) => {
                        if is_external(value) {
                            reader.session.hold_versions();
                        }
                        take_current(l, None, &t, c.key, value, batch, &mut f)
                    }
                }
            });
            match r {
                Ok(Ok(())) => {
                    if batch.len() > before && !c.sure {
                        batch.last_found_by(c.entry);
                    }
                    next_candidate(&t, &mut scan.candidates);
                }
                Ok(Err(s)) => return Err(s),
                Err(e) => {
                    if let OpError::Wait(Wait::Page(..)) = e {
                        read_candidates(&t, &mut scan.candidates);
                    }
                    return Err(storage(e));
                }
            }
            if batch.len() >= max_rows {
                break;
            }
        }
        if scan.candidates.is_empty() && scan.candidates.last {
            scan.done = true;
        }
        Ok(())
    }
}

fn is_external(value: &[u8]) -> bool {
    RowVersion::read(value).is_some_and(|v| v.external())
}

pub(super) fn storage(e: OpError) -> Stop {
    match e {
        OpError::Wait(w) => Stop::Wait(w),
        e => Stop::Storage(e),
    }
}

/// Takes the row that an entry stands for by itself.
fn take_covered(
    cover: &Cover,
    t: &Table,
    c: &Candidate<'_>,
    row: &mut Vec<u8>,
    batch: &mut RowBatch,
    filter: &mut Filter<'_>,
) -> Result<(), Stop> {
    if cover.row(c.entry, c.key, row).is_none() {
        return Err(Stop::Conflict(Conflict::Damaged));
    }
    // Whoever wants to change the row reads it first.
    push(t, c.key, RowVersion::default(), row, batch, filter)
}

fn take_consistent(
    reader: &Reader<'_>,
    walk: &mut VersionWalk,
    t: &Table,
    key: &[u8],
    value: &[u8],
    batch: &mut RowBatch,
    filter: &mut Filter<'_>,
) -> Result<(), Stop> {
    let (v, row) = match reader.see(walk, value).map_err(storage)? {
        Seen::Nothing => return Ok(()),
        Seen::Current(v) => (v, &value[HEADER..]),
        Seen::Older(v, row) => (v, row),
    };
    if !t.layout.fits(row, v.external()) {
        return Err(Stop::Conflict(Conflict::Damaged));
    }
    push(t, key, v, row, batch, filter)
}

fn take_current(
    l: &Locking,
    guard: Option<&RefCell<GuardCursor>>,
    t: &Table,
    key: &[u8],
    value: &[u8],
    batch: &mut RowBatch,
    filter: &mut Filter<'_>,
) -> Result<(), Stop> {
    let check = &l.check;
    // Where only what matches is locked: ask the filter first, if nobody writes the row.
    let mut asked = false;
    if l.mode.is_some() && !l.all {
        match RowVersion::read(value) {
            Some(v) if check.other_writer(v.writer()).is_none() && !v.external() => {
                if v.deleted() {
                    return check.check_snapshot(v).map_err(Stop::Conflict);
                }
                let row = &value[HEADER..];
                if !t.layout.fits(row, false) {
                    return Err(Stop::Conflict(Conflict::Damaged));
                }
                if !filter(t.layout.row(row)).map_err(Stop::Sql)? {
                    return check.check_snapshot(v).map_err(Stop::Conflict);
                }
                asked = true;
            }
            _ => {}
        }
    }
    let how = match (l.mode, guard) {
        (None, _) => RowLock::None,
        (Some(mode), None) => RowLock::Alone(mode),
        (Some(mode), Some(g)) => RowLock::Guarded(mode, g),
    };
    match current(check, t, key, Some(value), how) {
        Ok(None) => Ok(()),
        Ok(Some((v, row))) if asked => {
            batch.push(key, row, v, false);
            Ok(())
        }
        Ok(Some((v, row))) => push(t, key, v, row, batch, filter),
        Err(Conflict::Locked) if l.wait == LockWait::SkipLocked => {
            if let Some(g) = guard {
                check
                    .guard_past(&mut g.borrow_mut(), key)
                    .map_err(Stop::Conflict)?;
            }
            Ok(())
        }
        Err(b) => Err(Stop::Conflict(b)),
    }
}

fn push(
    t: &Table,
    key: &[u8],
    v: RowVersion,
    row: &[u8],
    batch: &mut RowBatch,
    filter: &mut Filter<'_>,
) -> Result<(), Stop> {
    if v.external() {
        batch.push(key, row, v, true);
    } else if filter(t.layout.row(row)).map_err(Stop::Sql)? {
        batch.push(key, row, v, false);
    }
    Ok(())
}
