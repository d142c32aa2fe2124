//! LOAD DATA in a binary log of statements: the file comes in blocks (BEGIN_LOAD_QUERY, APPEND_BLOCK), then the statement that loads it
//! (EXECUTE_LOAD_QUERY), or word that nobody will (DELETE_FILE).

use super::query::Query;
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// A piece of a file: the body of BEGIN_LOAD_QUERY, with which a file begins, and of APPEND_BLOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileBlock<'a> {
    /// The file, as its events call it.
    pub file: u32,
    /// What comes next in it.
    pub bytes: &'a [u8],
}

impl<'a> FileBlock<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early.
    pub fn read(body: &'a [u8]) -> ReadResult<FileBlock<'a>> {
        let mut r = Reader::new(body);
        let file = r.u32()?;
        Ok(FileBlock {
            file,
            bytes: r.take_rest(),
        })
    }

    /// Appends the body.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u32(self.file);
        out.put_bytes(self.bytes);
    }
}

/// Reads the body of DELETE_FILE: the file that will not be loaded.
///
/// # Errors
/// [`ProtocolError::Malformed`]: it ends early.
pub fn read_delete_file(body: &[u8]) -> ReadResult<u32> {
    Reader::new(body).u32()
}

/// What a load does with rows that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// They end it.
    Error,
    /// They stay.
    Ignore,
    /// They go.
    Replace,
}

/// The body of EXECUTE_LOAD_QUERY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadQuery<'a> {
    /// The statement as it was, with the name of the source's file.
    pub query: Query<'a>,
    /// The file.
    pub file: u32,
    /// Which bytes of the statement are `INFILE 'name' [IGNORE | REPLACE] INTO`.
    pub named: (usize, usize),
    /// What these words say of duplicates.
    pub duplicates: Duplicates,
}

impl<'a> LoadQuery<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or says what cannot be.
    pub fn read(body: &'a [u8]) -> ReadResult<LoadQuery<'a>> {
        let (query, (file, from, to, duplicates)) =
            Query::read_with(body, |r| Ok((r.u32()?, r.u32()?, r.u32()?, r.u8()?)))?;
        let named = (from as usize, to as usize);
        if named.0 > named.1 || named.1 > query.statement.len() {
            return Err(ProtocolError::Malformed);
        }
        let duplicates = match duplicates {
            0 => Duplicates::Error,
            1 => Duplicates::Ignore,
            2 => Duplicates::Replace,
            _ => return Err(ProtocolError::Malformed),
        };
        Ok(LoadQuery {
            query,
            file,
            named,
            duplicates,
        })
    }

    /// Appends the body.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.query.write_with(out, |out| {
            out.put_u32(self.file);
            out.put_u32(self.named.0 as u32);
            out.put_u32(self.named.1 as u32);
            out.put_u8(match self.duplicates {
                Duplicates::Error => 0,
                Duplicates::Ignore => 1,
                Duplicates::Replace => 2,
            });
        });
    }

    /// The statement with another file, which is not its client's.
    pub fn text_with(&self, name: &str) -> Vec<u8> {
        let words = match self.duplicates {
            Duplicates::Error => "INTO",
            Duplicates::Ignore => "IGNORE INTO",
            Duplicates::Replace => "REPLACE INTO",
        };
        let text = self.query.statement;
        let (front, rest) = (&text[..self.named.0], &text[self.named.1..]);
        let infile = format!(" INFILE '{name}' {words}");
        [front, infile.as_bytes(), rest].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn load(named: (usize, usize), duplicates: Duplicates) -> Vec<u8> {
        let load = LoadQuery {
            query: Query {
                database: b"d",
                statement: b"LOAD DATA LOCAL INFILE '/tmp/x' INTO TABLE t (a)",
                ..Query::default()
            },
            file: 7,
            named,
            duplicates,
        };
        let mut body = Vec::new();
        load.write(&mut body);
        body
    }

    #[test]
    fn what_is_written_is_read_back() {
        let body = load((9, 36), Duplicates::Replace);
        let read = LoadQuery::read(&body).unwrap();
        assert_eq!((read.file, read.query.database), (7, &b"d"[..]));
        let text = read.text_with("SQL_LOAD-7");
        let expected = "LOAD DATA INFILE 'SQL_LOAD-7' REPLACE INTO TABLE t (a)";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        for cut in 0..body.len() - 48 {
            assert!(LoadQuery::read(&body[..cut]).is_err());
        }
    }

    #[test]
    fn places_that_cannot_be_are_refused() {
        for named in [(9, 8), (0, 49), (4_000_000_000, 4_000_000_001)] {
            assert!(LoadQuery::read(&load(named, Duplicates::Error)).is_err());
        }
        let mut body = load((9, 36), Duplicates::Ignore);
        body[13 + 12] = 3;
        assert!(LoadQuery::read(&body).is_err());
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            if let Ok(load) = LoadQuery::read(&bytes) {
                let _ = load.text_with("x");
            }
            let _ = (FileBlock::read(&bytes), read_delete_file(&bytes));
        }
    }
}
