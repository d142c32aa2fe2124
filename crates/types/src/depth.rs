//! How deep one thing may be nested in another: one limit for all that walks a statement's tree.
//!
//! A statement is parsed, bound, planned, evaluated, printed and dropped by functions that call themselves, on the stack of whatever
//! thread serves it, two mebibytes as a rule. What they walk is bounded when it is made ([`Limits`]): the parser bounds the text, and
//! binding bounds what a statement comes to when names stand for more than they say: a common table expression that reads another one
//! is nested in it, however flat the text is. What is bounded so is walked without further checks.
//!
//! Nearly all statements keep within what a thread's own stack has room for. One that does not is refused, and whoever began it moves
//! it to a stack of its own ([`room`]), where the limits are wider, and begins it anew. That is why 1436 of a statement that has done
//! nothing yet is no answer to a client before it was tried in there.

pub mod room;

pub use self::room::{TOO_DEEP, is_too_deep, too_deep};
use crate::SqlError;
use crate::error::codes;
use std::sync::atomic::{AtomicU32, Ordering};

/// How deep things may be nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep the parser's rules may nest. Every level of nesting in the text costs at least one; a level of subquery costs more.
    pub rules: u32,
    /// How high a parsed tree may grow.
    pub height: u32,
    /// How deep binding may nest: a level for each expression in another, [`QUERY`] for each query in another, by name or by text.
    pub bound: u32,
}

/// On a serving thread's own stack. The rules keep the parser within half a mebibyte of it.
const ON_A_THREAD: Limits = Limits {
    rules: 160,
    height: 500,
    bound: 800,
};

/// On a stack of [`room::SIZE`].
const IN_A_ROOM: Limits = Limits {
    rules: 3000,
    height: 3000,
    bound: 6000,
};

/// The limits of what begins here and now.
#[inline]
pub fn limits() -> Limits {
    match room::is_here() {
        true => IN_A_ROOM,
        false => ON_A_THREAD,
    }
}

/// Levels that a query in another takes while they are bound. What runs it takes up to 40 KiB of stack in a build for debugging, so that
/// 28 of them fit where they may have three quarters of a serving thread.
pub const QUERY: u32 = 28;

/// How many queries may be nested in each other, as in MySQL.
pub const MAX_QUERIES: u32 = 63;

/// Counts how deep a walk is. It belongs to one statement; the count is atomic only so that it may be held across an await.
#[derive(Debug)]
pub struct Depth {
    at: AtomicU32,
    queries: AtomicU32,
    limit: u32,
}

impl Depth {
    /// At the top, to the limit of where it is made.
    pub fn here() -> Depth {
        Depth::up_to(limits().bound)
    }

    const fn up_to(limit: u32) -> Depth {
        Depth {
            at: AtomicU32::new(0),
            queries: AtomicU32::new(0),
            limit,
        }
    }

    /// Goes `cost` levels deeper, until the result is dropped.
    ///
    /// # Errors
    /// 1436 beyond the limit.
    #[inline]
    pub fn enter(&self, cost: u32) -> Result<Level<'_>, SqlError> {
        let at = self.at.load(Ordering::Relaxed);
        let to = at.saturating_add(cost);
        if to > self.limit {
            return Err(too_deep());
        }
        self.at.store(to, Ordering::Relaxed);
        let queries = self.queries.load(Ordering::Relaxed);
        Ok(Level {
            depth: self,
            at,
            queries,
        })
    }

    /// Goes into a query in another, until the result is dropped.
    ///
    /// # Errors
    /// 1473 beyond [`MAX_QUERIES`]; 1436 as [`enter`](Self::enter).
    pub fn enter_query(&self) -> Result<Level<'_>, SqlError> {
        if self.queries.load(Ordering::Relaxed) > MAX_QUERIES {
            return Err(SqlError::fixed(
                codes::ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT,
            ));
        }
        let level = self.enter(QUERY)?;
        self.queries.fetch_add(1, Ordering::Relaxed);
        Ok(level)
    }
}

/// A walk is deeper, as long as this lives.
#[must_use = "a level that is dropped has ended"]
#[derive(Debug)]
pub struct Level<'d> {
    depth: &'d Depth,
    at: u32,
    queries: u32,
}

impl Drop for Level<'_> {
    #[inline]
    fn drop(&mut self) {
        self.depth.at.store(self.at, Ordering::Relaxed);
        self.depth.queries.store(self.queries, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_end_where_they_are_dropped() {
        let d = Depth::up_to(5);
        let a = d.enter(3).unwrap();
        assert_eq!(d.enter(3).unwrap_err().code, 1436);
        {
            let _b = d.enter(2).unwrap();
            assert!(d.enter(1).is_err());
        }
        drop(d.enter(2).unwrap());
        drop(a);
        assert!(d.enter(5).is_ok());
        assert!(d.enter(u32::MAX).is_err());
    }

    #[test]
    fn a_room_has_wider_limits() {
        assert_eq!(limits(), ON_A_THREAD);
        assert_eq!(room::entered(limits), IN_A_ROOM);
        let kept = room::entered(|| room::within_a_thread(limits));
        assert_eq!(kept, ON_A_THREAD);
    }

    #[test]
    fn queries_are_counted_by_themselves() {
        let d = Depth::up_to(u32::MAX);
        // The outermost is nested in none.
        let mut all: Vec<_> = (0..=MAX_QUERIES)
            .map(|_| d.enter_query().unwrap())
            .collect();
        assert_eq!(d.enter_query().unwrap_err().code, 1473);
        while all.pop().is_some() {}
        assert!(d.enter_query().is_ok());
    }
}
