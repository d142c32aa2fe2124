//! Point reads on the clustered index, and reading overflow columns.

use super::conflict::{Conflict, ConflictCheck, RowLock};
use super::read_mode::mode_of;
use super::{Isolation, LockWait, Pins, ReadMode, Session};
use crate::error;
use crate::lock::Mode;
use crate::mvcc::{Seen, VersionWalk};
use crate::record::{HEADER, RowRef, RowVersion};
use crate::schema::Table;
use crate::txn::Snapshot;
use base::TxnId;
use btree::OverflowCursor;
use pager::OpError;
use types::SqlError;

/// Result of one try under the latch.
enum Got<R> {
    Done(R),
    /// The row has overflow columns: its bytes.
    Outside(Vec<u8>),
}

/// How a consistent read judges versions.
pub(crate) struct Reader<'a> {
    pub(crate) session: &'a Session,
    /// None: READ UNCOMMITTED, whatever is there.
    pub(crate) snapshot: Option<Snapshot>,
    /// What READ UNCOMMITTED reads of rows with overflow columns: those of uncommitted rows may go at any moment.
    pub(crate) committed: Option<Snapshot>,
    pub(crate) me: TxnId,
}

impl Reader<'_> {
    pub(crate) fn see<'w>(
        &self,
        walk: &'w mut VersionWalk,
        value: &[u8],
    ) -> Result<Seen<'w>, OpError> {
        let e = &self.session.engine;
        match &self.snapshot {
            Some(s) => walk.see(&e.txns, &e.log, s, self.me, value),
            None => match RowVersion::read(value) {
                Some(v) if v.deleted() => Ok(Seen::Nothing),
                Some(v) if v.external() => match &self.committed {
                    Some(s) => walk.see(&e.txns, &e.log, s, self.me, value),
                    None => Ok(Seen::Nothing),
                },
                Some(v) => Ok(Seen::Current(v)),
                None => Err(OpError::LogDamaged(base::Lsn::NONE)),
            },
        }
    }
}

impl Session {
    /// To be awaited before the snapshot of a consistent read is taken.
    ///
    /// A transaction that has written or locked has looked at newest versions: those are there as soon as their
    /// transactions have ended, while a snapshot has only what is below the log's complete end, which the record of
    /// somebody else may still hold up. Without waiting for that, the snapshot could be older than what was seen.
    pub(crate) async fn wait_for_seen_commits(&self) -> Result<(), SqlError> {
        if self.snapshot.is_some() || self.txid == TxnId::NONE {
            return Ok(());
        }
        let log = &self.engine.log;
        let seen = log.wait_complete(log.end()).await;
        seen.map_err(|e| error::storage(e, "the log"))
    }

    /// How a consistent read of this session judges versions, and [`Reader::committed`].
    pub(crate) fn reader_snapshots(&mut self) -> (Option<Snapshot>, Option<Snapshot>) {
        let snapshot = Some(self.snapshot());
        if self.isolation == Isolation::ReadUncommitted {
            (None, snapshot)
        } else {
            (snapshot, None)
        }
    }

