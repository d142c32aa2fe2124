//! Goes through a backup, and looks whether all is there and whole that is to be there. What is done with it is a [`Target`]'s business.

use super::check::LogCheck;
use super::chunk::{Chunk, ChunkKind, ChunkPlace, ChunkReader, Unusable};
use super::manifest::{Manifest, format_of};
use super::taking::Extra;
use crate::compressed::CompressedFormat;
use crate::page::{self, PAGE_SIZE};
use base::{Lsn, PageNo, SpaceId, le};
use std::collections::BTreeSet;
use std::io::Read;

/// What was read.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What the backup says of itself.
    pub manifest: Manifest,
    /// Bytes of it.
    pub bytes: u64,
    /// Pages that it had.
    pub pages: u64,
}

pub(super) fn damaged(why: impl Into<String>) -> Unusable {
    Unusable::Damaged(why.into())
}

/// What is done with what was found to be whole.
pub(super) trait Target {
    fn begin(&mut self, _begin: &Manifest) -> Result<(), Unusable> {
        Ok(())
    }
    fn space(&mut self, _id: SpaceId, _f: Option<CompressedFormat>) -> Result<(), Unusable> {
        Ok(())
    }
    fn page(&mut self, _id: SpaceId, _no: u32, _bytes: &[u8]) -> Result<(), Unusable> {
        Ok(())
    }
    fn log(&mut self, _at: Lsn, _bytes: &[u8]) -> Result<(), Unusable> {
        Ok(())
    }
    fn file(&mut self, _which: Extra, _bytes: &[u8]) -> Result<(), Unusable> {
        Ok(())
    }
}

struct Nothing;

impl Target for Nothing {}

/// Reads all of a backup and checks it: every checksum, that all is there that it says, and each record of its log.
///
/// # Errors
/// See [`Unusable`].
pub fn verify(from: impl Read) -> Result<Summary, Unusable> {
    read(from, &mut Nothing)
}

/// Checks a backup's chunks as they come.
#[derive(Default)]
pub struct Verifier {
    reading: Option<Reading>,
    chunks: ChunkPlace,
}

impl Verifier {
    /// The next chunk's bytes. The summary comes with the last.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Summary>, Unusable> {
        push(&mut self.reading, &mut self.chunks, bytes, &mut Nothing)
    }
}

/// Takes a chunk's bytes.
fn push(
    reading: &mut Option<Reading>,
    place: &mut ChunkPlace,
    bytes: &[u8],
    target: &mut dyn Target,
) -> Result<Option<Summary>, Unusable> {
    let chunk = place.decode(bytes)?;
    accept(reading, chunk, place, target)
}

pub(super) fn accept(
    reading: &mut Option<Reading>,
    chunk: Chunk,
    place: &ChunkPlace,
    target: &mut dyn Target,
) -> Result<Option<Summary>, Unusable> {
    match reading {
        None => {
            *reading = Some(Reading::begin(&chunk, place, target)?);
            Ok(None)
        }
        Some(r) => r.chunk(&chunk, place, target),
    }
}

/// Goes through a backup.
pub(super) fn read(from: impl Read, target: &mut dyn Target) -> Result<Summary, Unusable> {
    let mut reader = ChunkReader::new(from);
    let mut reading = None;
    loop {
        let (number, _) = reader.place().so_far();
        let Some(chunk) = reader.next_chunk()? else {
            return Err(Unusable::Cut(match number {
                0 => "there is nothing".to_owned(),
                n => format!("it ends behind chunk {}, before its end", n - 1),
            }));
        };
        if let Some(summary) = accept(&mut reading, chunk, reader.place(), target)? {
            return match reader.next_chunk()? {
                None => Ok(summary),
                Some(_) => Err(damaged("something follows its end")),
            };
        }
    }
}

/// Where in a backup a reader is, and what it has to find to be there what was said to be.
pub(super) struct Reading {
    begin: Manifest,
    log: LogCheck,
    /// The tablespace named last.
    space: Option<u32>,
    named: BTreeSet<u32>,
    /// Those whose first page has not come.
    without_first: BTreeSet<u32>,
    pages: u64,
    /// Behind the last change of any page.
    newest: Lsn,
    over: bool,
}

