//! What branches are called, whose they are, and how many there may be.

use std::sync::Arc;

/// Bytes of either part of a name, at most.
pub const XID_PART_MAX: usize = 64;

/// Branches at a time, prepared or not. A checkpoint's record has to hold all that has not ended.
pub const BRANCHES_MAX: usize = 8192;

/// Branches of an account that is no administrator's, of those.
pub const BRANCHES_OF_ONE: usize = 1024;

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
    pub(super) fn key(&self) -> Key {
        (self.gtrid.clone(), self.bqual.clone())
    }

    /// Whether it is the name of the same branch.
    pub fn is_same(&self, other: &Xid) -> bool {
        self.gtrid == other.gtrid && self.bqual == other.bqual
    }
}

pub(crate) type Key = (Box<[u8]>, Box<[u8]>);

/// Whose a branch is: an account, as it is shown; empty: the server's, or not known.
pub type Owner = Arc<str>;

/// For whom a branch is begun.
#[derive(Clone, Debug)]
pub struct BranchOwner {
    /// The account.
    pub account: Owner,
    /// It may take all places that there are.
    pub administrator: bool,
}

impl BranchOwner {
    /// The server itself.
    pub fn server() -> BranchOwner {
        BranchOwner {
            account: "".into(),
            administrator: true,
        }
    }
}
