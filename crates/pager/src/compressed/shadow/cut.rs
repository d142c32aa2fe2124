//! Pages at the end of a compressed tablespace that are there no more.

use super::super::root::CHUNK_PAGES;
use super::{Place, Shadow, State};

impl Shadow {
    /// Forgets the pages from `end` on, which are free: there is no room for them any more, and what they took is free once the next root is durable.
    pub(crate) fn cut(&self, end: u32) {
        let mut s = self.lock();
        for page in end as usize..s.words.len() {
            s.forget(page);
        }
        s.room = s.room.min(end);
        s.room_changed = true;
    }
}

impl State {
    fn forget(&mut self, page: usize) {
        let Some(old) = Place::of(std::mem::take(&mut self.words[page])) else {
            return;
        };
        let units = u64::from(old.units);
        self.changed.insert(page / CHUNK_PAGES);
        self.used.0 -= 1;
        self.used.1 -= units;
        match self.fresh.remove(&(page as u32)) {
            true => self.places.free(old.start, units),
            false => self.retire(old.start, units),
        }
    }
}
