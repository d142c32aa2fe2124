//! The fallback where io_uring is refused (many containers): a few threads doing positioned reads and writes.

use super::operation::{Op, RawFile, run_op};
use crate::lock::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Threads that carry out blocking operations; as many as a device needs to be kept busy.
const WORKERS: usize = 16;

type Shared = Arc<Mutex<Receiver<(Arc<RawFile>, Op)>>>;

/// The pool. Its threads end when it is dropped.
pub(super) struct Pool {
    queue: Sender<(Arc<RawFile>, Op)>,
}

impl Pool {
    pub(super) fn new() -> Pool {
        let (tx, rx) = channel();
        let rx: Shared = Arc::new(Mutex::new(rx));
        for i in 0..WORKERS {
            let rx = rx.clone();
            let r = std::thread::Builder::new()
                .name(format!("io-{i}"))
                .spawn(move || {
                    loop {
                        let next = rx.lock().recv();
                        match next {
                            Ok((file, op)) => run_op(&file, op),
                            Err(_) => return,
                        }
                    }
                });
            assert!(r.is_ok(), "cannot start an I/O thread");
        }
        Pool { queue: tx }
    }

    pub(super) fn submit(&self, file: Arc<RawFile>, op: Op) {
        // The receivers live as long as the sender: a failed send cannot happen before the pool is dropped.
        if let Err(e) = self.queue.send((file, op)) {
            let (file, op) = e.0;
            run_op(&file, op);
        }
    }
}
