//! What a compressed file is larger than its pages, given back when it is closed: holes are filled with the pages at its end, compressed as they are, behind a
//! root of their own, and the end goes back to the file system.
//!
//! Must never do: run beside readers. Who has looked up a page's place would read what is there by then.

use super::{Place, Shadow, State};
use base::{AlignedBuf, PageNo};
use std::io;

/// Bytes that are moved in one file, at most: a shutdown must not take long.
const MOVED_MAX: u64 = 64 << 20;

impl Shadow {
    /// Moves pages from the file's end into holes, where these are a thirty-second of it, and gives all of the end back that is free.
    /// Nobody reads or writes pages meanwhile, nor changes them for a while.
    ///
    /// # Errors
    /// The device failed; `StorageFull`: there is no room for a root, and nothing is given back.
    pub(crate) fn trim(&self) -> io::Result<()> {
        if self.fill_holes()? {
            self.make_root()?;
        }
        let _one = self.rooting.lock();
        let mut s = self.lock();
        self.move_spare(&mut s)?;
        self.give_back(&mut s, 1)
    }

    /// Gives back what lies behind all that it knows of: the file was longer when it was made.
    pub(crate) fn end_file(&self) -> io::Result<()> {
        let s = self.lock();
        self.file.truncate(self.offset(s.places.units()))
    }

    /// Takes places for parts of coming roots as far in front as there are.
    fn move_spare(&self, s: &mut State) -> io::Result<()> {
        // No root names them, nor will one that is under way.
        for start in std::mem::take(&mut s.spare) {
            s.places.free(start, self.part_units());
        }
        let room = s.room;
        self.keep_spare(s, room)
    }

    /// Whether a page was moved.
    fn fill_holes(&self) -> io::Result<bool> {
        let mut last = {
            let _one = self.rooting.lock();
            let mut s = self.lock();
            self.move_spare(&mut s)?;
            let (units, end) = (s.places.units(), s.places.taken_end());
            let holes = s.places.free_units() - (units - end);
            if holes < end / 32 {
                return Ok(false);
            }
            // Behind where the last page would be if there were none. Parts of the map that lie there go to spare places.
            let far = s.chunks.iter().enumerate();
            let far = far.filter(|(_, c)| c.start + self.part_units() > end - holes);
            let far: Vec<usize> = far.map(|(n, _)| n).collect();
            s.changed.extend(far);
            let words = s.words.iter().enumerate();
            let places = words.filter_map(|(page, w)| Some((Place::of(*w)?, page as u32)));
            let last = places.filter(|(p, _)| p.start + u64::from(p.units) > end - holes);
            last.collect::<Vec<_>>()
        };
        last.sort_unstable_by_key(|(p, _)| std::cmp::Reverse(p.start));
        let mut moved = 0;
        for (place, page) in last {
            if moved >= MOVED_MAX || !self.move_forward(PageNo(page), place)? {
                break;
            }
            moved += self.bytes(place) as u64;
        }
        Ok(moved > 0)
    }

    /// Copies a page to the first place that is free, if that is further in front; false if not.
    fn move_forward(&self, page: PageNo, from: Place) -> io::Result<bool> {
        let units = u64::from(from.units);
        let start = {
            let mut s = self.lock();
            match s.places.allocate(units) {
                Some(start) if start < from.start => start,
                Some(start) => {
                    s.places.free(start, units);
                    return Ok(false);
                }
                None => return Ok(false),
            }
        };
        let mut bytes = AlignedBuf::zeroed(self.bytes(from));
        let copied = self
            .file
            .read_now(&mut bytes, self.offset(from.start))
            .and_then(|n| match n == bytes.len() {
                true => self.file.write_now(&bytes, self.offset(start)),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            });
        if let Err(e) = copied {
            self.release(start, units);
            return Err(e);
        }
        let mut s = self.lock();
        let there = s.words.get(page.0 as usize).copied().and_then(Place::of);
        assert_eq!(there, Some(from), "page {} was written meanwhile", page.0);
        s.enter(page, Place { start, ..from });
        Ok(true)
    }
}
