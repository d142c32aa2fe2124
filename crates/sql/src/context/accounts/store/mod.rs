//! `mysql.user` and the tables beside it: made on first start, brought to the present shape where they are older, read and
//! written as rows.
//!
//! The rows are what holds: the state in memory is what they say. A row that says something impossible (an unknown privilege, JSON that is
//! none, a role that is no account) grants nothing. Nothing here decides what is allowed.

mod attributes;
pub mod components;
mod orphans;
mod prepare;
mod read;
mod rows;
pub mod schema;
mod write;

#[cfg(test)]
mod tests;

pub use prepare::prepare;
pub use read::read;
pub use write::write;
