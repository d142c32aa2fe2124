//! Replication: what sessions change becomes a binary log that MySQL's replicas read, and what another server's binary log says
//! is done here.
//!
//! What happens in which order, and why, is decision 0046. In short: sessions put the events of their changes into the one log,
//! before their commit; behind the commit's path a reader of the log makes the files out of them, and sends them to replicas.
//!
//! | module | what |
//! |---|---|
//! | [`group`] | what a transaction leaves in the log for the binary log |
//! | [`replica`] | this server as a replica of another |
//!
//! What it never does: stand in a commit's way, sync for a commit, or send what is not durable here.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]

pub mod group;
pub mod replica;
