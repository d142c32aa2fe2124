//! COM_*: what a client asks for after its login.
//!
//! [`Command::parse`] borrows everything from the packet. Parameters of a prepared statement need the statement to be
//! read; see [`param`](crate::param).

use crate::capability::{self, has};
use crate::error::ProtocolError;
use crate::handshake::ChangeUser;
use crate::param::QueryAttributes;
use crate::read::{ReadResult, Reader};

/// Command bytes.
pub mod code {
    /// COM_QUIT.
    pub const QUIT: u8 = 0x01;
    /// COM_INIT_DB.
    pub const INIT_DB: u8 = 0x02;
    /// COM_QUERY.
    pub const QUERY: u8 = 0x03;
    /// COM_FIELD_LIST.
    pub const FIELD_LIST: u8 = 0x04;
    /// COM_CREATE_DB, gone since MySQL 5.
    pub const CREATE_DB: u8 = 0x05;
    /// COM_DROP_DB, gone since MySQL 5.
    pub const DROP_DB: u8 = 0x06;
    /// COM_REFRESH.
    pub const REFRESH: u8 = 0x07;
    /// COM_SHUTDOWN, gone since MySQL 8.
    pub const SHUTDOWN: u8 = 0x08;
    /// COM_STATISTICS.
    pub const STATISTICS: u8 = 0x09;
    /// COM_PROCESS_INFO.
    pub const PROCESS_INFO: u8 = 0x0A;
    /// COM_PROCESS_KILL.
    pub const PROCESS_KILL: u8 = 0x0C;
    /// COM_DEBUG.
    pub const DEBUG: u8 = 0x0D;
    /// COM_PING.
    pub const PING: u8 = 0x0E;
    /// COM_CHANGE_USER.
    pub const CHANGE_USER: u8 = 0x11;
    /// COM_BINLOG_DUMP.
    pub const BINLOG_DUMP: u8 = 0x12;
    /// COM_REGISTER_SLAVE.
    pub const REGISTER_SLAVE: u8 = 0x15;
    /// COM_STMT_PREPARE.
    pub const STMT_PREPARE: u8 = 0x16;
    /// COM_STMT_EXECUTE.
    pub const STMT_EXECUTE: u8 = 0x17;
    /// COM_STMT_SEND_LONG_DATA.
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// COM_STMT_CLOSE.
    pub const STMT_CLOSE: u8 = 0x19;
    /// COM_STMT_RESET.
    pub const STMT_RESET: u8 = 0x1A;
    /// COM_SET_OPTION.
    pub const SET_OPTION: u8 = 0x1B;
    /// COM_STMT_FETCH.
    pub const STMT_FETCH: u8 = 0x1C;
    /// COM_BINLOG_DUMP_GTID.
    pub const BINLOG_DUMP_GTID: u8 = 0x1E;
    /// COM_RESET_CONNECTION.
    pub const RESET_CONNECTION: u8 = 0x1F;
}

/// COM_STMT_EXECUTE flag: open a read-only cursor, send rows by COM_STMT_FETCH.
pub const CURSOR_TYPE_READ_ONLY: u8 = 1;
/// COM_STMT_EXECUTE flag: a parameter count precedes the parameters.
pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;

