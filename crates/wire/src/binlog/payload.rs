//! A transaction whose events are compressed together. What compresses them is up to the caller.

use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// Numbers of its fields.
mod field {
    pub const END: u64 = 0;
    pub const SIZE: u64 = 1;
    pub const COMPRESSION: u64 = 2;
    pub const UNCOMPRESSED_SIZE: u64 = 3;
}

/// How the events are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As one or several frames of zstd.
    Zstd,
    /// Not at all.
    None,
}

impl Compression {
    const fn code(self) -> u64 {
        match self {
            Compression::Zstd => 0,
            Compression::None => 255,
        }
    }
}

/// The body of TRANSACTION_PAYLOAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// How.
    pub compression: Compression,
    /// Bytes of the events as they were. The events in it have no checksums.
    pub uncompressed: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Appends the body.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut put = |number: u64, value: u64| {
            let mut bytes = Vec::with_capacity(9);
            bytes.put_lenenc_int(value);
            out.put_lenenc_int(number);
            out.put_lenenc_bytes(&bytes);
        };
        put(field::COMPRESSION, self.compression.code());
        put(field::UNCOMPRESSED_SIZE, self.uncompressed);
        put(field::SIZE, self.bytes.len() as u64);
        out.put_lenenc_int(field::END);
        out.put_bytes(self.bytes);
    }

    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or is compressed in a way that is not known.
    pub fn read(body: &'a [u8]) -> ReadResult<Payload<'a>> {
        let mut r = Reader::new(body);
        let (mut size, mut uncompressed, mut how) = (None, 0, None);
        loop {
            let number = r.lenenc_int()?;
            if number == field::END {
                break;
            }
            let value = r.lenenc_bytes()?;
            let number_of = |bytes| Reader::new(bytes).lenenc_int();
            match number {
                field::SIZE => size = Some(number_of(value)?),
                field::COMPRESSION => how = Some(number_of(value)?),
                field::UNCOMPRESSED_SIZE => uncompressed = number_of(value)?,
                _ => {}
            }
        }
        let bytes = r.take_rest();
        let compression = match how {
            Some(0) => Compression::Zstd,
            Some(255) => Compression::None,
            _ => return Err(ProtocolError::Malformed),
        };
        match size.is_none_or(|n| n == bytes.len() as u64) {
            true => Ok(Payload {
                compression,
                uncompressed,
                bytes,
            }),
            false => Err(ProtocolError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn what_is_written_is_read_back(bytes: Vec<u8>, uncompressed: u64, zstd: bool) {
            let compression = if zstd { Compression::Zstd } else { Compression::None };
            let p = Payload { compression, uncompressed, bytes: &bytes };
            let mut body = Vec::new();
            p.write(&mut body);
            prop_assert_eq!(Payload::read(&body), Ok(p));
            let _ = Payload::read(&bytes);
        }
    }
}
