//! What a session's branch of a distributed transaction (XA) refuses of other statements, and what their errors make of it.
//!
//! Never here: what the statements of XA do (`command/xa.rs`).

use types::error::codes;
use types::{SqlError, Warning};

use super::Session;
use super::xa::XaState;

impl Session {
    /// The state of the session's branch.
    pub(crate) fn xa_state(&self) -> &'static str {
        self.xa.as_ref().map_or("NON-EXISTING", |b| b.state.name())
    }

    /// Refuses what ends a transaction or begins one, where XA statements do.
    ///
    /// # Errors
    /// 1399.
    pub(crate) fn outside_xa(&self) -> Result<(), SqlError> {
        match &self.xa {
            None => Ok(()),
            Some(_) => Err(SqlError::xaer_rmfail(self.xa_state())),
        }
    }

    /// Refuses rows and savepoints where the branch takes none: behind XA END, and once the engine has rolled it back.
    ///
    /// # Errors
    /// 1399.
    #[inline]
    pub(crate) fn xa_takes_rows(&self) -> Result<(), SqlError> {
        match &self.xa {
            None => Ok(()),
            Some(b) if b.state == XaState::Active && b.undone.is_none() => Ok(()),
            Some(b) if b.undone.is_some() => {
                Err(SqlError::xaer_rmfail(XaState::RollbackOnly.name()))
            }
            Some(_) => Err(SqlError::xaer_rmfail(self.xa_state())),
        }
    }

    /// A statement has failed: where that has cost the branch its transaction, nothing is left but to roll it back.
    pub(crate) fn note_xa_undone(&mut self, e: &SqlError) {
        let open = self.engine.in_transaction();
        if let Some(b) = &mut self.xa
            && matches!(b.state, XaState::Active | XaState::Idle)
            && !open
        {
            b.undone.get_or_insert(match e.code {
                codes::ER_LOCK_WAIT_TIMEOUT => codes::ER_XA_RBTIMEOUT,
                codes::ER_LOCK_DEADLOCK => codes::ER_XA_RBDEADLOCK,
                _ => codes::ER_XA_RBROLLBACK,
            });
        }
    }

    /// 1401 of a session that may not list what is prepared; a warning says why.
    pub(crate) fn no_xa_recover(&mut self, why: &SqlError) -> SqlError {
        let why = Warning::new(types::Level::Error, why.code, why.message.clone());
        self.warn(why);
        SqlError::fixed(codes::ER_XAER_RMERR)
    }
}
