//! What the protocol keeps of a prepared statement beside the session's plan: parameter types, long data, an open
//! cursor.

use sql_expr::memory::Charge;
use types::SqlError;
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
    /// For the long data.
    pub charge: Charge,
    /// The session could not hold the long data: the next execution fails.
    pub refused: Option<SqlError>,
    /// Its columns' definitions, as last sent.
    pub definitions: Definitions,
    /// Rows to be fetched.
    pub cursor: Option<Cursor>,
}

impl Prepared {
    /// Forgets the long data.
    pub fn clear_long_data(&mut self) {
        self.long_data.clear();
        if self.charge.bytes() > 0 {
            // Less is never refused.
            self.charge.set(0);
        }
    }
}
