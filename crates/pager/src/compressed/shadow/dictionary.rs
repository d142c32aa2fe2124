//! The dictionary of a tablespace in its file: written once, to a place of its own. Each root from then on names it, so no root names a
//! page that was compressed with it and not the dictionary.

use super::{NoRoot, Shadow, State};
use crate::compressed::dictionary::{BYTES_MAX, Dictionary, SAMPLES_MIN};
use crate::compressed::root::{Root, Stored};
use crate::page::PAGE_SIZE;
use base::AlignedBuf;
use base::checksum::crc32c;
use std::io;
use std::sync::atomic::Ordering;

impl Shadow {
    /// What pages are compressed with, and some were, if there is one.
    pub(crate) fn dictionary(&self) -> Option<&Dictionary> {
        self.dictionary.get()
    }

    /// Whether a dictionary is to be looked for. Who is told so does it: nobody else is.
    pub(crate) fn wants_dictionary(&self) -> bool {
        !self.trained.load(Ordering::Relaxed)
    }

    /// Pages of which one is trained.
    pub(crate) fn samples_wanted(&self) -> usize {
        (self.step as usize / PAGE_SIZE).clamp(SAMPLES_MIN, 64)
    }

    /// Whether one is worth its place: it makes pages a thirtieth smaller. Where files grow in the small steps of tests any is, so
    /// that they have some.
    pub(crate) fn dictionary_pays(&self, with: usize, without: usize) -> bool {
        self.step < 1 << 20 || with + without / 30 <= without
    }

    /// One has been looked for.
    pub(crate) fn has_trained(&self) {
        self.trained.store(true, Ordering::Relaxed);
    }

    /// Writes a dictionary and has it used from now on.
    ///
    /// # Errors
    /// As [`take`](Self::take), and the write's; it is not used then.
    pub(crate) fn keep_dictionary(&self, made: Dictionary) -> io::Result<()> {
        let bytes = made.bytes();
        let units = self.format.units(bytes.len());
        let start = self.allocate(units)?;
        let mut out = AlignedBuf::zeroed(self.offset(units) as usize);
        out[..bytes.len()].copy_from_slice(bytes);
        if let Err(e) = self.file.write_now(&out, self.offset(start)) {
            self.release(start, units);
            return Err(e);
        }
        let mut s = self.lock();
        assert!(s.stored.is_none(), "a file has one dictionary");
        if !base::mutant!("dictionary-not-in-the-root") {
            s.stored = Some(Stored {
                start,
                len: bytes.len() as u32,
                crc: crc32c(bytes),
            });
        }
        drop(s);
        // Only the cleaner comes here.
        let _ = self.dictionary.set(made);
        Ok(())
    }

    /// Reads the dictionary that a root names.
    pub(super) fn read_dictionary(&self, root: &Root, s: &mut State) -> Result<(), NoRoot> {
        let Some(d) = root.dictionary else {
            return Ok(());
        };
        let len = d.len as usize;
        let units = self.format.units(len);
        if len > BYTES_MAX || !s.places.claim(d.start, units) {
            return Err(NoRoot::Damaged);
        }
        let mut b = AlignedBuf::zeroed(self.offset(units) as usize);
        let n = self.file.read_now(&mut b, self.offset(d.start))?;
        if n < len || crc32c(&b[..len]) != d.crc {
            return Err(NoRoot::Damaged);
        }
        let made = Dictionary::new(b[..len].to_vec(), self.format.level)
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        s.stored = Some(d);
        self.has_trained();
        let _ = self.dictionary.set(made);
        Ok(())
    }
}
