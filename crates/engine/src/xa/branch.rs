//! One branch: at work, prepared, being ended, or empty.

use super::name::{Owner, Xid};
use crate::schema::TableUse;
use crate::txn::Registration;
use crate::undo_reservation::UndoReservation;
use base::{Lsn, TxnId};
use types::Isolation;

/// What of a transaction is kept that no session has.
pub(crate) struct PreparedTxn {
    pub(crate) xid: Xid,
    pub(crate) owner: Owner,
    pub(crate) txid: TxnId,
    pub(crate) reg: Registration,
    pub(crate) undo: UndoReservation,
    pub(crate) uses: Vec<TableUse>,
    pub(crate) isolation: Isolation,
    pub(crate) purge_work: bool,
    pub(crate) weight: u64,
    pub(crate) changes: u64,
    pub(crate) begun_us: i64,
    /// Its changes are in a group that is whole.
    pub(crate) logged: bool,
    /// Whether it has left events, and what was put beside them.
    pub(crate) events: (bool, Option<Box<dyn std::any::Any + Send + Sync>>),
    /// Behind the note.
    pub(crate) end: Lsn,
}

/// A branch, as it is for those who have no part in it.
pub(super) enum Branch {
    /// A session is at work in it.
    Active(Owner),
    /// Prepared. While it is attached to the session that has prepared it, no other may end it.
    Prepared {
        txn: Box<PreparedTxn>,
        attached: bool,
    },
    /// A session commits it, or rolls it back.
    Ending(Owner),
    /// Prepared, and nothing is to be done for it. `since` tells which are the oldest.
    Empty {
        format: u32,
        owner: Owner,
        since: u64,
        attached: bool,
    },
}

impl Branch {
    /// Any session may end it.
    pub(super) fn may_be_ended(&self) -> bool {
        match self {
            Branch::Prepared { attached, .. } | Branch::Empty { attached, .. } => !attached,
            Branch::Active(_) | Branch::Ending(_) => false,
        }
    }

    /// Whose it is.
    pub(super) fn owner(&self) -> &Owner {
        match self {
            Branch::Active(owner) | Branch::Ending(owner) | Branch::Empty { owner, .. } => owner,
            Branch::Prepared { txn, .. } => &txn.owner,
        }
    }
}
