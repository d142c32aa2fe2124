//! Stored programs: a body's tree compiled to flat code, and the interpreter of that code.
//!
//! | module | what it does | what it never does |
//! |---|---|---|
//! | `code` | the program as data: instructions with jumps, variables, scopes of handlers, cursors | does anything with it |
//! | `condition` | what a handler can be for, what SIGNAL raises, the items of a condition | keeps a list of conditions |
//! | `handlers` | which handler takes a condition | |
//! | `names` | variables in place of names in statements and expressions | knows a table |
//! | `compile` | from the tree to code, with every error that is known by then | looks a name up in the catalog |
//! | `host` | what the interpreter asks of whoever runs it | |
//! | `run` | carries the code out | evaluates, reads rows, waits by itself |
//!
//! Nothing here knows an engine or a session.

#![warn(missing_docs, clippy::disallowed_types)]

pub mod code;
mod compile;
pub mod condition;
mod handlers;
mod host;
mod names;
mod run;
#[cfg(test)]
mod tests;

pub use compile::{Kind, Source, compile};
pub use host::{Host, Later, Raised, Step};
pub use run::run;
