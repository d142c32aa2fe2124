//! The threads that serve connections: an event loop for each core.
//!
//! A wake-up from the same core costs no lock and no cross-core traffic. A connection stays where it was put, and the pages that it misses
//! are read through its loop's own ring. Only while one of its statements computes for long is it elsewhere ([`crate::offload`]).

use std::cell::OnceCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::real::ThreadRing;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;

use crate::offload::{Offloadable, Task, WorkThreads};

/// The running threads.
#[derive(Debug)]
pub struct Workers {
    loops: Vec<Loop>,
    next: AtomicUsize,
    /// Says that all loops have ended.
    ended: Receiver<Infallible>,
    work: WorkThreads,
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

thread_local! {
    /// The load of the loop that runs on this thread.
    static LOAD: OnceCell<Arc<AtomicUsize>> = const { OnceCell::new() };
}

/// Lets the other tasks of this loop go first that are ready, where there may be any.
///
/// A client that gets its answer is woken, and the kernel may well put it in this thread's place. Answers that are sent when all who
/// are ready have been served wake them one behind the other: the loop is put aside less often, and for the whole batch.
pub(super) async fn others_first() {
    let alone = LOAD.with(|l| l.get().is_none_or(|l| l.load(Ordering::Relaxed) < 2));
    if alone {
        return;
    }
    let mut waited = false;
    poll_fn(|cx| match std::mem::replace(&mut waited, true) {
        true => Poll::Ready(()),
        false => {
            // To the end of the queue.
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

impl Workers {
    /// Starts `threads` threads.
    ///
    /// # Errors
    /// Of the operating system: no thread, no event queue.
    pub fn start(threads: usize) -> io::Result<Workers> {
        let (end, ended) = channel();
        let start = |number: usize| start_loop(&format!("serve-{number}"), end.clone());
        Ok(Workers {
            loops: (0..threads.max(1)).map(start).collect::<io::Result<_>>()?,
            next: AtomicUsize::new(0),
            ended,
            work: WorkThreads::default(),
        })
    }

    /// The threads on which long work goes on.
    pub(super) fn work(&self) -> WorkThreads {
        self.work.clone()
    }

    /// As [`serve`](Self::serve), for what is no task yet.
    #[cfg(test)]
    pub fn spawn(&self, task: impl std::future::Future<Output = ()> + Send + 'static) {
        self.serve(Box::pin(task));
    }

    /// Runs a task on the thread with the fewest; of equals, in turn.
    pub(super) fn serve(&self, task: Task) {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let chosen = (0..self.loops.len())
            .map(|i| &self.loops[(first + i) % self.loops.len()])
            .min_by_key(|l| l.load.load(Ordering::Relaxed));
        if let Some(chosen) = chosen {
            chosen.load.fetch_add(1, Ordering::Relaxed);
            let placed = Placed(Arc::clone(&chosen.load));
            let task = Offloadable::new(task, self.work.clone(), chosen.handle.clone());
            chosen.handle.spawn(async move {
                let _placed = placed;
                task.await;
            });
        }
    }

    /// Ends the threads; tasks that have not ended are dropped. Waits so long for what computes and cannot be interrupted, and says how many
    /// of those threads are left to the end of the process.
    pub fn stop(self, at_most: Duration) -> usize {
        let until = Instant::now() + at_most;
        let left = || until.saturating_duration_since(Instant::now());
        // First: what is away may need its loop's sockets and timers until it is dropped.
        let at_work = self.work.close(at_most / 2);
        for l in &self.loops {
            if !base::mutant!("loop-stopped-without-a-word") {
                l.stop.notify_one();
            }
        }
        let all = self.ended.recv_timeout(left()) == Err(RecvTimeoutError::Disconnected);
        let mut stuck = 0;
        for l in self.loops {
            if all || l.thread.is_finished() {
                // A panic there has been printed already.
                let _panicked = l.thread.join();
            } else {
                stuck += 1;
            }
        }
        at_work + stuck
    }
}

/// A thread with an event loop. `end` is dropped when it ends.
fn start_loop(name: &str, end: Sender<Infallible>) -> io::Result<Loop> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let load = Arc::new(AtomicUsize::new(0));
    let of_the_thread = Arc::clone(&load);
    let stop = Arc::new(Notify::new());
    let until = Arc::clone(&stop);
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            let _end = end;
            LOAD.with(|l| _ = l.set(of_the_thread));
            base::real::pin_requests();
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
        load,
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
            ring.poll(cx.waker());
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
    use crate::offload::{note_pause, offload, on_loop, return_to_loop};
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn tasks_run_and_spread() -> io::Result<()> {
        let workers = Workers::start(2)?;
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
        assert_eq!(seen.len(), 2);
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    #[test]
    fn who_is_ready_goes_first() -> io::Result<()> {
        let workers = Workers::start(1)?;
        let (tx, rx) = mpsc::channel();
        let begin = Arc::new(Notify::new());
        for _ in 0..3 {
            let (tx, begin) = (tx.clone(), Arc::clone(&begin));
            workers.spawn(async move {
                begin.notified().await;
                let _gone = tx.send("served");
                others_first().await;
                let _gone = tx.send("sent");
            });
        }
        let all = Arc::clone(&begin);
        workers.spawn(async move { all.notify_waiters() });
        let order: Vec<_> = (0..6).map(|_| rx.recv_timeout(PATIENCE)).collect();
        let expected = ["served", "served", "served", "sent", "sent", "sent"];
        assert_eq!(order, expected.map(Ok));
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    /// Who is alone on a loop does not wait for a turn more.
    #[test]
    fn who_is_alone_does_not_wait() -> io::Result<()> {
        let workers = Workers::start(1)?;
        let (tx, rx) = mpsc::channel();
        workers.spawn(async move {
            let mut first = std::pin::pin!(others_first());
            let at_once = poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx).is_ready())).await;
            let _gone = tx.send(at_once);
        });
        assert_eq!(rx.recv_timeout(PATIENCE), Ok(true));
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    /// Computes until it is told to stop, without a pause.
    async fn compute(stop: Arc<AtomicBool>) {
        offload().await;
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        return_to_loop().await;
    }

    #[test]
    fn who_computes_keeps_nobody_waiting() -> io::Result<()> {
        let workers = Workers::start(1)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (tx, rx) = mpsc::channel();
        for _ in 0..5 {
            let (stop, tx) = (Arc::clone(&stop), tx.clone());
            workers.spawn(async move {
                let before = std::thread::current().id();
                compute(stop).await;
                let after = std::thread::current().id();
                let _gone = tx.send(before == after);
            });
        }
        let (answer, answered) = mpsc::channel();
        workers.spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let _gone = answer.send(());
        });
        assert_eq!(answered.recv_timeout(PATIENCE), Ok(()));
        assert_eq!(workers.work.at_work(), 5);
        stop.store(true, Ordering::Relaxed);
        for _ in 0..5 {
            assert_eq!(rx.recv_timeout(PATIENCE), Ok(true), "it came back");
        }
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    /// Sockets and timers of the loop, and wake-ups by others, reach a task that is away.
    #[test]
    fn a_task_that_is_away_is_woken() -> io::Result<()> {
        let workers = Workers::start(1)?;
        let event = Arc::new(base::Event::new());
        let fired = Arc::new(AtomicBool::new(false));
        let (tx, rx) = mpsc::channel();
        {
            let (event, fired) = (Arc::clone(&event), Arc::clone(&fired));
            workers.spawn(async move {
                for round in 0..100u64 {
                    offload().await;
                    tokio::time::sleep(Duration::from_micros(10 * (round % 7))).await;
                    let _gone = tx.send(());
                    let was = || fired.swap(false, Ordering::SeqCst).then_some(());
                    event.wait_for(was).await;
                    if round % 3 == 0 {
                        return_to_loop().await;
                    }
                }
            });
        }
        for round in 0..100 {
            assert_eq!(rx.recv_timeout(PATIENCE), Ok(()), "round {round}");
            fired.store(true, Ordering::SeqCst);
            event.fire();
        }
        assert!(rx.recv_timeout(PATIENCE).is_err(), "it has ended");
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    /// A wake-up that was asked for in one place comes in the other.
    #[test]
    fn wake_ups_follow_a_task() -> io::Result<()> {
        let workers = Workers::start(1)?;
        for begins_away in [false, true] {
            let event = Arc::new(base::Event::new());
            let fired = Arc::new(AtomicBool::new(false));
            let (tx, rx) = mpsc::channel();
            let (theirs, seen) = (Arc::clone(&event), Arc::clone(&fired));
            workers.spawn(async move {
                if begins_away {
                    offload().await;
                }
                poll_fn(|cx| {
                    theirs.park(cx);
                    Poll::Ready(())
                })
                .await;
                match begins_away {
                    true => _ = return_to_loop().await,
                    false => offload().await,
                }
                let _gone = tx.send(());
                // Parked already, so it does not park again.
                poll_fn(|_| match seen.load(Ordering::SeqCst) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                })
                .await;
            });
            assert_eq!(rx.recv_timeout(PATIENCE), Ok(()));
            std::thread::sleep(Duration::from_millis(5));
            fired.store(true, Ordering::SeqCst);
            event.fire();
            let over = rx.recv_timeout(PATIENCE);
            assert_eq!(over, Err(RecvTimeoutError::Disconnected), "{begins_away}");
        }
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    #[test]
    fn a_statement_that_computes_for_long_leaves_at_a_pause() -> io::Result<()> {
        let workers = Workers::start(1)?;
        let (tx, rx) = mpsc::channel();
        workers.spawn(async move {
            let home = std::thread::current().id();
            let mut pauses = 0;
            while std::thread::current().id() == home {
                std::thread::sleep(Duration::from_micros(500));
                note_pause();
                tokio::task::yield_now().await;
                pauses += 1;
            }
            return_to_loop().await;
            let _gone = tx.send((pauses, std::thread::current().id() == home));
        });
        let (pauses, back) = rx.recv_timeout(PATIENCE).unwrap_or_default();
        assert!((2..=9).contains(&pauses) && back, "{pauses} {back}");
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    /// Who stalls the loop again and again takes the following turns elsewhere, until they are short.
    #[test]
    fn who_stalls_its_loop_is_sent_away() -> io::Result<()> {
        let workers = Workers::start(1)?;
        let (tx, rx) = mpsc::channel();
        workers.spawn(async move {
            let home = std::thread::current().id();
            for turn in 0..60 {
                let at_home = std::thread::current().id() == home;
                let _gone = tx.send(at_home);
                if turn < 20 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                return_to_loop().await;
                on_loop(tokio::time::sleep(Duration::from_millis(1))).await;
            }
        });
        let turns: Vec<bool> = rx.iter().collect();
        assert_eq!(turns.len(), 60);
        assert!(turns[0] && turns[1], "{turns:?}");
        assert!(!turns[18] && !turns[20], "{turns:?}");
        assert!(turns[59], "{turns:?}");
        assert_eq!(workers.stop(PATIENCE), 0);
        Ok(())
    }

    #[test]
    fn what_cannot_be_interrupted_is_left_behind() -> io::Result<()> {
        let workers = Workers::start(1)?;
        let stop = Arc::new(AtomicBool::new(false));
        workers.spawn(compute(Arc::clone(&stop)));
        let (tx, rx) = mpsc::channel();
        workers.spawn(async move {
            offload().await;
            let _gone = tx.send(());
            let _dropped = tx;
            std::future::pending::<()>().await;
        });
        assert_eq!(rx.recv_timeout(PATIENCE), Ok(()));
        while workers.work.at_work() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(workers.stop(Duration::from_millis(200)), 1);
        assert!(rx.recv_timeout(PATIENCE).is_err(), "who waits is dropped");
        stop.store(true, Ordering::Relaxed);
        Ok(())
    }
}