/// A command, borrowed from its packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    /// End the connection; no reply.
    Quit,
    /// Change the default database.
    InitDb(&'a [u8]),
    /// Run SQL text.
    Query {
        /// The text, in the connection's character set.
        sql: &'a [u8],
        /// Attributes sent along.
        attributes: QueryAttributes<'a>,
    },
    /// List a table's columns (the `mysql` client's completion).
    FieldList {
        /// The table.
        table: &'a [u8],
        /// A LIKE pattern for column names; empty for all.
        wildcard: &'a [u8],
    },
    /// FLUSH and its like; the byte says what of.
    Refresh(u8),
    /// One line of server statistics.
    Statistics,
    /// SHOW PROCESSLIST.
    ProcessInfo,
    /// KILL a connection.
    ProcessKill(u32),
    /// Dump debug information to the log.
    Debug,
    /// Are you there.
    Ping,
    /// Log in anew.
    ChangeUser(ChangeUser<'a>),
    /// Forget the session's state, keep its user.
    ResetConnection,
    /// Multi-statements on (0) or off (1).
    SetOption(u16),
    /// Prepare SQL text.
    StmtPrepare(&'a [u8]),
    /// Run a prepared statement.
    StmtExecute(StmtExecute<'a>),
    /// Append to a parameter; no reply, errors show at the execution.
    StmtSendLongData {
        /// The statement.
        statement: u32,
        /// The parameter, from 0.
        param: u16,
        /// Its next bytes.
        data: &'a [u8],
    },
    /// Forget a statement; no reply.
    StmtClose(u32),
    /// Forget a statement's long data and cursor.
    StmtReset(u32),
    /// Send rows of a cursor.
    StmtFetch {
        /// The statement.
        statement: u32,
        /// At most so many rows.
        rows: u32,
    },
    /// Register as a replica.
    RegisterReplica(RegisterReplica<'a>),
    /// Stream the binlog from a file and position.
    BinlogDump {
        /// Where in the file.
        position: u32,
        /// Bit 0: end at the end instead of waiting.
        flags: u16,
        /// The replica.
        server_id: u32,
        /// The file.
        file: &'a [u8],
    },
    /// Stream the binlog from behind a set of transactions.
    BinlogDumpGtid {
        /// Bit 0: end at the end; bit 2: by GTID.
        flags: u16,
        /// The replica.
        server_id: u32,
        /// The file, often empty.
        file: &'a [u8],
        /// Where in the file.
        position: u64,
        /// The encoded set.
        gtids: &'a [u8],
    },
}

/// COM_STMT_EXECUTE; its parameters are read with the statement at hand, by
/// [`ParamTypes::bind`](crate::param::ParamTypes::bind).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtExecute<'a> {
    /// The statement.
    pub statement: u32,
    /// [`CURSOR_TYPE_READ_ONLY`] and its like.
    pub flags: u8,
    /// What follows the fixed part.
    pub params: &'a [u8],
}

impl StmtExecute<'_> {
    /// Whether the client wants a cursor.
    pub const fn wants_cursor(&self) -> bool {
        self.flags & CURSOR_TYPE_READ_ONLY != 0
    }
}

/// COM_REGISTER_SLAVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterReplica<'a> {
    /// The replica's server id.
    pub server_id: u32,
    /// Its host name, as it reports it.
    pub host: &'a [u8],
    /// Its user name.
    pub user: &'a [u8],
    /// Its port.
    pub port: u16,
    /// Its source's server id.
    pub source_id: u32,
}

impl<'a> Command<'a> {
    /// Reads a command packet; `capabilities` are those of the connection.
    ///
    /// # Errors
    /// [`ProtocolError::UnknownCommand`] for a command this server has not, [`ProtocolError::Malformed`] for a packet too
    /// short for its command.
    #[inline]
    pub fn parse(packet: &'a [u8], capabilities: u32) -> ReadResult<Command<'a>> {
        let Some((&command, body)) = packet.split_first() else {
            return Err(ProtocolError::Malformed);
        };
        match command {
            code::STMT_EXECUTE => {
                let mut reader = Reader::new(body);
                let statement = reader.u32()?;
                let flags = reader.u8()?;
                // The iteration count, always 1.
                reader.u32()?;
                Ok(Command::StmtExecute(StmtExecute {
                    statement,
                    flags,
                    params: reader.rest(),
                }))
            }
            code::QUERY if !has(capabilities, capability::QUERY_ATTRIBUTES) => Ok(Command::Query {
                sql: body,
                attributes: QueryAttributes::default(),
            }),
            code::QUERY => {
                let mut reader = Reader::new(body);
                let attributes = QueryAttributes::read(&mut reader)?;
                Ok(Command::Query {
                    sql: reader.rest(),
                    attributes,
                })
            }
            _ => Command::parse_other(command, body, capabilities),
        }
    }

    fn parse_other(command: u8, body: &'a [u8], capabilities: u32) -> ReadResult<Command<'a>> {
        let mut reader = Reader::new(body);
        Ok(match command {
            code::QUIT => Command::Quit,
            code::INIT_DB => Command::InitDb(body),
            code::FIELD_LIST => Command::FieldList {
                table: reader.nul_bytes()?,
                wildcard: reader.nul_or_end_bytes(),
            },
            code::REFRESH => Command::Refresh(reader.u8()?),
            code::STATISTICS => Command::Statistics,
            code::PROCESS_INFO => Command::ProcessInfo,
            code::PROCESS_KILL => Command::ProcessKill(reader.u32()?),
            code::DEBUG => Command::Debug,
            code::PING => Command::Ping,
            code::CHANGE_USER => Command::ChangeUser(ChangeUser::parse(body, capabilities)?),
            code::RESET_CONNECTION => Command::ResetConnection,
            code::SET_OPTION => Command::SetOption(reader.u16()?),
            code::STMT_PREPARE => Command::StmtPrepare(body),
            code::STMT_SEND_LONG_DATA => Command::StmtSendLongData {
                statement: reader.u32()?,
                param: reader.u16()?,
                data: reader.rest(),
            },
            code::STMT_CLOSE => Command::StmtClose(reader.u32()?),
            code::STMT_RESET => Command::StmtReset(reader.u32()?),
            code::STMT_FETCH => Command::StmtFetch {
                statement: reader.u32()?,
                rows: reader.u32()?,
            },
            code::REGISTER_SLAVE => Command::RegisterReplica(register(&mut reader)?),
            code::BINLOG_DUMP => Command::BinlogDump {
                position: reader.u32()?,
                flags: reader.u16()?,
                server_id: reader.u32()?,
                file: reader.rest(),
            },
            code::BINLOG_DUMP_GTID => binlog_dump_gtid(&mut reader)?,
            _ => return Err(ProtocolError::UnknownCommand),
        })
    }
}

fn short_bytes<'a>(reader: &mut Reader<'a>) -> ReadResult<&'a [u8]> {
    let length = reader.u8()?;
    reader.read_bytes(usize::from(length))
}

fn register<'a>(reader: &mut Reader<'a>) -> ReadResult<RegisterReplica<'a>> {
    let server_id = reader.u32()?;
    let host = short_bytes(reader)?;
    let user = short_bytes(reader)?;
    // The replica's password; of no use.
    short_bytes(reader)?;
    let port = reader.u16()?;
    // The replication rank, never used.
    reader.u32()?;
    Ok(RegisterReplica {
        server_id,
        host,
        user,
        port,
        source_id: reader.u32()?,
    })
}

