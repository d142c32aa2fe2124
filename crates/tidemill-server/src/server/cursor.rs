//! The rows of a result set that a client fetches a few at a time (COM_STMT_FETCH): encoded once, kept in memory until the
//! cursor ends.

use std::sync::Arc;

use sql_expr::memory::{Account, Charge};
use wire::packet::PacketWriter;
use wire::response::write_rows_end;
use wire::status;

/// Rows that wait to be fetched.
#[derive(Debug, Default)]
pub struct Cursor {
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    ends: Vec<usize>,
    /// The next row to send.
    next: usize,
    status: u16,
    bytes_charge: Charge,
    ends_charge: Charge,
}

impl Cursor {
    /// Without rows, which a session will hold.
    pub fn of(account: &Arc<Account>) -> Cursor {
        Cursor {
            bytes_charge: Charge::to(account),
            ends_charge: Charge::to(account),
            ..Cursor::default()
        }
    }

    /// Keeps one encoded row. Where the session may hold no more it is dropped, and the statement fails.
    pub fn keep(&mut self, row: &[u8]) {
        let room = self.bytes_charge.reserve(&mut self.bytes, row.len())
            && self.ends_charge.reserve(&mut self.ends, 1);
        if !room {
            return;
        }
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
    }

    /// All rows are there; `status` is the server's after the statement.
    pub fn opened(&mut self, status: u16) {
        self.status = status;
    }

    /// The next row, encoded; `None` behind the last.
    pub fn next_row(&mut self) -> Option<&[u8]> {
        let to = self.ends.get(self.next).copied()?;
        let before = self.next.checked_sub(1);
        let from = before.map_or(0, |row| self.ends[row]);
        self.next += 1;
        Some(&self.bytes[from..to])
    }

    /// Writes the end of a portion. Says whether that was the last.
    pub fn end_portion(&self, capabilities: u32, writer: &mut PacketWriter) -> bool {
        let last = self.next == self.ends.len();
        let flag = if last {
            status::LAST_ROW_SENT
        } else {
            status::CURSOR_EXISTS
        };
        write_rows_end(self.status | flag, 0, capabilities, writer);
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::packet::Decoder;

    #[test]
    fn rows_come_in_portions() {
        let mut cursor = Cursor::default();
        for row in [&b"a"[..], b"", b"ccc"] {
            cursor.keep(row);
        }
        cursor.opened(status::AUTOCOMMIT);
        let mut writer = PacketWriter::new();
        let mut fetch = |count| {
            for _ in 0..count {
                let Some(row) = cursor.next_row() else { break };
                writer.begin();
                writer.buf().extend_from_slice(row);
                writer.end();
            }
            cursor.end_portion(0, &mut writer)
        };
        assert!(!fetch(2));
        assert!(fetch(2));
        let mut decoder = Decoder::new(1 << 20);
        decoder.feed(writer.pending());
        let mut got = Vec::new();
        while let Ok(Some(packet)) = decoder.next_packet() {
            got.push(packet.to_vec());
        }
        assert_eq!(got.len(), 5);
        assert_eq!(
            (&got[0][..], &got[1][..], &got[3][..]),
            (&b"a"[..], &b""[..], &b"ccc"[..])
        );
        assert_eq!(got[2], [0xFE, 0, 0, 0x42, 0]);
        assert_eq!(got[4], [0xFE, 0, 0, 0x82, 0]);
    }
}
