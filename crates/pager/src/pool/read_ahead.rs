//! Reading pages that somebody will want soon.

use super::{Pool, Reading};
use crate::space::Space;
use base::PageNo;
use std::sync::Arc;

impl Pool {
    /// Pages that a scan may have read ahead of it: next to nothing of the pool.
    pub fn ahead_at_most(&self) -> usize {
        (self.frames.len() / 64).min(32)
    }

    /// Starts reading the page, for nobody yet; says whether it did. It does not where the page is there or on its way, and where
    /// frames are short: what is only hoped for is not worth what others use.
    pub fn read_ahead(self: &Arc<Self>, space: &Arc<Space>, page: PageNo) -> bool {
        let there = || space.translation.get(page.0).is_some();
        if there() || space.is_dropped() {
            return false;
        }
        let state = Arc::new(Reading::default());
        let key = (space.id().0, page.0);
        {
            let mut reading = self.reading.lock();
            if reading.contains_key(&key) {
                return false;
            }
            reading.insert(key, state.clone());
        }
        // It may have arrived between the look and the entry; and whoever came to wait for this read must look again.
        let frame = match there() {
            true => None,
            false => self.take_free(),
        };
        let Some(frame) = frame else {
            self.finish_read(key, &state, Ok(()));
            return false;
        };
        self.counters.ahead.inc();
        self.start_read(space, page, frame, state);
        true
    }
}
