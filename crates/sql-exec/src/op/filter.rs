//! Conditions on rows: those of a scan, and HAVING.

use types::SqlError;

use sql_expr::{EvalCtx, Expr, RowSource};
use sql_plan::plan::Step;

/// Lets rows go on for which a condition holds; all, where there is none.
#[derive(Clone, Copy)]
pub(super) struct Filter<'p>(pub Option<&'p Expr>);

impl Filter<'_> {
    /// Whether a row goes on.
    ///
    /// # Errors
    /// What evaluating raises.
    #[inline]
    pub fn passes(&self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<bool, SqlError> {
        match self.0 {
            None => Ok(true),
            Some(e) => Ok(e.truth(cx, row)? == Some(true)),
        }
    }
}

/// Whether all conditions hold for a row.
#[inline]
pub(crate) fn all_hold(
    conds: &[Expr],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<bool, SqlError> {
    for c in conds {
        if c.truth(cx, row)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a scanned row passes a step's conditions.
#[inline]
pub(crate) fn passes(
    step: &Step,
    inexact: bool,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<bool, SqlError> {
    // What the row before made is gone.
    cx.let_go();
    Ok(all_hold(&step.filter, cx, row)? && (!inexact || all_hold(&step.implied, cx, row)?))
}
