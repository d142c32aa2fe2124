//! The SQL layer: text in, result rows out.
//!
//! Below it: `sql_parser` (text to tree), `sql_expr` (typed expressions, system variables, memory limits), `sql_access` (who may do what), `sql_plan`
//! (names resolved, plans), `sql_exec` (plan to rows). Modules, from the bottom: `cache` (plans by text), `context` (what a statement runs in),
//! `describe` and `infoschema` (what the server tells of itself), `command` (statements without a plan), `dispatch` (which statement goes where),
//! `session` (what a client asks). Results leave through [`sink`].

#![warn(clippy::disallowed_types)]
// Every wait is for an event, and every change of a row is the table writer's (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod cache;
mod command;
pub mod context;
mod describe;
mod dispatch;
pub mod infoschema;
pub mod persisted;
pub mod session;

pub use context::{Instance, InstanceOptions, Session};
pub use sql_access as access;
pub use sql_exec::{self as exec, binary_log};
pub use sql_plan::sink::{self, ColumnMeta, Done, ResultSink};
