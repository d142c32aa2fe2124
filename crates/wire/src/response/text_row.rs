//! Rows of the text protocol: every value as a length-encoded string.

use crate::number::Printed;
use crate::packet::PacketWriter;
use crate::write::Put;

/// Writes one row, value by value, straight into the output buffer. Allocates nothing.
#[derive(Debug)]
pub struct TextRow<'w> {
    writer: &'w mut PacketWriter,
}

impl<'w> TextRow<'w> {
    /// Starts a row.
    #[inline]
    pub fn begin(writer: &'w mut PacketWriter) -> Self {
        writer.begin();
        TextRow { writer }
    }

    /// NULL.
    #[inline]
    pub fn null(&mut self) {
        self.writer.buf().put_u8(0xFB);
    }

    /// Text, or bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.writer.buf().put_lenenc_bytes(bytes);
    }

    /// A signed integer.
    #[inline]
    pub fn int(&mut self, value: i64) {
        self.printed(&Printed::int(value));
    }

    /// An unsigned integer.
    #[inline]
    pub fn uint(&mut self, value: u64) {
        self.printed(&Printed::uint(value));
    }

    /// A DOUBLE without a fixed number of decimals.
    #[inline]
    pub fn double(&mut self, value: f64) {
        self.printed(&Printed::double(value));
    }

    /// A FLOAT without a fixed number of decimals.
    #[inline]
    pub fn float(&mut self, value: f32) {
        self.printed(&Printed::float(value));
    }

    /// A value of known length printed by `print`, which appends exactly `length` bytes (at most 250).
    #[inline]
    pub fn short_with(&mut self, length: u8, print: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(length <= 250);
        let buf = self.writer.buf();
        buf.put_u8(length);
        let start = buf.len();
        print(buf);
        debug_assert_eq!(buf.len() - start, usize::from(length));
    }

    #[inline]
    fn printed(&mut self, number: &Printed) {
        let text = number.as_bytes();
        let buf = self.writer.buf();
        buf.reserve(text.len() + 1);
        buf.put_u8(text.len() as u8);
        buf.put_bytes(text);
    }

    /// The buffer, for callers that encode a value themselves: append exactly one length-encoded string.
    #[inline]
    pub fn buf(&mut self) -> &mut Vec<u8> {
        self.writer.buf()
    }

    /// Completes the row.
    #[inline]
    pub fn end(self) {
        self.writer.end();
    }

    /// Drops the row, as if it had not been begun.
    pub fn abandon(self) {
        self.writer.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let mut writer = PacketWriter::new();
        let mut row = TextRow::begin(&mut writer);
        row.null();
        row.bytes(b"abc");
        row.int(-12);
        row.uint(u64::MAX);
        row.double(1.5);
        row.float(0.1);
        row.short_with(2, |buf| buf.extend_from_slice(b"xy"));
        row.end();
        assert_eq!(
            &writer.pending()[4..],
            b"\xFB\x03abc\x03-12\x1418446744073709551615\x031.5\x030.1\x02xy"
        );
    }
}
