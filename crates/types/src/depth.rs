//! How deep one thing may be nested in another: one limit for all that walks a statement's tree.
//!
//! A statement is parsed, bound, planned, evaluated, printed and dropped by functions that call themselves, on a serving thread's stack of
//! two mebibytes. What they walk is bounded when it is made: the parser bounds the text ([`MAX_RULES`], [`MAX_HEIGHT`]), and binding
//! bounds what a statement comes to when names stand for more than they say ([`MAX_BOUND`]): a common table expression that reads
//! another one is nested in it, however flat the text is. What is bounded so is walked without further checks.

use crate::SqlError;
use crate::error::codes;
use std::sync::atomic::{AtomicU32, Ordering};

/// How deep the parser's rules may nest. Every level of nesting in the text costs at least one; a level of subquery costs more.
/// Keeps the parser within half a mebibyte of stack.
pub const MAX_RULES: u32 = 160;

/// How high a parsed tree may grow.
pub const MAX_HEIGHT: u32 = 500;

/// How deep binding may nest: a level for each expression in another, [`QUERY`] for each query in another, by name or by text.
pub const MAX_BOUND: u32 = 800;

/// Levels that a query in another takes while they are bound. What runs it takes some 25 KiB of stack in a build for debugging, so that
/// 57 of them fit where they may have three quarters of a serving thread.
pub const QUERY: u32 = 14;

/// Counts how deep a walk is. It belongs to one statement; the count is atomic only so that it may be held across an await.
#[derive(Debug, Default)]
pub struct Depth {
    at: AtomicU32,
}

impl Depth {
    /// At the top.
    pub const fn new() -> Depth {
        Depth {
            at: AtomicU32::new(0),
        }
    }

    /// Goes `cost` levels deeper, until the result is dropped.
    ///
    /// # Errors
    /// 1436 beyond `limit`.
    #[inline]
    pub fn enter(&self, cost: u32, limit: u32) -> Result<Level<'_>, SqlError> {
        let at = self.at.load(Ordering::Relaxed);
        let to = at.saturating_add(cost);
        if to > limit {
            return Err(too_deep());
        }
        self.at.store(to, Ordering::Relaxed);
        Ok(Level { depth: self, at })
    }
}

/// A walk is deeper, as long as this lives.
#[must_use = "a level that is dropped has ended"]
#[derive(Debug)]
pub struct Level<'d> {
    depth: &'d Depth,
    at: u32,
}

impl Drop for Level<'_> {
    #[inline]
    fn drop(&mut self) {
        self.depth.at.store(self.at, Ordering::Relaxed);
    }
}

/// What is too deep, in words that need no sizes of a stack.
pub const TOO_DEEP: &str = "Thread stack overrun: the statement is nested too deeply. Use 'mysqld --thread_stack=#' to specify a bigger stack.";

/// Error 1436.
#[cold]
pub fn too_deep() -> SqlError {
    SqlError::new(codes::ER_STACK_OVERRUN_NEED_MORE, TOO_DEEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_end_where_they_are_dropped() {
        let d = Depth::new();
        let a = d.enter(3, 5).unwrap();
        assert_eq!(d.enter(3, 5).unwrap_err().code, 1436);
        {
            let _b = d.enter(2, 5).unwrap();
            assert!(d.enter(1, 5).is_err());
        }
        drop(d.enter(2, 5).unwrap());
        drop(a);
        assert!(d.enter(5, 5).is_ok());
        assert!(d.enter(u32::MAX, 5).is_err());
    }
}
