//! The environment that the engine and the SQL layer get from the server: the machine's own, but for who runs next.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;

use base::Environment;
use base::environment::{Spawn, Task};

use super::placement::{ask_to_leave, note_pause};

/// Threads for background tasks; a statement that lets others run goes behind what the reactor of its core has to tell.
struct ReactorSpawn;

impl Spawn for ReactorSpawn {
    fn spawn(&self, name: &str, task: Task) {
        base::real::Threads.spawn(name, task);
    }

    fn spawn_work(&self, name: &str, throttled: bool, task: Task) -> io::Result<()> {
        base::real::Threads.spawn_work(name, throttled, task)
    }

    fn yield_now(&self, cx: &mut Context<'_>) {
        base::real::throttle();
        note_pause();
        // The first poll registers the waker with the runtime; outside of one (the shell) it wakes at once.
        let _ = pin!(tokio::task::yield_now()).poll(cx);
    }

    fn leave(&self) -> bool {
        ask_to_leave()
    }

    fn is_alone(&self) -> bool {
        base::real::is_alone()
    }
}

/// The server's environment.
pub(crate) fn environment() -> Environment {
    Environment {
        spawn: Arc::new(ReactorSpawn),
        ..base::real::environment()
    }
}
