//! The embedded library: the same database as the server's, in the program's own process, through calls that block.
//!
//! This is the only stable interface of the project. It adds nothing to SQL and opens no socket.

mod connection;
mod database;
mod error;
mod rows;
mod value;

pub use connection::{Connection, Statement, Transaction};
pub use database::{Database, OpenOptions};
pub use error::{Error, ErrorKind, Result};
pub use rows::{ColumnIndex, Row, Rows, Summary};
pub(crate) use value::text;
pub use value::{FromValue, Params, ToValue, Value};
