//! Aggregates of a frame that moves: rows that leave it are taken back where that gives exactly what the others would give alone. It
//! does for counts and for exact sums; a sum of doubles would keep what rounding has lost (the manual, `windowing_use_high_precision`).

use types::SqlError;
use types::decimal::Decimal;

use super::{Accumulator, AggSpec, Running};
use crate::conv;
use crate::ctx::{EvalCtx, RowSource};
use crate::infer::{Domain, domain};
use crate::val::Val;
use sql_parser::ast::AggregateFunc;

impl AggSpec {
    /// Whether rows can be taken back.
    pub fn takes_back(&self) -> bool {
        !self.distinct
            && match self.func {
                AggregateFunc::Count => true,
                AggregateFunc::Sum | AggregateFunc::Avg => self
                    .args
                    .first()
                    .is_some_and(|a| domain(&a.ty) != Domain::Double),
                _ => false,
            }
    }

    /// Whether it is MIN or MAX.
    pub fn is_extreme(&self) -> bool {
        matches!(self.func, AggregateFunc::Min | AggregateFunc::Max)
    }
}

impl Accumulator {
    /// Takes a row back that was added, where [`AggSpec::takes_back`] says that it can be.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn remove(
        &mut self,
        spec: &AggSpec,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<(), SqlError> {
        for a in &spec.args {
            if a.eval(cx, row)?.is_null() {
                return Ok(());
            }
        }
        let first = match spec.args.first() {
            Some(a) => a.eval(cx, row)?,
            None => Val::Null,
        };
        match &mut self.state {
            Running::Count(n) => *n = n.saturating_sub(1),
            Running::Whole(sum, n) => {
                let i = match &first {
                    Val::Int(i) => i128::from(*i),
                    v => conv::to_int(v, cx).map_or(0, |i| i.wide()),
                };
                *sum -= i;
                *n = n.saturating_sub(1);
            }
            Running::Exact(sum, n) => {
                let d = conv::to_decimal(&first, cx).unwrap_or(Decimal::ZERO);
                *sum = sum
                    .checked_sub(&d)
                    .ok_or_else(|| SqlError::expr_out_of_range("DECIMAL", "sum()"))?;
                *n = n.saturating_sub(1);
            }
            _ => return Err(SqlError::internal("an aggregate that takes nothing back")),
        }
        Ok(())
    }
}
