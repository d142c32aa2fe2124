//! Semi-synchronous replication: the two bytes in front of each event, and the packet by which a replica acknowledges one.
//!
//! ```text
//! event:  0xef | 1: acknowledge it, 0: go on | the event
//! reply:  0xef | position u64 | name of the file, to the packet's end
//! ```
//!
//! The source begins to count packets anew behind an event that is to be acknowledged, as if the reply were a command: the reply has
//! number 0, the source's next packet number 1.
//!
//! Source: MySQL's manual, "Semisynchronous Replication"; the numbering was found by watching MariaDB 10.11.

use crate::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// The first byte of both.
const MAGIC: u8 = 0xEF;
/// The longest name of a file that is taken.
pub const LONGEST_NAME: usize = 511;
/// What a replica sets to be sent events like this; the old name.
pub const ASKED_OLD: &str = "rpl_semi_sync_slave";
/// What a replica sets to be sent events like this.
pub const ASKED: &str = "rpl_semi_sync_replica";
/// The number of the source's packet behind an event that is to be acknowledged.
pub const NEXT_SEQUENCE: u8 = 1;

/// Appends what stands in front of an event.
pub fn put_front(wanted: bool, out: &mut Vec<u8>) {
    out.put_bytes(&[MAGIC, wanted.into()]);
}

/// Takes it off: whether the event is to be acknowledged, and the event.
///
/// # Errors
/// [`ProtocolError::Malformed`]: nothing of the kind stands there.
pub fn read_front(packet: &[u8]) -> ReadResult<(bool, &[u8])> {
    match packet {
        [MAGIC, wanted @ (0 | 1), event @ ..] => Ok((*wanted == 1, event)),
        _ => Err(ProtocolError::Malformed),
    }
}

/// All before a place is durable at the replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// The name of the source's file.
    pub file: &'a [u8],
    /// The position in it.
    pub position: u64,
}

impl<'a> Reply<'a> {
    /// Appends the packet.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u8(MAGIC);
        out.put_u64(self.position);
        out.put_bytes(self.file);
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it is none, or its name is empty or too long.
    pub fn read(packet: &'a [u8]) -> ReadResult<Reply<'a>> {
        let mut r = Reader::new(packet);
        if r.u8()? != MAGIC {
            return Err(ProtocolError::Malformed);
        }
        let position = r.u64()?;
        let file = r.take_rest();
        match file.is_empty() || file.len() > LONGEST_NAME {
            true => Err(ProtocolError::Malformed),
            false => Ok(Reply { file, position }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let reply = Reply {
            file: b"binlog.000001",
            position: 1 << 33,
        };
        let mut bytes = Vec::new();
        reply.write(&mut bytes);
        assert_eq!((bytes[0], bytes.len()), (0xEF, 9 + 13));
        assert_eq!(Reply::read(&bytes), Ok(reply));
        for cut in 0..=9 {
            assert!(Reply::read(&bytes[..cut]).is_err(), "{cut}");
        }
        let mut long = bytes.clone();
        long.resize(9 + LONGEST_NAME + 1, b'x');
        assert!(Reply::read(&long).is_err());
        bytes[0] = 0xEE;
        assert!(Reply::read(&bytes).is_err());
    }

    #[test]
    fn the_front_of_an_event_is_read() {
        let mut bytes = Vec::new();
        put_front(true, &mut bytes);
        bytes.push(9);
        assert_eq!(read_front(&bytes), Ok((true, &[9][..])));
        bytes[1] = 0;
        assert_eq!(read_front(&bytes), Ok((false, &[9][..])));
        for wrong in [&[][..], &[0xEF], &[0xEF, 2, 0], &[0, 1, 0]] {
            assert!(read_front(wrong).is_err());
        }
    }
}
