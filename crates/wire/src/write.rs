//! Appending the protocol's primitives to a buffer.

/// Appends of the protocol's primitive types. Implemented for `Vec<u8>`, the buffer of a
/// [`PacketWriter`](crate::PacketWriter).
pub trait Put {
    /// One byte.
    fn put_u8(&mut self, value: u8);
    /// Two bytes, little endian.
    fn put_u16(&mut self, value: u16);
    /// Three bytes, little endian; the top byte of `value` is dropped.
    fn put_u24(&mut self, value: u32);
    /// Four bytes, little endian.
    fn put_u32(&mut self, value: u32);
    /// Eight bytes, little endian.
    fn put_u64(&mut self, value: u64);
    /// Raw bytes.
    fn put_bytes(&mut self, bytes: &[u8]);
    /// Raw bytes and a NUL.
    fn put_nul_bytes(&mut self, bytes: &[u8]);
    /// A length-encoded integer.
    fn put_lenenc_int(&mut self, value: u64);
    /// A length-encoded string.
    fn put_lenenc_bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    #[inline]
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }

    #[inline]
    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn put_u24(&mut self, value: u32) {
        let [a, b, c, _] = value.to_le_bytes();
        self.extend_from_slice(&[a, b, c]);
    }

    #[inline]
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn put_nul_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
        self.push(0);
    }

    #[inline]
    fn put_lenenc_int(&mut self, value: u64) {
        if value < 251 {
            self.push(value as u8);
        } else if value <= 0xFFFF {
            self.push(0xFC);
            self.put_u16(value as u16);
        } else if value <= 0xFF_FFFF {
            self.push(0xFD);
            self.put_u24(value as u32);
        } else {
            self.push(0xFE);
            self.put_u64(value);
        }
    }

    #[inline]
    fn put_lenenc_bytes(&mut self, bytes: &[u8]) {
        // One growth check for length and contents together.
        self.reserve(bytes.len() + 9);
        self.put_lenenc_int(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Reader;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn written_is_read_back(int: u64, bytes: Vec<u8>) {
            let mut buf = Vec::new();
            buf.put_lenenc_int(int);
            buf.put_lenenc_int(int & 0xFF_FFFF);
            buf.put_lenenc_int(int & 0xFFFF);
            buf.put_u24(int as u32);
            buf.put_lenenc_bytes(&bytes);
            let mut reader = Reader::new(&buf);
            prop_assert_eq!(reader.lenenc_int(), Ok(int));
            prop_assert_eq!(reader.lenenc_int(), Ok(int & 0xFF_FFFF));
            prop_assert_eq!(reader.lenenc_int(), Ok(int & 0xFFFF));
            prop_assert_eq!(reader.u24(), Ok(int as u32 & 0xFF_FFFF));
            prop_assert_eq!(reader.lenenc_bytes(), Ok(&bytes[..]));
            prop_assert!(reader.is_empty());
        }
    }
}
