//! From a syntax tree to a plan: names resolved ([`bind`]), then the choice of how it is carried out ([`optimize`]), which is data ([`plan`]).
//!
//! ```text
//!  sql_parser::ast ──bind──▶ bound statement ──optimize──▶ Plan ──▶ sql_exec
//!                   catalog, views, rights      statistics       └──▶ EXPLAIN's forms
//!                   that it needs               of tables
//! ```
//!
//! [`sink`] is how results leave, since a plan says what its columns are.
//!
//! Never here: a row that is read, a lock that is taken, a wait, a session.

#![warn(clippy::disallowed_types)]
// Every wait is for an event (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod bind;
pub mod optimize;
pub mod plan;
pub mod sink;
