//! Which equalities can be looked up by hash.

use sql_expr::{Comparer, Expr, Shape};

/// Whether equal values of both sides have equal bytes as keys; with the collation for text.
pub(crate) fn hashable(c: &Comparer, a: &Expr, b: &Expr) -> Option<Option<types::CollationId>> {
    let int = |e: &Expr| matches!(e.ty.shape, Shape::Int { .. } | Shape::Year);
    let text = |e: &Expr| matches!(e.ty.shape, Shape::Str { .. });
    match c {
        Comparer::Int if int(a) && int(b) => Some(None),
        Comparer::Text(id) if text(a) && text(b) => Some(Some(*id)),
        Comparer::Json(..) if a.ty.shape == Shape::Json && b.ty.shape == Shape::Json => Some(None),
        Comparer::DateTime => {
            let dated = |e: &Expr| e.ty.has_date();
            (dated(a) && dated(b)).then_some(None)
        }
        Comparer::Exact => {
            let decimal = |e: &Expr| matches!(e.ty.shape, Shape::Decimal { .. });
            (decimal(a) && decimal(b) && a.ty.scale() == b.ty.scale()).then_some(None)
        }
        _ => None,
    }
}
