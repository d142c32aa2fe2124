//! Branches of distributed transactions (XA): their names, who has which, and the prepared ones, which belong to no session.
//!
//! A transaction is prepared if its last record in the log is a note that says so. The note has what a restart cannot find in the rows:
//! the name, the tables that are held, whether the commit will leave something to purge. So a checkpoint lists a prepared transaction
//! like any other, and recovery looks at the last record of each that has not ended.
//!
//! Each branch is its owner's: the account whose session has begun it. All have a limit together, an account has a share of it, and some places are
//! kept for administrators, so that nobody takes XA from the others. A branch that has changed and locked nothing takes no place once it is
//! prepared: its name is remembered for a while, in memory alone.
//!
//! Must never do: end a transaction. Whoever takes a prepared one from here does, or puts it back.

mod branch;
mod name;
mod note;
mod places;

use crate::schema::TableUse;
use base::lock::Mutex;
use base::{Event, Lsn, TxnId};
use branch::Branch;
pub(crate) use branch::PreparedTxn;
pub use name::{BRANCHES_MAX, BRANCHES_OF_ONE, BranchOwner, Owner, XID_PART_MAX, Xid};
pub(crate) use note::{Note, ROLLS_BACK, ends_group, is_of_a_branch, is_prepared};
use places::Map;
use std::sync::Arc;
use types::Isolation;

/// A prepared transaction, to be shown.
#[derive(Clone, Debug)]
pub struct PreparedFact {
    /// Its name.
    pub xid: Xid,
    /// Its number.
    pub txid: TxnId,
    /// Its level.
    pub isolation: Isolation,
    /// When it began, in microseconds since 1970.
    pub begun_us: i64,
    /// Rows that it has written.
    pub changes: u64,
}

/// All branches.
#[derive(Default)]
pub(crate) struct Branches {
    map: Mutex<Map>,
    /// Fired when one that was prepared has ended.
    pub(crate) ended: Event,
}

impl Branches {
    /// A session begins a branch. `Err`: there is one of this name, or there are too many.
    pub(crate) fn claim(
        self: &Arc<Self>,
        xid: &Xid,
        owner: &BranchOwner,
    ) -> Result<XidClaim, ClaimRefused> {
        let mut map = self.map.lock();
        if map.all.contains_key(&xid.key()) {
            return Err(ClaimRefused::Duplicate);
        }
        if !map.has_place_for(owner) && !base::mutant!("branches-of-one-not-limited") {
            return Err(ClaimRefused::TooMany);
        }
        map.insert(xid.key(), Branch::Active(owner.account.clone()));
        Ok(XidClaim {
            branches: Some(self.clone()),
            xid: xid.clone(),
            owner: owner.account.clone(),
        })
    }

    /// A transaction is prepared. False where there is one of this name already, which a restart may find.
    pub(crate) fn put(&self, txn: PreparedTxn, attached: bool) -> bool {
        let mut map = self.map.lock();
        let key = txn.xid.key();
        if let Some(Branch::Prepared { .. }) = map.all.get(&key) {
            return false;
        }
        let txn = Box::new(txn);
        map.insert(key, Branch::Prepared { txn, attached });
        true
    }

    /// A branch is prepared that has changed and locked nothing.
    pub(crate) fn put_empty(&self, claim: &XidClaim, attached: bool) {
        let mut map = self.map.lock();
        let key = claim.xid.key();
        map.remove(&key);
        map.remember((key, claim.xid.format), claim.owner.clone(), attached);
    }

    /// Ends an empty one that any session may end; false where there is none of this name.
    pub(crate) fn end_empty(&self, xid: &Xid) -> bool {
        let mut map = self.map.lock();
        let key = xid.key();
        let is = matches!(
            map.all.get(&key),
            Some(Branch::Empty {
                attached: false,
                ..
            })
        );
        is && map.remove(&key).is_some()
    }

    /// The names of an owner's prepared ones that any session may end.
    pub(crate) fn of_owner(&self, owner: &str) -> Vec<Xid> {
        let map = self.map.lock();
        let of = map.all.iter().filter(|(_, b)| &**b.owner() == owner);
        of.filter(|(_, b)| b.may_be_ended())
            .map(|((gtrid, bqual), _)| Xid {
                format: 1,
                gtrid: gtrid.clone(),
                bqual: bqual.clone(),
            })
            .collect()
    }

    /// A prepared transaction found by recovery holds these tables.
    pub(crate) fn hold(&self, xid: &Xid, uses: Vec<TableUse>) {
        if let Some(Branch::Prepared { txn, .. }) = self.map.lock().all.get_mut(&xid.key()) {
            txn.uses = uses;
        }
    }