impl Reading {
    fn begin(
        chunk: &Chunk,
        place: &ChunkPlace,
        target: &mut dyn Target,
    ) -> Result<Reading, Unusable> {
        if chunk.kind != ChunkKind::Begin {
            return Err(damaged("it does not begin with a beginning"));
        }
        let begin = Manifest::decode(&chunk.content)?;
        if place.id() != Some(begin.id) {
            return Err(damaged("its beginning is of another backup"));
        }
        target.begin(&begin)?;
        Ok(Reading {
            log: LogCheck::new(begin.needed, begin.redo, &begin.jumps),
            begin,
            space: None,
            named: BTreeSet::new(),
            without_first: BTreeSet::new(),
            pages: 0,
            newest: Lsn::NONE,
            over: false,
        })
    }

    /// The next chunk; gives the summary behind the last.
    fn chunk(
        &mut self,
        chunk: &Chunk,
        place: &ChunkPlace,
        target: &mut dyn Target,
    ) -> Result<Option<Summary>, Unusable> {
        let content = &chunk.content[..];
        let (number, bytes) = place.so_far();
        let short = || damaged(format!("chunk {}: its content is cut", number - 1));
        if self.over {
            return Err(damaged("something follows its end"));
        }
        match chunk.kind {
            ChunkKind::Begin => return Err(damaged("it begins twice")),
            ChunkKind::Space => {
                let id = SpaceId(le::get_u32_or0(content, 0));
                let text = content.get(4..).and_then(|t| std::str::from_utf8(t).ok());
                let format = text.and_then(format_of).ok_or_else(short)?;
                if id.0 == 0 || id.is_temporary() || !self.named.insert(id.0) {
                    return Err(damaged(format!("a tablespace {} that cannot be", id.0)));
                }
                self.without_first.insert(id.0);
                self.space = Some(id.0);
                target.space(id, format)?;
            }
            ChunkKind::Pages => {
                let id = self
                    .space
                    .ok_or_else(|| damaged("pages of no tablespace"))?;
                let n = le::get_u32_or0(content, 0) as usize;
                let wanted = n.checked_mul(4 + PAGE_SIZE).and_then(|n| n.checked_add(4));
                if content.len() < 4 || wanted != Some(content.len()) {
                    return Err(short());
                }
                let (numbers, bytes) = content[4..].split_at(4 * n);
                for (no, bytes) in numbers.chunks_exact(4).zip(bytes.chunks_exact(PAGE_SIZE)) {
                    let no = le::get_u32(no, 0);
                    page::check(bytes, SpaceId(id), PageNo(no))
                        .map_err(|why| damaged(format!("page {no} of tablespace {id}: {why}")))?;
                    self.newest = self.newest.max(Lsn(le::get_u64(bytes, 16)));
                    if no == 0 {
                        self.without_first.remove(&id);
                    }
                    target.page(SpaceId(id), no, bytes)?;
                    self.pages += 1;
                }
            }
            ChunkKind::Log => {
                let at = Lsn(le::get_u64_or0(content, 0));
                let bytes = content.get(8..).ok_or_else(short)?;
                self.log.push(at, bytes).map_err(damaged)?;
                target.log(at, bytes)?;
            }
            ChunkKind::File => {
                let which = content.first().copied().and_then(Extra::from_u8);
                let which = which.ok_or_else(|| damaged("a file of an unknown kind"))?;
                target.file(which, &content[1..])?;
            }
            ChunkKind::End => {
                let manifest = Manifest::decode(content)?;
                self.check_end(&manifest, number)?;
                self.over = true;
                return Ok(Some(Summary {
                    manifest,
                    bytes,
                    pages: self.pages,
                }));
            }
        }
        Ok(None)
    }

    /// Whether all has come that the manifest says.
    fn check_end(&self, end: &Manifest, chunks: u64) -> Result<(), Unusable> {
        self.log.finish(end.end).map_err(damaged)?;
        let b = &self.begin;
        let same = b.id == end.id
            && b.parent == end.parent
            && b.since == end.since
            && b.log_id == end.log_id
            && b.segment_size == end.segment_size
            && (b.redo, b.checkpoint, b.needed) == (end.redo, end.checkpoint, end.needed)
            && b.jumps == end.jumps;
        if !same {
            return Err(damaged("its end does not fit its beginning"));
        }
        if end.chunks + 1 != chunks || end.pages != self.pages {
            return Err(damaged("it has not as much as it says"));
        }
        if self.newest > end.end {
            let newest = self.newest;
            return Err(damaged(format!(
                "a page has a change up to {newest}, behind its end"
            )));
        }
        for id in end.spaces.keys() {
            if !self.named.contains(id) {
                return Err(damaged(format!("tablespace {id} is not in it")));
            }
            // What has not changed is not in one that follows another.
            if end.parent == 0 && self.without_first.contains(id) {
                return Err(damaged(format!("tablespace {id} has no first page")));
            }
        }
        Ok(())
    }
}
