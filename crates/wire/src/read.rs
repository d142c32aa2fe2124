//! A cursor over received bytes: every read is checked, none panics.

use crate::error::ProtocolError;

/// Result of a read; the error is [`ProtocolError::Malformed`] unless a caller maps it.
pub type ReadResult<T> = Result<T, ProtocolError>;

/// A position in a packet.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// What has not been read.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that.
    #[inline]
    pub fn read_bytes(&mut self, n: usize) -> ReadResult<&'a [u8]> {
        let (head, tail) = self
            .rest
            .split_at_checked(n)
            .ok_or(ProtocolError::Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> ReadResult<[u8; N]> {
        let (head, tail) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(ProtocolError::Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that.
    #[inline]
    pub fn u8(&mut self) -> ReadResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, little endian.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that.
    #[inline]
    pub fn u16(&mut self) -> ReadResult<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Three bytes, little endian.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that.
    #[inline]
    pub fn u24(&mut self) -> ReadResult<u32> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// Four bytes, little endian.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that.
    #[inline]
    pub fn u32(&mut self) -> ReadResult<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes, little endian.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that.
    #[inline]
    pub fn u64(&mut self) -> ReadResult<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer: one byte below 251, or a marker byte and 2, 3 or 8 bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that, or the first byte begins no integer.
    #[inline]
    pub fn lenenc_int(&mut self) -> ReadResult<u64> {
        match self.u8()? {
            byte @ 0..=250 => Ok(u64::from(byte)),
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => Ok(u64::from(self.u24()?)),
            0xFE => self.u64(),
            0xFB | 0xFF => Err(ProtocolError::Malformed),
        }
    }

    /// A length-encoded string.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that, or the first byte begins no integer.
    #[inline]
    pub fn lenenc_bytes(&mut self) -> ReadResult<&'a [u8]> {
        let length = self.lenenc_int()?;
        self.read_bytes(usize::try_from(length).map_err(|_| ProtocolError::Malformed)?)
    }

    /// A length-encoded string or the NULL marker 0xFB, as in text rows.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is less than that, or the first byte begins no integer.
    #[inline]
    pub fn lenenc_or_null(&mut self) -> ReadResult<Option<&'a [u8]>> {
        if self.rest.first() == Some(&0xFB) {
            self.read_bytes(1)?;
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// Bytes up to a NUL, which is consumed and not returned.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: there is no NUL.
    #[inline]
    pub fn nul_bytes(&mut self) -> ReadResult<&'a [u8]> {
        let end = self
            .rest
            .iter()
            .position(|&byte| byte == 0)
            .ok_or(ProtocolError::Malformed)?;
        let found = self.read_bytes(end)?;
        self.read_bytes(1)?;
        Ok(found)
    }

    /// Bytes up to a NUL or, where old clients forget it, up to the end.
    #[inline]
    pub fn nul_or_end_bytes(&mut self) -> &'a [u8] {
        match self.nul_bytes() {
            Ok(found) => found,
            Err(_) => self.take_rest(),
        }
    }

    /// Everything left.
    #[inline]
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lenenc_forms() {
        let mut reader = Reader::new(&[
            250, 0xFC, 0xFB, 0, 0xFD, 1, 2, 3, 0xFE, 1, 0, 0, 0, 0, 0, 0, 1,
        ]);
        assert_eq!(reader.lenenc_int(), Ok(250));
        assert_eq!(reader.lenenc_int(), Ok(251));
        assert_eq!(reader.lenenc_int(), Ok(0x0003_0201));
        assert_eq!(reader.lenenc_int(), Ok(0x0100_0000_0000_0001));
        assert_eq!(reader.lenenc_int(), Err(ProtocolError::Malformed));
        assert_eq!(
            Reader::new(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255]).lenenc_bytes(),
            Err(ProtocolError::Malformed)
        );
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_read_without_panic(bytes: Vec<u8>, n: usize) {
            let reader = Reader::new(&bytes);
            let _ = { reader }.read_bytes(n);
            let _ = { reader }.lenenc_bytes();
            let _ = { reader }.lenenc_or_null();
            let _ = { reader }.nul_bytes();
            let _ = { reader }.u24();
            let _ = { reader }.u64();
            let rest = { reader }.nul_or_end_bytes();
            prop_assert!(rest.len() <= bytes.len());
        }
    }
}
