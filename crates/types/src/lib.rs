//! MySQL's values and their semantics: types, conversion, comparison, collations, error codes, keys.
//!
//! Pure functions over bytes and numbers, shared by the wire protocol, the engine and SQL. Nothing here does I/O, reads a clock,
//! keeps state or panics on data.

pub mod charset;
pub mod collation;
pub mod convert;
pub mod datatype;
pub mod decimal;
pub mod depth;
pub mod error;
pub mod gtid;
pub mod isolation;
pub mod json;
pub mod keyenc;
pub mod multi;
pub mod pace;
pub mod rowfield;
pub mod temporal;
pub mod value;

pub use charset::Charset;
pub use collation::CollationId;
pub use datatype::{DataType, IntWidth, Labels, LobSize, MysqlType};
pub use decimal::Decimal;
pub use error::{Level, SqlError, SqlResult, Warning};
pub use isolation::Isolation;
pub use pace::{Pace, Watch};
pub use temporal::{Date, DateTime, Time};
pub use value::{Value, ValueRef};
