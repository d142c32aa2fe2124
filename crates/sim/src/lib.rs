//! The simulator: the real engine on a simulated environment, one thread, everything that could differ decided by a seed. It cuts
//! the power at any operation of the disk, recovers, and compares with a model of what was acknowledged.
//!
//! The disk, the time and the scheduler are those of the simulator of a source and its replicas too (crate `cluster`).
//!
//! Nothing in here runs in a server, and nothing of the engine is replaced but what it is given through
//! `base::environment`.

#![warn(clippy::disallowed_types)]

mod client;
mod context;
mod damage;
pub mod disk;
mod events;
pub mod exec;
mod groups;
mod model;
mod plan;
mod run;
pub mod seed_file;
mod shape;
pub mod time;
mod verify;

pub use disk::Counts;
pub use plan::{Limits, Plan, WORKLOAD};
pub use run::{Outcome, simulate};
