//! Change replay: bringing a copy of a table up to date while others go on changing the table.
//!
//! Writers note the keys of the rows that they change. Round after round, those rows are taken out of the copy and put there again as a
//! snapshot of the round sees them, so that after each round the copy is what that snapshot sees: equal values in a unique index are equal
//! in the table. A row whose newest version the snapshot does not see comes again in the next round. The last round runs while the table is
//! closed, when everything is settled.
//!
//! A row of the copy is found by the old one's key, which is its own, or, where rows get other keys, by what is made of the old one as of the
//! snapshot before: that is what the copy has. So that snapshot stays open until the next round.
//!
//! Must never do: look at the order of changes. A key noted once too often does no harm, one not noted does.

use super::build::duplicate_error;
use super::parallel::{Priority, Worker};
use super::rewrite::{Keys, Rewrite};
use crate::error;
use crate::progress::Stage;
use crate::record::{RowRef, RowVersion};
use crate::schema::{ChangeCapture, Table};
use crate::session::{Inserted, Isolation, ReadMode, Session};
use crate::txn::Snapshot;
use std::sync::Arc;
use types::{SqlError, Value};

/// Keys that are few enough to be left for the last round, some tens of microseconds each.
const FEW: usize = 200;

/// Rounds, should writers change rows as fast as they are brought.
const ROUNDS: u32 = 20;

/// Rows changed in one transaction. Nobody sees them before the end, so that it need not be one for all.
const CHUNK: usize = 1000;

type Key = Box<[u8]>;

/// A copy of a table that follows its changes.
pub(super) struct TableCopy {
    from: Arc<Table>,
    to: Arc<Table>,
    keys: Keys,
    /// Where rows get other keys: what reads the table as the copy has it. A row is found in the copy by what is made of it there.
    before: Option<Session>,
    /// Keys that have to come again.
    left: Vec<Key>,
}

impl TableCopy {
    /// `to` has the rows of `from` as `reader` sees them, who is needed where they get other keys.
    pub(super) fn new(
        from: Arc<Table>,
        to: Arc<Table>,
        keys: Keys,
        reader: Option<Session>,
    ) -> TableCopy {
        TableCopy {
            from,
            to,
            keys,
            before: reader,
            left: Vec::new(),
        }
    }
}

