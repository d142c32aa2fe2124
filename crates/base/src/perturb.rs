//! Delays where threads can meet, placed by seed: between a look and what is done because of it, between parking and the
//! look behind it, between a change and the firing that tells of it.
//!
//! Only tests ask for them, each thread for itself ([`perturbed`]), and only builds with debug assertions have them. A delay changes
//! nothing but when a thread goes on; whatever goes wrong with delays can go wrong without, on a machine whose kernel takes the
//! processor away at that place.

use crate::rng::SplitMix64;
use std::cell::RefCell;

thread_local! {
    static DELAYS: RefCell<Option<SplitMix64>> = const { RefCell::new(None) };
}

/// Runs `f` with delays at this thread's [points](point), drawn from `seed`.
pub fn perturbed<T>(seed: u64, f: impl FnOnce() -> T) -> T {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            DELAYS.set(None);
        }
    }
    DELAYS.set(Some(SplitMix64::new(seed)));
    let _end = End;
    f()
}

/// A place where another thread may come in between. Nothing in builds without debug assertions, and next to nothing for a thread
/// that is not [perturbed].
#[inline(always)]
pub fn point() {
    #[cfg(all(debug_assertions, not(tidemill_model)))]
    delay();
}

#[cfg(all(debug_assertions, not(tidemill_model)))]
fn delay() {
    let wait = DELAYS.with_borrow_mut(|d| d.as_mut().map(|r| r.below(256)));
    match wait {
        None | Some(64..) => {}
        Some(16..64) => std::thread::yield_now(),
        // As long as it takes others to read a page in and use it.
        Some(n) => std::thread::sleep(std::time::Duration::from_micros(400 * n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn only_a_perturbed_thread_is_delayed_and_it_is() {
        let took = |f: &dyn Fn()| {
            let begun = Instant::now();
            f();
            begun.elapsed()
        };
        let points = || (0..2_000).for_each(|_| point());
        let perturbed = took(&|| perturbed(1, points));
        // Some 120 of them sleep, for three milliseconds on average.
        assert_eq!(perturbed > Duration::from_millis(5), cfg!(debug_assertions));
        assert!(took(&points) < perturbed || !cfg!(debug_assertions));
    }
}
