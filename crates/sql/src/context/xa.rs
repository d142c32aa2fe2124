//! What a session knows of its branch of a distributed transaction (XA).

use engine::{Xid, XidClaim};

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
