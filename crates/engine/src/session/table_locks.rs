//! Waiting for tables that are to be locked, by LOCK TABLES and by definition changes; and the locks of the whole server.
//!
//! Whoever wants several tables gets all of them or none. For a moment he keeps new users off all of them. Where one is still in use after
//! that, all are open again, and he comes back when those who used it have gone.
//!
//! Must never do: wait for one table while others are kept off another one; hold a lock that its session does not give back when it ends.

use super::Session;
use crate::engine::Engine;
use crate::schema::{DdlGuard, ObjectDef, Table};
use crate::table_lock::{
    Asked, Asking, Claimed, Claims, FailedRollbacks, Hindrance, Leaving, TableHold, TableLock,
    TableLockKind, TableLockMode, TableWait, Writing,
};
use std::sync::Arc;
use types::SqlError;
use types::error::codes;

/// How long new users are kept off tables at a time.
const PATIENCE_US: u64 = 50_000;
/// How long they are let pass at least before they are kept off again; after each time twice as long, up to the second one.
const REST_US: u64 = 50_000;
const LONGEST_REST_US: u64 = 400_000;

/// How long somebody goes on trying, and how he gives way meanwhile.
pub(crate) struct Patience {
    until_us: u64,
    rest_us: u64,
    /// KILL ends it.
    killable: bool,
    /// The tables to which it comes next. They end with the statement, however that ends.
    claims: Option<Claims>,
    /// What it does about those of others.
    claimed: Claimed,
}

impl Patience {
    /// Of one who is in the midst of a change.
    pub(crate) fn pass_claims(&mut self) {
        self.claimed = Claimed::Passed;
    }

    /// It has what it wanted.
    pub(crate) fn has_waited(&mut self) {
        self.claims = None;
    }
}

/// A table that is wanted.
#[derive(Clone)]
pub(crate) struct Wanted {
    lock: Arc<TableLock>,
    mode: TableLockMode,
}

impl Wanted {
    pub(crate) fn new(table: &Table, mode: TableLockMode) -> Wanted {
        Wanted {
            lock: table.lock.clone(),
            mode,
        }
    }

    /// Its lock's number, and how it is wanted.
    pub(crate) fn named(&self) -> (u64, TableLockMode) {
        (self.lock.number(), self.mode)
    }

    /// A view.
    pub(crate) fn view(view: &ObjectDef, mode: TableLockMode) -> Wanted {
        Wanted {
            lock: view.lock().clone(),
            mode,
        }
    }

    /// What is locked already, in another mode.
    pub(crate) fn held(held: &TableHold, mode: TableLockMode) -> Wanted {
        Wanted {
            lock: held.lock().clone(),
            mode,
        }
    }
}

/// In the order in which all ask for them, each once, in the strongest mode.
pub(crate) fn in_order(mut wanted: Vec<Wanted>) -> Vec<Wanted> {
    wanted.sort_by_key(|w| (w.lock.number(), std::cmp::Reverse(w.mode)));
    wanted.dedup_by_key(|w| w.lock.number());
    wanted
}

fn conflicting_read_lock() -> SqlError {
    SqlError::fixed(codes::ER_CANT_UPDATE_WITH_READLOCK)
}

