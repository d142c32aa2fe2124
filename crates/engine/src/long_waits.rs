//! Waits inside the engine that last, for people who look. Locks of rows and tables are not among them: they are waited for as long as users have
//! set, and are shown with their owners elsewhere.

use crate::engine::Engine;
use base::waits::LongWait;
use std::time::Duration;

impl Engine {
    /// The waits that have gone on for so long, those that have lasted longest first: who waits, for what, and who has it.
    pub fn long_waits(&self, least: Duration) -> Vec<LongWait> {
        let mut all = self.pager.long_waits(least);
        all.sort_by_key(|w| w.since);
        all
    }
}
