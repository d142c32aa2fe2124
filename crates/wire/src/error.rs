//! What can be wrong with a peer's bytes, as MySQL's error numbers.

use std::fmt;

/// A fault in the bytes of a peer. Each has MySQL's number, SQLSTATE and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolError {
    /// A packet longer than `max_allowed_packet` was announced.
    PacketTooLarge,
    /// A packet's sequence number is not the next.
    OutOfOrder,
    /// A frame of the compressed protocol that is not what it announces.
    Uncompress,
    /// A packet ends early, or holds a value that cannot be.
    Malformed,
    /// The handshake response cannot be understood, or asks for what was not offered.
    BadHandshake,
    /// A command byte that names no command this server has.
    UnknownCommand,
    /// COM_STMT_EXECUTE without parameter types that were never sent, or of an unknown type.
    WrongArguments,
    /// Parameter data of COM_STMT_SEND_LONG_DATA outgrew `max_allowed_packet`.
    LongDataTooLarge,
    /// The operating system gave no randomness, or a key could not be made.
    Crypto,
}

impl ProtocolError {
    /// MySQL's error number.
    pub const fn code(self) -> u16 {
        match self {
            ProtocolError::PacketTooLarge => 1153,
            ProtocolError::OutOfOrder => 1156,
            ProtocolError::Uncompress => 1157,
            ProtocolError::Malformed => 1835,
            ProtocolError::BadHandshake => 1043,
            ProtocolError::UnknownCommand => 1047,
            ProtocolError::WrongArguments => 1210,
            ProtocolError::LongDataTooLarge => 1105,
            ProtocolError::Crypto => 1105,
        }
    }

    /// MySQL's five-character SQLSTATE.
    pub const fn sqlstate(self) -> &'static str {
        match self {
            ProtocolError::PacketTooLarge
            | ProtocolError::OutOfOrder
            | ProtocolError::Uncompress
            | ProtocolError::BadHandshake
            | ProtocolError::UnknownCommand => "08S01",
            _ => "HY000",
        }
    }

    /// MySQL's message text.
    pub const fn message(self) -> &'static str {
        match self {
            ProtocolError::PacketTooLarge => "Got a packet bigger than 'max_allowed_packet' bytes",
            ProtocolError::OutOfOrder => "Got packets out of order",
            ProtocolError::Uncompress => "Couldn't uncompress communication packet",
            ProtocolError::Malformed => "Malformed communication packet.",
            ProtocolError::BadHandshake => "Bad handshake",
            ProtocolError::UnknownCommand => "Unknown command",
            ProtocolError::WrongArguments => "Incorrect arguments to mysqld_stmt_execute",
            ProtocolError::LongDataTooLarge => {
                "Parameter of prepared statement which is set through mysql_send_long_data() \
                 is longer than 'max_allowed_packet' bytes"
            }
            ProtocolError::Crypto => "Unknown error: cryptographic operation failed",
        }
    }

    /// Whether the connection ends after this error is sent. A bad command or bad arguments leave it usable.
    pub const fn is_fatal(self) -> bool {
        !matches!(
            self,
            ProtocolError::UnknownCommand
                | ProtocolError::WrongArguments
                | ProtocolError::LongDataTooLarge
        )
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}): {}",
            self.code(),
            self.sqlstate(),
            self.message()
        )
    }
}

impl std::error::Error for ProtocolError {}
