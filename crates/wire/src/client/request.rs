//! Building commands. Each sets the sequence number to 0 and writes one packet.

use super::value::Value;
use crate::capability::{self, has};
use crate::command::{PARAMETER_COUNT_AVAILABLE, code};
use crate::packet::PacketWriter;
use crate::write::Put;

/// A command byte and a body.
pub fn command(command: u8, body: &[u8], writer: &mut PacketWriter) {
    writer.set_sequence(0);
    writer.begin();
    writer.buf().put_u8(command);
    writer.buf().put_bytes(body);
    writer.end();
}

/// COM_QUERY.
pub fn query(sql: &[u8], capabilities: u32, writer: &mut PacketWriter) {
    writer.set_sequence(0);
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(code::QUERY);
    if has(capabilities, capability::QUERY_ATTRIBUTES) {
        buf.put_bytes(&[0, 1]);
    }
    buf.put_bytes(sql);
    writer.end();
}

/// COM_STMT_EXECUTE with all parameters and their types. `flags`: 0, or
/// [`CURSOR_TYPE_READ_ONLY`](crate::command::CURSOR_TYPE_READ_ONLY).
pub fn execute(
    statement: u32,
    flags: u8,
    params: &[Value],
    capabilities: u32,
    writer: &mut PacketWriter,
) {
    let attributes = has(capabilities, capability::QUERY_ATTRIBUTES);
    writer.set_sequence(0);
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(code::STMT_EXECUTE);
    buf.put_u32(statement);
    buf.put_u8(
        flags
            | if attributes {
                PARAMETER_COUNT_AVAILABLE
            } else {
                0
            },
    );
    buf.put_u32(1);
    if attributes {
        buf.put_lenenc_int(params.len() as u64);
    }
    if !params.is_empty() {
        for group in params.chunks(8) {
            let mut byte = 0;
            for (bit, value) in group.iter().enumerate() {
                byte |= u8::from(*value == Value::Null) << bit;
            }
            buf.put_u8(byte);
        }
        buf.put_u8(1);
        for value in params {
            buf.put_bytes(&value.wire_type());
            if attributes {
                buf.put_u8(0);
            }
        }
        for value in params {
            value.write(buf);
        }
    }
    writer.end();
}

/// COM_STMT_SEND_LONG_DATA.
pub fn send_long_data(statement: u32, param: u16, data: &[u8], writer: &mut PacketWriter) {
    writer.set_sequence(0);
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(code::STMT_SEND_LONG_DATA);
    buf.put_u32(statement);
    buf.put_u16(param);
    buf.put_bytes(data);
    writer.end();
}

/// COM_STMT_FETCH.
pub fn fetch(statement: u32, rows: u32, writer: &mut PacketWriter) {
    writer.set_sequence(0);
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(code::STMT_FETCH);
    buf.put_u32(statement);
    buf.put_u32(rows);
    writer.end();
}
