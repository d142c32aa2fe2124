//! Who may do what. Accounts and roles, their privileges, what a statement needs, and the one check between the two.
//!
//! - [`privilege`], [`account`], [`host`]: the data.
//! - [`needs`]: what a bound statement needs, collected while it is bound; [`statement`]: the same of statements that are not planned.
//! - [`context`]: what a session has: its account and active roles. [`context::SecurityContext`] is the only one that compares
//!   needs with it, and the only one that makes an [`context::Authorized`] plan or a [`context::Granted`] token, without which nothing
//!   can be run.
//!
//! Never here: a name looked up in the catalog (a statement is refused before anything says whether its tables exist), a packet, a
//! session. Statements about accounts are `session::accounts`'.

#![warn(clippy::disallowed_types)]
// Every wait is for an event (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod account;
pub mod context;
pub mod host;
pub mod login;
pub mod needs;
pub mod password;
pub mod privilege;
pub mod roles;
pub mod statement;

pub use account::{Account, AccountId, AccountState, TlsRequirement};
pub use context::{Authorized, Granted, Ready, SecurityContext};
pub use privilege::{Priv, PrivSet};
