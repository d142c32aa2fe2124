//! Branches of distributed transactions (XA): their names, who has which, and the prepared ones, which belong to no session.
//!
//! A transaction is prepared if its last record in the log is a note that says so. The note has what a restart cannot find in the rows:
//! the name, the tables that are held, whether the commit will leave something to purge. So a checkpoint lists a prepared transaction
//! like any other, and recovery looks at the last record of each that has not ended.
//!
//! Must never do: end a transaction. Whoever takes a prepared one from here does, or puts it back.

use crate::schema::TableUse;
use crate::txn::Registration;
use crate::undo_reservation::UndoReservation;
use base::lock::Mutex;
use base::{Event, Lsn, TxnId, le};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::Isolation;

/// Bytes of either part of a name, at most.
pub const XID_PART_MAX: usize = 64;

/// Branches at a time, prepared or not. A checkpoint's record has to hold all that has not ended.
pub const BRANCHES_MAX: usize = 8192;

/// Tables that a note names; where there are more, a restart holds all there are.
const NOTED_TABLES: usize = 4096;

/// First byte of a note that says that its transaction is prepared.
const NOTE_PREPARED: u8 = 6;

/// Bytes of a note in front of the name.
const NOTE_HEAD: usize = 36;

/// The name of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Xid {
    /// How its maker reads the parts. Not what tells two of them apart, as in MySQL.
    pub format: u32,
    /// The global transaction.
    pub gtrid: Box<[u8]>,
    /// The branch.
    pub bqual: Box<[u8]>,
}

impl Xid {
    fn key(&self) -> Key {
        (self.gtrid.clone(), self.bqual.clone())
    }

    /// Whether it is the name of the same branch.
    pub fn is_same(&self, other: &Xid) -> bool {
        self.gtrid == other.gtrid && self.bqual == other.bqual
    }
}

type Key = (Box<[u8]>, Box<[u8]>);

/// What of a transaction is kept that no session has.
pub(crate) struct PreparedTxn {
    pub(crate) xid: Xid,
    pub(crate) txid: TxnId,
    pub(crate) reg: Registration,
    pub(crate) undo: UndoReservation,
    pub(crate) uses: Vec<TableUse>,
    pub(crate) isolation: Isolation,
    pub(crate) purge_work: bool,
    pub(crate) weight: u64,
    pub(crate) changes: u64,
    pub(crate) begun_us: i64,
    /// Whether it has left events, and what was put beside them.
    pub(crate) events: (bool, Option<Box<dyn std::any::Any + Send + Sync>>),
    /// Behind the note.
    pub(crate) end: Lsn,
}

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

enum Branch {
    /// A session is at work in it.
    Active,
    /// Prepared. While it is attached to the session that has prepared it, no other may end it.
    Prepared {
        txn: Box<PreparedTxn>,
        attached: bool,
    },
    /// A session commits it, or rolls it back.
    Ending,
}

impl Branch {
    fn may_be_ended(&self) -> bool {
        matches!(
            self,
            Branch::Prepared {
                attached: false,
                ..
            }
        )
    }
}

/// All branches.
#[derive(Default)]
pub(crate) struct Branches {
    map: Mutex<BTreeMap<Key, Branch>>,
    /// Fired when one that was prepared has ended.
    pub(crate) ended: Event,
}

impl Branches {
    /// A session begins a branch. `Err`: there is one of this name, or there are too many.
    pub(crate) fn claim(self: &Arc<Self>, xid: &Xid) -> Result<XidClaim, ClaimRefused> {
        let mut map = self.map.lock();
        if map.contains_key(&xid.key()) {
            return Err(ClaimRefused::Duplicate);
        }
        if map.len() >= BRANCHES_MAX {
            return Err(ClaimRefused::TooMany);
        }
        map.insert(xid.key(), Branch::Active);
        Ok(XidClaim {
            branches: Some(self.clone()),
            xid: xid.clone(),
        })
    }

    /// A transaction is prepared. False where there is one of this name already, which a restart may find.
    pub(crate) fn put(&self, txn: PreparedTxn, attached: bool) -> bool {
        let mut map = self.map.lock();
        let key = txn.xid.key();
        if let Some(Branch::Prepared { .. }) = map.get(&key) {
            return false;
        }
        let txn = Box::new(txn);
        map.insert(key, Branch::Prepared { txn, attached });
        true
    }

