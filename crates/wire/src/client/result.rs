//! Reading answers: OK, ERR, result sets, packet by packet.

use super::ClientError;
use super::value::{Value, read_text_row};
use crate::capability::{self, has};
use crate::column_type::ColumnType;
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::response::{
    ColumnDef, EOF_HEADER, ERR_HEADER, LOCAL_INFILE_HEADER, OK_HEADER, OkPacket,
};
use crate::status;

/// The contents of an ERR packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE; empty when the server sent none.
    pub sqlstate: String,
    /// Message text.
    pub message: String,
}

impl ServerError {
    /// Reads an ERR packet.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`].
    pub fn parse(packet: &[u8]) -> ReadResult<ServerError> {
        let mut reader = Reader::new(packet);
        if reader.u8()? != ERR_HEADER {
            return Err(ProtocolError::Malformed);
        }
        let code = reader.u16()?;
        let mut sqlstate = String::new();
        if reader.rest().first() == Some(&b'#') {
            reader.u8()?;
            sqlstate = String::from_utf8_lossy(&reader.array::<5>()?).into_owned();
        }
        Ok(ServerError {
            code,
            sqlstate,
            message: String::from_utf8_lossy(reader.rest()).into_owned(),
        })
    }
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ERROR {} ({}): {}",
            self.code, self.sqlstate, self.message
        )
    }
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name or alias.
    pub name: String,
    /// Its base table's alias.
    pub table: String,
    /// Its type.
    pub column_type: ColumnType,
    /// Its flags.
    pub flags: u16,
    /// Its collation id.
    pub collation: u16,
    /// Its longest value, in bytes.
    pub length: u32,
    /// Digits after the point.
    pub decimals: u8,
}

impl Column {
    /// Reads a column definition packet.
    pub(super) fn parse(packet: &[u8]) -> ReadResult<Column> {
        let def = ColumnDef::parse(packet)?;
        Ok(Column {
            name: String::from_utf8_lossy(def.name).into_owned(),
            table: String::from_utf8_lossy(def.table).into_owned(),
            column_type: def.column_type,
            flags: def.flags,
            collation: def.collation,
            length: def.length,
            decimals: def.decimals,
        })
    }
}

/// One answer: rows, or the outcome of a statement without them (no columns).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSet {
    /// The columns; empty for an OK.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Rows changed.
    pub affected_rows: u64,
    /// The AUTO_INCREMENT value made.
    pub last_insert_id: u64,
    /// Server status at the end.
    pub status: u16,
    /// Warnings.
    pub warnings: u16,
    /// Text such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: String,
    /// Encoded session state changes.
    pub session_state: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// OK, ERR or a column count.
    Header,
    /// So many more column definitions.
    Columns(usize),
    /// The EOF behind them.
    ColumnsEnd,
    /// Rows or their end.
    Rows,
}

/// Reads the packets of one answer, however many result sets it has.
#[derive(Debug)]
pub struct ResultReader {
    capabilities: u32,
    binary: bool,
    expect: Expect,
    current: ResultSet,
    done: Vec<ResultSet>,
}

impl ResultReader {
    /// A reader for the answer to a query (`binary` false) or an execution.
    pub fn new(capabilities: u32, binary: bool) -> ResultReader {
        ResultReader {
            capabilities,
            binary,
            expect: Expect::Header,
            current: ResultSet::default(),
            done: Vec::new(),
        }
    }

    /// A reader for the answer to COM_STMT_FETCH on a statement of these columns.
    pub fn for_fetch(capabilities: u32, columns: Vec<Column>) -> ResultReader {
        let mut reader = ResultReader::new(capabilities, true);
        reader.current.columns = columns;
        reader.expect = Expect::Rows;
        reader
    }

