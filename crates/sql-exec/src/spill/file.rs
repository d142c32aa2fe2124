//! Records in a temporary file: a key and a row each, gathered into blocks. A [`Section`] is a list of blocks, which stays in memory with their
//! checksums; several sections share a file.

use base::buf::AlignedBuf;
use base::checksum::crc32c;
use engine::TempFile;
use types::SqlError;

/// A block of records.
#[derive(Debug, Clone, Copy)]
struct Piece {
    at: u64,
    len: u32,
    crc: u32,
}

/// Records that are in a file, one behind the other.
#[derive(Debug, Default, Clone)]
pub(crate) struct Section {
    blocks: Vec<Piece>,
    records: u64,
}

impl Section {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.records
    }

    /// More, behind them.
    pub fn append(&mut self, more: Section) {
        self.blocks.extend(more.blocks);
        self.records += more.records;
    }
}

/// Lengths in front of a record.
const LENGTHS: usize = 8;

/// Records on their way to a file.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    buf: Vec<u8>,
    section: Section,
}

impl Writer {
    /// Adds a record, whose row `row` appends. It stays in memory until [`flush`](Self::flush).
    #[inline]
    pub fn add(&mut self, key: &[u8], row: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buf.len();
        self.buf
            .extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.buf.extend_from_slice(&[0; 4]);
        self.buf.extend_from_slice(key);
        let from = self.buf.len();
        row(&mut self.buf);
        let len = (self.buf.len() - from) as u32;
        self.buf[start + 4..start + LENGTHS].copy_from_slice(&len.to_le_bytes());
        self.section.records += 1;
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.buf.len()
    }

    /// Writes what waits, as one block.
    ///
    /// # Errors
    /// As [`TempFile::append`].
    pub async fn flush(&mut self, file: &mut TempFile) -> Result<(), SqlError> {
        if self.buf.is_empty() {
            return Ok(());
        }
        let at = file.append(&self.buf).await?;
        self.section.blocks.push(Piece {
            at,
            len: self.buf.len() as u32,
            crc: crc32c(&self.buf),
        });
        self.buf.clear();
        Ok(())
    }

    /// The records, all of which have been written.
    pub fn finish(self) -> Section {
        debug_assert!(self.buf.is_empty(), "records that nobody wrote");
        self.section
    }
}

/// Where a reader has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// At a record.
    Record,
    /// Before a block that has to be read.
    Block,
    /// Behind the last.
    End,
}

/// Records coming back.
pub(crate) struct Reader {
    blocks: std::vec::IntoIter<Piece>,
    buf: Option<AlignedBuf>,
    /// Where the key begins, the row, and the next record.
    key: usize,
    row: usize,
    next: usize,
}

impl Reader {
    /// Before the first record.
    pub fn new(section: Section) -> Reader {
        Reader {
            blocks: section.blocks.into_iter(),
            buf: None,
            key: 0,
            row: 0,
            next: 0,
        }
    }

    /// Moves to the next record, as far as that needs no file.
    #[inline]
    pub fn step(&mut self) -> Step {
        let bytes = self.buf.as_deref().unwrap_or_default();
        let at = self.next;
        if at >= bytes.len() {
            return match self.blocks.as_slice().is_empty() {
                true => Step::End,
                false => Step::Block,
            };
        }
        let len = |at: usize| {
            let mut x = [0; 4];
            x.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(x) as usize
        };
        self.key = at + LENGTHS;
        self.row = self.key + len(at);
        self.next = self.row + len(at + 4);
        Step::Record
    }

    /// Reads the next block; no record is at hand then.
    ///
    /// # Errors
    /// As [`TempFile::read`]; bytes that are not those that were written.
    pub async fn load(&mut self, file: &TempFile) -> Result<(), SqlError> {
        let Some(b) = self.blocks.next() else {
            return Ok(());
        };
        // The old one first: two are not needed.
        self.buf = None;
        self.next = 0;
        let buf = file.read(b.at, b.len as usize).await?;
        if crc32c(&buf) != b.crc {
            return Err(file.damaged());
        }
        self.buf = Some(buf);
        Ok(())
    }

    /// Moves to the next record; `false` behind the last.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn advance(&mut self, file: &TempFile) -> Result<bool, SqlError> {
        loop {
            match self.step() {
                Step::Record => return Ok(true),
                Step::End => return Ok(false),
                Step::Block => self.load(file).await?,
            }
        }
    }

    /// The record's key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.buf.as_deref().unwrap_or_default()[self.key..self.row]
    }

    /// The record's row.
    #[inline]
    pub fn row(&self) -> &[u8] {
        &self.buf.as_deref().unwrap_or_default()[self.row..self.next]
    }
}
