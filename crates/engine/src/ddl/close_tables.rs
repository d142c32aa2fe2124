//! The tables of a definition change closed, all together: nobody uses them, and nobody can begin to.
//!
//! Where a table is in use the change gives way ([`crate::table_lock`]). At its beginning it has done nothing yet: it lets go of the DDL
//! mutex as well while it waits, and then begins anew, for others may have changed what it goes by. A table that somebody has locked for writing it
//! claims: it comes to it before everybody else.
//!
//! Must never do: wait for a table's users while others are kept off for long, or, at the beginning, while other changes wait.

use crate::engine::Engine;
use crate::progress::Stage;
use crate::schema::{DdlGuard, ObjectDef, Table};
use crate::session::{Patience, Session, Wanted, in_order};
use crate::table_lock::{FailedRollbacks, Rising, TableHold, TableLockMode};
use std::sync::Arc;
use types::SqlError;

/// Keeps everybody off tables while their definitions change.
pub(super) type Closed = Vec<TableHold>;

fn all(tables: &[Arc<Table>], mode: TableLockMode) -> Vec<Wanted> {
    if mode == TableLockMode::Read && base::mutant!("rows-looked-at-beside-writers") {
        return Vec::new();
    }
    let wanted = tables.iter().map(|t| Wanted::new(t, mode));
    in_order(wanted.collect())
}