    /// Whether there is a prepared transaction of this name that any session may end.
    pub(crate) fn may_be_ended(&self, xid: &Xid) -> bool {
        let map = self.map.lock();
        map.all.get(&xid.key()).is_some_and(Branch::may_be_ended)
    }

    /// A prepared transaction, for its end; none where there is none of this name, or it is another session's to end.
    pub(crate) fn claim_end(self: &Arc<Self>, xid: &Xid) -> Option<(PreparedTxn, EndingBranch)> {
        let mut map = self.map.lock();
        let branch = map.all.get_mut(&xid.key())?;
        if !branch.may_be_ended() || matches!(branch, Branch::Empty { .. }) {
            return None;
        }
        // It keeps its place, as its owner does.
        let ending = Branch::Ending(branch.owner().clone());
        let Branch::Prepared { txn, .. } = std::mem::replace(branch, ending) else {
            return None;
        };
        let ending = EndingBranch {
            branches: self.clone(),
            xid: txn.xid.clone(),
            owner: txn.owner.clone(),
            decided: false,
        };
        Some((*txn, ending))
    }

    fn release(&self, xid: &Xid, ending: bool) {
        let mut map = self.map.lock();
        let is = match map.all.get_mut(&xid.key()) {
            Some(Branch::Active(_)) => !ending,
            Some(Branch::Ending(_)) => ending,
            Some(Branch::Prepared { attached, .. } | Branch::Empty { attached, .. }) => {
                *attached &= ending;
                false
            }
            None => false,
        };
        if is {
            map.remove(&xid.key());
        }
        drop(map);
        if is && ending {
            self.ended.fire();
        }
    }

    /// Whether the end of a prepared one leaves a group: what it has changed is in one, and its end is `told`; or it may have left events
    /// that are in none, which go with its `commit`.
    pub(crate) fn leaves_group(&self, xid: &Xid, told: bool, commit: bool) -> bool {
        let map = self.map.lock();
        match map.all.get(&xid.key()) {
            Some(Branch::Prepared { txn, .. }) => txn.logged && told || txn.events.0 && commit,
            _ => false,
        }
    }

    /// Whether any is prepared that has something to commit and is in no group, or any is being ended.
    pub(crate) fn any_here_alone(&self) -> bool {
        let map = self.map.lock();
        let mut all = map.all.values();
        all.any(|b| match b {
            Branch::Prepared { txn, .. } => !txn.logged,
            Branch::Ending(_) => true,
            Branch::Active(_) | Branch::Empty { .. } => false,
        })
    }

    /// The prepared ones, and up to where the log must be durable for them to be.
    pub(crate) fn list(&self) -> (Vec<PreparedFact>, Lsn) {
        let mut facts = Vec::new();
        let mut end = Lsn::NONE;
        for branch in self.map.lock().all.values() {
            if let Branch::Prepared { txn: t, .. } = branch {
                end = end.max(t.end);
                facts.push(PreparedFact {
                    xid: t.xid.clone(),
                    txid: t.txid,
                    isolation: t.isolation,
                    begun_us: t.begun_us,
                    changes: t.changes,
                });
            }
        }
        facts.sort_unstable_by_key(|f| f.txid);
        (facts, end)
    }

    /// The names of the empty ones, the oldest first.
    pub(crate) fn empty(&self) -> Vec<Xid> {
        let map = self.map.lock();
        let keys = map.empty.values();
        keys.map(|key| Xid {
            format: match map.all.get(key) {
                Some(Branch::Empty { format, .. }) => *format,
                _ => 1,
            },
            gtrid: key.0.clone(),
            bqual: key.1.clone(),
        })
        .collect()
    }

    /// The engine has stopped: what is left is in the log.
    pub(crate) fn forget_all(&self) {
        let all = std::mem::take(&mut *self.map.lock());
        drop(all);
    }
}

/// What became of the end of a prepared branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchEnd {
    /// Behind the group that says so; none: there is none.
    pub group_end: Lsn,
}

/// Why a branch cannot be begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimRefused {
    /// There is one of this name.
    Duplicate,
    /// There are [`BRANCHES_MAX`], or [`BRANCHES_OF_ONE`] of the account.
    TooMany,
}

/// The name of the branch that a session is at work in, or has prepared and is attached to: nobody else begins one of this name, or ends
/// that one, as long as this lives.
pub struct XidClaim {
    branches: Option<Arc<Branches>>,
    xid: Xid,
    owner: Owner,
}

impl XidClaim {
    /// The name.
    pub fn xid(&self) -> &Xid {
        &self.xid
    }

    /// Whose it is.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The transaction is prepared: the name is its own from now on.
    pub(crate) fn handed_over(mut self) {
        self.branches = None;
    }
}

