//! The simulator of a source and two replicas: real servers but for their sockets, disks and clocks, in one thread, where a seed decides everything. Links
//! are cut, connections lost, servers lose their power, replicas are promoted; a model says what has to be where.
//!
//! What it never does: replace a part of the servers, but the connection's packets (`serve`), which the server has on real sockets only.

#![warn(clippy::disallowed_types)]

mod client;
mod cluster;
mod history;
mod judge;
mod model;
mod net;
mod node;
mod serve;
#[cfg(test)]
mod tests;

pub use history::{Outcome, simulate};

/// The version of the workload: a seed says the same only under the same version.
pub const WORKLOAD: u32 = 2;
