//! Multi-version concurrency control: which version of a row a reader sees. That is the one in the page if its writer is visible, else one of
//! those before it, made from the before-images in the log (Larson et al.'s newest-to-oldest chains, with the log as the version store).

use crate::record::{HEADER, RowVersion, Undo, UndoOp};
use crate::txn::{Snapshot, TxnSystem};
use base::{Lsn, TxnId};
use pager::{Log, OpError, Record};

/// Buffers for walking a version chain, and how far a walk has come that has to wait for the log: a long chain may
/// need more of the log than is cached at once, so a walk that began anew after each wait might never end.
#[derive(Default)]
pub(crate) struct VersionWalk {
    record: Vec<u8>,
    row: Vec<u8>,
    next: Vec<u8>,
    /// The version at which a former walk began; its roll pointer names it among all rows.
    began: Option<RowVersion>,
    /// The (invisible) version that it came to, and its row.
    reached: RowVersion,
    reached_row: Vec<u8>,
}

/// A row that a reader sees.
pub(crate) enum Seen<'a> {
    /// None: inserted later, or deleted before.
    Nothing,
    /// The one in the page.
    Current(RowVersion),
    /// An older one.
    Older(RowVersion, &'a [u8]),
}

impl VersionWalk {
    /// The row for whoever copies a table: what `snapshot` sees of it, or, where there is none, its newest version. `None`: no row.
    pub(crate) fn row_as_of<'v>(
        &'v mut self,
        txns: &TxnSystem,
        log: &Log,
        snapshot: Option<&Snapshot>,
        value: &'v [u8],
    ) -> Result<Option<(RowVersion, &'v [u8])>, OpError> {
        let Some(s) = snapshot else {
            let v = RowVersion::read(value).ok_or(OpError::LogDamaged(Lsn::NONE))?;
            return Ok((!v.deleted()).then(|| (v, &value[HEADER..])));
        };
        let seen = self.see(txns, log, s, TxnId::NONE, value)?;
        Ok(match seen {
            Seen::Nothing => None,
            Seen::Current(v) => Some((v, &value[HEADER..])),
            Seen::Older(v, row) => Some((v, row)),
        })
    }

    /// What `snapshot` sees of the row with this clustered value. `Err(Wait)` when a before-image must be read first.
    pub(crate) fn see(
        &mut self,
        txns: &TxnSystem,
        log: &Log,
        snapshot: &Snapshot,
        me: TxnId,
        value: &[u8],
    ) -> Result<Seen<'_>, OpError> {
        self.walk(log, value, |writer| txns.visible(snapshot, writer, me))
    }

    /// What a transaction that writes the row with this clustered value has found; `None` where there was no row.
    pub(crate) fn before(
        &mut self,
        log: &Log,
        writer: TxnId,
        value: &[u8],
    ) -> Result<Option<(RowVersion, &[u8])>, OpError> {
        match self.walk(log, value, |w| w != writer)? {
            Seen::Older(v, row) => Ok(Some((v, row))),
            // It is not the writer of the version in the page.
            Seen::Current(_) | Seen::Nothing => Ok(None),
        }
    }

    /// The newest version by a writer that counts.
    fn walk(
        &mut self,
        log: &Log,
        value: &[u8],
        counts: impl Fn(TxnId) -> bool,
    ) -> Result<Seen<'_>, OpError> {
        let Some(mut v) = RowVersion::read(value) else {
            return Err(OpError::LogDamaged(Lsn::NONE));
        };
        if counts(v.writer()) {
            return Ok(if v.deleted() {
                Seen::Nothing
            } else {
                Seen::Current(v)
            });
        }
        self.row.clear();
        self.row.extend_from_slice(&value[HEADER..]);
        let top = v;
        loop {
            if self.began == Some(v) {
                v = self.reached;
                self.row.clear();
                self.row.extend_from_slice(&self.reached_row);
            }
            let roll = v.roll();
            if let Err(e) = log.read_record(roll, &mut self.record) {
                self.began = Some(top);
                self.reached = v;
                self.reached_row.clear();
                self.reached_row.extend_from_slice(&self.row);
                return Err(e);
            }
            let undo = Record::parse(&self.record).and_then(|r| Undo::decode(r.undo()));
            match undo.map(|u| u.op) {
                Some(UndoOp::Insert) => return Ok(Seen::Nothing),
                Some(UndoOp::Update {
                    old, delta, middle, ..
                }) => {
                    self.next.clear();
                    delta
                        .replace(&self.row, middle, &mut self.next)
                        .ok_or(OpError::LogDamaged(roll))?;
                    std::mem::swap(&mut self.row, &mut self.next);
                    v = old;
                }
                _ => return Err(OpError::LogDamaged(roll)),
            }
            if counts(v.writer()) {
                return Ok(if v.deleted() {
                    Seen::Nothing
                } else {
                    Seen::Older(v, &self.row)
                });
            }
        }
    }
}
