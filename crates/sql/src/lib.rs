//! The SQL layer: text in, result rows out.
//!
//! Below it: `sql_parser` (text to tree), `sql_expr` (typed expressions, system variables, memory limits). Modules, from the
//! bottom: `access` (who may do what), `bind` (names resolved), `plan` (plans as data), `optimize` (from the one to the other), `cache`
//! (plans by text), `exec` (plan to rows), `context` (what a statement runs in), `describe` and `infoschema` (what the server tells of
//! itself), `command` (statements without a plan), `dispatch` (which statement goes where), `session` (what a client asks). Results
//! leave through [`sink`].

#![warn(clippy::disallowed_types)]
// Every wait is for an event, and every change of a row is the table writer's (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod access;
pub mod binary_log;
pub mod bind;
pub mod cache;
mod command;
pub mod context;
mod describe;
mod dispatch;
pub mod exec;
pub mod infoschema;
pub mod optimize;
pub mod persisted;
pub mod plan;
mod separators;
mod server_file;
pub mod session;
pub mod sink;

pub use context::{Instance, InstanceOptions, Session};
pub use sink::{ColumnMeta, Done, ResultSink};
