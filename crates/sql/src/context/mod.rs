//! What a statement runs in: the server that all sessions share, and of one session its account and rights, variables, transaction,
//! diagnostics, prepared statements and entry in the process list.
//!
//! Never here: what any statement does. Nothing in this folder carries one out, sends one on or plans one.

pub mod accounts;
mod before;
pub mod change_log;
pub(crate) mod com;
pub(crate) mod deadlocks;
mod diagnostics;
mod evaluation;
pub mod events;
mod facts;
pub(crate) mod gate;
pub(crate) mod gtid;
pub(crate) mod handlers;
pub mod host;
mod instance;
pub(crate) mod lock_names;
mod named;
pub(crate) mod names;
mod offline;
mod outcome;
pub mod persisted;
pub(crate) mod prepared;
mod process;
pub(crate) mod programs;
pub(crate) mod prologue;
mod replayed;
pub mod replica;
mod reports;
pub(crate) mod roles;
pub(crate) mod routine_def;
mod security;
mod session;
mod transaction;
pub(crate) mod transactions;
pub mod transport;
mod variables;
pub(crate) mod xa;
mod xa_refusals;

pub use com::{COM_NAMES, Com};
pub use diagnostics::{Diagnostics, Said};
pub(crate) use instance::session_counts;
pub use instance::{
    Instance, InstanceOptions, PasswordHasher, PasswordVerifier, ServerCounts, TlsReload,
};
pub(crate) use names::TableName;
pub use process::{Command, Doing, OwnThread, Process, ProcessRow, SYSTEM_USER};
pub(crate) use session::parse_error;
pub use session::{ClientFlags, Outcome, Session};
