//! The event that stands first in each file and first in each stream: what the others look like.

use super::frame::Checksum;
use super::header::{self, kind};
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// The version of the format, the only one since MySQL 5.0.
const VERSION: u16 = 4;
/// Bytes of the server's version.
const SERVER_VERSION: usize = 50;
/// Bytes before the list of lengths.
const FIXED: u8 = 57;

/// The lengths of the fixed parts of the bodies of events 1 to 41, as MySQL 8.0 has them.
const FIXED_PARTS: [u8; 41] = {
    let mut of = [0u8; 41];
    of[kind::QUERY as usize - 1] = 13;
    of[kind::ROTATE as usize - 1] = 8;
    of[kind::APPEND_BLOCK as usize - 1] = 4;
    of[kind::DELETE_FILE as usize - 1] = 4;
    of[kind::FORMAT_DESCRIPTION as usize - 1] = FIXED + 41;
    of[kind::BEGIN_LOAD_QUERY as usize - 1] = 4;
    of[kind::EXECUTE_LOAD_QUERY as usize - 1] = 26;
    of[kind::TABLE_MAP as usize - 1] = 8;
    of[kind::WRITE_ROWS_V1 as usize - 1] = 8;
    of[kind::UPDATE_ROWS_V1 as usize - 1] = 8;
    of[kind::DELETE_ROWS_V1 as usize - 1] = 8;
    of[kind::INCIDENT as usize - 1] = 2;
    of[kind::WRITE_ROWS as usize - 1] = 10;
    of[kind::UPDATE_ROWS as usize - 1] = 10;
    of[kind::DELETE_ROWS as usize - 1] = 10;
    of[kind::GTID as usize - 1] = 42;
    of[kind::ANONYMOUS_GTID as usize - 1] = 42;
    of[kind::TRANSACTION_CONTEXT as usize - 1] = 18;
    of[kind::VIEW_CHANGE as usize - 1] = 52;
    of[kind::PARTIAL_UPDATE_ROWS as usize - 1] = 10;
    of[kind::TRANSACTION_PAYLOAD as usize - 1] = 40;
    of
};

/// What the event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The server that writes.
    pub server_version: String,
    /// When the server started, in seconds since 1970, where it is the first file since; else 0.
    pub created: u32,
    /// What stands behind each event, this one included.
    pub checksum: Checksum,
    /// The lengths of the fixed parts of the bodies, by kind, from 1 on.
    fixed_parts: Vec<u8>,
}

impl Format {
    /// That of MySQL 8.0.
    pub fn new(server_version: &str, created: u32, checksum: Checksum) -> Format {
        Format {
            server_version: server_version.to_owned(),
            created,
            checksum,
            fixed_parts: FIXED_PARTS.to_vec(),
        }
    }

    /// Whether a MariaDB server writes: some events mean something else there.
    pub fn is_mariadb(&self) -> bool {
        self.server_version.contains("MariaDB") || self.fixed_parts.len() >= 160
    }

    /// Whether a server of this kind writes, of whatever version.
    pub fn is_of_this_kind(&self) -> bool {
        self.server_version.ends_with("-tidemill")
    }

    /// The length of the fixed part of a kind's body; 0 where the writer did not know it.
    pub fn fixed_part(&self, kind: u8) -> usize {
        let at = usize::from(kind).wrapping_sub(1);
        self.fixed_parts.get(at).copied().unwrap_or(0).into()
    }

    /// Appends the body. Behind it stands a checksum, also where events have none: [`super::frame::put_event`] is given
    /// [`Checksum::Crc32`].
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u16(VERSION);
        let mut version = [0u8; SERVER_VERSION];
        // A reader wants a NUL behind it.
        let n = self.server_version.len().min(SERVER_VERSION - 1);
        version[..n].copy_from_slice(&self.server_version.as_bytes()[..n]);
        out.put_bytes(&version);
        out.put_u32(self.created);
        out.put_u8(header::LEN as u8);
        out.put_bytes(&self.fixed_parts);
        out.put_u8(self.checksum.code());
    }

    /// Reads it from an event whose checksum was not looked at: `rest` is all behind the header. Gives it with what the checksum is
    /// to be verified by: servers before MySQL 5.6 wrote none here.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it makes no sense, or is of a format before that of MySQL 5.0.
    pub fn read(rest: &[u8]) -> ReadResult<(Format, Checksum)> {
        let mut r = Reader::new(rest);
        let version = r.u16()?;
        let text = r.read_bytes(SERVER_VERSION)?;
        let created = r.u32()?;
        let header_len = r.u8()?;
        if version != VERSION || usize::from(header_len) != header::LEN {
            return Err(ProtocolError::Malformed);
        }
        let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
        let server_version = String::from_utf8_lossy(&text[..end]).into_owned();
        let lengths = r.take_rest();
        // A version from 5.6.1 on has the kind of checksum and a checksum behind the lengths.
        let (fixed_parts, checksum, own) = match has_checksum(&server_version) {
            true => {
                let (lengths, behind) = lengths
                    .split_at_checked(lengths.len().wrapping_sub(5))
                    .ok_or(ProtocolError::Malformed)?;
                let code = behind.first().copied().unwrap_or(u8::MAX);
                let kind = Checksum::by_code(code).ok_or(ProtocolError::Malformed)?;
                (lengths, kind, Checksum::Crc32)
            }
            false => (lengths, Checksum::None, Checksum::None),
        };
        let format = Format {
            server_version,
            created,
            checksum,
            fixed_parts: fixed_parts.to_vec(),
        };
        Ok((format, own))
    }
}

/// Whether a server of this version writes checksums: MySQL from 5.6.1 on, MariaDB from 5.3 on.
fn has_checksum(version: &str) -> bool {
    let mut parts = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let version_number = (next(), next(), next());
    let least = match version.contains("MariaDB") {
        true => (5, 3, 0),
        false => (5, 6, 1),
    };
    version_number >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_and_is_that_of_mysql() {
        let format = Format::new("8.0.35-tidemill", 5, Checksum::Crc32);
        let mut body = Vec::new();
        format.write(&mut body);
        // The lengths as MySQL 8.0.35 writes them.
        let lengths = [
            0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 98, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0,
            0, 10, 10, 10, 42, 42, 0, 18, 52, 0, 10, 40, 0,
        ];
        assert_eq!(body[57..98], lengths);
        body.extend_from_slice(&[0; 4]);
        let (read, own) = Format::read(&body).unwrap();
        assert_eq!((&read, own), (&format, Checksum::Crc32));
        assert_eq!((read.fixed_part(kind::GTID), read.fixed_part(200)), (42, 0));
        assert!(!read.is_mariadb());
        for cut in 0..62 {
            assert!(Format::read(&body[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn old_servers_wrote_no_checksum() {
        assert!(has_checksum("5.6.1-log") && has_checksum("10.11.6-MariaDB"));
        assert!(!has_checksum("5.5.60") && !has_checksum(""));
    }
}
