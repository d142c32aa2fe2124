//! What a table's definition says of its rows, for one row: the values of its generated columns, and whether it violates a CHECK
//! constraint.

use engine::Table;
use types::convert::ConvertMode;
use types::error::codes;
use types::{SqlError, Value};

use super::values::convert;
use crate::bind::row_rules::{ROW, RowRules};
use crate::exec::row::Built;
use sql_expr::{EvalCtx, Expr, NoRow};

/// A row as the expressions of its table's definition read it.
fn read(values: &[Value]) -> Built<'_> {
    Built {
        slot: ROW,
        values,
        inserted: &[],
        rest: &NoRow,
    }
}

/// The value of a generated column, from the columns that it reads.
pub(super) fn generated_value(
    e: &Expr,
    table: &Table,
    column: u16,
    row: &[Value],
    line: u64,
    mode: &ConvertMode,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let row = read(row);
    let v = e.eval(cx, &row)?;
    let ty = &table.def.columns[usize::from(column)].ty;
    convert(v.as_assigned_ref(&e.ty, ty), table, column, line, mode, cx)
}

impl RowRules {
    /// The first CHECK constraint that a row violates: whose condition is false, and not unknown.
    pub(crate) fn violated(
        &self,
        row: &[Value],
        cx: &EvalCtx<'_>,
    ) -> Result<Option<usize>, SqlError> {
        let row = read(row);
        for (i, (_, condition)) in self.checks.iter().enumerate() {
            if condition.truth(cx, &row)? == Some(false) {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    /// Error 3819 for one of the constraints.
    pub(crate) fn violation(&self, which: usize) -> SqlError {
        let name = self.checks.get(which).map_or("", |c| &c.0);
        SqlError::new(
            codes::ER_CHECK_CONSTRAINT_VIOLATED,
            format!("Check constraint '{name}' is violated."),
        )
    }
}
