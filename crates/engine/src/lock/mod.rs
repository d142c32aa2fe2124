//! Explicit row locks, range locks, and waiting for transactions.
//!
//! Most locks are not here: a row is locked by the id of its active writer in the row itself. This table holds what the
//! rows cannot say: shared and exclusive locks of locking reads, the ranges that are guarded, the rows in them that are
//! locked with them, and, for a row whose writer is active, the queue of those who wait for it.
//!
//! * [`request`]: what is asked of it, and what it answers.
//! * [`table`]: the table and its protocol (lock, release, cancel).
//! * [`given_up`]: one lock that is put there, or given up, while its transaction goes on.
//! * [`queue`]: the rules of one row's queue; pure.
//! * [`span`], [`segments`]: ranges of keys, and who guards which keys of an index; pure.
//! * [`ranges`]: guarded ranges and the inserts that wait for them; pure.
//! * [`guards`]: the table's part for ranges.
//! * [`owners`]: what each transaction holds and waits for.
//! * [`budget`], [`limits`]: what locks take of memory, how much they may, and what is done about it.
//! * [`fact`], [`listing`]: who holds and waits for what, as it is shown.
//! * [`wait`]: the future a waiter awaits.
//! * [`deadlock`]: the search for a cycle when a wait begins.
//! * [`order`], [`turns`]: transactions that are to be committed in an order that is given, and wait for their turn.
//! * [`timeouts`]: lock wait timeouts, from the environment's clock.
//! * [`filter`]: hashing, and the counting filter that makes an absent lock one load.
//!
//! What never happens here: nothing blocks (a conflict is a value, waiting is a future), nobody is woken who cannot go
//! on, no lock is named by a page or slot, and no page is touched. Latch order: page latch, then a range shard, then a
//! queue shard or the orders' mutex, then an owner shard, then a waiter's own state; the detector's mutex comes before queue shards and is
//! never taken under a page latch.

pub mod budget;
pub mod deadlock;
pub mod fact;
pub mod filter;
pub mod given_up;
pub mod guards;
pub mod limits;
pub mod listing;
pub mod order;
pub mod owners;
pub mod queue;
pub mod ranges;
pub mod request;
pub mod segments;
pub mod span;
pub mod table;
pub mod timeouts;
pub mod turns;
pub mod wait;

#[cfg(test)]
mod tests;

pub use fact::{
    AUTO_INC, Afterwards, Deadlock, DeadlockListener, DeadlockMember, LockFact, LockListing,
    Locked, TRANSACTION_NAME, is_reserved,
};
pub use queue::Mode;
pub use request::{Acquired, Hold, OnConflict, Request};
pub use span::Span;
pub use table::LockTable;
pub use wait::{CommitTurn, LockWait, WaitEnd};
