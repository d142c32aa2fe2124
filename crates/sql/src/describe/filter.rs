//! LIKE and WHERE of a SHOW, over rows that are there already.

use types::{CollationId, SqlError, ValueRef};

use super::rowset::RowSet;
use crate::context::Session;
use sql_expr::bind::{Binder, Clause, Resolved, ResolvedColumn, Scope, column_text};
use sql_expr::vars::SqlMode;
use sql_expr::{ExprType, ValuesRow};
use sql_parser::ast::{ColumnRef, ShowFilter};
use sql_plan::sink::ColumnMeta;

/// Keeps the rows that the filter lets through.
///
/// # Errors
/// What the condition of a WHERE fails with.
pub fn apply(s: &mut Session, rows: &mut RowSet, filter: &ShowFilter) -> Result<(), SqlError> {
    let condition = match filter {
        ShowFilter::Like(pattern) => {
            like(s, rows, pattern);
            return Ok(());
        }
        ShowFilter::Where(e) => e,
    };
    let mut kept = std::mem::take(&mut rows.rows);
    let columns = &rows.columns;
    let kept = s.with_ctx(Session::NO_PARAMS, |cx| {
        let mut scope = Columns(columns);
        let bound = Binder::new(cx, &mut scope, Clause::Where).bind(condition)?;
        if bound.has_special() {
            // The rows are there already, and nobody waits between them.
            return Err(SqlError::not_supported(
                "a function that waits in WHERE of SHOW",
            ));
        }
        let mut failed = None;
        kept.retain(|row| match bound.truth(cx, &ValuesRow(row)) {
            Ok(t) => t == Some(true),
            Err(e) => {
                failed.get_or_insert(e);
                false
            }
        });
        match failed {
            None => Ok(kept),
            Some(e) => Err(e),
        }
    })?;
    rows.rows = kept;
    Ok(())
}

/// Keeps the rows whose first column matches a LIKE pattern, in which a backslash means what it means in any other.
pub fn like(s: &Session, rows: &mut RowSet, pattern: &[u8]) {
    let collation = if rows.exact_names {
        CollationId::UTF8MB4_BIN
    } else {
        CollationId::UTF8MB4_GENERAL_CI
    };
    let plain = s.vars.hot().sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    let escape = (!plain).then_some(u32::from(b'\\'));
    rows.rows
        .retain(|row| match row.first().map(|v| v.as_ref()) {
            Some(ValueRef::Str(t, _) | ValueRef::Bytes(t)) => collation.like(t, pattern, escape),
            _ => false,
        });
}

/// The columns of a SHOW as names in its WHERE.
struct Columns<'a>(&'a [ColumnMeta]);

impl Scope for Columns<'_> {
    fn column(&mut self, name: &ColumnRef, clause: Clause) -> Result<Resolved, SqlError> {
        let found = self
            .0
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(&name.name))
            .filter(|_| name.qualifier.is_none());
        let at =
            found.ok_or_else(|| SqlError::unknown_column(&column_text(name), clause.text()))?;
        let c = &self.0[at];
        Ok(Resolved::Column(ResolvedColumn {
            slot: 0,
            ordinal: at as u16,
            ty: ExprType::of_column(&c.ty, c.nullable),
            utc: false,
            name: c.name.as_str().into(),
        }))
    }
}