fn binlog_dump_gtid<'a>(reader: &mut Reader<'a>) -> ReadResult<Command<'a>> {
    let long_bytes = |reader: &mut Reader<'a>| {
        let length = reader.u32()?;
        reader.read_bytes(length as usize)
    };
    let flags = reader.u16()?;
    let server_id = reader.u32()?;
    let file = long_bytes(reader)?;
    let position = reader.u64()?;
    let gtids = if reader.is_empty() {
        &[][..]
    } else {
        long_bytes(reader)?
    };
    Ok(Command::BinlogDumpGtid {
        flags,
        server_id,
        file,
        position,
        gtids,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(packet: &[u8]) -> ReadResult<Command<'_>> {
        Command::parse(packet, capability::PROTOCOL_41)
    }

    #[test]
    fn commands() {
        assert_eq!(parse(&[code::QUIT]), Ok(Command::Quit));
        assert_eq!(parse(b"\x02db"), Ok(Command::InitDb(b"db")));
        let query = parse(b"\x03SELECT 1");
        assert!(matches!(query, Ok(Command::Query { sql, .. }) if sql == b"SELECT 1"));
        assert_eq!(
            parse(b"\x04t\0c%"),
            Ok(Command::FieldList {
                table: b"t",
                wildcard: b"c%"
            })
        );
        assert_eq!(
            parse(&[code::STMT_EXECUTE, 5, 0, 0, 0, 1, 1, 0, 0, 0, 9]),
            Ok(Command::StmtExecute(StmtExecute {
                statement: 5,
                flags: CURSOR_TYPE_READ_ONLY,
                params: &[9]
            }))
        );
        assert_eq!(
            parse(b"\x18\x01\0\0\0\x02\0abc"),
            Ok(Command::StmtSendLongData {
                statement: 1,
                param: 2,
                data: b"abc"
            })
        );
    }

    #[test]
    fn refused() {
        assert_eq!(parse(&[]), Err(ProtocolError::Malformed));
        assert_eq!(
            parse(&[code::STMT_EXECUTE, 1]),
            Err(ProtocolError::Malformed)
        );
        for command in [0x00, 0x05, 0x06, 0x08, 0x0B, 0x0F, 0x10, 0x1D, 0x20, 0xFF] {
            assert_eq!(parse(&[command]), Err(ProtocolError::UnknownCommand));
        }
    }

    #[test]
    fn attributes_precede_the_text() {
        let flags = capability::PROTOCOL_41 | capability::QUERY_ATTRIBUTES;
        let query = Command::parse(b"\x03\x00\x01SELECT 1", flags);
        assert!(matches!(query, Ok(Command::Query { sql, .. }) if sql == b"SELECT 1"));
        let packet = b"\x03\x01\x01\x00\x01\xFE\x00\x04name\x05valueSELECT 1";
        let Ok(Command::Query { sql, attributes }) = Command::parse(packet, flags) else {
            panic!("not a query");
        };
        assert_eq!(sql, b"SELECT 1");
        let all: Vec<_> = attributes.iter().collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].0, b"name");
        assert_eq!(all[0].1, crate::param::ParamValue::Text(b"value"));
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_parse_without_panic(command: u8, bytes: Vec<u8>, flags: u32) {
            let mut packet = vec![command];
            packet.extend_from_slice(&bytes);
            if let Ok(Command::Query { attributes, .. }) = Command::parse(&packet, flags) {
                let _ = attributes.iter().count();
            }
        }
    }
}
