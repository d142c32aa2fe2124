//! Results held to `max_allowed_packet`: a buffer that functions build into and that refuses what would make it too long, before it is
//! allocated; and the one place that turns the refusal into MySQL's NULL with warning 1301.
//!
//! A function that puts together, repeats, replaces or prints writes into a [`Limited`] and passes its error on. What copies its
//! argument once, or maps bytes one by one, may build a plain vector: [`settle`] looks at every function's result.

use types::SqlError;

use super::ctx::EvalCtx;
use super::val::Val;
use crate::memory::SMALL;

/// Number of the error of a result that would be too long; never sent to a client.
const TOO_LONG: u16 = 1;

/// Where text is put: a buffer with a limit, or one without.
pub trait Put {
    /// Appends bytes.
    ///
    /// # Errors
    /// The result would be too long, or the statement is to end.
    fn put(&mut self, bytes: &[u8]) -> Result<(), SqlError>;
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// What is left of a result's length, where it is not built as text at once.
pub(crate) struct Budget<'c> {
    left: usize,
    /// Taken, and what of it the session has been asked for already.
    taken: usize,
    held: usize,
    cx: &'c EvalCtx<'c>,
}

/// What a byte of a tree takes that is built in memory before it is text.
const TREE: usize = 3;

impl<'c> Budget<'c> {
    /// The longest result there may be.
    pub(crate) fn new(cx: &'c EvalCtx<'c>) -> Budget<'c> {
        Budget {
            left: usize::try_from(cx.max_packet).unwrap_or(usize::MAX),
            taken: 0,
            held: 0,
            cx,
        }
    }

    /// Takes `n` bytes of it for a part of a tree, which are counted as work too.
    ///
    /// # Errors
    /// There are not so many left, the session may not hold them, or the statement is to end.
    pub(crate) fn take(&mut self, n: usize) -> Result<(), SqlError> {
        self.count(n)?;
        self.taken += n;
        let more = self.taken.saturating_mul(TREE) - self.held;
        if more >= SMALL {
            self.cx.hold(more)?;
            self.held += more;
        }
        Ok(())
    }

    /// The same for what is asked for elsewhere.
    fn count(&mut self, n: usize) -> Result<(), SqlError> {
        self.cx.tick(n / 8 + 1)?;
        match self.left.checked_sub(n) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(SqlError::new(TOO_LONG, "")),
        }
    }
}

/// Text that grows no longer than a packet.
pub(crate) struct Limited<'c> {
    bytes: Vec<u8>,
    budget: Budget<'c>,
}

impl<'c> Limited<'c> {
    /// Nothing yet.
    pub(crate) fn new(cx: &'c EvalCtx<'c>) -> Limited<'c> {
        Limited {
            bytes: Vec::new(),
            budget: Budget::new(cx),
        }
    }

    /// Room for `n` bytes at once, where so many are allowed and the session may hold them.
    ///
    /// # Errors
    /// As [`Put::put`] of so many; what the session's memory says.
    pub(crate) fn reserve(&mut self, n: usize) -> Result<(), SqlError> {
        if n > self.budget.left {
            return Err(SqlError::new(TOO_LONG, ""));
        }
        self.budget.cx.hold(n)?;
        self.bytes.reserve_exact(n);
        Ok(())
    }

    /// Appends `bytes` `times` over.
    ///
    /// # Errors
    /// As [`Put::put`] of all of it, before any is appended.
    pub(crate) fn repeat(&mut self, bytes: &[u8], times: usize) -> Result<(), SqlError> {
        if bytes.is_empty() || times == 0 {
            return Ok(());
        }
        self.reserve(bytes.len().saturating_mul(times))?;
        if let [b] = bytes {
            self.budget.count(times)?;
            self.bytes.resize(self.bytes.len() + times, *b);
            return Ok(());
        }
        for _ in 0..times {
            self.put(bytes)?;
        }
        Ok(())
    }

    /// The result.
    pub(crate) fn value(self) -> Val<'static> {
        Val::owned(self.bytes)
    }
}

impl Put for Limited<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        self.budget.count(bytes.len())?;
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() {
            // What the session may hold is asked for before it is taken, twice over as vectors grow.
            let grown = needed.max(self.bytes.capacity().saturating_mul(2));
            self.budget.cx.hold(grown)?;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// The value of a function: NULL with warning 1301 where it is, or would have been, longer than a packet.
#[inline]
pub(crate) fn settle<'a>(
    result: Result<Val<'a>, SqlError>,
    function: &str,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    match &result {
        Ok(Val::Bytes(b)) if b.len() as u64 > cx.max_packet => too_long(result, function, cx),
        Err(e) if e.code == TOO_LONG => too_long(result, function, cx),
        _ => result,
    }
}

#[cold]
fn too_long<'a>(
    result: Result<Val<'a>, SqlError>,
    function: &str,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    if let Ok(Val::Bytes(std::borrow::Cow::Borrowed(_))) = result {
        // It was there before: a stored value, or a part of one.
        return result;
    }
    cx.warn_error(SqlError::new(
        types::error::codes::ER_WARN_ALLOWED_PACKET_OVERFLOWED,
        format!(
            "Result of {function}() was larger than max_allowed_packet ({}) - truncated",
            cx.max_packet
        ),
    ));
    Ok(Val::Null)
}
