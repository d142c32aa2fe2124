//! SQL cases in files of the format sqllogictest, run through any client: the crate's README has the format.
//!
//! [`run`] runs a folder of files through a [`Client`] and prints what failed. Nothing here knows a server or a protocol, and no
//! record passes without being run.

mod client;
mod connection;
mod file;

pub use client::{Answer, Client, Failure, Letter, Session, cell};
pub use file::{Options, run};
