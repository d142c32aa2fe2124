//! How much memory an operator may use before it spills.

use std::sync::Arc;

use sql_expr::EvalCtx;
use sql_expr::memory::Account;

/// The defaults of `sort_buffer_size` and `join_buffer_size`.
const BUFFER: u64 = 256 << 10;
/// The default of `tmp_table_size` and of `max_heap_table_size`.
const TABLE: u64 = 16 << 20;

/// Of what is left of the total, with what it has itself, an operator takes one part of so many.
const PARTS: u64 = 6;

/// What counts as left where nothing limits a session: memory is the business of the program that the library is in.
const UNLIMITED: u64 = 6 << 30;

/// Bytes by which an operator grows from one look at the total to the next.
const STRIDE: usize = 64 << 10;

/// The memory of one operator.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    account: Arc<Account>,
    /// The variable's value, where it is another than the default; what an operator has at least otherwise.
    size: usize,
    /// The value is less than the default: it is taken at its word.
    literal: bool,
    /// Nobody has to look before the operator has so much.
    next: usize,
}

impl Room {
    fn new(cx: &EvalCtx<'_>, size: u64, default: u64) -> Room {
        let literal = size < default;
        // A default is nobody's wish.
        let size = match size == default {
            true => BUFFER as usize,
            false => usize::try_from(size).unwrap_or(usize::MAX),
        };
        Room {
            account: Arc::clone(cx.memory()),
            size,
            literal,
            next: size.min(BUFFER as usize),
        }
    }

    /// Of a sort: `sort_buffer_size`.
    pub fn sort(cx: &EvalCtx<'_>) -> Room {
        Room::new(cx, cx.vars.hot().sort_buffer_size, BUFFER)
    }

    /// Of what a hash join builds: `join_buffer_size`.
    pub fn join(cx: &EvalCtx<'_>) -> Room {
        Room::new(cx, cx.vars.hot().join_buffer_size, BUFFER)
    }

    /// Of groups, distinct rows and rows that are kept: the lesser of `tmp_table_size` and `max_heap_table_size`.
    pub fn table(cx: &EvalCtx<'_>) -> Room {
        let hot = cx.vars.hot();
        let size = hot.tmp_table_size.min(hot.max_heap_table_size);
        Room::new(cx, size, TABLE)
    }

    /// Whether an operator that has so many bytes is to spill.
    #[inline]
    pub fn is_over(&mut self, bytes: usize) -> bool {
        bytes > self.next && self.look(bytes)
    }

    #[cold]
    fn look(&mut self, bytes: usize) -> bool {
        if bytes > self.most(bytes) {
            return true;
        }
        self.next = bytes + STRIDE;
        false
    }

    /// What it may have, now that it has so many bytes.
    fn most(&self, bytes: usize) -> usize {
        if self.literal {
            return self.size;
        }
        let left = self.account.left().min(UNLIMITED);
        let all = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .saturating_add(bytes);
        // A larger value is obeyed as far as that leaves others something.
        (all / PARTS as usize).max(self.size.min(all / 2))
    }

    /// What it may have in all, when it begins.
    pub fn bytes(&self) -> usize {
        self.most(0)
    }

    /// It has spilled, and begins anew.
    pub fn again(&mut self) {
        self.next = self.size.min(BUFFER as usize);
    }

    /// Bytes of the blocks that it writes and reads.
    pub fn block(&self) -> usize {
        (self.bytes() / 64)
            .next_power_of_two()
            .clamp(4 << 10, 64 << 10)
    }

    /// Whose memory it is.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql_expr::memory::{Budget, Charge};

    fn room(budget: &Arc<Budget>, size: u64, default: u64) -> Room {
        Room {
            account: Arc::new(Account::new(budget)),
            size: size as usize,
            literal: size < default,
            next: size.min(BUFFER) as usize,
        }
    }

    #[test]
    fn a_default_is_the_least_and_less_is_obeyed() {
        let budget = Arc::new(Budget::default());
        budget.set_ceiling(192 << 20);
        let mut r = room(&budget, BUFFER, BUFFER);
        assert!(!r.is_over(20 << 20), "a sixth of what is left");
        assert!(r.is_over(60 << 20));
        let mut small = room(&budget, 32 << 10, BUFFER);
        assert!(!small.is_over(32 << 10) && small.is_over((32 << 10) + 1));
        let mut large = room(&budget, 1 << 30, BUFFER);
        assert!(!large.is_over(90 << 20) && large.is_over(200 << 20));
    }

    #[test]
    fn others_leave_less() {
        let budget = Arc::new(Budget::default());
        budget.set_ceiling(192 << 20);
        let other = Arc::new(Account::new(&budget));
        let mut charge = Charge::to(&other);
        assert!(charge.set(180 << 20));
        let mut r = room(&budget, BUFFER, BUFFER);
        assert!(!r.is_over(256 << 10), "what the variable says");
        assert!(r.is_over(4 << 20));
    }
}
