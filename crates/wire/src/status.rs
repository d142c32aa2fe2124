//! Server status flags: two bytes at the end of every OK and EOF packet.

/// A transaction is open.
pub const IN_TRANS: u16 = 0x0001;
/// Autocommit is on.
pub const AUTOCOMMIT: u16 = 0x0002;
/// Another result set follows this one.
pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
/// A join ran for which no good index was found.
pub const NO_GOOD_INDEX_USED: u16 = 0x0010;
/// The statement used no index.
pub const NO_INDEX_USED: u16 = 0x0020;
/// The statement opened a cursor; rows come by COM_STMT_FETCH.
pub const CURSOR_EXISTS: u16 = 0x0040;
/// The fetched batch ends the cursor.
pub const LAST_ROW_SENT: u16 = 0x0080;
/// A database was dropped.
pub const DB_DROPPED: u16 = 0x0100;
/// `NO_BACKSLASH_ESCAPES` is in `sql_mode`; clients quote strings by it.
pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
/// A prepared statement was prepared again and its metadata differ.
pub const METADATA_CHANGED: u16 = 0x0400;
/// The statement was slower than `long_query_time`.
pub const QUERY_WAS_SLOW: u16 = 0x0800;
/// This result set carries OUT parameters of a procedure.
pub const PS_OUT_PARAMS: u16 = 0x1000;
/// The open transaction is read only.
pub const IN_TRANS_READONLY: u16 = 0x2000;
/// The OK packet carries a session state block.
pub const SESSION_STATE_CHANGED: u16 = 0x4000;
