//! B+trees of raw bytes over the pager: point reads, scans, changes of single entries, splits and merges, overflow
//! chains for long values, and the check that reads all of it.
//!
//! This crate never knows transactions, rows or types: keys are byte strings in memcmp order, values are opaque, and a
//! record's own LSN is stamped into a value where the caller says so. It never blocks and never reads a device: what is
//! missing is answered as `OpError::Wait`, with nothing changed.
//!
//! [`node`] is one page as bytes, [`ops`] its operations in the log, [`apply()`] what they do; [`Tree`] is the handle, and `descend`, `read`, `read_ahead`,
//! `partition`, `measure`, `sample`, `dive`, `modify`, `fill`, `split`, `merge`, `pack`, `relocate`, `overflow` and `verify` are what can be done with it; `foreign` walks one that
//! is in no pool.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]
// Every wait is for an event (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod apply;
mod descend;
mod dive;
mod fill;
mod foreign;
mod measure;
mod merge;
mod modify;
pub mod node;
pub mod ops;
mod overflow;
mod pack;
mod partition;
mod read;
mod read_ahead;
mod relocate;
mod sample;
mod split;
mod tree;
mod verify;

pub use apply::{apply, register};
pub use descend::Direction;
pub use foreign::{EachEntry, ForeignChain, ForeignTree};
pub use measure::Measure;
pub use modify::{Action, Change, KeyPosition, Outcome, Successor};
pub use node::{INLINE_TARGET, MAX_KEY, MAX_VALUE, max_value};
pub use overflow::{OVERFLOW_CAPACITY, OverflowCursor, OverflowWriter};
pub use pack::{LeafFigures, PACKED_FILL, Packing};
pub use read::{ScanPos, ScanState, Visit};
pub use relocate::{Relocated, Relocation};
pub use sample::LeafSample;
pub use tree::Tree;
pub use verify::VerifyCursor;