impl Session {
    /// Brings changed rows until few are left or there are not fewer.
    pub(super) async fn replay_changes(
        &mut self,
        copy: &mut TableCopy,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<(), SqlError> {
        let mut before = usize::MAX;
        for round in 0..ROUNDS {
            let brought = self.replay_round(copy, rewrite).await?;
            if brought <= FEW || (round >= 3 && brought >= before) {
                break;
            }
            before = brought;
        }
        Ok(())
    }

    /// The same on a thread of its own, so that others of this one are not kept waiting, for rows that stay as they are.
    pub(super) async fn replay_changes_on_a_thread(
        &mut self,
        copy: TableCopy,
    ) -> Result<TableCopy, SqlError> {
        let job = |mut w: Worker, mut copy: TableCopy| async move {
            w.session.interrupt = w.interrupt.clone();
            let same = &mut Rewrite::Same;
            w.session.replay_changes(&mut copy, same).await?;
            Ok(copy)
        };
        let brought = self
            .run_parallel("change-replay", Priority::Foreground, vec![copy], job)
            .await?;
        let none = || SqlError::internal("a thread that gave nothing back");
        brought.into_iter().next().ok_or_else(none)
    }

    /// Brings the last rows of a table that nobody uses any more.
    pub(super) async fn replay_last_changes(
        &mut self,
        mut copy: TableCopy,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<(), SqlError> {
        if base::mutant!("last-changes-not-brought") {
            return Ok(());
        }
        self.replay_round(&mut copy, rewrite).await?;
        match copy.left.is_empty() {
            true => Ok(()),
            false => Err(SqlError::internal("a closed table has changes under way")),
        }
    }

    /// One round, for the keys noted and those left by the round before: how many they were.
    async fn replay_round(
        &mut self,
        copy: &mut TableCopy,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<usize, SqlError> {
        let mut reader = self.reader_of_all().await?;
        let snapshot = reader.snapshot();
        // After the snapshot: whoever committed below it has noted what he changed.
        let mut keys = copy
            .from
            .capture
            .as_ref()
            .map_or_else(Vec::new, ChangeCapture::drain);
        keys.append(&mut copy.left);
        keys.sort_unstable();
        keys.dedup();
        let mut copier = Session::new(self.engine.clone());
        let brought = self.replace(&mut copier, &mut reader, copy, rewrite, &keys);
        match brought.await {
            Ok(()) => copier.commit().await?,
            Err(e) => {
                copier.rollback().await?;
                return Err(e);
            }
        }
        for key in &keys {
            if self.is_pending_change(&copy.from, key, snapshot).await?
                && !base::mutant!("change-under-way-forgotten")
            {
                copy.left.push(key.clone());
            }
        }
        // Who read for the round before has done so; where keys are made, this one does for the next.
        let ended = match copy.keys {
            Keys::Made if !base::mutant!("rows-found-by-what-they-were-at-first") => {
                copy.before.replace(reader)
            }
            _ => Some(reader),
        };
        if let Some(mut reader) = ended {
            reader.commit().await?;
        }
        Ok(keys.len())
    }

    /// Takes the rows with these keys out of the copy, all of them, and then puts them there as `reader` sees them.
    async fn replace(
        &mut self,
        copier: &mut Session,
        reader: &mut Session,
        copy: &mut TableCopy,
        rewrite: &mut Rewrite<'_>,
        keys: &[Key],
    ) -> Result<(), SqlError> {
        copier.begin(Isolation::ReadCommitted, false);
        let TableCopy {
            from, to, before, ..
        } = copy;
        let all = 2 * keys.len() as u64;
        self.interrupt.progress.begin(Stage::ReplayingChanges, all);
        for (n, key) in keys.iter().enumerate() {
            self.pause_between(copier, n).await?;
            let Some(before) = before.as_mut() else {
                copier.delete_key(to, key, &mut |_| Ok(true)).await?;
                continue;
            };
            let Some(was) = before.reshaped(from, key, rewrite).await? else {
                continue;
            };
            let key = copier.new_key(to, &was);
            if !copier.delete_key(to, &key, &mut |_| Ok(true)).await? {
                return Err(SqlError::internal("a row is missing in the copy"));
            }
        }
        let numbered = to.has_hidden_key();
        for (n, key) in keys.iter().enumerate() {
            self.pause_between(copier, n).await?;
            let Some(values) = reader.reshaped(from, key, rewrite).await? else {
                continue;
            };
            let inserted = match numbered {
                true => copier.insert_at(to, key, &values).await?,
                false => copier.insert(to, &values).await?,
            };
            match inserted {
                Inserted::Done => {}
                Inserted::Duplicate { index, .. } => {
                    return Err(duplicate_error(to, index, &values));
                }
            }
        }
        Ok(())
    }

    /// What becomes of the row with this key that this session sees.
    async fn reshaped(
        &mut self,
        from: &Table,
        key: &[u8],
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let reshaped = |row: Option<RowRef<'_>>| row.map(|row| rewrite.row(row)).transpose();
        self.get(from, key, ReadMode::Consistent, reshaped).await?
    }

    async fn pause_between(&mut self, copier: &mut Session, n: usize) -> Result<(), SqlError> {
        self.interrupt.check()?;
        self.interrupt.progress.add(1);
        if n > 0 && n.is_multiple_of(CHUNK) {
            copier.commit().await?;
            copier.begin(Isolation::ReadCommitted, false);
        }
        Ok(())
    }

    /// Whether the newest version of a row is none that the snapshot sees.
    async fn is_pending_change(
        &self,
        t: &Table,
        key: &[u8],
        snapshot: Snapshot,
    ) -> Result<bool, SqlError> {
        let txns = &self.engine.txns;
        let look = || {
            let newest = |value: Option<&[u8]>| value.and_then(RowVersion::read);
            let v = t.indexes[0].tree.get(key, newest)?;
            Ok(v.is_some_and(|v| !txns.visible(&snapshot, v.writer(), base::TxnId::NONE)))
        };
        let r = self.engine.pager().run(look).await;
        r.map_err(|e| error::storage(e, &t.full_name))
    }
}
