//! Replication: what sessions change becomes a binary log that MySQL's replicas read, and what another server's binary log says
//! is done here.
//!
//! What happens in which order, and why, is decision 0046. In short: sessions put the events of their changes into the one log,
//! before their commit; behind the commit's path a reader of the log makes the files out of them, and sends them to replicas.
//!
//! | module | what |
//! |---|---|
//! | [`changes`] | the change log: what sessions change becomes events in their transactions' groups |
//! | [`group`] | what a transaction leaves in the log for the binary log |
//! | [`payload`] | the events of a transaction that is compressed |
//! | [`json`] | MySQL's binary form of JSON, to and from the text that is stored here |
//! | [`derive`] | groups become numbered events |
//! | [`files`] | the files of the binary log |
//! | [`source`] | where groups come from |
//! | [`service`] | the task that makes files, and what is shown of them |
//! | [`archive`] | the files are copied elsewhere as they come |
//! | [`dump`] | events to replicas |
//! | [`serve`] | a dump on its connection |
//! | [`describe`], [`statements`] | what statements see of all that |
//! | [`replica`] | this server as a replica of another |
//!
//! What it never does: stand in a commit's way, sync for a commit, or send what is not durable here.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]

pub mod archive;
pub mod changes;
pub mod derive;
pub mod describe;
pub mod dump;
pub mod files;
pub mod group;
#[cfg(test)]
mod in_time;
pub mod json;
pub mod payload;
pub mod replica;
pub mod semi_sync;
pub mod serve;
pub mod service;
pub mod source;
pub mod statements;
