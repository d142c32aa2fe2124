//! The SQL layer: text in, result rows out.
//!
//! Below it: `sql_parser` (text to tree), `sql_expr` (typed expressions, system variables, memory limits). Modules, from the
//! bottom: `access` (who may do what), `bind` (names resolved), `plan` (plans as data), `optimize` (from the one to the other), `exec` (plan to rows), `accounts` (the accounts in force and their tables), `ddl`, `show` and `infoschema` (definitions
//! and what the server tells of itself), `cache` (parsed and planned statements by text), `session` (one connection). Results
//! leave through [`sink`].

#![warn(clippy::disallowed_types)]
// Every wait is for an event, and every change of a row is the table writer's (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod access;
pub mod bind;
pub mod cache;
pub mod context;
pub mod ddl;
pub mod describe;
pub mod exec;
pub mod infoschema;
pub mod optimize;
pub mod plan;
pub mod session;
pub mod show;
pub mod sink;

pub use context::{Instance, InstanceOptions, Session};
pub use sink::{ColumnMeta, Done, ResultSink};
