//! An event as a whole: header, body, checksum.

use super::header::{self, Header, kind};
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};

/// Bytes of a checksum.
pub const CHECKSUM_LEN: usize = 4;

/// What stands behind each event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksum {
    /// Nothing.
    None,
    /// The CRC-32 (IEEE) of header and body.
    #[default]
    Crc32,
}

impl Checksum {
    /// Bytes that it takes.
    pub const fn len(self) -> usize {
        match self {
            Checksum::None => 0,
            Checksum::Crc32 => CHECKSUM_LEN,
        }
    }

    /// Whether it takes none.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Its number in the event that describes the format.
    pub const fn code(self) -> u8 {
        match self {
            Checksum::None => 0,
            Checksum::Crc32 => 1,
        }
    }

    /// By its number.
    pub const fn by_code(code: u8) -> Option<Checksum> {
        match code {
            0 => Some(Checksum::None),
            1 => Some(Checksum::Crc32),
            _ => None,
        }
    }
}

/// An event that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its header.
    pub header: Header,
    /// What is between header and checksum.
    pub body: &'a [u8],
    /// All bytes.
    pub bytes: &'a [u8],
}

/// Appends an event, whose body `fill` appends; the size in `header` is set here. Its position is to be that behind it: where `header`
/// has one, that of its beginning, which is then moved. Gives the event's size.
pub fn put_event(
    mut header: Header,
    checksum: Checksum,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut Vec<u8>),
) -> usize {
    let at = out.len();
    header.write(out);
    fill(out);
    let size = out.len() - at + checksum.len();
    header.size = size as u32;
    if header.next_position != 0 {
        header.next_position = header.next_position.wrapping_add(size as u32);
    }
    let mut front = Vec::with_capacity(header::LEN);
    header.write(&mut front);
    out[at..at + header::LEN].copy_from_slice(&front);
    if checksum == Checksum::Crc32 {
        // The flag of a file in use changes when the file is closed: it is not part of the sum.
        let sum = crc32(&out[at..], header.kind);
        out.extend_from_slice(&sum.to_le_bytes());
    }
    size
}

/// The sum of an event, without a former sum of it.
fn crc32(event: &[u8], of: u8) -> u32 {
    let flags = header::LEN - 2;
    let in_use = header::flag::IN_USE as u8;
    if of == kind::FORMAT_DESCRIPTION && event.get(flags).is_some_and(|f| f & in_use != 0) {
        let mut h = crc32fast::Hasher::new();
        h.update(&event[..flags]);
        h.update(&[event[flags] & !in_use]);
        h.update(&event[flags + 1..]);
        return h.finalize();
    }
    crc32fast::hash(event)
}

impl<'a> Event<'a> {
    /// Takes the event off the front of `bytes`, with its checksum verified.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or its checksum is another.
    pub fn read(bytes: &'a [u8], checksum: Checksum) -> ReadResult<Event<'a>> {
        let header = Header::read(&mut Reader::new(bytes))?;
        let size = header.size as usize;
        let bytes = bytes.get(..size).ok_or(ProtocolError::Malformed)?;
        let end = size
            .checked_sub(checksum.len())
            .filter(|end| *end >= header::LEN)
            .ok_or(ProtocolError::Malformed)?;
        if checksum == Checksum::Crc32 {
            let sum = Reader::new(&bytes[end..]).u32()?;
            if sum != crc32(&bytes[..end], header.kind) {
                return Err(ProtocolError::Malformed);
            }
        }
        Ok(Event {
            header,
            body: &bytes[header::LEN..end],
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_changed_bit_is_found() {
        let header = Header {
            kind: kind::QUERY,
            next_position: 4,
            ..Header::default()
        };
        let mut bytes = Vec::new();
        let size = put_event(header, Checksum::Crc32, &mut bytes, |out| {
            out.extend_from_slice(b"body")
        });
        assert_eq!(size, bytes.len());
        let read = Event::read(&bytes, Checksum::Crc32).unwrap();
        assert_eq!((read.body, read.header.next_position), (&b"body"[..], 31));
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(Event::read(&other, Checksum::Crc32).is_err(), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(Event::read(&bytes[..cut], Checksum::Crc32).is_err());
        }
    }

    #[test]
    fn the_flag_of_a_file_in_use_is_not_in_the_sum() {
        let header = Header {
            kind: kind::FORMAT_DESCRIPTION,
            flags: header::flag::IN_USE,
            ..Header::default()
        };
        let mut bytes = Vec::new();
        put_event(header, Checksum::Crc32, &mut bytes, |out| out.push(7));
        bytes[17] = 0;
        assert!(Event::read(&bytes, Checksum::Crc32).is_ok());
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = Event::read(&bytes, Checksum::Crc32);
            let _ = Event::read(&bytes, Checksum::None);
        }
    }
}