    /// A prepared transaction found by recovery holds these tables.
    pub(crate) fn hold(&self, xid: &Xid, uses: Vec<TableUse>) {
        if let Some(Branch::Prepared { txn, .. }) = self.map.lock().get_mut(&xid.key()) {
            txn.uses = uses;
        }
    }

    /// Whether there is a prepared transaction of this name that any session may end.
    pub(crate) fn may_be_ended(&self, xid: &Xid) -> bool {
        let map = self.map.lock();
        map.get(&xid.key()).is_some_and(Branch::may_be_ended)
    }

    /// A prepared transaction, for its end; none where there is none of this name, or it is another session's to end.
    pub(crate) fn claim_end(self: &Arc<Self>, xid: &Xid) -> Option<(PreparedTxn, EndingBranch)> {
        let mut map = self.map.lock();
        let branch = map.get_mut(&xid.key())?;
        if !branch.may_be_ended() {
            return None;
        }
        let Branch::Prepared { txn, .. } = std::mem::replace(branch, Branch::Ending) else {
            return None;
        };
        let ending = EndingBranch {
            branches: self.clone(),
            xid: txn.xid.clone(),
            decided: false,
        };
        Some((*txn, ending))
    }

    fn release(&self, xid: &Xid, ending: bool) {
        let mut map = self.map.lock();
        let is = match map.get_mut(&xid.key()) {
            Some(Branch::Active) => !ending,
            Some(Branch::Ending) => ending,
            Some(Branch::Prepared { attached, .. }) => {
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

    /// Whether any is prepared, or is being ended.
    pub(crate) fn any_prepared(&self) -> bool {
        let map = self.map.lock();
        map.values().any(|b| !matches!(b, Branch::Active))
    }

    /// The prepared ones, and up to where the log must be durable for them to be.
    pub(crate) fn list(&self) -> (Vec<PreparedFact>, Lsn) {
        let mut facts = Vec::new();
        let mut end = Lsn::NONE;
        for branch in self.map.lock().values() {
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

    /// The engine has stopped: what is left is in the log.
    pub(crate) fn forget_all(&self) {
        let all = std::mem::take(&mut *self.map.lock());
        drop(all);
    }
}

/// Why a branch cannot be begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimRefused {
    /// There is one of this name.
    Duplicate,
    /// There are [`BRANCHES_MAX`].
    TooMany,
}

/// The name of the branch that a session is at work in, or has prepared and is attached to: nobody else begins one of this name, or ends
/// that one, as long as this lives.
pub struct XidClaim {
    branches: Option<Arc<Branches>>,
    xid: Xid,
}

impl XidClaim {
    /// The name.
    pub fn xid(&self) -> &Xid {
        &self.xid
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
    /// It is being rolled back. What is not decided is put back when its session goes.
    pub(crate) decided: bool,
}

impl Drop for EndingBranch {
    fn drop(&mut self) {
        self.branches.release(&self.xid, true);
    }
}

/// What the note of a prepared transaction says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    pub(crate) xid: Xid,
    pub(crate) isolation: Isolation,
    pub(crate) purge_work: bool,
    pub(crate) weight: u64,
    pub(crate) undo: u64,
    pub(crate) changes: u64,
    pub(crate) begun_us: i64,
    /// None: too many to be named.
    pub(crate) tables: Option<Vec<u32>>,
}

/// Whether the opaque part of a note says that its transaction is prepared.
pub(crate) fn is_prepared(body: &[u8]) -> bool {
    body.first() == Some(&NOTE_PREPARED)
}

impl Note {
    /// Its bytes, as `docs/format.md` has them.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut b = vec![NOTE_PREPARED, self.isolation as u8];
        b.push(u8::from(self.purge_work) | u8::from(self.tables.is_none()) << 1);
        b.push(self.xid.gtrid.len() as u8);
        b.extend_from_slice(&self.weight.to_le_bytes());
        b.extend_from_slice(&self.undo.to_le_bytes());
        b.extend_from_slice(&self.changes.to_le_bytes());
        b.extend_from_slice(&self.begun_us.to_le_bytes());
        b.extend_from_slice(&self.xid.format.to_le_bytes());
        b.push(self.xid.bqual.len() as u8);
        b.extend_from_slice(&self.xid.gtrid);
        b.extend_from_slice(&self.xid.bqual);
        for id in self.tables.iter().flatten() {
            b.extend_from_slice(&id.to_le_bytes());
        }
        b
    }

    /// What they say; `None` if they are none.
    pub(crate) fn decode(b: &[u8]) -> Option<Note> {
        if !is_prepared(b) || b.len() < NOTE_HEAD + 5 {
            return None;
        }
        let (g, q) = (b[3] as usize, b[NOTE_HEAD + 4] as usize);
        let names = &b[NOTE_HEAD + 5..];
        let gtrid = names.get(..g)?;
        let bqual = names.get(g..g + q)?;
        let (ids, rest) = names[g + q..].as_chunks::<4>();
        if !rest.is_empty() || g > XID_PART_MAX || q > XID_PART_MAX {
            return None;
        }
        Some(Note {
            xid: Xid {
                format: le::get_u32(b, NOTE_HEAD),
                gtrid: gtrid.into(),
                bqual: bqual.into(),
            },
            isolation: isolation(b[1])?,
            purge_work: b[2] & 1 != 0,
            weight: le::get_u64(b, 4),
            undo: le::get_u64(b, 12),
            changes: le::get_u64(b, 20),
            begun_us: le::get_u64(b, 28) as i64,
            tables: (b[2] & 2 == 0).then(|| ids.iter().map(|w| u32::from_le_bytes(*w)).collect()),
        })
    }

    /// The tables of `uses`, each once, if they are not too many.
    pub(crate) fn tables_of(uses: &[TableUse]) -> Option<Vec<u32>> {
        let mut ids: Vec<u32> = uses.iter().map(|u| u.table.def.id).collect();
        ids.sort_unstable();
        ids.dedup();
        (ids.len() <= NOTED_TABLES).then_some(ids)
    }
}

fn isolation(n: u8) -> Option<Isolation> {
    use Isolation::*;
    [
        ReadUncommitted,
        ReadCommitted,
        RepeatableRead,
        Snapshot,
        Serializable,
    ]
    .into_iter()
    .find(|i| *i as u8 == n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xid(gtrid: &[u8], bqual: &[u8]) -> Xid {
        Xid {
            format: 7,
            gtrid: gtrid.into(),
            bqual: bqual.into(),
        }
    }

    #[test]
    fn a_note_comes_back_and_cut_bytes_do_no_harm() {
        for tables in [None, Some(vec![]), Some(vec![3, 9])] {
            let note = Note {
                xid: xid(&[0, 255], &[7; 64]),
                isolation: Isolation::Serializable,
                purge_work: true,
                weight: 1,
                undo: 2,
                changes: 3,
                begun_us: 4,
                tables,
            };
            let b = note.encode();
            assert_eq!(Note::decode(&b), Some(note));
            for n in 0..b.len() {
                let _ = Note::decode(&b[..n]);
            }
        }
    }

    #[test]
    fn a_name_is_claimed_once_and_free_again() {
        let all = Arc::new(Branches::default());
        let (a, b) = (xid(b"g", b"a"), xid(b"g", b"b"));
        let claim = all.claim(&a).ok();
        assert!(claim.is_some() && all.claim(&b).is_ok());
        let again = Xid {
            format: 8,
            ..a.clone()
        };
        assert_eq!(all.claim(&again).err(), Some(ClaimRefused::Duplicate));
        assert!(all.claim_end(&a).is_none(), "a session is at work in it");
        drop(claim);
        assert!(all.claim(&a).is_ok());
        let many: Vec<_> = (0..BRANCHES_MAX as u32)
            .map(|n| all.claim(&xid(&n.to_le_bytes(), b"")))
            .collect();
        assert!(many.iter().all(|c| c.is_ok()));
        assert_eq!(all.claim(&a).err(), Some(ClaimRefused::TooMany));
    }
}
