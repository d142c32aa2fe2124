//! Waits inside the storage that last: who waits for what, and who has it or has to bring it about. For people who look, by a statement or in
//! the server's log; nothing is woken by it.

use crate::pager::Pager;
use base::waits::LongWait;
use std::time::Duration;

impl Pager {
    /// The waits that have gone on for so long: for frames, pages, latches, the log, the cleaner and checkpoints.
    pub fn long_waits(&self, least: Duration) -> Vec<LongWait> {
        let mut all = Vec::new();
        self.pool.long_waits(least, &mut all);
        if !all.is_empty() {
            let cleaner = self.cleaner.doing();
            all.iter_mut().for_each(|w| {
                w.holder.push_str("; ");
                w.holder.push_str(&cleaner);
            });
        }
        self.log
            .long_waits(least, || self.checkpointer.kept(), &mut all);
        self.cleaner.long_waits(least, &mut all);
        self.checkpointer.long_waits(least, &mut all);
        all
    }
}
