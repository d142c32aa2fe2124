//! A backup as a stream: chunks one behind the other, each compressed and with a checksum, the last with the manifest.
//!
//! ```text
//! 0  magic u32      "TMBK"
//! 4  kind u8        below
//! 5  zeros, 3
//! 8  id u64         of the backup
//! 16 number u64     0, 1, 2 …
//! 24 raw u32        bytes of the content
//! 28 len u32        bytes of what follows, the content compressed by zstd
//! 32 crc u32        CRC32C of bytes 0..32 and of what follows
//! 36 what follows
//! ```
//!
//! Nothing here trusts a byte: what is read may be damaged, or made by somebody who wants this program to fail.

use base::checksum::{crc32c, crc32c_from};
use base::le;
use std::io::{self, Read};

/// Bytes before a chunk's content.
pub const CHUNK_HEADER: usize = 36;
/// No content is longer.
pub const CONTENT_MAX: usize = 16 << 20;
const MAGIC: u32 = u32::from_le_bytes(*b"TMBK");
/// How hard zstd tries: a backup is to keep nobody waiting.
const LEVEL: i32 = 1;

/// What a chunk has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ChunkKind {
    /// The beginning: the lines of a manifest that are known then.
    Begin = 1,
    /// A tablespace, whose pages follow.
    Space = 2,
    /// Pages of the tablespace named last.
    Pages = 3,
    /// Bytes of the log.
    Log = 4,
    /// A small file beside the data.
    File = 5,
    /// The manifest, and the end.
    End = 6,
}

impl ChunkKind {
    fn from_u8(n: u8) -> Option<ChunkKind> {
        use ChunkKind::*;
        [Begin, Space, Pages, Log, File, End]
            .into_iter()
            .find(|k| *k as u8 == n)
    }
}

/// Why a backup cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// Bytes are not what they were, or never were a backup; what, in words.
    Damaged(String),
    /// It ends before its end: it was broken off, or cut.
    Cut(String),
    /// It is of another form, or is not what was asked for.
    Other(String),
    /// The system's.
    Io(io::Error),
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unusable::Damaged(why) => write!(f, "the backup is damaged: {why}"),
            Unusable::Cut(why) => write!(f, "the backup is not whole: {why}"),
            Unusable::Other(why) => f.write_str(why),
            Unusable::Io(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for Unusable {}

impl From<io::Error> for Unusable {
    fn from(e: io::Error) -> Unusable {
        Unusable::Io(e)
    }
}

/// A chunk that was read and is whole.
#[derive(Debug)]
pub struct Chunk {
    /// What it has.
    pub kind: ChunkKind,
    /// Its content.
    pub content: Vec<u8>,
}

/// Makes the bytes of the chunk of this number of a backup.
///
/// # Errors
/// The library found no memory.
pub fn encode(kind: ChunkKind, (id, number): (u64, u64), content: &[u8]) -> io::Result<Vec<u8>> {
    let body = zstd::bulk::compress(content, LEVEL)?;
    let mut out = vec![0; CHUNK_HEADER];
    le::put_u32(&mut out, 0, MAGIC);
    out[4] = kind as u8;
    le::put_u64(&mut out, 8, id);
    le::put_u64(&mut out, 16, number);
    le::put_u32(&mut out, 24, content.len() as u32);
    le::put_u32(&mut out, 28, body.len() as u32);
    let crc = crc32c_from(crc32c(&out[..32]), &body);
    le::put_u32(&mut out, 32, crc);
    out.extend_from_slice(&body);
    Ok(out)
}

/// Which chunk of which backup comes next.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkPlace {
    id: Option<u64>,
    number: u64,
    bytes: u64,
}

impl ChunkPlace {
    /// Chunks and bytes so far.
    pub fn so_far(&self) -> (u64, u64) {
        (self.number, self.bytes)
    }

    /// Which backup it is, once there was a chunk.
    pub fn id(&self) -> Option<u64> {
        self.id
    }

    /// How long the content is that follows a header, and will be.
    fn lengths(&self, header: &[u8; CHUNK_HEADER]) -> Result<(usize, usize), Unusable> {
        if le::get_u32(header, 0) != MAGIC {
            return Err(self.damaged("there is none where it should begin"));
        }
        let raw = le::get_u32(header, 24) as usize;
        let len = le::get_u32(header, 28) as usize;
        // A content that cannot be compressed becomes a little longer.
        if raw > CONTENT_MAX || len > CONTENT_MAX + CONTENT_MAX / 64 {
            return Err(self.damaged("it is longer than any"));
        }
        Ok((raw, len))
    }

