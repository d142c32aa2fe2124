//! A stack of its own for a statement that is nested too deeply for its thread's.
//!
//! A future that may need one is run in [`movable`]. What finds, in there, that it needs more awaits [`more`]: whoever polls the future
//! then polls it on a large stack, now and for the rest of its life, and what asked goes on there. A plain function has [`entered`] and
//! [`again`]. The stack is taken from the system for one poll and given back: a deep statement is rare, and what it holds across a wait
//! is in its future and not on a stack.
//!
//! Whether the present stack is a large one is a fact of the thread and is kept there. Nothing else here is shared.

use crate::SqlError;
use crate::error::codes;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes of a large stack. Only what is touched takes memory.
pub const SIZE: usize = 64 << 20;

/// What is too deep, in words that need no sizes of a stack.
pub const TOO_DEEP: &str = "Thread stack overrun: the statement is nested too deeply. Use 'mysqld --thread_stack=#' to specify a bigger stack.";

/// Whether it says that a statement was nested too deeply for where it was.
pub fn is_too_deep(e: &SqlError) -> bool {
    e.code == codes::ER_STACK_OVERRUN_NEED_MORE
}

/// Error 1436.
#[cold]
pub fn too_deep() -> SqlError {
    SqlError::new(codes::ER_STACK_OVERRUN_NEED_MORE, TOO_DEEP)
}

/// What the present stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stack {
    /// The thread's own.
    Plain,
    /// The thread's own, and [`movable`] below would poll again on a large one.
    Movable,
    /// The same, and somebody has asked for it.
    Asked,
    /// A large one.
    Large,
}

thread_local! {
    static STACK: Cell<Stack> = const { Cell::new(Stack::Plain) };
}

/// The present stack is something else, until this is dropped.
struct Changed(Stack);

impl Changed {
    fn to(stack: Stack) -> Changed {
        Changed(STACK.replace(stack))
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        STACK.set(self.0);
    }
}

/// Whether the present stack is a large one.
#[inline]
pub fn is_here() -> bool {
    STACK.get() == Stack::Large
}

/// Runs `f` on a large stack: on the present one where it is.
pub fn entered<R>(f: impl FnOnce() -> R) -> R {
    if is_here() {
        return f();
    }
    stacker::grow(SIZE, || {
        let _large = Changed::to(Stack::Large);
        f()
    })
}

/// Runs `f`, and where it fails with 1436 for want of stack, again on a large one. `f` must have done nothing when it fails so.
///
/// # Errors
/// What `f` fails with.
pub fn again<R>(mut f: impl FnMut() -> Result<R, SqlError>) -> Result<R, SqlError> {
    match f() {
        Err(e) if is_too_deep(&e) && !is_here() => entered(f),
        done => done,
    }
}

/// Runs `f` under the limits of a thread's own stack, wherever it is. What a definition keeps as text is read again in many places, of which few
/// could move: it is kept within these limits.
pub fn within_a_thread<R>(f: impl FnOnce() -> R) -> R {
    let _plain = Changed::to(Stack::Plain);
    f()
}

pin_project! {
    /// A future that is polled on a large stack once it has asked for one.
    #[derive(Debug)]
    pub struct Movable<F> {
        #[pin]
        future: F,
        moved: bool,
    }
}

/// Lets a future ask for a large stack.
pub fn movable<F: Future>(future: F) -> Movable<F> {
    Movable {
        future,
        moved: false,
    }
}

impl<F: Future> Future for Movable<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut future = this.future;
        if is_here() {
            return future.poll(cx);
        }
        if !*this.moved {
            let (polled, asked) = {
                let _movable = Changed::to(Stack::Movable);
                let polled = future.as_mut().poll(cx);
                (polled, STACK.get() == Stack::Asked)
            };
            if !asked {
                return polled;
            }
            *this.moved = true;
        }
        entered(|| future.poll(cx))
    }
}

/// Goes on on a large stack, where there is a [`movable`] around; see [`more`].
#[derive(Debug)]
pub struct More {
    asked: bool,
}

/// Asks for a large stack. Gives whether what follows has one that it did not have before.
pub fn more() -> More {
    More { asked: false }
}

impl Future for More {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<bool> {
        match STACK.get() {
            Stack::Large => Poll::Ready(self.asked),
            Stack::Movable if !self.asked => {
                self.asked = true;
                STACK.set(Stack::Asked);
                // Nobody has to wake it: `movable` polls again at once.
                Poll::Pending
            }
            Stack::Plain | Stack::Movable | Stack::Asked => Poll::Ready(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::block_on;

    /// Takes some `n` times 100 bytes of stack at least.
    fn dig(n: u32) -> u64 {
        let held = std::hint::black_box([u64::from(n); 16]);
        match n {
            0 => held[0],
            _ => dig(n - 1) + std::hint::black_box(held)[3],
        }
    }

    async fn pending_once() {
        let mut seen = false;
        std::future::poll_fn(|cx| {
            if std::mem::replace(&mut seen, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[test]
    fn what_asks_goes_on_where_there_is_room() {
        let work = async {
            assert!(!is_here());
            assert!(more().await);
            assert!(is_here());
            // More than the thread has.
            let deep = dig(60_000);
            assert!(!more().await, "it has it already");
            pending_once().await;
            assert!(is_here(), "also when it is polled the next time");
            deep
        };
        assert_eq!(block_on(movable(work)), 60_000 * 60_001 / 2);
        assert!(!is_here());
    }

    #[test]
    fn nobody_around_is_no_room() {
        assert!(!block_on(more()));
        assert!(block_on(movable(async { movable(more()).await })));
    }

    #[test]
    fn a_panic_leaves_the_thread_as_it_was() {
        let broken = std::panic::AssertUnwindSafe(|| {
            block_on(movable(async {
                more().await;
                panic!("in there");
            }))
        });
        assert!(std::panic::catch_unwind(broken).is_err());
        assert_eq!(STACK.get(), Stack::Plain);
    }

    #[test]
    fn a_function_is_run_again_where_there_is_room() {
        let mut runs = Vec::new();
        let r = again(|| {
            runs.push(is_here());
            match is_here() {
                true => Ok(7),
                false => Err(too_deep()),
            }
        });
        assert_eq!((r, runs), (Ok(7), vec![false, true]));
        assert_eq!(
            again(|| Err::<(), _>(too_deep())).map_err(|e| e.code),
            Err(1436)
        );
    }
}
