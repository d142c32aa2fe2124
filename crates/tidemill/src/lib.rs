//! Tidemill: a transactional SQL database that speaks MySQL's language, as a library in your process and as a server.
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
//! [`Database`], [`Connection`], [`Statement`], [`Transaction`], [`Rows`] and [`Error`] are the stable interface. The modules
//! are those of the `tidemill` program: what its command line means, and its four commands.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]

pub mod check;
mod embed;
pub mod log;
pub mod open;
pub mod options;
pub mod server;
pub mod shell;

pub use embed::{
    ColumnIndex, Connection, Database, Error, ErrorKind, FromValue, OpenOptions, Params, Result,
    Row, Rows, Statement, Summary, ToValue, Transaction, Value,
};
pub use types::{Date, DateTime, Decimal, Time};
