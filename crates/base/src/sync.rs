//! Where the structures that are model-checked get their atomics, locks and threads from: std, or [loom](https://docs.rs/loom)
//! when the models are built (`--cfg tidemill_model`, see `cargo xtask models`). Loom then tries every order in which the
//! threads of a model can meet, under the C11 memory model rather than the machine's.
//!
//! Only what has a model takes its atomics from here.

#[cfg(not(tidemill_model))]
pub use crate::lock::{Mutex, MutexGuard};
#[cfg(not(tidemill_model))]
pub use std::{sync::atomic, thread::yield_now};

#[cfg(tidemill_model)]
pub use loom::{
    future::block_on,
    model,
    sync::{Arc, MutexGuard, atomic},
    thread::{spawn, yield_now},
};

/// Loom's lock with the methods of [`lock`](crate::lock)'s.
#[cfg(tidemill_model)]
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(tidemill_model)]
impl<T> Mutex<T> {
    /// A lock around it.
    pub fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Waits for it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let locked = self.0.lock();
        locked.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes it if nobody holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// Nothing to do but to wait for another thread's next step.
#[inline(always)]
pub fn spin_loop() {
    #[cfg(not(tidemill_model))]
    std::hint::spin_loop();
    // Loom runs one thread at a time: the other one must get its turn.
    #[cfg(tidemill_model)]
    loom::thread::yield_now();
}
