//! What servers answer: OK, ERR and EOF packets, result sets, replies to COM_STMT_PREPARE.
//!
//! A text result set is: [`write_column_count`], one [`ColumnDef::write`] a column, [`write_columns_end`], one [`TextRow`] or
//! [`BinaryRow`] a row, [`write_rows_end`]. Which of OK and EOF packets a client understands is decided here from the
//! connection's capabilities.

mod binary_row;
mod column;
mod text_row;

pub use binary_row::BinaryRow;
pub use column::ColumnDef;
pub use text_row::TextRow;

use crate::capability::{self, has};
use crate::error::ProtocolError;
use crate::packet::PacketWriter;
use crate::read::{ReadResult, Reader};
use crate::status;
use crate::write::Put;

/// First byte of an OK packet.
pub const OK_HEADER: u8 = 0x00;
/// First byte of an EOF packet, and of the OK packet that replaces it.
pub const EOF_HEADER: u8 = 0xFE;
/// First byte of an ERR packet.
pub const ERR_HEADER: u8 = 0xFF;
/// First byte of a request for a local file.
pub const LOCAL_INFILE_HEADER: u8 = 0xFB;

/// The contents of an OK packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkPacket<'a> {
    /// Rows changed.
    pub affected_rows: u64,
    /// The AUTO_INCREMENT value made.
    pub last_insert_id: u64,
    /// Server status.
    pub status: u16,
    /// Warnings of the statement.
    pub warnings: u16,
    /// Text such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// Session state changes, encoded by [`SessionState`]; empty for none.
    pub session_state: &'a [u8],
}

/// Writes an OK packet, the answer to a statement without rows.
#[inline]
pub fn write_ok(ok: &OkPacket<'_>, capabilities: u32, writer: &mut PacketWriter) {
    write_ok_with(OK_HEADER, ok, capabilities, writer);
}

#[inline]
fn write_ok_with(header: u8, ok: &OkPacket<'_>, capabilities: u32, writer: &mut PacketWriter) {
    let track = has(capabilities, capability::SESSION_TRACK) && !ok.session_state.is_empty();
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(header);
    buf.put_lenenc_int(ok.affected_rows);
    buf.put_lenenc_int(ok.last_insert_id);
    let changed = if track {
        status::SESSION_STATE_CHANGED
    } else {
        0
    };
    buf.put_u16(ok.status | changed);
    buf.put_u16(ok.warnings);
    if track || !ok.info.is_empty() {
        buf.put_lenenc_bytes(ok.info);
    }
    if track {
        buf.put_lenenc_bytes(ok.session_state);
    }
    writer.end();
}

