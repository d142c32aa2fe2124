//! The engines that tests have opened: each is stopped when its test's thread ends. Otherwise a run of all tests keeps the pool, the log and
//! the threads of every one of them.

use std::cell::RefCell;
use std::sync::Arc;

use base::block_on;
use engine::Engine;

thread_local! {
    static OPENED: RefCell<Opened> = const { RefCell::new(Opened(Vec::new())) };
}

struct Opened(Vec<Arc<Engine>>);

impl Drop for Opened {
    fn drop(&mut self) {
        for engine in self.0.drain(..) {
            block_on(engine.abandon());
        }
    }
}

/// Has the engine stopped, as a crash would stop it, when the test is over that runs on this thread.
pub(crate) fn until_the_test_ends(engine: Arc<Engine>) -> Arc<Engine> {
    OPENED.with_borrow_mut(|opened| opened.0.push(Arc::clone(&engine)));
    engine
}
