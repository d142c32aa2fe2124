//! Keeps a panic inside one statement: whoever runs it learns of the panic as a value. Nothing is repaired here; what was
//! being polled must not be used again.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::Poll;

/// The output of `future`, or the text of the panic that ended it. Takes it pinned where it is, since a statement's future
/// is too large to move for nothing.
pub async fn catch_unwind<F: Future>(mut future: Pin<&mut F>) -> Result<F::Output, String> {
    // Unwind safe: after a panic nobody polls the future again, and its connection is closed.
    poll_fn(
        |cx| match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(payload) => Poll::Ready(Err(text_of(payload.as_ref()))),
        },
    )
    .await
}

/// As [`catch_unwind`], for what is no future.
#[inline]
pub fn catch_unwind_now<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Unwind safe: as above.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| text_of(payload.as_ref()))
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panic without a message".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[test]
    fn a_panic_is_a_value() {
        let fine = base::block_on(catch_unwind(pin!(async { 7 })));
        assert_eq!(fine, Ok(7));
        let bad: Result<(), String> =
            base::block_on(catch_unwind(pin!(async { panic!("row {}", 3) })));
        assert_eq!(bad, Err("row 3".to_owned()));
        assert_eq!(catch_unwind_now(|| 7), Ok(7));
        let bad: Result<(), String> = catch_unwind_now(|| panic!("row {}", 4));
        assert_eq!(bad, Err("row 4".to_owned()));
    }
}
