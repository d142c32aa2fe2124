//! What a table's definition says of its rows, for one row: the values of its generated columns, and whether it violates a CHECK
//! constraint.

use engine::{ColumnDef, IndexDef, Table};
use types::convert::{ConvertMode, to_text};
use types::error::codes;
use types::multi::Elements;
use types::{Level, SqlError, Value, Warning};

use super::values::convert;
use crate::row::{Built, OnlySubs};
use crate::sub::SubValues;
use sql_expr::func::{json_list, why_not_valid};
use sql_expr::{EvalCtx, Expr, NoRow, RowSource};
use sql_plan::bind::row_rules::{ROW, RowRules, exact_mode};

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
    let def = &table.def.columns[usize::from(column)];
    let v = match e.eval(cx, &row) {
        Err(e) if def.is_list() => {
            return Err(json_list::of_index(e, index_of(table, column), line));
        }
        v => v?,
    };
    let ty = &def.ty;
    let v = v.as_assigned_ref(&e.ty, ty);
    if def.is_hidden() {
        let mode = exact_mode(mode);
        let r = convert(v, table, column, line, &mode, cx);
        return r.map_err(|e| of_key_part(e, table, column, line));
    }
    convert(v, table, column, line, mode, cx)
}

/// A value as the message about a duplicate shows it: of a multi-valued key part the whole list.
pub(super) fn key_text(column: &ColumnDef, v: &Value) -> String {
    match column.is_list() {
        true => Elements::of(v.as_ref().as_bytes().unwrap_or_default()).shown(),
        false => to_text(v.as_ref()),
    }
}

/// The name of the index that a functional key part belongs to.
fn index_of(table: &Table, column: u16) -> &str {
    let has = |i: &&IndexDef| i.parts.iter().any(|p| p.column == column);
    table.def.indexes.iter().find(has).map_or("", |i| &i.name)
}

/// What does not fit a functional key part, by the name of its index.
fn of_key_part(e: SqlError, table: &Table, column: u16, line: u64) -> SqlError {
    let index = index_of(table, column);
    let (code, text) = match e.code {
        codes::ER_DATA_TOO_LONG => (
            codes::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG,
            format!("Data too long for functional index '{index}'."),
        ),
        codes::ER_WARN_DATA_OUT_OF_RANGE => (
            codes::ER_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX,
            format!("Value is out of range for functional index '{index}' at row {line}"),
        ),
        codes::WARN_DATA_TRUNCATED => (
            codes::ER_DATA_TRUNCATED_FUNCTIONAL_INDEX,
            format!("Data truncated for functional index '{index}' at row {line}"),
        ),
        _ => return e,
    };
    SqlError::new(code, text)
}

/// What the rules of a table say of a row that is built.
pub trait CheckRow {
    /// The first rule that a row violates: the CHECK OPTION of a view, whose condition is not true, and behind those, as in MySQL, a CHECK
    /// constraint, whose condition is false, and not unknown.
    fn violated(
        &self,
        row: &[Value],
        subs: Option<&SubValues>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<usize>, SqlError>;

    /// Whether there is nothing that a row could violate.
    fn is_open(&self) -> bool;

    /// Error 3819 for one of the constraints, 1369 for one of the views.
    fn violation(&self, which: usize) -> SqlError;
}

impl CheckRow for RowRules {
    fn violated(
        &self,
        row: &[Value],
        subs: Option<&SubValues>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<usize>, SqlError> {
        if !self.views.is_empty()
            && let Some(view) = violated_view(self, row, subs, cx)?
        {
            return Ok(Some(view));
        }
        let own = read(row);
        for (i, (_, condition)) in self.checks.iter().enumerate() {
            if condition.truth(cx, &own)? == Some(false) {
                if let Some(why) = why_not_valid(condition, cx, &own)? {
                    cx.warn(Warning::new(Level::Error, why.code, why.message));
                }
                return Ok(Some(self.views.len() + i));
            }
        }
        Ok(None)
    }

    fn is_open(&self) -> bool {
        self.checks.is_empty() && self.views.is_empty()
    }

    fn violation(&self, which: usize) -> SqlError {
        if let Some((name, _)) = self.views.get(which) {
            return SqlError::new(
                codes::ER_VIEW_CHECK_FAILED,
                format!("CHECK OPTION failed '{name}'"),
            );
        }
        let check = which.checked_sub(self.views.len());
        let name = check.and_then(|i| self.checks.get(i)).map_or("", |c| &c.0);
        SqlError::new(
            codes::ER_CHECK_CONSTRAINT_VIOLATED,
            format!("Check constraint '{name}' is violated."),
        )
    }
}

/// The first view whose CHECK OPTION a row violates.
fn violated_view(
    rules: &RowRules,
    row: &[Value],
    subs: Option<&SubValues>,
    cx: &EvalCtx<'_>,
) -> Result<Option<usize>, SqlError> {
    let asked = subs.map(|subs| OnlySubs {
        subs,
        outer: &NoRow,
    });
    let rest: &dyn RowSource = match &asked {
        Some(asked) => asked,
        None => &NoRow,
    };
    let own = Built {
        slot: ROW,
        values: row,
        inserted: &[],
        rest,
    };
    for (i, (_, condition)) in rules.views.iter().enumerate() {
        if condition.truth(cx, &own)? != Some(true) {
            return Ok(Some(i));
        }
    }
    Ok(None)
}
