//! Transaction status and visibility: who wrote this version, has it committed, may I see it.
//!
//! * [`slots`]: the ring of transaction slots. A transaction id is handed out at the first write and names a slot
//!   (`id % slots`) that says *active* or *ended at this LSN*. Beginning and ending touch that slot and one counter.
//! * [`evicted_txns`]: the few transactions whose slot was taken by a younger one before everybody had forgotten them: still
//!   active after a whole turn of the ring, or ended but not yet for some old snapshot.
//! * [`snapshot`]: a snapshot is an LSN; each session announces the one it uses in a cell of its own, from which the
//!   oldest one in use is computed when purge (or the ring) asks.
//! * [`system`]: the three together, and the visibility test.
//!
//! What never happens here: no list of active transactions is copied, no mutex is taken by begin, commit, snapshot or
//! visibility (the ring's sweep takes one once every [`slots::BLOCK`] transactions), nothing waits, nothing knows pages,
//! rows or log records. Waiting for a transaction to end is the business of [`crate::lock`].

pub mod evicted_txns;
pub mod slots;
pub mod snapshot;
pub mod system;

#[cfg(test)]
mod tests;

pub use slots::Status;
pub use snapshot::{ActiveTxn, Recording, Registration, SessionCell, Snapshot};
pub use system::TxnSystem;
