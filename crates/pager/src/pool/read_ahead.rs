//! Reading pages that somebody will want soon.

use super::{Pool, Reading};
use crate::space::Space;
use base::PageNo;
use base::environment::ReadAt;
use std::sync::Arc;

impl Pool {
    /// Pages that a scan may have read ahead of it: next to nothing of the pool.
    pub fn ahead_at_most(&self) -> usize {
        (self.frames.len() / 64).min(32)
    }

    /// Starts reading pages, so many at most, for nobody yet; says how many. It does not read those that are there or on their way, and
    /// none where frames are short: what is only hoped for is not worth what others use.
    pub fn read_ahead(
        self: &Arc<Self>,
        space: &Arc<Space>,
        pages: impl IntoIterator<Item = PageNo>,
        most: usize,
    ) -> usize {
        let mut reads = Vec::new();
        let mut pages = pages.into_iter();
        while reads.len() < most {
            match pages.next().map(|page| self.begin_ahead(space, page)) {
                Some(Begun::Read(r)) => reads.push(r),
                Some(Begun::Not) => {}
                Some(Begun::Short) | None => break,
            }
        }
        let begun = reads.len();
        if begun > 0 {
            space.file().submit_reads(reads);
        }
        begun
    }

    fn begin_ahead(self: &Arc<Self>, space: &Arc<Space>, page: PageNo) -> Begun {
        let there = || space.translation.get(page.0).is_some();
        if there() || space.is_dropped() {
            return Begun::Not;
        }
        let state = Arc::new(Reading::default());
        let key = (space.id().0, page.0);
        {
            let mut reading = self.reading.lock();
            if reading.contains_key(&key) {
                return Begun::Not;
            }
            reading.insert(key, state.clone());
        }
        // It may have arrived between the look and the entry; and whoever came to wait for this read must look again.
        let (arrived, frame) = match there() {
            true => (true, None),
            false => (false, self.take_free()),
        };
        let Some(frame) = frame else {
            self.finish_read(key, &state, Ok(()));
            return match arrived {
                true => Begun::Not,
                false => Begun::Short,
            };
        };
        self.counters.ahead.inc();
        match self.page_read(space, page, frame, state) {
            Some(r) => Begun::Read(r),
            None => Begun::Not,
        }
    }
}

enum Begun {
    Read(ReadAt),
    /// There is nothing to do.
    Not,
    /// No frame is free.
    Short,
}
