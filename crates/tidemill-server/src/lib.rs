//! The server of Tidemill: everything of the `tidemill` program but `main`, so that tests can start it in their own process.
//!
//! The database itself is the library `tidemill`, which this opens ([`open`]). What is added: the command line and my.cnf ([`options`]),
//! sockets, logins and the protocol ([`server`]), and the commands that need no server ([`shell`], [`check`])
//! or are about other ones ([`failover`]).

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]

pub mod backups;
pub mod check;
mod connect;
pub mod failover;
mod host;
pub mod log;
mod offload;
pub mod open;
pub mod option_files;
pub mod options;
mod persisted_file;
pub mod server;
pub mod shell;
