//! The SQL layer: text in, result rows out.
//!
//! Modules, from the bottom: `parse` (text to tree), `vars` (system variables), `access` (who may do what), `expr` (typed
//! expressions), `plan` (tree to plan), `exec` (plan to rows), `ddl`, `show` and `infoschema` (definitions and what the server tells of itself), `cache`
//! (parsed and planned statements by text), `memory` (what sessions hold, and its limits), `session` (one
//! connection). Results leave through [`sink`].

#![warn(clippy::disallowed_types)]
// Every wait is for an event (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod access;
pub mod cache;
pub mod ddl;
pub mod exec;
pub mod expr;
pub mod infoschema;
pub mod memory;
pub mod parse;
pub mod plan;
pub mod session;
pub mod show;
pub mod sink;
pub mod vars;

pub use session::{Instance, InstanceOptions, Session};
pub use sink::{ColumnMeta, Done, ResultSink};