impl Session {
    /// As long as the session waits for tables.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            until_us: self.now_us().saturating_add(self.table_timeout_us),
            rest_us: REST_US,
            killable: true,
            claims: None,
            claimed: Claimed::First,
        }
    }

    /// Without an end.
    pub(crate) fn endless_patience(&self) -> Patience {
        Patience {
            until_us: u64::MAX,
            rest_us: REST_US,
            killable: false,
            claims: None,
            claimed: Claimed::First,
        }
    }

    /// Others see what the session waits for, until the result is dropped.
    fn shows_wait(&self, w: &Wanted) -> TableWait<'_> {
        let kind = TableLockKind::Locked(w.mode);
        self.interrupt.tables.wait(&w.lock, kind)
    }

    /// A definition change comes first to those of the tables that somebody else has locked for writing. It has the DDL mutex.
    pub(crate) fn claim(&self, wanted: &[Wanted], patience: &mut Patience) {
        let changed = wanted.iter().filter(|w| w.mode == TableLockMode::Change);
        let locks: Vec<_> = changed.map(|w| &w.lock).collect();
        Claims::renew(
            &mut patience.claims,
            self.owner,
            &self.engine.global,
            &locks,
        );
    }

    async fn wait_patiently(
        &self,
        lock: &TableLock,
        until_us: u64,
        patience: &Patience,
        ready: impl FnMut() -> bool,
    ) -> Result<bool, SqlError> {
        match patience.killable {
            true => self.wait_until(&lock.changed, until_us, ready).await,
            false => {
                self.wait_until_whatever_comes(&lock.changed, until_us, ready)
                    .await
            }
        }
    }

    /// Locks all the tables, which are [`in_order`], where that can be done at once or in a moment; else gives the number of one of which it cannot.
    pub(crate) async fn try_to_lock(
        &self,
        wanted: &[Wanted],
        failed: FailedRollbacks,
        patience: &Patience,
    ) -> Result<Result<Vec<TableHold>, usize>, SqlError> {
        let moment = match base::mutant!("held-back-not-let-pass") {
            true => u64::MAX,
            false => self.now_us().saturating_add(PATIENCE_US),
        };
        let until = moment.min(patience.until_us);
        let mut asking = Vec::with_capacity(wanted.len());
        for (i, w) in wanted.iter().enumerate() {
            let mut asked = Asked::Later;
            let _shown = self.shows_wait(w);
            let ask = || {
                asked = w.lock.ask(self.owner, w.mode, patience.claimed);
                asked != Asked::Later
            };
            self.wait_patiently(&w.lock, until, patience, ask).await?;
            if asked != Asked::Yes {
                return Ok(Err(i));
            }
            asking.push(Asking(&w.lock));
        }
        let mut held = Vec::with_capacity(wanted.len());
        for (i, (w, asking)) in wanted.iter().zip(asking).enumerate() {
            let _shown = self.shows_wait(w);
            let grant = || w.lock.grant(failed);
            if !self.wait_patiently(&w.lock, until, patience, grant).await? {
                return Ok(Err(i));
            }
            asking.granted();
            held.push(TableHold::new(&w.lock, self.owner, w.mode));
        }
        Ok(Ok(held))
    }

    /// Waits until it is worth while to try again, after one that stood in the way.
    ///
    /// # Errors
    /// 1205 after the session's timeout for tables, 1317 when killed, 3024 when its time is over.
    pub(crate) async fn let_others_pass(
        &self,
        wanted: &Wanted,
        patience: &mut Patience,
    ) -> Result<(), SqlError> {
        let lock = &wanted.lock;
        let _shown = self.shows_wait(wanted);
        let claimed = patience.claimed;
        let held = || lock.is_held_against(self.owner, wanted.mode, claimed);
        if held() {
            let until = patience.until_us;
            let freed = self.wait_patiently(lock, until, patience, || !held());
            return match freed.await? {
                true => Ok(()),
                false => Err(self.engine.timed_out()),
            };
        }
        let rest = self.now_us().saturating_add(patience.rest_us);
        patience.rest_us = (patience.rest_us * 2).min(LONGEST_REST_US);
        let gone = {
            let leaving = Leaving::begin(lock);
            let over = || leaving.is_over();
            self.wait_patiently(lock, patience.until_us, patience, over)
                .await?
        };
        if !gone {
            return Err(self.engine.timed_out());
        }
        // Who was held back has passed by then.
        let until = rest.min(patience.until_us);
        self.wait_patiently(lock, until, patience, || false).await?;
        match self.now_us() >= patience.until_us {
            true => Err(self.engine.timed_out()),
            false => Ok(()),
        }
    }

    /// LOCK TABLES: the tables that foreign keys lead to are among them. What the session held before was given back.
    ///
    /// # Errors
    /// 1205 after the session's timeout for tables, 1317 when killed; 1223: a lock for writing while the session has the read lock of the server.
    pub async fn lock_tables(
        &mut self,
        tables: &[(Arc<Table>, TableLockMode)],
    ) -> Result<(), SqlError> {
        let wanted = tables.iter().map(|(t, mode)| Wanted::new(t, *mode));
        let wanted = in_order(wanted.collect());
        let writes = wanted.iter().any(|w| w.mode == TableLockMode::Write);
        let mut patience = self.patience();
        let engine = self.engine.clone();
        let numbers = || wanted.iter().map(|w| w.lock.number()).collect();
        let mut awaiting = None;
        loop {
            if writes {
                self.begin_writing().await?;
            }
            // Not before it is known that the statement may wait: who is in its way loses his transaction.
            if self.holds.reads && awaiting.is_none() {
                awaiting = Some(engine.global.awaits(self.owner, numbers()));
            }
            let tried = self
                .try_to_lock(&wanted, FailedRollbacks::Count, &patience)
                .await;
            let waited = match tried {
                Ok(Ok(held)) => {
                    self.holds.tables = held;
                    return Ok(());
                }
                Ok(Err(i)) => {
                    self.end_writing();
                    self.let_others_pass(&wanted[i], &mut patience).await
                }
                Err(e) => Err(e),
            };
            if let Err(e) = waited {
                self.end_writing();
                return Err(e);
            }
        }
    }

    /// UNLOCK TABLES: gives back what [`lock_tables`](Self::lock_tables) has locked. No transaction is open.
    pub fn unlock_tables(&mut self) {
        // Before the locks: nobody changes what is said to be at rest.
        self.while_locked = None;
        self.holds.tables.clear();
        self.end_writing();
    }

    /// A table that it has locked is no more.
    pub fn forget_lock(&mut self, table: &Table) {
        let gone = table.lock.number();
        self.holds.tables.retain(|h| h.lock().number() != gone);
        if self.holds.tables.is_empty() {
            self.end_writing();
        }
    }

    /// The session may write from now on, and is known to: FLUSH TABLES WITH READ LOCK waits for what it does until [`end_writing`](Self::end_writing).
    /// Only of sessions that [answer to locks of the server](Self::answer_to_server_locks).
    ///
    /// # Errors
    /// 1223: it has that lock itself; 1205 after the session's timeout for tables, 1317 when killed; 1213: who has that lock waits for a table that
    /// the transaction has written, which was rolled back.
    pub async fn begin_writing(&mut self) -> Result<(), SqlError> {
        if self.begin_writing_now() {
            return Ok(());
        }
        let global = self.engine.global.clone();
        if global.hinders_writes(self.owner) == Some(Hindrance::Own) {
            return Err(conflicting_read_lock());
        }
        let writing = self.writing.as_ref();
        let written = |n| {
            let mut uses = self.uses.iter();
            uses.any(|u| u.writes() && u.table.lock.number() == n)
        };
        let mut in_each_others_way = false;
        let begun = || {
            let begun = writing.is_none_or(Writing::begin);
            in_each_others_way = !begun && global.is_awaited(written);
            begun || in_each_others_way
        };
        self.wait_unless_killed(&global.changed, begun).await?;
        match in_each_others_way {
            true => self.lose_transaction().await,
            false => Ok(()),
        }
    }

    /// The session waits for one who waits for it: it loses its transaction.
    async fn lose_transaction(&mut self) -> Result<(), SqlError> {
        self.engine.counters.deadlocks.inc();
        self.rollback().await?;
        Err(SqlError::lock_deadlock())
    }

    /// As [`begin_writing`](Self::begin_writing), where it has to wait for nothing; false where it would have to.
    #[inline]
    pub fn begin_writing_now(&self) -> bool {
        self.writing.as_ref().is_none_or(Writing::begin)
    }

    /// What the session writes from now on, in several statements and transactions, is one to whoever locks the server for reading, until this is called with `false`.
    pub fn write_in_one(&mut self, on: bool) {
        self.holds.writes_on = on;
        if !on {
            self.end_writing();
        }
    }

    /// The statement has ended. A session that has locked tables for writing, or [writes in one](Self::write_in_one), goes on.
    #[inline]
    pub fn end_writing(&self) {
        if let Some(writing) = &self.writing
            && !self.holds.writes()
        {
            writing.end();
        }
    }

    /// It is a client's session: its statements and commits wait for FLUSH TABLES WITH READ LOCK.
    pub fn answer_to_server_locks(&mut self) {
        self.writing = Some(Writing::of(&self.engine.global));
    }

    /// FLUSH TABLES WITH READ LOCK: nobody else writes, commits or changes a definition from now on. Statements that write are waited for, but
    /// hold nobody up for longer than a moment.
    ///
    /// # Errors
    /// 1205 after the session's timeout for tables, 1317 when killed.
    pub async fn lock_server_for_reading(&mut self) -> Result<(), SqlError> {
        if self.holds.reads {
            return Ok(());
        }
        if let Some(writing) = &self.writing {
            // What it did before in the same command.
            writing.end();
        }
        let engine = self.engine.clone();
        let global = &engine.global;
        let mut patience = self.patience();
        loop {
            // A definition change that is under way is waited for while others go on.
            let Some(ddl) = self.lock_ddl_mutex(&engine).await? else {
                return self.lose_transaction().await;
            };
            let now = self.now_us();
            let until = now.saturating_add(PATIENCE_US).min(patience.until_us);
            let asked = self.wait_until(&global.changed, until, || global.ask());
            if asked.await? {
                let asking = AskingServer(&self.engine);
                let grant = || global.grant(self.owner);
                let granted = self.wait_until(&global.changed, until, grant).await?;
                if granted {
                    std::mem::forget(asking);
                    self.holds.reads = true;
                    return Ok(());
                }
            }
            drop(ddl);
            let rest = now.saturating_add(patience.rest_us);
            patience.rest_us = (patience.rest_us * 2).min(LONGEST_REST_US);
            let gone = {
                let era = StatementsEnding::begin(&self.engine);
                let over = || global.have_ended(era.since) && !global.has_claims();
                self.wait_until(&global.changed, patience.until_us, over)
                    .await?
            };
            let rest = rest.min(patience.until_us);
            self.wait_until(&global.changed, rest, || false).await?;
            if !gone || self.now_us() >= patience.until_us {
                return Err(self.engine.timed_out());
            }
        }
    }

    /// Gives back FLUSH TABLES WITH READ LOCK; false where the session does not have it.
    pub fn unlock_server_for_reading(&mut self) -> bool {
        if !std::mem::take(&mut self.holds.reads) {
            return false;
        }
        self.engine.global.release(self.owner);
        self.engine.ddl.freed.fire();
        true
    }

    /// The session has FLUSH TABLES WITH READ LOCK.
    pub fn has_server_locked_for_reading(&self) -> bool {
        self.holds.reads
    }

    /// LOCK INSTANCE FOR BACKUP: nobody else changes a definition.
    ///
    /// # Errors
    /// 1205 after the session's timeout for tables, 1317 when killed; 1213: a change under way waits for a table that the transaction uses, which was
    /// rolled back.
    pub async fn lock_for_backup(&mut self) -> Result<(), SqlError> {
        if self.holds.backup {
            return Ok(());
        }
        let engine = self.engine.clone();
        let global = &engine.global;
        loop {
            let Some(ddl) = self.lock_ddl_mutex(&engine).await? else {
                return self.lose_transaction().await;
            };
            if !global.has_claims() {
                global.lock_for_backup(self.owner);
                self.holds.backup = true;
                return Ok(());
            }
            drop(ddl);
            let passed = || !global.has_claims();
            self.wait_unless_killed(&global.changed, passed).await?;
        }
    }

    /// UNLOCK INSTANCE.
    pub fn unlock_for_backup(&mut self) {
        if std::mem::take(&mut self.holds.backup) {
            self.engine.global.unlock_for_backup(self.owner);
            if !base::mutant!("backup-ended-without-a-word") {
                self.engine.ddl.freed.fire();
            }
        }
    }

    /// Gives back every lock that outlives transactions.
    pub fn release_locks(&mut self) {
        self.holds.writes_on = false;
        self.unlock_tables();
        self.unlock_server_for_reading();
        self.unlock_for_backup();
    }

    /// Waits for the DDL mutex. `None`: whoever has it waits for a table that this session uses or has locked.
    async fn lock_ddl_mutex<'e>(
        &self,
        engine: &'e Engine,
    ) -> Result<Option<DdlGuard<'e>>, SqlError> {
        let mut guard = None;
        let used = |n, mode| {
            let read = mode == TableLockMode::Read;
            let mut tables = self.uses.iter().filter(|u| !read || u.writes());
            let mut views = self.views.iter().map(|u| u.view.lock().number());
            let locked = self.holds.tables.iter();
            let mut locked = locked.filter(|h| !read || h.mode() == TableLockMode::Write);
            tables.any(|u| u.table.lock.number() == n)
                || views.any(|u| u == n)
                || locked.any(|h| h.lock().number() == n)
        };
        self.wait_unless_killed(&engine.ddl.freed, || {
            guard = engine.ddl.try_lock();
            guard.is_some() || engine.ddl.is_awaited(used)
        })
        .await?;
        Ok(guard)
    }

    /// What keeps the session from changing definitions now: its own read lock of the server is an error.
    pub(crate) fn may_change_definitions(&self) -> Result<bool, SqlError> {
        match self.engine.global.hinders_changes(self.owner) {
            None => Ok(true),
            Some(Hindrance::Others) => Ok(false),
            Some(Hindrance::Own) => Err(conflicting_read_lock()),
        }
    }
}

/// FLUSH TABLES WITH READ LOCK is asked for, until this is dropped.
struct AskingServer<'e>(&'e Engine);

impl Drop for AskingServer<'_> {
    fn drop(&mut self) {
        self.0.global.withdraw();
    }
}

/// Statements that have begun are waited for, until this is dropped.
struct StatementsEnding<'e> {
    engine: &'e Engine,
    since: u64,
}

impl<'e> StatementsEnding<'e> {
    fn begin(engine: &'e Engine) -> StatementsEnding<'e> {
        let since = engine.global.watch();
        StatementsEnding { engine, since }
    }
}

impl Drop for StatementsEnding<'_> {
    fn drop(&mut self) {
        self.engine.global.unwatch();
    }
}
