//! Long work leaves the event loops: a statement that computes for long goes on on a thread of its own, so that it keeps nobody waiting
//! who shares its loop (docs/decisions/0019).
//!
//! Modules: `placement` (what the polled task says), `slots` (how many compute at a time), `handover` (a task between two threads),
//! `threads` (those that compute), `offloadable` (the task as its loop sees it), `environment` (the engine's way in).

mod environment;
mod handover;
mod offloadable;
mod placement;
mod slots;
mod threads;

pub(crate) use environment::environment;
pub(crate) use offloadable::Offloadable;
pub(crate) use placement::{Task, note_pause, offload, on_loop, return_to_loop};
pub(crate) use threads::WorkThreads;
