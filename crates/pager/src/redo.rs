//! The table of redo functions: which code carries out which page operation, live and in recovery; and which code knows where the
//! entries of a page lie.
//!
//! Numbers 0..31 belong to the pager, 32..95 to the B+tree, 96..127 to the engine.

use crate::compressed::{self, CellsOf};
use crate::page::Page;
use base::Lsn;

/// Carries out an operation on a page: `op`'s meaning with `payload`, for the record starting at the given LSN. Must be
/// deterministic, and must fail (rather than panic) on bytes that do not fit.
pub type RedoFn =
    fn(op: u8, page: &mut Page, payload: &[u8], start: Lsn) -> Result<(), &'static str>;

/// Operation number → function.
pub struct RedoTable {
    by_op: [Option<RedoFn>; 128],
    cells_of: CellsOf,
}

impl Default for RedoTable {
    fn default() -> Self {
        RedoTable {
            by_op: [None; 128],
            cells_of: compressed::unknown,
        }
    }
}

impl RedoTable {
    /// Registers `f` for a range of operation numbers.
    pub fn register(&mut self, ops: std::ops::Range<u8>, f: RedoFn) {
        for o in ops {
            assert!(
                self.by_op[o as usize].is_none(),
                "operation {o} registered twice"
            );
            self.by_op[o as usize] = Some(f);
        }
    }

    /// Registers what knows where entries lie: by it compressed tablespaces arrange their pages, and an arranged page is read by
    /// nothing else.
    pub fn register_cells(&mut self, cells_of: CellsOf) {
        self.cells_of = cells_of;
    }

    /// What was registered.
    pub(crate) fn cells_of(&self) -> CellsOf {
        self.cells_of
    }

    /// Carries out one operation.
    ///
    /// # Errors
    /// Why the operation does not fit the page, in words; or nobody has registered it.
    #[inline]
    pub fn apply(
        &self,
        op: u8,
        page: &mut Page,
        payload: &[u8],
        start: Lsn,
    ) -> Result<(), &'static str> {
        match self.by_op.get(op as usize).copied().flatten() {
            Some(f) => f(op, page, payload, start),
            None => Err("unknown operation"),
        }
    }
}
