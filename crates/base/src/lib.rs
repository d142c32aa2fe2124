//! The ground floor: ids, byte order, checksum, events, sharded counters and the *environment*.
//!
//! Everything that could differ between two runs (disk, clock, randomness, task scheduling) passes through a trait of
//! [`environment`], given to the engine from outside. [`real`] implements them on Linux, [`mem`] in memory for tests.
//!
//! This crate never knows what a page, a log record or a transaction is.

#![warn(clippy::disallowed_types)]

pub mod block_on;
pub mod buf;
pub mod checksum;
pub mod counters;
pub mod environment;
pub mod event;
pub mod fork_join;
pub mod ids;
pub mod le;
pub mod lock;
pub mod mem;
pub mod mutant;
pub mod perturb;
pub mod prefetch;
pub mod real;
pub mod rng;
pub mod seed;
pub mod sync;
pub mod waits;

pub use block_on::block_on;
pub use buf::{AlignedBuf, IoBuf};
pub use environment::{Clock, Disk, Environment, File, OpenMode, Random, Spawn, Task};
pub use event::Event;
pub use fork_join::share_out;
pub use ids::{Lsn, PageNo, SpaceId, TxnId};
pub use prefetch::prefetch;
pub use rng::SplitMix64;
