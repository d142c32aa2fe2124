//! The tables that a transaction holds: they are neither dropped nor replaced until it ends.

use super::Session;
use crate::error;
use crate::schema::{Table, TableUse};
use crate::table_lock::{Owner, TableLockKind};
use base::TxnId;
use pager::OpError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

impl Session {
    /// Opens a table for the rest of the transaction, to read it and to write to it.
    ///
    /// # Errors
    /// 1049, 1146: there is no such table; 1712: its file is missing; 1814: it was discarded; as [`Session::reopen`].
    pub async fn open_table(&mut self, schema: &str, name: &str) -> Result<Arc<Table>, SqlError> {
        self.open(schema, name, true).await
    }

    /// As [`open_table`](Self::open_table), to read it only: LOCK TABLES .. READ lets that pass.
    ///
    /// # Errors
    /// As [`open_table`](Self::open_table).
    pub async fn open_to_read(&mut self, schema: &str, name: &str) -> Result<Arc<Table>, SqlError> {
        self.open(schema, name, false).await
    }

    async fn open(
        &mut self,
        schema: &str,
        name: &str,
        writes: bool,
    ) -> Result<Arc<Table>, SqlError> {
        loop {
            let catalog = self.catalog().clone();
            let Some(t) = catalog.table(schema, name) else {
                return Err(catalog.why_no_table(schema, name));
            };
            if t.def.options.discarded {
                return Err(SqlError::tablespace_discarded(name));
            }
            if self.reopen(&t, writes).await? {
                return Ok(t);
            }
        }
    }

    /// Holds all tables for the rest of the transaction: for one found by recovery, which may have changed any of them.
    pub(crate) fn use_all_tables(&mut self) {
        let catalog = self.engine.catalog();
        let all = catalog.tables().map(|t| TableUse::announce(t, true));
        self.uses.extend(all);
    }

    /// Whether the transaction has the table, for this.
    #[inline]
    fn has(&self, t: &Arc<Table>, writes: bool) -> bool {
        // The definition itself, and not its name: another one of this name is another table.
        let mut uses = self.uses.iter();
        uses.any(|u| Arc::ptr_eq(&u.table, t) && (u.writes() || !writes))
    }

    /// As [`Session::reopen`], where it has to wait for nothing; false where it would have to, and where the table cannot be used.
    #[inline]
    pub fn reopen_now(&mut self, t: &Arc<Table>, writes: bool) -> bool {
        if self.has(t, writes) {
            return true;
        }
        let u = TableUse::announce(t, writes);
        if !t.lock.admits(writes)
            || t.retired.load(Ordering::SeqCst)
            || self.snapshot.is_some_and(|s| t.is_younger_than(s.lsn))
            || t.live.auto_increment.load(Ordering::Relaxed) == 0
        {
            return false;
        }
        self.interrupt.tables.add(&u.table.lock, u.writes());
        self.uses.push(u);
        true
    }

    /// Holds `t` for the rest of the transaction, to read it, or also to write to it; false if it was replaced or dropped.
    ///
    /// # Errors
    /// 1412: the table is younger than the snapshot; 1205, 1317, 3024 while its definition changes or somebody has locked it; what the storage
    /// fails with.
    #[inline]
    pub async fn reopen(&mut self, t: &Arc<Table>, writes: bool) -> Result<bool, SqlError> {
        if self.has(t, writes) {
            return Ok(true);
        }
        let u = TableUse::announce(t, writes);
        match t.lock.admits(writes) {
            true => self.use_announced(u).await,
            // In a box, as it is rare.
            false => Box::pin(self.reopen_locked(t, writes, u)).await,
        }
    }

    /// The same of a table that somebody has locked, or asks for.
    #[cold]
    async fn reopen_locked(
        &mut self,
        t: &Arc<Table>,
        writes: bool,
        mut u: TableUse,
    ) -> Result<bool, SqlError> {
        let until = self.now_us().saturating_add(self.table_timeout_us);
        let uses_it = self.has(t, false);
        let interrupt = self.interrupt.clone();
        let _shown = interrupt
            .tables
            .wait(&t.lock, TableLockKind::of_use(writes));
        loop {
            if t.lock.admits(writes) || t.lock.admits_owner(self.owner, writes, uses_it) {
                return self.use_announced(u).await;
            }
            drop(u);
            let mut in_each_others_way = false;
            let admitted = || {
                let admitted =
                    t.lock.admits(writes) || t.lock.admits_owner(self.owner, writes, uses_it);
                // Readers are kept off for a moment at a time, but where somebody has a claim.
                in_each_others_way = !admitted
                    && (writes && self.is_awaited_by(t.lock.rising()) || self.is_claimed_for(t));
                admitted || in_each_others_way
            };
            if !self.wait_until(&t.lock.changed, until, admitted).await? {
                return Err(self.engine.timed_out());
            }
            if in_each_others_way {
                return self.let_it_change(t, until).await;
            }
            u = TableUse::announce(t, writes);
        }
    }

    /// Whether the transaction uses a table that somebody has locked for reading and is about to change.
    fn is_awaited_by(&self, who: Option<Owner>) -> bool {
        let awaits = |u: &TableUse| u.table.lock.rising() == who;
        who.is_some_and(|o| o != self.owner)
            && self.uses.iter().any(awaits)
            && !base::mutant!("right-of-way-not-given")
    }

    /// Whether somebody who comes before it to the table waits for what the transaction uses.
    fn is_claimed_for(&self, t: &Table) -> bool {
        let used = |n: u64| {
            let mut tables = self.uses.iter().map(|u| u.table.lock.number());
            let mut views = self.views.iter().map(|u| u.view.lock().number());
            tables.any(|u| u == n) || views.any(|u| u == n)
        };
        t.lock.is_claimed_for(self.owner, used) && !base::mutant!("wait-for-a-claim-not-seen")
    }

    /// The session waits for one who waits for it, who is to change a definition: he has the right of way, as in MySQL. A statement that has not begun lets go
    /// of its tables and begins anew, any other loses its transaction.
    async fn let_it_change(&mut self, t: &Arc<Table>, until_us: u64) -> Result<bool, SqlError> {
        if self.explicit || self.txid != TxnId::NONE || self.snapshot.is_some() {
            self.engine.counters.deadlocks.inc();
            self.rollback().await?;
            return Err(SqlError::lock_deadlock());
        }
        self.uses.clear();
        self.views.clear();
        self.interrupt.tables.clear();
        let gone = || t.lock.rising().is_none() && t.lock.is_unclaimed();
        match self.wait_until(&t.lock.changed, until_us, gone).await? {
            true => Ok(false),
            false => Err(self.engine.timed_out()),
        }
    }

    /// Notes a use of a table that nobody has locked.
    async fn use_announced(&mut self, u: TableUse) -> Result<bool, SqlError> {
        let t = &u.table;
        if t.retired.load(Ordering::SeqCst) {
            return Ok(false);
        }
        if let Some(s) = self.snapshot
            && t.is_younger_than(s.lsn)
        {
            // The table holds nothing of what the snapshot sees.
            return Err(error::storage(OpError::Dropped(t.space_id()), &t.full_name));
        }
        // Before the session counts it among its tables: the next statement would find it there and not come here.
        if t.live.auto_increment.load(Ordering::Relaxed) == 0 {
            let t = t.clone();
            self.init_counters(&t).await?;
        }
        self.interrupt.tables.add(&u.table.lock, u.writes());
        self.uses.push(u);
        Ok(true)
    }
}
