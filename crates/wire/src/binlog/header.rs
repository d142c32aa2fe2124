//! What stands in front of each event.

use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// Bytes of a header.
pub const LEN: usize = 19;

/// The kinds of events, by MySQL's numbers, and MariaDB's own from 160 on.
#[allow(missing_docs)]
pub mod kind {
    pub const QUERY: u8 = 2;
    pub const STOP: u8 = 3;
    pub const ROTATE: u8 = 4;
    pub const INTVAR: u8 = 5;
    pub const APPEND_BLOCK: u8 = 9;
    pub const DELETE_FILE: u8 = 11;
    pub const RAND: u8 = 13;
    pub const USER_VAR: u8 = 14;
    pub const FORMAT_DESCRIPTION: u8 = 15;
    pub const XID: u8 = 16;
    pub const BEGIN_LOAD_QUERY: u8 = 17;
    pub const EXECUTE_LOAD_QUERY: u8 = 18;
    pub const TABLE_MAP: u8 = 19;
    pub const WRITE_ROWS_V1: u8 = 23;
    pub const UPDATE_ROWS_V1: u8 = 24;
    pub const DELETE_ROWS_V1: u8 = 25;
    pub const INCIDENT: u8 = 26;
    pub const HEARTBEAT: u8 = 27;
    pub const IGNORABLE: u8 = 28;
    pub const ROWS_QUERY: u8 = 29;
    pub const WRITE_ROWS: u8 = 30;
    pub const UPDATE_ROWS: u8 = 31;
    pub const DELETE_ROWS: u8 = 32;
    pub const GTID: u8 = 33;
    pub const ANONYMOUS_GTID: u8 = 34;
    pub const PREVIOUS_GTIDS: u8 = 35;
    pub const TRANSACTION_CONTEXT: u8 = 36;
    pub const VIEW_CHANGE: u8 = 37;
    pub const XA_PREPARE: u8 = 38;
    pub const PARTIAL_UPDATE_ROWS: u8 = 39;
    pub const TRANSACTION_PAYLOAD: u8 = 40;
    pub const HEARTBEAT_V2: u8 = 41;
    pub const MARIA_ANNOTATE_ROWS: u8 = 160;
    pub const MARIA_CHECKPOINT: u8 = 161;
    pub const MARIA_GTID: u8 = 162;
    pub const MARIA_GTID_LIST: u8 = 163;
    pub const MARIA_START_ENCRYPTION: u8 = 164;
    pub const MARIA_QUERY_COMPRESSED: u8 = 165;
    pub const MARIA_WRITE_ROWS_COMPRESSED_V1: u8 = 166;
    pub const MARIA_UPDATE_ROWS_COMPRESSED_V1: u8 = 167;
    pub const MARIA_DELETE_ROWS_COMPRESSED_V1: u8 = 168;
    pub const MARIA_WRITE_ROWS_COMPRESSED: u8 = 169;
    pub const MARIA_UPDATE_ROWS_COMPRESSED: u8 = 170;
    pub const MARIA_DELETE_ROWS_COMPRESSED: u8 = 171;
}

/// Flags of an event.
pub mod flag {
    /// The file is being written, or was not closed in order.
    pub const IN_USE: u16 = 0x1;
    /// The statement depends on the thread (temporary tables).
    pub const THREAD_SPECIFIC: u16 = 0x4;
    /// The statement does not need its default database.
    pub const SUPPRESS_USE: u16 = 0x8;
    /// Made up by the server for one replica, and in no file.
    pub const ARTIFICIAL: u16 = 0x20;
    /// It came from a replica's relay log.
    pub const RELAY_LOG: u16 = 0x40;
    /// Who does not know it may leave it out.
    pub const IGNORABLE: u16 = 0x80;
    /// Replicas do not filter it.
    pub const NO_FILTER: u16 = 0x100;
    /// It stands in a group of its own for parallel appliers.
    pub const MTS_ISOLATE: u16 = 0x200;
}

/// The header of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// When its statement began, in seconds since 1970; 0 for what is made up.
    pub timestamp: u32,
    /// One of [`kind`], or one that is unknown here.
    pub kind: u8,
    /// The server that wrote it first.
    pub server_id: u32,
    /// All bytes of the event, with header and checksum.
    pub size: u32,
    /// The position behind it in its file, modulo 2^32; 0 for what is in none.
    pub next_position: u32,
    /// Of [`flag`].
    pub flags: u16,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`](crate::ProtocolError::Malformed): there are too few bytes, or its size is less than its own.
    pub fn read(r: &mut Reader<'_>) -> ReadResult<Header> {
        let h = Header {
            timestamp: r.u32()?,
            kind: r.u8()?,
            server_id: r.u32()?,
            size: r.u32()?,
            next_position: r.u32()?,
            flags: r.u16()?,
        };
        match h.size as usize >= LEN {
            true => Ok(h),
            false => Err(crate::ProtocolError::Malformed),
        }
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u32(self.timestamp);
        out.put_u8(self.kind);
        out.put_u32(self.server_id);
        out.put_u32(self.size);
        out.put_u32(self.next_position);
        out.put_u16(self.flags);
    }
}
