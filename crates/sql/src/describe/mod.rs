//! What SHOW, `information_schema` and definitions have in common: definitions as text, what metadata says of columns and indexes, small
//! results and their filters.
//!
//! Never here: a statement, or a change of anything.

pub(crate) mod columns;
pub(crate) mod compiled;
pub(crate) mod create_table;
pub(crate) mod filter;
pub(crate) mod keys;
pub(crate) mod routine;
pub(crate) mod row_format;
pub(crate) mod rowset;
pub(crate) mod server;
pub(crate) mod view;
