//! Cutting off what a channel's appliers are at: by KILL, and when the server ends and cannot wait for a lock that somebody may hold for ever. It is
//! taken back, and comes again when the channel is applied again.
//!
//! What it never does: end an applier that waits for nothing. That is asked to by the queue.

use std::sync::Arc;

use base::lock::Mutex;
use engine::Interrupt;

#[derive(Default)]
struct Inner {
    /// Since the applier began.
    off: bool,
    all: Vec<Arc<Interrupt>>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Cuts {
    inner: Mutex<Inner>,
}

/// A session that is cut off with the others, as long as this is kept.
pub(super) struct Cuttable<'c> {
    of: &'c Cuts,
    interrupt: Arc<Interrupt>,
}

impl Cuts {
    /// The channel begins to be applied.
    pub fn begin(&self) {
        self.inner.lock().off = false;
    }

    /// Cuts off all that are applying, and those that begin to before the channel begins anew.
    pub fn cut_off(&self) {
        let mut s = self.inner.lock();
        s.off = true;
        s.all.iter().for_each(|i| i.kill_connection());
    }

    /// Whether that was done.
    pub fn are_off(&self) -> bool {
        self.inner.lock().off
    }

    /// One more that applies.
    pub fn add(&self, interrupt: Arc<Interrupt>) -> Cuttable<'_> {
        let mut s = self.inner.lock();
        if s.off {
            interrupt.kill_connection();
        }
        s.all.push(Arc::clone(&interrupt));
        Cuttable {
            of: self,
            interrupt,
        }
    }
}

impl Drop for Cuttable<'_> {
    fn drop(&mut self) {
        let mut s = self.of.inner.lock();
        s.all.retain(|i| !Arc::ptr_eq(i, &self.interrupt));
    }
}
