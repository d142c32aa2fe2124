//! What the protocol keeps of a prepared statement beside the session's plan: parameter types, long data, an open
//! cursor.

use wire::param::{LongData, ParamTypes};

use super::cursor::Cursor;
use super::definitions::Definitions;

/// The protocol's side of a prepared statement.
#[derive(Debug, Default)]
pub struct Prepared {
    /// Number of parameters.
    pub params: u16,
    /// Parameter types, as last sent.
    pub types: ParamTypes,
    /// What COM_STMT_SEND_LONG_DATA brought since the last execution.
    pub long_data: LongData,
    /// Its columns' definitions, as last sent.
    pub definitions: Definitions,
    /// Rows to be fetched.
    pub cursor: Option<Cursor>,
}
