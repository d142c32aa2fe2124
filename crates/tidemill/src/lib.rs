//! Tidemill: a transactional SQL database that speaks MySQL's language, as a library in your process. The server is the package
//! `tidemill-server`.
//!
//! ```
//! use tidemill::Database;
//!
//! # fn main() -> tidemill::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("tidemill-doc-{}", std::process::id()));
//! let database = Database::open(&dir)?;
//! let connection = database.connect()?;
//! connection.execute_batch(
//!     "CREATE DATABASE IF NOT EXISTS shop; USE shop;
//!      CREATE TABLE IF NOT EXISTS item (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), price INT);",
//! )?;
//!
//! let transaction = connection.transaction()?;
//! let insert = transaction.prepare("INSERT INTO item (name, price) VALUES (?, ?)")?;
//! for (name, price) in [("rope", 12), ("anchor", 99)] {
//!     insert.execute((name, price))?;
//! }
//! drop(insert);
//! transaction.commit()?;
//!
//! for row in connection.query("SELECT name, price FROM item WHERE price > ?", (50,))? {
//!     let (name, price): (String, i64) = (row.get("name")?, row.get(1)?);
//!     assert_eq!((name.as_str(), price), ("anchor", 99));
//! }
//! # drop(connection);
//! # database.close()?;
//! # std::fs::remove_dir_all(&dir).ok();
//! # Ok(())
//! # }
//! ```
//!
//! Every call blocks until it is done. What the crate's root names is the stable interface; [`open`] is for programs with a front end
//! of their own.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]

mod binary_log;
mod connection;
mod database;
mod error;
pub mod open;
mod options;
mod rows;
mod server_uuid;
mod shared_directory;
mod value;

pub use connection::{Connection, Statement, Transaction};
pub use database::Database;
pub use engine::FlushMethod;
pub use error::{Error, ErrorKind, Result};
pub use options::{Durability, OpenOptions};
pub use rows::{ColumnIndex, Row, Rows, Summary};
pub use types::{Date, DateTime, Decimal, Time};
pub use value::{FromValue, Params, ToValue, Value};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