    /// Reads the row with this clustered key. `f` gets it (or `None`) once, usually under the page's latch: it must do
    /// nothing but look at the row.
    ///
    /// # Errors
    /// Of a consistent read 1412 (the table has nothing of what the snapshot sees) and what the storage fails with; of others also what
    /// [`Session::update`] fails with.
    pub async fn get<R: Send>(
        &mut self,
        t: &Table,
        key: &[u8],
        mode: ReadMode,
        mut f: impl FnMut(Option<RowRef<'_>>) -> R + Send,
    ) -> Result<R, SqlError> {
        let got = match self.effective(mode) {
            ReadMode::Consistent => self.get_consistent(t, key, &mut f).await?,
            ReadMode::Lock { exclusive, wait } => {
                self.get_locking(t, key, Some(mode_of(exclusive)), wait, &mut f)
                    .await?
            }
            ReadMode::Gathered => {
                self.get_locking(t, key, Some(Mode::Exclusive), LockWait::Wait, &mut f)
                    .await?
            }
            ReadMode::Beside => {
                let lock = self.row_lock(ReadMode::Beside).and_then(|(mode, _)| mode);
                self.get_locking(t, key, lock, LockWait::Wait, &mut f)
                    .await?
            }
            // By their whole key, parents and children are locked by functions of their own.
            ReadMode::Current | ReadMode::Parent | ReadMode::Children { .. } => {
                self.get_locking(t, key, None, LockWait::Wait, &mut f)
                    .await?
            }
        };
        self.engine.counters.rows_read.inc();
        match got {
            Got::Done(r) => Ok(r),
            Got::Outside(row) => {
                let outside = self.read_outside(t, &row).await?;
                Ok(f(Some(t.layout.row(&row).with_outside(&outside))))
            }
        }
    }

    /// As [`Session::get`] with [`ReadMode::Consistent`], where it has to wait for nothing. `None` where it would have to, where
    /// the row has columns outside of its page, and where something is wrong: `f` was not called then, and a snapshot may
    /// have been taken.
    #[inline]
    pub fn get_now<R>(
        &mut self,
        t: &Table,
        key: &[u8],
        mut f: impl FnMut(Option<RowRef<'_>>) -> R,
    ) -> Option<R> {
        // To wait for the log, or to end what could not be ended, takes waiting.
        let must_wait = self.txid != TxnId::NONE && (self.snapshot.is_none() || !self.explicit);
        if must_wait || self.effective(ReadMode::Consistent) != ReadMode::Consistent {
            return None;
        }
        let snapshots = self.reader_snapshots();
        let mut walk = VersionWalk::default();
        match self.try_get(t, key, snapshots, &mut walk, &mut f) {
            Ok(Ok(Got::Done(r))) => {
                self.engine.counters.rows_read.inc();
                Some(r)
            }
            _ => None,
        }
    }

    async fn get_consistent<R>(
        &mut self,
        t: &Table,
        key: &[u8],
        f: &mut (impl FnMut(Option<RowRef<'_>>) -> R + Send),
    ) -> Result<Got<R>, SqlError> {
        self.wait_for_seen_commits().await?;
        let snapshots = self.reader_snapshots();
        let mut pins = Pins::new();
        let mut walk = VersionWalk::default();
        loop {
            let r = self.try_get(t, key, snapshots, &mut walk, f);
            match r {
                Ok(Ok(g)) => return Ok(g),
                Err(OpError::Wait(w)) | Ok(Err(OpError::Wait(w))) => {
                    self.resolve(w, &mut pins, &t.full_name).await?
                }
                Err(e) | Ok(Err(e)) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }

    #[inline]
    fn try_get<R>(
        &self,
        t: &Table,
        key: &[u8],
        (snapshot, committed): (Option<Snapshot>, Option<Snapshot>),
        walk: &mut VersionWalk,
        f: &mut impl FnMut(Option<RowRef<'_>>) -> R,
    ) -> Result<Result<Got<R>, OpError>, OpError> {
        let reader = Reader {
            session: self,
            snapshot,
            committed,
            me: self.txid,
        };
        t.indexes[0].tree.get(key, |value| {
            let Some(value) = value else {
                return Ok(Got::Done(f(None)));
            };
            let (v, row) = match reader.see(walk, value)? {
                Seen::Nothing => return Ok(Got::Done(f(None))),
                Seen::Current(v) => (v, &value[HEADER..]),
                Seen::Older(v, row) => (v, row),
            };
            if !t.layout.fits(row, v.external()) {
                return Err(OpError::Corrupt {
                    space: t.space.id(),
                    page: base::PageNo(0),
                    why: "a row does not fit its table",
                });
            }
            if v.external() {
                return Ok(Got::Outside(row.to_vec()));
            }
            Ok(Got::Done(f(Some(t.layout.row(row)))))
        })
    }

    /// As [`Session::get`] with [`ReadMode::Lock`], where it has to wait for nothing. `None` where it would have to, where the row has
    /// columns outside of its page, and where something is wrong: `f` was not called then, and the row may have been locked.
    ///
    /// A read that is its own transaction gives its lock up as soon as it has it. So it takes none: it looks whether it could.
    #[inline]
    pub fn get_locking_now<R>(
        &mut self,
        t: &Table,
        key: &[u8],
        exclusive: bool,
        mut f: impl FnMut(Option<RowRef<'_>>) -> R,
    ) -> Option<R> {
        let got = match self.explicit {
            true => {
                let check = self.conflict_check(t.def.indexes[0].id, LockWait::NoWait);
                let mode = Some(mode_of(exclusive));
                self.lock_once(&check, t, key, mode, &mut f).ok()?.ok()?
            }
            false => self.look_once(t, key, &mut f)?,
        };
        match got {
            Got::Done(r) => {
                self.engine.counters.rows_read.inc();
                Some(r)
            }
            Got::Outside(_) => None,
        }
    }

    /// The newest version of a row that nobody has locked, writes, or waits for. `None` for any other, and where the next snapshot may not
    /// see it: the next plain read must not find an older one.
    fn look_once<R>(
        &self,
        t: &Table,
        key: &[u8],
        f: &mut impl FnMut(Option<RowRef<'_>>) -> R,
    ) -> Option<Got<R>> {
        if self.txid != TxnId::NONE {
            return None;
        }
        let engine = &self.engine;
        let looked = t.indexes[0].tree.get(key, |value| {
            if !engine.locks.is_free(t.def.indexes[0].id, key) {
                return None;
            }
            let Some(value) = value else {
                return Some(Got::Done(f(None)));
            };
            let v = RowVersion::read(value)?;
            let row = &value[HEADER..];
            let there = engine.txns.is_seen_by_all(v.writer(), engine.complete());
            if !there || v.external() || !t.layout.fits(row, false) {
                return None;
            }
            let row = (!v.deleted()).then(|| t.layout.row(row));
            Some(Got::Done(f(row)))
        });
        looked.ok()?
    }

    /// `mode`: `None` to wait for writers without locking.
    async fn get_locking<R>(
        &mut self,
        t: &Table,
        key: &[u8],
        mode: Option<Mode>,
        wait: LockWait,
        f: &mut (impl FnMut(Option<RowRef<'_>>) -> R + Send),
    ) -> Result<Got<R>, SqlError> {
        let mut pins = Pins::new();
        let check = self.conflict_check(t.def.indexes[0].id, wait);
        loop {
            match self.lock_once(&check, t, key, mode, f) {
                Ok(Ok(g)) => return Ok(g),
                Ok(Err(Conflict::Locked)) if wait == LockWait::SkipLocked => {
                    return Ok(Got::Done(f(None)));
                }
                Ok(Err(b)) => self.resolve_conflict(b, &mut pins, &t.full_name).await?,
                Err(OpError::Wait(w)) => self.resolve(w, &mut pins, &t.full_name).await?,
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }

    fn lock_once<R>(
        &self,
        check: &ConflictCheck,
        t: &Table,
        key: &[u8],
        mode: Option<Mode>,
        f: &mut impl FnMut(Option<RowRef<'_>>) -> R,
    ) -> Result<Result<Got<R>, Conflict>, OpError> {
        t.indexes[0].tree.get(key, |value| {
            let how = mode.map_or(RowLock::None, RowLock::Alone);
            match current(check, t, key, value, how)? {
                None => {
                    if mode.is_some() {
                        check.guard_absent(key)?;
                    }
                    Ok(Got::Done(f(None)))
                }
                Some((v, row)) if v.external() => {
                    self.hold_versions();
                    Ok(Got::Outside(row.to_vec()))
                }
                Some((_, row)) => Ok(Got::Done(f(Some(t.layout.row(row))))),
            }
        })
    }

    /// Reads the overflow columns of a row.
    pub(crate) async fn read_outside(
        &self,
        t: &Table,
        row: &[u8],
    ) -> Result<Vec<(usize, Vec<u8>)>, SqlError> {
        let mut out = Vec::new();
        let mut pins = Pins::new();
        for x in t.layout.externals(row) {
            let mut bytes = Vec::with_capacity(x.len.min(1 << 26) as usize);
            let mut cursor = OverflowCursor::new(x.first, x.len);
            loop {
                match t.indexes[0].tree.read_overflow(&mut cursor, &mut bytes) {
                    Ok(()) => break,
                    Err(OpError::Wait(w)) => {
                        pins.clear();
                        self.resolve(w, &mut pins, &t.full_name).await?;
                    }
                    Err(e) => return Err(error::storage(e, &t.full_name)),
                }
            }
            if bytes.len() as u64 != x.len {
                return Err(error::bad_row(&t.full_name));
            }
            out.push((x.column, bytes));
        }
        Ok(out)
    }
}

/// The newest committed version of a row for a reader that wants to change or lock it; `None` if there is no such row.
pub(crate) fn current<'v>(
    check: &ConflictCheck,
    t: &Table,
    key: &[u8],
    value: Option<&'v [u8]>,
    how: RowLock<'_>,
) -> Result<Option<(RowVersion, &'v [u8])>, Conflict> {
    let Some(value) = value else { return Ok(None) };
    let v = RowVersion::read(value).ok_or(Conflict::Damaged)?;
    let writer = check.other_writer(v.writer());
    if writer.is_none() {
        check.check_snapshot(v)?;
        if v.deleted() {
            return Ok(None);
        }
    }
    check.lock_row(key, writer, how)?;
    let row = &value[HEADER..];
    if !t.layout.fits(row, v.external()) {
        return Err(Conflict::Damaged);
    }
    Ok(Some((v, row)))
}
