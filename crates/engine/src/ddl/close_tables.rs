//! The tables of a definition change closed, all together: nobody uses them, and nobody can begin to.
//!
//! Where a table is in use the change gives way ([`crate::table_lock`]). At its beginning it has done nothing yet: it lets go of the DDL
//! mutex as well while it waits, and then begins anew, for others may have changed what it goes by.
//!
//! Must never do: wait for a table's users while others are kept off for long, or, at the beginning, while other changes wait.

use crate::engine::Engine;
use crate::progress::Stage;
use crate::schema::{DdlGuard, Table};
use crate::session::{Patience, Session, Wanted, in_order};
use crate::table_lock::{FailedRollbacks, TableHold, TableLockMode};
use std::sync::Arc;
use types::SqlError;

/// Keeps everybody off tables while their definitions change.
pub(super) type Closed = Vec<TableHold>;

fn all(tables: &[Arc<Table>]) -> Vec<Wanted> {
    let wanted = tables.iter().map(|t| Wanted::new(t, TableLockMode::Change));
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
        let wanted = all(tables);
        match self.try_to_lock(&wanted, failed, patience).await? {
            Ok(closed) => Ok(Some((ddl, closed))),
            Err(i) => {
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
        self.close(tables, FailedRollbacks::Count, &mut patience)
            .await
    }

    /// The same whoever kills the session, to take something back.
    pub(super) async fn close_whatever_comes(&self, t: &Arc<Table>) -> Result<Closed, SqlError> {
        let mut patience = self.endless_patience();
        let tables = [t.clone()];
        self.close(&tables, FailedRollbacks::DoNotCount, &mut patience)
            .await
    }

    async fn close(
        &self,
        tables: &[Arc<Table>],
        failed: FailedRollbacks,
        patience: &mut Patience,
    ) -> Result<Closed, SqlError> {
        let wanted = all(tables);
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
    /// 1223: the session itself has locked it for reading; 1205, 1317.
    pub(super) async fn lock_ddl<'e>(&self, engine: &'e Engine) -> Result<DdlGuard<'e>, SqlError> {
        // Its own lock of the server stays as long as the statement runs.
        self.may_change_definitions()?;
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
        guard.ok_or_else(|| SqlError::internal("no DDL guard"))
    }
}