/// Writes an ERR packet. `sqlstate` has five characters. `message` is cut at 511 bytes, MySQL's limit.
pub fn write_err(code: u16, sqlstate: &str, message: &[u8], writer: &mut PacketWriter) {
    let mut end = message.len().min(511);
    // Not inside a UTF-8 character.
    while end > 0 && end < message.len() && message[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(ERR_HEADER);
    buf.put_u16(code);
    buf.put_u8(b'#');
    let state = <&[u8; 5]>::try_from(sqlstate.as_bytes()).unwrap_or(b"HY000");
    buf.put_bytes(state);
    buf.put_bytes(&message[..end]);
    writer.end();
}

/// Writes the ERR packet of a protocol fault.
pub fn write_protocol_error(error: ProtocolError, writer: &mut PacketWriter) {
    write_err(
        error.code(),
        error.sqlstate(),
        error.message().as_bytes(),
        writer,
    );
}

fn write_eof(status: u16, warnings: u16, writer: &mut PacketWriter) {
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(EOF_HEADER);
    buf.put_u16(warnings);
    buf.put_u16(status);
    writer.end();
}

/// Starts a result set of `count` columns, at least 1.
#[inline]
pub fn write_column_count(count: usize, writer: &mut PacketWriter) {
    writer.begin();
    writer.buf().put_lenenc_int(count as u64);
    writer.end();
}

/// Ends the column definitions of a result set (or the parameters or columns of a prepared statement): an EOF packet,
/// or nothing to clients that do without.
#[inline]
pub fn write_columns_end(status: u16, warnings: u16, capabilities: u32, writer: &mut PacketWriter) {
    if !has(capabilities, capability::DEPRECATE_EOF) {
        write_eof(status, warnings, writer);
    }
}

/// Ends rows: those of a result set, of a COM_STMT_FETCH, of a COM_FIELD_LIST. Also ends, in place of
/// [`write_columns_end`] and with [`status::CURSOR_EXISTS`], the columns of an execution that opened a cursor.
#[inline]
pub fn write_rows_end(status: u16, warnings: u16, capabilities: u32, writer: &mut PacketWriter) {
    write_rows_end_telling(status, warnings, &[], capabilities, writer);
}

/// As [`write_rows_end`], with session state changes ([`SessionState`]) for clients that are told them in its place.
#[inline]
pub fn write_rows_end_telling(
    status: u16,
    warnings: u16,
    session_state: &[u8],
    capabilities: u32,
    writer: &mut PacketWriter,
) {
    if has(capabilities, capability::DEPRECATE_EOF) {
        let ok = OkPacket {
            status,
            warnings,
            session_state,
            ..OkPacket::default()
        };
        write_ok_with(EOF_HEADER, &ok, capabilities, writer);
    } else {
        write_eof(status, warnings, writer);
    }
}

/// Writes the answer to COM_STMT_PREPARE. `params` definitions and [`write_columns_end`] follow unless 0, then likewise
/// `columns`.
pub fn write_prepare_ok(
    statement: u32,
    columns: u16,
    params: u16,
    warnings: u16,
    writer: &mut PacketWriter,
) {
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(OK_HEADER);
    buf.put_u32(statement);
    buf.put_u16(columns);
    buf.put_u16(params);
    buf.put_u8(0);
    buf.put_u16(warnings);
    writer.end();
}

/// Asks the client for a file of its machine (LOAD DATA LOCAL). It sends packets, the last of them empty.
pub fn write_local_infile(name: &[u8], writer: &mut PacketWriter) {
    writer.begin();
    writer.buf().put_u8(LOCAL_INFILE_HEADER);
    writer.buf().put_bytes(name);
    writer.end();
}

/// Writes a packet of text alone: the answer to COM_STATISTICS.
pub fn write_text(text: &[u8], writer: &mut PacketWriter) {
    writer.begin();
    writer.buf().put_bytes(text);
    writer.end();
}

/// Collects session state changes for [`OkPacket::session_state`].
#[derive(Debug, Clone, Default)]
pub struct SessionState {
    encoded: Vec<u8>,
}

impl SessionState {
    /// What was collected.
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// Forgets everything, for the next statement.
    pub fn clear(&mut self) {
        self.encoded.clear();
    }

    /// The default database changed.
    pub fn schema(&mut self, name: &[u8]) {
        let mut data = Vec::with_capacity(name.len() + 1);
        data.put_lenenc_bytes(name);
        self.push(1, &data);
    }

    /// A system variable changed.
    pub fn system_variable(&mut self, name: &[u8], value: &[u8]) {
        let mut data = Vec::with_capacity(name.len() + value.len() + 2);
        data.put_lenenc_bytes(name);
        data.put_lenenc_bytes(value);
        self.push(0, &data);
    }

    /// Transactions were done: a set of GTIDs as text.
    pub fn gtids(&mut self, set: &[u8]) {
        let mut data = Vec::with_capacity(set.len() + 10);
        // How the set is written: as text, which is all there is.
        data.put_u8(0);
        data.put_lenenc_bytes(set);
        self.push(3, &data);
    }

    /// Something a connection pool would have to reset changed.
    pub fn state_changed(&mut self) {
        self.push(2, b"\x011");
    }

    fn push(&mut self, kind: u8, data: &[u8]) {
        self.encoded.put_u8(kind);
        self.encoded.put_lenenc_bytes(data);
    }
}

impl<'a> OkPacket<'a> {
    /// Reads an OK packet, of either header.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`].
    pub fn parse(packet: &'a [u8], capabilities: u32) -> ReadResult<OkPacket<'a>> {
        let mut reader = Reader::new(packet);
        reader.u8()?;
        let mut ok = OkPacket {
            affected_rows: reader.lenenc_int()?,
            last_insert_id: reader.lenenc_int()?,
            status: reader.u16()?,
            warnings: reader.u16()?,
            ..OkPacket::default()
        };
        if !reader.is_empty() {
            ok.info = reader.lenenc_bytes()?;
        }
        let track = has(capabilities, capability::SESSION_TRACK);
        if track && ok.status & status::SESSION_STATE_CHANGED != 0 && !reader.is_empty() {
            ok.session_state = reader.lenenc_bytes()?;
        }
        Ok(ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::HEADER;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut PacketWriter)) -> Vec<u8> {
        let mut writer = PacketWriter::new();
        write(&mut writer);
        writer.pending().get(HEADER..).unwrap_or_default().to_vec()
    }

    #[test]
    fn ok_forms() {
        let mut ok = OkPacket {
            affected_rows: 3,
            last_insert_id: 300,
            status: status::AUTOCOMMIT,
            warnings: 1,
            ..OkPacket::default()
        };
        let packet = written(|writer| write_ok(&ok, 0, writer));
        assert_eq!(packet, [0, 3, 0xFC, 44, 1, 2, 0, 1, 0]);
        let mut state = SessionState::default();
        state.schema(b"db");
        state.system_variable(b"autocommit", b"OFF");
        state.state_changed();
        ok.info = b"info";
        ok.session_state = state.encoded();
        let flags = capability::SESSION_TRACK;
        let packet = written(|writer| write_ok(&ok, flags, writer));
        ok.status |= status::SESSION_STATE_CHANGED;
        assert_eq!(OkPacket::parse(&packet, flags), Ok(ok));
        assert!(
            state
                .encoded()
                .starts_with(b"\x01\x03\x02db\x00\x0F\x0Aautocommit\x03OFF")
        );
    }

    #[test]
    fn ends_by_capability() {
        let modern = capability::DEPRECATE_EOF;
        let packet = written(|writer| write_rows_end(2, 7, modern, writer));
        assert_eq!(packet, [0xFE, 0, 0, 2, 0, 7, 0]);
        let packet = written(|writer| write_rows_end(2, 7, 0, writer));
        assert_eq!(packet, [0xFE, 7, 0, 2, 0]);
        assert!(written(|writer| write_columns_end(2, 7, modern, writer)).is_empty());
    }

    #[test]
    fn errors_are_cut_between_characters() {
        let packet = written(|writer| write_err(1064, "42000", b"no", writer));
        assert_eq!(packet, b"\xFF\x28\x04#42000no");
        let long = "é".repeat(300);
        let packet = written(|writer| write_err(1, "HY000", long.as_bytes(), writer));
        assert_eq!(packet.len(), 9 + 510);
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_parse_without_panic(bytes: Vec<u8>, flags: u32) {
            let _ = OkPacket::parse(&bytes, flags);
            let _ = ColumnDef::parse(&bytes);
        }
    }
}
