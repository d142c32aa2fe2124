//! What tests from outside and measurements share: servers as child processes, clients, load, scratch folders.
//!
//! Nothing here links the engine. A server is a program with a path: the release build of the workspace, the one that
//! `TIDEMILL_SERVER` names, or one that the caller names (`server::Setup::tidemill`), as an integration test does with
//! `env!("CARGO_BIN_EXE_tidemill")`.

#![warn(clippy::disallowed_types)]

pub mod cgroup;
pub mod client;
pub mod install;
pub mod process;
pub mod queries;
pub mod rng;
pub mod scratch;
pub mod server;
pub mod step;
pub mod sysbench;
pub mod table;
pub mod workspace;
