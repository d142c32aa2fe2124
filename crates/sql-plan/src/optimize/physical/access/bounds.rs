//! What conditions say of the part of an index behind those that have one value.

use crate::optimize::physical::range::Sarg;
use crate::plan::{KeyExpr, RangeAccess};
use sql_expr::Expr;

/// A value of a search key.
pub(super) fn key(expr: Expr, null_safe: bool) -> KeyExpr {
    KeyExpr { expr, null_safe }
}

/// Adds a condition on the part behind the equal ones.
pub(super) fn bounds(range: &mut RangeAccess, s: Sarg, n: usize, used: &mut Vec<usize>) {
    match s {
        Sarg::OneOf(values)
            if range.points.is_empty() && range.low.is_none() && range.high.is_none() =>
        {
            range.points = values.into_iter().map(|e| key(e, false)).collect();
            used.push(n);
        }
        _ if !range.points.is_empty() => {}
        Sarg::Low(e, inside) if range.low.is_none() => {
            range.low = Some((key(e, false), inside));
            used.push(n);
        }
        Sarg::High(e, inside) if range.high.is_none() => {
            range.high = Some((key(e, false), inside));
            used.push(n);
        }
        Sarg::Between(a, b) if range.low.is_none() && range.high.is_none() => {
            range.low = Some((key(a, false), true));
            range.high = Some((key(b, false), true));
            used.push(n);
        }
        Sarg::NotNull => range.not_null = true,
        Sarg::Begins(text) if range.begins.is_none() => range.begins = Some(text),
        _ => {}
    }
}
