//! The end of a tablespace's file goes back to the file system.
//!
//! First nothing is allocated there any more, unless the file has to grow: that takes it back. Then who cuts waits until no recovery would ask for a
//! page of it ([`crate::cut`]). Then the file ends earlier.
//!
//! Must never do: cut where a page is in use, or a map lies.

use super::Space;
use crate::page::{GROUP, PAGE_SIZE};
use base::PageNo;
use std::io;
use std::sync::atomic::Ordering;

impl Space {
    /// Nothing is allocated from `end` on, until the file grows. For who has the latch of the last map.
    pub(crate) fn close_end(&self, end: u32) {
        self.mapped.fetch_min(end, Ordering::AcqRel);
    }

    /// Ends the file at `end`, if nobody has taken that part back since [`close_end`](Self::close_end).
    pub(crate) fn cut(&self, end: u32) -> io::Result<bool> {
        let _one = self.growing.lock();
        if self.mapped() != end || self.room() <= end || self.is_dropped() {
            return Ok(false);
        }
        // Who has read the number of a page that is free by now may still ask for it.
        self.cut_to.fetch_max(self.room(), Ordering::AcqRel);
        self.cut_from.fetch_min(end, Ordering::AcqRel);
        match &self.shadow {
            Some(shadow) => shadow.cut(end),
            None => self.file.truncate(u64::from(end) * PAGE_SIZE as u64)?,
        }
        self.room.store(end, Ordering::Release);
        Ok(true)
    }

    /// Whether the page was cut off with the file's end at some time: it is free, unless it was written since. A number that the file never had is
    /// damage.
    pub(crate) fn was_cut_off(&self, page: PageNo) -> bool {
        let from = self.cut_from.load(Ordering::Acquire);
        let cut_off = (from..self.cut_to.load(Ordering::Acquire)).contains(&page.0);
        // A map is never cut off, and one that was never written has to be made.
        cut_off && !page.0.is_multiple_of(GROUP)
    }
}
