//! What a statement that has no plan does, one kind a file or folder; and how one that has a plan is planned and run, for those that need
//! such a one inside.
//!
//! Never here: which statement goes where, or how its text came.

pub mod accounts;
mod backup;
mod binlog;
pub mod ddl;
mod explain;
mod flush;
mod handler;
mod kill;
mod load;
mod lock_tables;
pub(crate) mod maintenance;
mod persist;
pub(crate) mod planned;
mod plugin;
pub(crate) mod program;
mod replica;
pub(crate) mod scalar;
mod server;
mod server_mode;
mod set;
pub(crate) mod set_vars;
pub mod show;
mod transaction;
mod xa;
