//! The session's branch of a distributed transaction (XA): in which state it is, and what that refuses.
//!
//! Never here: what the statements do (`command/xa.rs`).

use engine::{Xid, XidClaim};
use types::error::codes;
use types::{SqlError, Warning};

use super::Session;

/// The states of a branch that a session has, as MySQL names them; without one it is NON-EXISTING.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum XaState {
    /// Statements belong to it.
    Active,
    /// Behind XA END.
    Idle,
    /// Prepared, where `xa_detach_on_prepare` is off.
    Prepared,
    /// The engine has rolled it back, and the client knows.
    RollbackOnly,
}

impl XaState {
    pub fn name(self) -> &'static str {
        match self {
            XaState::Active => "ACTIVE",
            XaState::Idle => "IDLE",
            XaState::Prepared => "PREPARED",
            XaState::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

/// A session's branch.
pub(crate) struct XaBranch {
    /// Nobody else begins one of this name, nor ends this one.
    pub claim: Option<XidClaim>,
    /// Its name.
    pub xid: Xid,
    /// Its state.
    pub state: XaState,
    /// Why the engine has rolled it back: 1402, 1613, 1614.
    pub undone: Option<u16>,
}

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
