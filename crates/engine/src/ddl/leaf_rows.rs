//! The rows of a table, leaf after leaf in the order of their keys, for whoever makes something else of all of them.

use crate::error;
use crate::mvcc::VersionWalk;
use crate::record::RowVersion;
use crate::schema::Table;
use crate::session::{Pins, Session};
use crate::txn::Snapshot;
use btree::{Direction, ScanPos, ScanState, Visit};
use pager::OpError;
use types::SqlError;

/// Gets a row's key, version and bytes. Called under the page latch: must only look.
pub(super) type EachRow<'f> = dyn FnMut(&[u8], RowVersion, &[u8]) + Send + 'f;

/// A part of a table's rows: those whose clustered keys are not below `from` and below `to`.
#[derive(Clone, Default)]
pub(super) struct KeyRange {
    pub(super) from: Vec<u8>,
    pub(super) to: Option<Vec<u8>>,
}

impl KeyRange {
    /// The ranges between ascending cuts, and those before the first and behind the last.
    pub(super) fn between(cuts: Vec<Vec<u8>>) -> Vec<KeyRange> {
        let mut ranges = vec![KeyRange::default()];
        for cut in cuts {
            if let Some(last) = ranges.last_mut() {
                last.to = Some(cut.clone());
            }
            ranges.push(KeyRange {
                from: cut,
                to: None,
            });
        }
        ranges
    }

    /// Whether a key that is not below the range is above it.
    #[inline]
    pub(super) fn is_before(&self, key: &[u8]) -> bool {
        self.to.as_ref().is_some_and(|to| key >= &to[..])
    }
}

/// A walk through a table's rows.
pub(super) struct LeafRows {
    range: KeyRange,
    pos: ScanPos,
    pins: Pins,
    walk: VersionWalk,
    snapshot: Option<Snapshot>,
}

impl LeafRows {
    /// The rows of a range that `snapshot` sees, which has to stay open meanwhile, or, where nobody uses the table, those there are.
    pub(super) fn new(range: KeyRange, snapshot: Option<Snapshot>) -> LeafRows {
        LeafRows {
            pos: ScanPos::at(&range.from),
            range,
            pins: Pins::new(),
            walk: VersionWalk::default(),
            snapshot,
        }
    }

    /// Gives `f` each row of a leaf, or of its part up to where something has to be waited for: its key, its version and its bytes, under
    /// the page's latch. Says how many they were, and whether more may follow.
    ///
    /// # Errors
    /// What cannot be read; a row that does not fit the table.
    pub(super) async fn next(
        &mut self,
        session: &Session,
        t: &Table,
        f: &mut EachRow<'_>,
    ) -> Result<(u64, bool), SqlError> {
        let engine = &session.engine;
        let (walk, snapshot) = (&mut self.walk, self.snapshot.as_ref());
        let range = &self.range;
        let mut rows = 0;
        let mut take = |key: &[u8], value: &[u8]| -> Result<(), OpError> {
            let Some((v, row)) = walk.row_as_of(&engine.txns, &engine.log, snapshot, value)? else {
                return Ok(());
            };
            if !t.layout.fits(row, v.external()) {
                return Err(OpError::Corrupt {
                    space: t.space.id(),
                    page: base::PageNo(0),
                    why: "a row does not fit its table",
                });
            }
            rows += 1;
            f(key, v, row);
            Ok(())
        };
        let mut failed = None;
        let mut through = false;
        let tree = &t.indexes[0].tree;
        let state = tree.scan(&mut self.pos, Direction::Forward, |key, value| {
            if range.is_before(key) {
                through = true;
                return Visit::StopBefore;
            }
            match take(key, value) {
                Ok(()) => Visit::Next,
                Err(e) => {
                    failed = Some(e);
                    Visit::StopBefore
                }
            }
        });
        match failed.map_or(state, Err) {
            Ok(ScanState::End) => return Ok((rows, false)),
            Ok(_) if through => return Ok((rows, false)),
            Ok(_) => self.pins.clear(),
            Err(OpError::Wait(w)) => {
                session.resolve(w, &mut self.pins, &t.full_name).await?;
                if rows > 0 {
                    // What the caller does with them may wait for others, who may need the frames.
                    self.pins.clear();
                }
            }
            Err(e) => return Err(error::storage(e, &t.full_name)),
        }
        Ok((rows, true))
    }
}
