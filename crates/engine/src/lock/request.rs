//! What is asked of the lock table for one row, and what it answers. Plain data.

use super::queue::Mode;
use super::wait::LockWait;
use base::TxnId;

/// Where a lock that could be had at once is noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// In the table (a locking read).
    Table,
    /// In the table, however much is there already: who inserts a value into a unique index, which is work enough to pay for it, and which
    /// [`LockTable::forget`](super::LockTable::forget) makes superfluous.
    Claim,
    /// Nowhere: the caller writes its id into the row before it leaves the page latch, and that is the lock.
    Row,
}

/// What to do when the lock cannot be had at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnConflict {
    /// Stand in the queue.
    Wait {
        /// How much work the transaction would lose as the victim of a deadlock (e.g. bytes it has logged).
        weight: u64,
        /// Give up after so many microseconds.
        timeout_us: Option<u64>,
    },
    /// Answer [`Acquired::Conflict`] (NOWAIT, SKIP LOCKED).
    Fail,
}

/// A request for one row's lock.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Who asks.
    pub owner: TxnId,
    /// The index in which the key is.
    pub index: u32,
    /// The row's key in it.
    pub key: &'a [u8],
    /// How.
    pub mode: Mode,
    /// The *other* transaction whose id was found in the row and which was active (it holds the row exclusively).
    pub writer: Option<TxnId>,
    /// Where an uncontested lock is noted.
    pub hold: Hold,
    /// The owner is going to end as soon as it has changed the row: it may go before waiters that have been told of a free
    /// lock and have not come for it yet.
    pub brief: bool,
    /// What to do otherwise.
    pub on_conflict: OnConflict,
}

/// The answer to a [`Request`].
pub enum Acquired {
    /// Granted now. With [`Hold::Table`] it is in the table as of this call.
    Granted,
    /// The owner had it in the table already.
    Held,
    /// The row's writer has ended meanwhile: look at the row again.
    Retry,
    /// Not to be had, and the request did not want to wait.
    Conflict,
    /// Not to be had, as locks take all the memory that they may, and the owner has many: it is to be rolled back.
    Full,
    /// Leave the latch and await this; when granted, run the operation again: the lock will be [`Acquired::Held`].
    Wait(LockWait),
}
