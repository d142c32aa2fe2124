//! Rows of the prepared-statement protocol: a NULL bitmap and values in fixed forms.

use crate::packet::PacketWriter;
use crate::temporal::{DateTime, Time};
use crate::write::Put;

/// Bits of the bitmap before the first column's.
const BITMAP_OFFSET: usize = 2;

/// Writes one row, column by column in order, straight into the output buffer. The method must match the column
/// definition's type. Allocates nothing.
#[derive(Debug)]
pub struct BinaryRow<'w> {
    writer: &'w mut PacketWriter,
    /// Bitmap position, relative to the buffer.
    bitmap: usize,
    bit: usize,
    end: usize,
}

impl<'w> BinaryRow<'w> {
    /// Starts a row of `columns` columns.
    #[inline]
    pub fn begin(columns: usize, writer: &'w mut PacketWriter) -> Self {
        writer.begin();
        let buf = writer.buf();
        buf.put_u8(0);
        let bitmap = buf.len();
        buf.resize(bitmap + (columns + BITMAP_OFFSET).div_ceil(8), 0);
        BinaryRow {
            writer,
            bitmap,
            bit: BITMAP_OFFSET,
            end: BITMAP_OFFSET + columns,
        }
    }

    /// Steps to the next column; gives the buffer.
    #[inline]
    fn next(&mut self) -> &mut Vec<u8> {
        debug_assert!(self.bit < self.end, "more values than columns");
        self.bit += 1;
        self.writer.buf()
    }

    /// NULL.
    #[inline]
    pub fn null(&mut self) {
        let (byte, bit) = (self.bitmap + self.bit / 8, self.bit % 8);
        if let Some(byte) = self.next().get_mut(byte) {
            *byte |= 1 << bit;
        }
    }

    /// TINYINT, signed or not: the low byte.
    #[inline]
    pub fn tiny(&mut self, value: i64) {
        self.next().put_u8(value as u8);
    }

    /// SMALLINT or YEAR, signed or not: the low two bytes.
    #[inline]
    pub fn short(&mut self, value: i64) {
        self.next().put_u16(value as u16);
    }

    /// INT or MEDIUMINT, signed or not: the low four bytes.
    #[inline]
    pub fn long(&mut self, value: i64) {
        self.next().put_u32(value as u32);
    }

    /// BIGINT.
    #[inline]
    pub fn longlong(&mut self, value: i64) {
        self.next().put_u64(value as u64);
    }

    /// BIGINT UNSIGNED.
    #[inline]
    pub fn ulonglong(&mut self, value: u64) {
        self.next().put_u64(value);
    }

    /// FLOAT.
    #[inline]
    pub fn float(&mut self, value: f32) {
        self.next().put_u32(value.to_bits());
    }

    /// DOUBLE.
    #[inline]
    pub fn double(&mut self, value: f64) {
        self.next().put_u64(value.to_bits());
    }

    /// Text, bytes, DECIMAL, BIT, JSON: a length-encoded string.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.next().put_lenenc_bytes(bytes);
    }

    /// DATE.
    #[inline]
    pub fn date(&mut self, value: &DateTime) {
        value.write(true, self.next());
    }

    /// DATETIME or TIMESTAMP.
    #[inline]
    pub fn datetime(&mut self, value: &DateTime) {
        value.write(false, self.next());
    }

    /// TIME.
    #[inline]
    pub fn time(&mut self, value: &Time) {
        value.write(self.next());
    }

    /// A value the caller encodes: append exactly one in the column's form.
    #[inline]
    pub fn with(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        encode(self.next());
    }

    /// Completes the row; every column must have had its value.
    #[inline]
    pub fn end(self) {
        debug_assert_eq!(self.bit, self.end, "fewer values than columns");
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
    fn values_and_bitmap() {
        let mut writer = PacketWriter::new();
        let mut row = BinaryRow::begin(8, &mut writer);
        row.null();
        row.tiny(-1);
        row.short(2);
        row.long(3);
        row.longlong(-4);
        row.bytes(b"x");
        row.null();
        row.double(1.0);
        row.end();
        let mut expected = vec![0, 0b0000_0100, 0b0000_0001, 255, 2, 0, 3, 0, 0, 0];
        expected.extend((-4i64).to_le_bytes());
        expected.extend(b"\x01x");
        expected.extend(1f64.to_le_bytes());
        assert_eq!(&writer.pending()[4..], expected);
    }
}
