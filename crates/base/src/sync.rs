//! Where the structures that are model-checked get their atomics, locks and threads from: std, or [loom](https://docs.rs/loom)
//! when the models are built (`--cfg tidemill_model`, see `cargo xtask models`). Loom then tries every order in which the
//! threads of a model can meet, under the C11 memory model rather than the machine's.
//!
//! Only what has a model takes its atomics from here.

#[cfg(not(tidemill_model))]
pub use std::{
    sync::{Mutex, MutexGuard, atomic},
    thread::yield_now,
};

#[cfg(tidemill_model)]
pub use loom::{
    future::block_on,
    model,
    sync::{Arc, Mutex, MutexGuard, atomic},
    thread::{spawn, yield_now},
};

/// Nothing to do but to wait for another thread's next step.
#[inline(always)]
pub fn spin_loop() {
    #[cfg(not(tidemill_model))]
    std::hint::spin_loop();
    // Loom runs one thread at a time: the other one must get its turn.
    #[cfg(tidemill_model)]
    loom::thread::yield_now();
}
