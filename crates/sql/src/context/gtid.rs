//! What is known of transactions' names: which a session's next one has (`gtid_next`), who owns which meanwhile, what a client is told
//! (`session_track_gtids`).
//!
//! Never here: what becomes of a name (`named`), which statement ends a transaction (`dispatch::named_transaction`).

use std::collections::BTreeMap;
use std::sync::Arc;

use base::lock::Mutex;
use base::{Event, Lsn};
use types::gtid::{Gtid, GtidSet};

use sql_exec::binary_log::BinaryLog;

/// The names that sessions own: they are at work on a transaction that is called so.
#[derive(Debug, Default)]
pub(crate) struct OwnedGtids {
    owners: Mutex<BTreeMap<Gtid, u64>>,
    /// One was given up.
    pub(super) released: Event,
}

impl OwnedGtids {
    /// Owns a name, unless somebody does.
    pub(super) fn own(self: &Arc<Self>, gtid: Gtid, connection: u64) -> Option<Ownership> {
        let mut owners = self.owners.lock();
        if owners.contains_key(&gtid) {
            return None;
        }
        owners.insert(gtid, connection);
        drop(owners);
        Some(Ownership {
            gtid,
            of: Arc::clone(self),
        })
    }

    /// Nobody owns any.
    pub(crate) fn is_empty(&self) -> bool {
        self.owners.lock().is_empty()
    }

    /// Somebody owns one of these.
    pub(crate) fn meets(&self, set: &GtidSet) -> bool {
        self.owners.lock().keys().any(|g| set.has(*g))
    }

    /// `@@GLOBAL.gtid_owned`: each name with its owner.
    pub(crate) fn shown(&self) -> String {
        let mut out = String::new();
        let mut last = None;
        for (gtid, owner) in self.owners.lock().iter() {
            if last != Some(gtid.sid) {
                let comma = if last.is_some() { ",\n" } else { "" };
                out += &format!("{comma}{}", gtid.sid);
                last = Some(gtid.sid);
            }
            out += &format!(":{}#{owner}", gtid.number);
        }
        out
    }
}

/// A name that a session owns until this is dropped.
#[derive(Debug)]
pub(crate) struct Ownership {
    pub(super) gtid: Gtid,
    of: Arc<OwnedGtids>,
}

impl Drop for Ownership {
    fn drop(&mut self) {
        self.of.owners.lock().remove(&self.gtid);
        if !base::mutant!("transactions-name-given-up-without-a-word") {
            self.of.released.fire();
        }
    }
}

/// What the next transaction is called.
#[derive(Debug, Default)]
pub(crate) enum NextGtid {
    /// Whoever makes the binary log says so.
    #[default]
    Automatic,
    /// It has no name. `true`: nothing else may be said before it has ended.
    Anonymous(bool),
    /// So.
    Owned(Ownership),
    /// So, and it was done already: what belongs to it is left out.
    Done(Gtid),
    /// It was called so, and has ended: the next is to be named.
    Over(Gtid),
}

/// What a statement is to the transaction's name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NamedPart {
    /// It changes nothing and ends nothing, and is never refused.
    #[default]
    Innocent,
    /// It ends no transaction.
    Within,
    /// It changes rows, and may be a transaction of its own.
    Rows,
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// It commits what is open, and commits by itself.
    Definition,
    /// A part of a distributed transaction.
    Distributed,
}

/// Whether a statement is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// It is.
    Run,
    /// It belongs to a transaction that was done already: it is told that all went well.
    LeftOut,
}

/// What the session says of its transactions, and hears.
#[derive(Default)]
pub(crate) struct Gtids {
    pub(crate) next: NextGtid,
    /// The statement at hand.
    pub(crate) at_hand: NamedPart,
    pub(super) tracker: Option<Tracker>,
}

/// `session_track_gtids`.
pub(crate) struct Tracker {
    /// ALL_GTIDS, not OWN_GTID.
    pub(super) all: bool,
    /// By which its own names are asked for.
    pub(super) number: u64,
    pub(super) log: Arc<dyn BinaryLog>,
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.log.forget_names(self.number);
    }
}

/// What a statement has left in the log for the binary log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left {
    /// Behind the last group that the session has committed itself; none: there was none.
    pub(crate) own: Lsn,
    /// A session of its own has committed another, or was to.
    pub(crate) by_others: bool,
}

impl Left {
    pub(crate) fn is_nothing(self) -> bool {
        self.own.is_none() && !self.by_others
    }
}
