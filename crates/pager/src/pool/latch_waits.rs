//! Who waits for latches that are held for long: noted for people who look.

use base::lock::Mutex;
use base::waits::Waiting;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who waits for latches that are held for long.
#[derive(Default)]
pub(super) struct LatchWaits(Mutex<BTreeMap<usize, (u32, Arc<Waiting>)>>);

/// A wait for a latch, until it is dropped.
pub(super) struct Noted<'a> {
    waits: &'a LatchWaits,
    number: usize,
}

impl LatchWaits {
    /// The frames, and the waits for their latches.
    pub(super) fn all(&self) -> Vec<(u32, Arc<Waiting>)> {
        self.0.lock().values().cloned().collect()
    }

    /// The caller begins to wait for the latch of this frame.
    pub(super) fn note(&self, frame: u32) -> Noted<'_> {
        let mut all = self.0.lock();
        let number = all.last_key_value().map_or(0, |(n, _)| n + 1);
        all.insert(number, (frame, Arc::new(Waiting::begin())));
        Noted {
            waits: self,
            number,
        }
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.waits.0.lock().remove(&self.number);
    }
}
