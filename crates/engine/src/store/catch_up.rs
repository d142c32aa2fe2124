//! Bringing a copy of a table up to date while others go on changing the table.
//!
//! Writers note the keys of the rows that they change. Round after round, those rows are taken out of the copy and put there again as a
//! snapshot of the round sees them, so that after each round the copy is what that snapshot sees: equal values in a unique index are equal
//! in the table. A row whose newest version the snapshot does not see comes again in the next round. The last round runs while the table is
//! closed, when everything is settled.
//!
//! Must never do: look at the order of changes. A key noted once too often does no harm, one not noted does.

use super::build::twice;
use super::crew::{Pace, Worker};
use super::rebuild::Rewrite;
use crate::error;
use crate::progress::Stage;
use crate::record::{RowRef, RowVersion};
use crate::schema::{Table, Watch};
use crate::session::{Inserted, Isolation, ReadMode, Session};
use crate::txn::Snapshot;
use std::sync::Arc;
use types::SqlError;

/// Keys that are few enough to be left for the last round, some tens of microseconds each.
const FEW: usize = 200;

/// Rounds, should writers change rows as fast as they are brought.
const ROUNDS: u32 = 20;

/// Rows changed in one transaction. Nobody sees them before the end, so that it need not be one for all.
const CHUNK: usize = 1000;

type Key = Box<[u8]>;

impl Session {
    /// Brings changed rows until few are left or there are not fewer; gives the keys that have to come again.
    pub(super) async fn catch_up_with(
        &mut self,
        from: &Arc<Table>,
        to: &Arc<Table>,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Vec<Key>, SqlError> {
        let mut left = Vec::new();
        let mut before = usize::MAX;
        for round in 0..ROUNDS {
            let brought;
            (brought, left) = self.bring(from, to, rewrite, left).await?;
            if brought <= FEW || (round >= 3 && brought >= before) {
                break;
            }
            before = brought;
        }
        Ok(left)
    }

    /// The same on a thread of its own, so that others of this one are not kept waiting, for rows that stay as they are.
    pub(super) async fn catch_up_aside(
        &mut self,
        from: &Arc<Table>,
        to: &Arc<Table>,
    ) -> Result<Vec<Key>, SqlError> {
        let job = |mut w: Worker, (from, to): (Arc<Table>, Arc<Table>)| async move {
            w.session.interrupt = w.interrupt.clone();
            let same = &mut Rewrite::Same;
            w.session.catch_up_with(&from, &to, same).await
        };
        let all = vec![(from.clone(), to.clone())];
        let left = self.together("catch-up", Pace::Steady, all, job).await?;
        Ok(left.into_iter().flatten().collect())
    }

    /// Brings the last rows of a table that nobody uses any more.
    pub(super) async fn bring_last(
        &mut self,
        from: &Arc<Table>,
        to: &Arc<Table>,
        rewrite: &mut Rewrite<'_>,
        left: Vec<Key>,
    ) -> Result<(), SqlError> {
        if base::mutant!("last-changes-not-brought") {
            return Ok(());
        }
        let (_, left) = self.bring(from, to, rewrite, left).await?;
        match left.is_empty() {
            true => Ok(()),
            false => Err(SqlError::internal("a closed table has changes under way")),
        }
    }

    /// One round, for the keys noted and those `left` by the round before: how many they were, and those to come again.
    async fn bring(
        &mut self,
        from: &Arc<Table>,
        to: &Arc<Table>,
        rewrite: &mut Rewrite<'_>,
        left: Vec<Key>,
    ) -> Result<(usize, Vec<Key>), SqlError> {
        let mut reader = self.reader_of_all().await?;
        let snapshot = reader.snapshot();
        // After the snapshot: whoever committed below it has noted what he changed.
        let mut keys = from.watch.as_ref().map_or_else(Vec::new, Watch::take);
        keys.extend(left);
        keys.sort_unstable();
        keys.dedup();
        let mut copier = Session::new(self.engine.clone());
        let brought = self.replace(&mut copier, &mut reader, from, to, rewrite, &keys);
        match brought.await {
            Ok(()) => copier.commit().await?,
            Err(e) => {
                copier.rollback().await?;
                return Err(e);
            }
        }
        let mut again = Vec::new();
        for key in &keys {
            if self.is_unsettled(from, key, snapshot).await?
                && !base::mutant!("change-under-way-forgotten")
            {
                again.push(key.clone());
            }
        }
        reader.commit().await?;
        Ok((keys.len(), again))
    }

    /// Takes the rows with these keys out of the copy, all of them, and then puts them there as `reader` sees them.
    async fn replace(
        &mut self,
        copier: &mut Session,
        reader: &mut Session,
        from: &Arc<Table>,
        to: &Arc<Table>,
        rewrite: &mut Rewrite<'_>,
        keys: &[Key],
    ) -> Result<(), SqlError> {
        copier.begin(Isolation::ReadCommitted, false);
        let all = 2 * keys.len() as u64;
        self.interrupt.progress.begin(Stage::CatchingUp, all);
        for (n, key) in keys.iter().enumerate() {
            self.pause_between(copier, n).await?;
            copier.delete_key(to, key, &mut |_| Ok(true)).await?;
        }
        for (n, key) in keys.iter().enumerate() {
            self.pause_between(copier, n).await?;
            let reshaped = |row: Option<RowRef<'_>>| row.map(|row| rewrite.row(row)).transpose();
            let values = reader
                .get(from, key, ReadMode::Consistent, reshaped)
                .await?;
            let Some(values) = values? else {
                continue;
            };
            match copier.insert(to, &values).await? {
                Inserted::Done => {}
                Inserted::Duplicate { index, .. } => return Err(twice(to, index, &values)),
            }
        }
        Ok(())
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
    async fn is_unsettled(
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
