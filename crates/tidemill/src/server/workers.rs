//! The threads that serve connections. The one place that knows whether each core runs a loop of its own or all share one
//! work-stealing pool.
//!
//! A loop for each core is the default: a wake-up from the same core then costs no lock and no cross-core traffic. A
//! connection stays where it was put, and the pages that it misses are read through its loop's own ring.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread::JoinHandle;

use base::real::ThreadRing;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

/// How connections share the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheduling {
    /// One single-threaded loop for each core.
    #[default]
    PerCore,
    /// One pool of threads that steal work from each other.
    Shared,
}

/// The running threads.
#[derive(Debug)]
pub struct Workers(Inner);

#[derive(Debug)]
enum Inner {
    PerCore { loops: Vec<Loop>, next: AtomicUsize },
    Shared(Runtime),
}

#[derive(Debug)]
struct Loop {
    handle: Handle,
    /// Tasks placed here that have not ended.
    load: Arc<AtomicUsize>,
    stop: Arc<Notify>,
    thread: JoinHandle<()>,
}

/// One task's share of a loop's load.
struct Placed(Arc<AtomicUsize>);

impl Drop for Placed {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Starts `threads` threads.
    ///
    /// # Errors
    /// Of the operating system: no thread, no event queue.
    pub fn start(scheduling: Scheduling, threads: usize) -> io::Result<Workers> {
        let threads = threads.max(1);
        Ok(Workers(match scheduling {
            Scheduling::Shared => Inner::Shared(
                Builder::new_multi_thread()
                    .worker_threads(threads)
                    .thread_name("serve")
                    .enable_all()
                    .build()?,
            ),
            Scheduling::PerCore => Inner::PerCore {
                loops: (0..threads).map(start_loop).collect::<io::Result<_>>()?,
                next: AtomicUsize::new(0),
            },
        }))
    }

    /// Runs a task on the thread with the fewest; of equals, in turn.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0 {
            Inner::Shared(runtime) => {
                runtime.spawn(task);
            }
            Inner::PerCore { loops, next } => {
                let first = next.fetch_add(1, Ordering::Relaxed);
                let chosen = (0..loops.len())
                    .map(|i| &loops[(first + i) % loops.len()])
                    .min_by_key(|l| l.load.load(Ordering::Relaxed));
                if let Some(chosen) = chosen {
                    chosen.load.fetch_add(1, Ordering::Relaxed);
                    let placed = Placed(Arc::clone(&chosen.load));
                    chosen.handle.spawn(async move {
                        let _placed = placed;
                        task.await;
                    });
                }
            }
        }
    }

    /// Ends the threads; tasks that have not ended are dropped.
    pub fn stop(self) {
        match self.0 {
            Inner::Shared(runtime) => drop(runtime),
            Inner::PerCore { loops, .. } => {
                for l in &loops {
                    l.stop.notify_one();
                }
                for l in loops {
                    // A panic there has been printed already.
                    let _panicked = l.thread.join();
                }
            }
        }
    }
}

fn start_loop(number: usize) -> io::Result<Loop> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let stop = Arc::new(Notify::new());
    let until = Arc::clone(&stop);
    let thread = std::thread::Builder::new()
        .name(format!("serve-{number}"))
        .spawn(move || {
            base::real::settle_requests();
            let ring = ThreadRing::install().ok().map(Arc::new);
            if let Some(ring) = &ring {
                runtime.spawn(read_pages(Arc::clone(ring)));
            }
            runtime.block_on(until.notified());
            if let Some(ring) = ring {
                ring.end();
            }
        })?;
    Ok(Loop {
        handle,
        load: Arc::new(AtomicUsize::new(0)),
        stop,
        thread,
    })
}

/// Serves the thread's own ring from its event loop: submits at the end of a turn what the statements of that turn asked
/// for, and wakes those whose pages have arrived.
async fn read_pages(ring: Arc<ThreadRing>) {
    #[expect(
        deprecated,
        reason = "its successor is unsafe for the descriptors of others: this one is the ring's, which is held"
    )]
    let registered = AsyncFd::with_interest(Arc::clone(&ring), Interest::READABLE);
    let Ok(readable) = registered else {
        // Without it nobody would see the pages arrive.
        return ring.end();
    };
    poll_fn(|cx| {
        loop {
            ring.turn(cx.waker());
            match readable.poll_read_ready(cx) {
                // What arrives from here on makes it readable again.
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                Poll::Ready(Err(_)) | Poll::Pending => return Poll::<()>::Pending,
            }
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::mpsc;

    #[test]
    fn tasks_run_and_spread() -> io::Result<()> {
        for scheduling in [Scheduling::PerCore, Scheduling::Shared] {
            let workers = Workers::start(scheduling, 2)?;
            let (tx, rx) = mpsc::channel();
            let hold = Arc::new(Notify::new());
            for _ in 0..4 {
                let (tx, hold) = (tx.clone(), Arc::clone(&hold));
                workers.spawn(async move {
                    let _gone = tx.send(std::thread::current().id());
                    hold.notified().await;
                });
            }
            let seen: HashSet<_> = rx.iter().take(4).collect();
            if scheduling == Scheduling::PerCore {
                assert_eq!(seen.len(), 2);
            }
            workers.stop();
        }
        Ok(())
    }
}