    /// Takes a packet. Gives the result sets once the answer is complete.
    ///
    /// # Errors
    /// The server's error, which ends the answer; what came before it is lost.
    pub fn packet(&mut self, packet: &[u8]) -> Result<Option<Vec<ResultSet>>, ClientError> {
        let header = *packet.first().ok_or(ProtocolError::Malformed)?;
        match (self.expect, header) {
            (_, ERR_HEADER) => Err(ClientError::Server(ServerError::parse(packet)?)),
            (Expect::Header, OK_HEADER) => self.ok(packet),
            (Expect::Header, LOCAL_INFILE_HEADER) => {
                Err(ClientError::Unsupported("LOAD DATA LOCAL"))
            }
            (Expect::Header, _) => {
                let count = Reader::new(packet).lenenc_int()?;
                let count = usize::try_from(count).map_err(|_| ProtocolError::Malformed)?;
                self.expect = Expect::Columns(count);
                Ok(None)
            }
            (Expect::Columns(left), _) => {
                self.current.columns.push(Column::parse(packet)?);
                self.expect = match left {
                    0 | 1 if has(self.capabilities, capability::DEPRECATE_EOF) => Expect::Rows,
                    0 | 1 => Expect::ColumnsEnd,
                    _ => Expect::Columns(left - 1),
                };
                Ok(None)
            }
            (Expect::ColumnsEnd, EOF_HEADER) => {
                self.eof(packet)?;
                if self.current.status & status::CURSOR_EXISTS != 0 {
                    return Ok(self.complete());
                }
                self.expect = Expect::Rows;
                Ok(None)
            }
            (Expect::ColumnsEnd, _) => Err(ProtocolError::Malformed.into()),
            (Expect::Rows, EOF_HEADER) if packet.len() < crate::packet::MAX_FRAME => {
                if has(self.capabilities, capability::DEPRECATE_EOF) {
                    self.ok(packet)
                } else if packet.len() < 9 {
                    self.eof(packet)?;
                    Ok(self.complete())
                } else {
                    self.row(packet)
                }
            }
            (Expect::Rows, _) => self.row(packet),
        }
    }

    /// The rows that have come since this was asked last, of a result that has not ended: they are not in it then.
    pub fn take_rows(&mut self) -> Vec<Vec<Value>> {
        std::mem::take(&mut self.current.rows)
    }

    fn ok(&mut self, packet: &[u8]) -> Result<Option<Vec<ResultSet>>, ClientError> {
        let ok = OkPacket::parse(packet, self.capabilities)?;
        self.current.affected_rows = ok.affected_rows;
        self.current.last_insert_id = ok.last_insert_id;
        self.current.status = ok.status;
        self.current.warnings = ok.warnings;
        self.current.info = String::from_utf8_lossy(ok.info).into_owned();
        self.current.session_state = ok.session_state.to_vec();
        Ok(self.complete())
    }

    fn eof(&mut self, packet: &[u8]) -> ReadResult<()> {
        let mut reader = Reader::new(packet);
        reader.u8()?;
        self.current.warnings = reader.u16()?;
        self.current.status = reader.u16()?;
        Ok(())
    }

    fn complete(&mut self) -> Option<Vec<ResultSet>> {
        let more = self.current.status & status::MORE_RESULTS_EXISTS != 0;
        self.done.push(std::mem::take(&mut self.current));
        self.expect = Expect::Header;
        (!more).then(|| std::mem::take(&mut self.done))
    }

    fn row(&mut self, packet: &[u8]) -> Result<Option<Vec<ResultSet>>, ClientError> {
        let row = if self.binary {
            read_binary_row(packet, &self.current.columns)?
        } else {
            read_text_row(packet, self.current.columns.len())?
        };
        self.current.rows.push(row);
        Ok(None)
    }
}

fn read_binary_row(packet: &[u8], columns: &[Column]) -> ReadResult<Vec<Value>> {
    let mut reader = Reader::new(packet);
    if reader.u8()? != 0 {
        return Err(ProtocolError::Malformed);
    }
    let bitmap = reader.read_bytes((columns.len() + 2).div_ceil(8))?;
    let mut row = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let bit = index + 2;
        let null = bitmap
            .get(bit / 8)
            .is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        row.push(if null {
            Value::Null
        } else {
            Value::read(column.column_type, column.flags, &mut reader)?
        });
    }
    if !reader.is_empty() {
        return Err(ProtocolError::Malformed);
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_packets_read_without_panic(packets: Vec<Vec<u8>>, capabilities: u32, binary: bool) {
            let mut reader = ResultReader::new(capabilities, binary);
            for packet in &packets {
                let _ = reader.packet(packet);
            }
            let _ = packets.iter().filter(|packet| ServerError::parse(packet).is_ok()).count();
        }

        #[test]
        fn any_rows_read_without_panic(bytes: Vec<u8>, kinds: Vec<u8>) {
            let columns: Vec<Column> = kinds
                .iter()
                .filter_map(|&kind| ColumnType::from_u8(kind))
                .map(|column_type| Column {
                    name: String::new(),
                    table: String::new(),
                    column_type,
                    flags: 0,
                    collation: 0,
                    length: 0,
                    decimals: 0,
                })
                .collect();
            let mut packet = vec![0];
            packet.extend_from_slice(&bytes);
            let _ = read_binary_row(&packet, &columns);
            let _ = read_text_row(&bytes, kinds.len());
        }
    }
}