impl Session {
    /// Closes the tables of a change that has done nothing yet. `None` where one was in use, and it may not be any more: the change begins anew, without
    /// what it had looked up.
    pub(super) async fn close_first<'e>(
        &self,
        ddl: DdlGuard<'e>,
        tables: &[Arc<Table>],
        failed: FailedRollbacks,
        patience: &mut Patience,
    ) -> Result<Option<(DdlGuard<'e>, Closed)>, SqlError> {
        let wanted = all(tables, TableLockMode::Change);
        self.lock_first(ddl, wanted, failed, patience).await
    }

    /// The same with views.
    pub(super) async fn close_first_with<'e>(
        &self,
        ddl: DdlGuard<'e>,
        (tables, views): (&[Arc<Table>], &[Arc<ObjectDef>]),
        failed: FailedRollbacks,
        patience: &mut Patience,
    ) -> Result<Option<(DdlGuard<'e>, Closed)>, SqlError> {
        let mut wanted = all(tables, TableLockMode::Change);
        let views = views.iter().map(|v| Wanted::view(v, TableLockMode::Change));
        wanted.extend(views);
        let wanted = in_order(wanted);
        self.lock_first(ddl, wanted, failed, patience).await
    }

    /// The same where only writers are kept off: [`close_to_readers`](Self::close_to_readers) does the rest.
    pub(super) async fn quiet_first<'e>(
        &self,
        ddl: DdlGuard<'e>,
        tables: &[Arc<Table>],
        patience: &mut Patience,
    ) -> Result<Option<(DdlGuard<'e>, Closed)>, SqlError> {
        let wanted = all(tables, TableLockMode::Read);
        self.lock_first(ddl, wanted, FailedRollbacks::Count, patience)
            .await
    }

    async fn lock_first<'e>(
        &self,
        ddl: DdlGuard<'e>,
        wanted: Vec<Wanted>,
        failed: FailedRollbacks,
        patience: &mut Patience,
    ) -> Result<Option<(DdlGuard<'e>, Closed)>, SqlError> {
        self.claim(&wanted, patience);
        match self.try_to_lock(&wanted, failed, patience).await? {
            Ok(closed) => {
                patience.has_waited();
                Ok(Some((ddl, closed)))
            }
            Err(i) => {
                // What was locked meanwhile, before anybody sees it wait, and while no other change is under way.
                self.claim(&wanted, patience);
                drop(ddl);
                self.interrupt.progress.begin(Stage::Waiting, 0);
                let waited = self.let_others_pass(&wanted[i], patience).await;
                self.interrupt.progress.end();
                waited.map(|()| None)
            }
        }
    }

    /// Closes tables in the midst of a change.
    pub(super) async fn close_tables(&self, tables: &[Arc<Table>]) -> Result<Closed, SqlError> {
        let mut patience = self.patience();
        let wanted = all(tables, TableLockMode::Change);
        self.close(wanted, FailedRollbacks::Count, &mut patience)
            .await
    }

    /// Keeps writers off tables in the midst of a change; who reads goes on, and begins to.
    pub(super) async fn quiet_tables(&self, tables: &[Arc<Table>]) -> Result<Closed, SqlError> {
        let mut patience = self.patience();
        let wanted = all(tables, TableLockMode::Read);
        self.close(wanted, FailedRollbacks::Count, &mut patience)
            .await
    }

    /// Closes tables that writers are kept off, and stay so while their readers are waited for: whoever waits to write to one of them while he reads
    /// one is told of a deadlock.
    pub(super) async fn close_to_readers(&self, quiet: Closed) -> Result<Closed, SqlError> {
        let change = |h: &TableHold| Wanted::held(h, TableLockMode::Change);
        let wanted = in_order(quiet.iter().map(change).collect());
        let mut patience = self.patience();
        let _rising = Rising::begin(&quiet);
        self.close(wanted, FailedRollbacks::Count, &mut patience)
            .await
    }

    /// The same whoever kills the session, to take something back.
    pub(super) async fn close_whatever_comes(&self, t: &Arc<Table>) -> Result<Closed, SqlError> {
        let mut patience = self.endless_patience();
        let wanted = all(std::slice::from_ref(t), TableLockMode::Change);
        self.close(wanted, FailedRollbacks::DoNotCount, &mut patience)
            .await
    }

    async fn close(
        &self,
        wanted: Vec<Wanted>,
        failed: FailedRollbacks,
        patience: &mut Patience,
    ) -> Result<Closed, SqlError> {
        patience.pass_claims();
        let engine = self.engine.clone();
        let tables = wanted.iter().map(Wanted::named).collect();
        let _awaiting = engine.ddl.awaits(tables);
        loop {
            let tried = self.try_to_lock(&wanted, failed, patience).await?;
            let in_use = match tried {
                Ok(closed) => return Ok(closed),
                Err(i) => i,
            };
            self.interrupt.progress.begin(Stage::Waiting, 0);
            let waited = self.let_others_pass(&wanted[in_use], patience).await;
            self.interrupt.progress.end();
            waited?;
        }
    }

    /// Waits for the DDL mutex, and until nobody has locked the server against changes of definitions.
    ///
    /// # Errors
    /// 1223: the session itself has locked it for reading; 1205, 1317; 1290: the [fence](crate::Fence) is up; 1598: what it leaves
    /// is not [taken](crate::Intake).
    pub(crate) async fn lock_ddl<'e>(&self, engine: &'e Engine) -> Result<DdlGuard<'e>, SqlError> {
        // Its own lock of the server stays as long as the statement runs.
        self.may_change_definitions()?;
        if self.definition_event.is_some() || self.leaves_events() {
            self.wait_intake().await?;
        }
        let may = || matches!(self.may_change_definitions(), Ok(true));
        let mut guard = None;
        self.wait_unless_killed(&engine.ddl.freed, || {
            // Before as well: whoever gives the mutex back wakes others who wait for the same.
            if !may() {
                return false;
            }
            guard = engine.ddl.try_lock();
            // Whoever locks the server has the mutex meanwhile.
            if !may() {
                guard = None;
            }
            guard.is_some()
        })
        .await?;
        // Raised while it has waited, or since the statement has begun.
        if !base::mutant!("definition-behind-the-fence") {
            self.check_fence()?;
        }
        guard.ok_or_else(|| SqlError::internal("no DDL guard"))
    }
}