impl Drop for XidClaim {
    fn drop(&mut self) {
        if let Some(branches) = self.branches.take() {
            branches.release(&self.xid, false);
        }
    }
}

/// The name of a prepared transaction that a session ends: free again once this is dropped.
pub(crate) struct EndingBranch {
    branches: Arc<Branches>,
    pub(crate) xid: Xid,
    pub(crate) owner: Owner,
    /// It is being rolled back. What is not decided is put back when its session goes.
    pub(crate) decided: bool,
}

impl Drop for EndingBranch {
    fn drop(&mut self) {
        self.branches.release(&self.xid, true);
    }
}

#[cfg(test)]
mod tests {
    use super::places::{EMPTY_OF_ONE, KEPT_FOR_ADMINISTRATORS};
    use super::*;

    fn xid(gtrid: &[u8], bqual: &[u8]) -> Xid {
        Xid {
            format: 7,
            gtrid: gtrid.into(),
            bqual: bqual.into(),
        }
    }

    fn owner(account: &str, administrator: bool) -> BranchOwner {
        BranchOwner {
            account: account.into(),
            administrator,
        }
    }

    fn many(n: usize, of: u8) -> impl Iterator<Item = Xid> {
        (0..n as u32).map(move |n| xid(&n.to_le_bytes(), &[of]))
    }

    #[test]
    fn a_name_is_claimed_once_and_free_again() {
        let all = Arc::new(Branches::default());
        let of = owner("u", false);
        let (a, b) = (xid(b"g", b"a"), xid(b"g", b"b"));
        let claim = all.claim(&a, &of).ok();
        assert!(claim.is_some() && all.claim(&b, &of).is_ok());
        let again = Xid {
            format: 8,
            ..a.clone()
        };
        assert_eq!(all.claim(&again, &of).err(), Some(ClaimRefused::Duplicate));
        assert!(all.claim_end(&a).is_none(), "a session is at work in it");
        drop(claim);
        assert!(all.claim(&a, &of).is_ok());
    }

    #[test]
    fn nobody_takes_all_places() {
        let all = Arc::new(Branches::default());
        let mut claims = Vec::new();
        for of in 0..20u8 {
            let one = owner(&of.to_string(), false);
            let got = many(2 * BRANCHES_OF_ONE, of).map_while(|x| all.claim(&x, &one).ok());
            claims.push(got.collect::<Vec<_>>());
        }
        assert_eq!(claims[0].len(), BRANCHES_OF_ONE, "one account");
        let taken: usize = claims.iter().map(Vec::len).sum();
        assert_eq!(
            taken,
            BRANCHES_MAX - KEPT_FOR_ADMINISTRATORS,
            "all accounts"
        );
        let root = owner("root", true);
        let got = many(2 * BRANCHES_MAX, 99).map_while(|x| all.claim(&x, &root).ok());
        assert_eq!(got.collect::<Vec<_>>().len(), KEPT_FOR_ADMINISTRATORS);
        claims[0].pop();
        assert!(all.claim(&xid(b"x", b""), &owner("0", false)).is_ok());
        drop(claims);
        let map = all.map.lock();
        assert!(map.all.is_empty() && map.places.is_empty() && map.taken == 0);
    }

    #[test]
    fn empty_ones_take_no_place_and_the_oldest_of_an_owner_are_forgotten() {
        let all = Arc::new(Branches::default());
        let first = all.claim(&xid(b"first", b""), &owner("v", false)).ok();
        all.put_empty(first.as_ref().expect("a claim"), false);
        let of = owner("u", false);
        for x in many(2 * BRANCHES_MAX, 0) {
            let claim = all.claim(&x, &of).expect("a place");
            all.put_empty(&claim, false);
        }
        assert_eq!(all.empty().len(), EMPTY_OF_ONE + 1);
        assert!(!all.any_here_alone(), "nothing is to be done for them");
        let names: Vec<_> = many(2 * BRANCHES_MAX, 0).collect();
        assert!(!all.end_empty(&names[0]), "it is forgotten");
        assert!(all.end_empty(&names[2 * BRANCHES_MAX - 1]));
        assert!(all.end_empty(&xid(b"first", b"")), "another one's is not");
        assert!(!all.end_empty(&xid(b"first", b"")), "it has ended");
        // One whose session is there is that one's to end.
        let claim = all.claim(&xid(b"mine", b""), &of).expect("a place");
        all.put_empty(&claim, true);
        assert!(!all.end_empty(&xid(b"mine", b"")));
        drop(claim);
        assert!(all.end_empty(&xid(b"mine", b"")));
    }
}