    fn damaged(&self, why: &str) -> Unusable {
        Unusable::Damaged(format!("chunk {}: {why}", self.number))
    }

    /// The next chunk, of all its bytes.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Chunk, Unusable> {
        let cut = || Unusable::Cut(format!("it ends within chunk {}", self.number));
        let (header, body) = bytes.split_first_chunk().ok_or_else(cut)?;
        let (raw, len) = self.lengths(header)?;
        if body.len() != len {
            return Err(cut());
        }
        self.chunk(header, body, raw)
    }

    fn chunk(
        &mut self,
        header: &[u8; CHUNK_HEADER],
        body: &[u8],
        raw: usize,
    ) -> Result<Chunk, Unusable> {
        if crc32c_from(crc32c(&header[..32]), body) != le::get_u32(header, 32) {
            return Err(self.damaged("its checksum does not fit"));
        }
        let id = le::get_u64(header, 8);
        if *self.id.get_or_insert(id) != id {
            return Err(self.damaged("it is of another backup"));
        }
        if le::get_u64(header, 16) != self.number {
            return Err(self.damaged("another one stands in its place"));
        }
        let kind = ChunkKind::from_u8(header[4]);
        let kind = kind.ok_or_else(|| self.damaged("of an unknown kind"))?;
        let content = zstd::bulk::decompress(body, raw);
        let content = content.map_err(|_| self.damaged("it cannot be decompressed"))?;
        if content.len() != raw {
            return Err(self.damaged("it is shorter than it says"));
        }
        self.number += 1;
        self.bytes += (CHUNK_HEADER + body.len()) as u64;
        Ok(Chunk { kind, content })
    }
}

/// Reads a backup's chunks in order.
pub struct ChunkReader<R> {
    from: R,
    place: ChunkPlace,
}

impl<R: Read> ChunkReader<R> {
    /// Reads from here.
    pub fn new(from: R) -> ChunkReader<R> {
        ChunkReader {
            from,
            place: ChunkPlace::default(),
        }
    }

    /// Where it is.
    pub fn place(&self) -> &ChunkPlace {
        &self.place
    }

    /// The next chunk. `None`: nothing follows, which is right behind [`ChunkKind::End`] alone.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, Unusable> {
        let mut header = [0; CHUNK_HEADER];
        let got = read_up_to(&mut self.from, &mut header)?;
        if got == 0 {
            return Ok(None);
        }
        let number = self.place.number;
        let cut = || Unusable::Cut(format!("it ends within chunk {number}"));
        if got < CHUNK_HEADER {
            return Err(cut());
        }
        let (raw, len) = self.place.lengths(&header)?;
        let mut body = Vec::new();
        // It grows with what comes, whatever it says.
        (&mut self.from).take(len as u64).read_to_end(&mut body)?;
        if body.len() < len {
            return Err(cut());
        }
        self.place.chunk(&header, &body, raw).map(Some)
    }
}

/// Reads until the buffer is full or the input ends.
fn read_up_to(from: &mut impl Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buf.len() {
        match from.read(&mut buf[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_found() {
        let mut all = encode(ChunkKind::Begin, (7, 0), b"one").unwrap();
        all.extend(encode(ChunkKind::Log, (7, 1), &[3; 5000]).unwrap());
        let read = |bytes: &[u8]| {
            let mut reader = ChunkReader::new(bytes);
            let mut n = 0;
            loop {
                match reader.next_chunk() {
                    Ok(Some(_)) => n += 1,
                    Ok(None) => return Ok(n),
                    Err(e) => return Err(e),
                }
            }
        };
        assert_eq!(read(&all).unwrap(), 2);
        for bit in 0..all.len() * 8 {
            let mut bytes = all.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bytes).is_err(), "bit {bit}");
        }
        for len in 0..all.len() {
            // Cut between two chunks it is for whoever reads it to miss the end.
            let whole = read(&all[..len]).ok();
            assert!(whole.is_none_or(|n| n < 2), "{len}");
        }
        let swapped = encode(ChunkKind::Log, (7, 1), b"x").unwrap();
        assert!(read(&swapped).is_err());
        let mut mixed = encode(ChunkKind::Begin, (7, 0), b"one").unwrap();
        mixed.extend(encode(ChunkKind::Log, (8, 1), b"x").unwrap());
        assert!(read(&mixed).is_err());
    }
}
