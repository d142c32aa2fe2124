//! Statements that wait for others (locks of rows and tables, named locks, SLEEP) end when their client has gone: what its transaction has locked
//! keeps nobody up then. As in MySQL, what computes goes on, and is found out when it answers.
//!
//! Must never do: read from the client; cost anything where a statement waits for nobody; wake a statement by time. A look that polled it would end
//! any wait whose event was lost, and nobody would see that it was.

use std::future::{Future, poll_fn};
use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use base::Clock;
use base::environment::deadline;
use base::lock::Mutex;
use base::real::has_hung_up;
use engine::Interrupt;

/// Time between two looks, in microseconds.
const LOOK_US: u64 = 500_000;

/// The waker of a statement that waits: it notes that what was woken is the statement, and not the look at its client.
struct Own {
    woken: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for Own {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // First the note: whoever polls looks at it behind having put in its waker.
        self.woken.store(true, Ordering::SeqCst);
        let task = self.task.lock().clone();
        task.wake();
    }
}

/// Polls a statement with its task's waker until it waits, and from then on with its own.
#[derive(Default)]
struct Gate {
    own: Option<(Arc<Own>, Waker)>,
}

impl Gate {
    /// From now on the statement is polled when it was woken, and not when its task was. The next poll tells it its waker.
    fn close(&mut self, cx: &Context<'_>) {
        let own = Arc::new(Own {
            woken: AtomicBool::new(true),
            task: Mutex::new(cx.waker().clone()),
        });
        let waker = Waker::from(Arc::clone(&own));
        self.own = Some((own, waker));
    }

    fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        statement: Pin<&mut impl Future<Output = T>>,
    ) -> Poll<T> {
        let Some((own, waker)) = &self.own else {
            return statement.poll(cx);
        };
        own.task.lock().clone_from(cx.waker());
        match own.woken.swap(false, Ordering::SeqCst) {
            true => statement.poll(&mut Context::from_waker(waker)),
            false => Poll::Pending,
        }
    }
}

/// Runs a statement. `socket` is the client's, and stays open meanwhile.
pub(super) async fn while_present<T>(
    socket: RawFd,
    interrupt: &Arc<Interrupt>,
    clock: &dyn Clock,
    mut statement: Pin<&mut impl Future<Output = T>>,
) -> T {
    let mut alarm = None;
    let mut gate = Gate::default();
    poll_fn(|cx| {
        if let Poll::Ready(done) = gate.poll(cx, statement.as_mut()) {
            return Poll::Ready(done);
        }
        if gate.own.is_none() && interrupt.waits_for_others() {
            gate.close(cx);
            if let Poll::Ready(done) = gate.poll(cx, statement.as_mut()) {
                return Poll::Ready(done);
            }
        }
        if !interrupt.waits_for_others() {
            alarm = None;
            return Poll::Pending;
        }
        loop {
            let next = || deadline(clock, clock.now_us().saturating_add(LOOK_US));
            let look = alarm.get_or_insert_with(next);
            if Pin::new(look).poll(cx).is_pending() {
                return Poll::Pending;
            }
            alarm = None;
            if has_hung_up(socket) && !base::mutant!("client-that-has-gone-not-seen") {
                // The statement wakes, and ends.
                interrupt.kill_connection();
                return Poll::Pending;
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Task(AtomicBool);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn what_wakes_the_task_alone_does_not_poll_the_statement() {
        let task = Arc::new(Task(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&task));
        let mut cx = Context::from_waker(&waker);
        let (mut polls, mut event) = (0, None);
        let mut statement = Box::pin(poll_fn(|cx| {
            polls += 1;
            event = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        let mut gate = Gate::default();
        assert!(gate.poll(&mut cx, statement.as_mut()).is_pending());
        gate.close(&cx);
        // It learns of its waker; the looks that follow are not its.
        for _ in 0..3 {
            assert!(gate.poll(&mut cx, statement.as_mut()).is_pending());
        }
        drop(statement);
        assert_eq!(polls, 2);
        event.expect("a waker").wake();
        assert!(task.0.load(Ordering::SeqCst));
        let mut woken = Box::pin(std::future::ready(7));
        assert_eq!(gate.poll(&mut cx, woken.as_mut()), Poll::Ready(7));
    }
}
