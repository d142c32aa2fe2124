//! What a sort can do beside sorting: by one column of text of the select list, and leaving out rows that it has already.

use crate::plan::SortKey;
use sql_expr::{Expr, Shape};

/// The column of a select list, which is `plain`, by whose text alone rows are sorted.
pub(crate) fn by_column(order: &[SortKey], plain: Option<&[(u16, u16)]>) -> Option<usize> {
    let [key] = order else {
        return None;
    };
    // Other values are computed with before they become keys.
    let is_text = matches!(key.expr.ty.shape, Shape::Str { .. });
    let c = key.expr.as_column().filter(|_| is_text)?;
    plain?.iter().position(|x| *x == (c.slot, c.ordinal))
}

/// Whether the sort keys tell distinct rows apart: each column of the select list is sorted by, and nothing else, and the keys of
/// its type are the same only where the values are.
pub(crate) fn tells_apart(
    order: &[SortKey],
    output: &[Expr],
    plain: Option<&[(u16, u16)]>,
) -> bool {
    let Some(columns) = plain else {
        return false;
    };
    let of = |k: &SortKey| k.expr.as_column().map(|c| (c.slot, c.ordinal));
    let sorted = |c: &(u16, u16)| order.iter().any(|k| of(k) == Some(*c));
    let selected = |k: &SortKey| of(k).is_some_and(|c| columns.contains(&c));
    let exact = |e: &Expr| matches!(e.ty.shape, Shape::Str { .. } | Shape::Int { .. });
    columns.iter().all(sorted) && order.iter().all(selected) && output.iter().all(exact)
}
