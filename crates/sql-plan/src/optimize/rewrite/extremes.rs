//! Subqueries of `< ANY`, `> ALL` and the like of which the least or greatest row decides.

use crate::bind::tree::{BoundBlock, Extreme};
use crate::optimize::rewrite::quantified::is_order;
use crate::optimize::rewrite::unnest::each_own_expr;
use sql_expr::{CmpOp, Comparer, ExprType, Node, Shape};

/// Notes which rows of the block's subqueries decide.
pub(crate) fn find_extremes(block: &mut BoundBlock) {
    if block.subqueries.is_empty() {
        return;
    }
    // For each subquery: what it is used for, where all uses agree.
    let mut found: Vec<Option<Result<Extreme, ()>>> = Vec::new();
    found.resize_with(block.subqueries.len(), || None);
    let types: Vec<Vec<ExprType>> = { block.subqueries.iter() }
        .map(|s| s.query.types.clone())
        .collect();
    each_own_expr(block, &mut |e| {
        e.walk(&mut |x| {
            let (number, use_of) = match &x.node {
                Node::Subquery(i) | Node::Exists(i) => (*i as usize, None),
                Node::Quantified(q) => {
                    let number = q.subquery as usize;
                    let extreme = match (&q.comparers[..], types.get(number).map(|t| &t[..])) {
                        ([c], Some([t])) if is_order(q.op) && is_plain(c, t) => Some(Extreme {
                            comparer: c.clone(),
                            greatest: matches!(q.op, CmpOp::Gt | CmpOp::Ge) == q.all,
                        }),
                        _ => None,
                    };
                    (number, extreme)
                }
                _ => return true,
            };
            if let Some(known) = found.get_mut(number) {
                let agrees = match (&known, &use_of) {
                    (None, _) => true,
                    (Some(Ok(a)), Some(b)) => a == b,
                    _ => false,
                };
                *known = Some(use_of.filter(|_| agrees).ok_or(()));
            }
            true
        });
    });
    for (s, found) in block.subqueries.iter_mut().zip(found) {
        s.extreme = found.and_then(Result::ok);
    }
}

/// Whether comparing two values of a type so says nothing but their order: no warning, no value that has none.
fn is_plain(c: &Comparer, ty: &ExprType) -> bool {
    let number = matches!(
        ty.shape,
        Shape::Int { .. } | Shape::Year | Shape::Decimal { .. } | Shape::Double { .. }
    );
    match c {
        Comparer::Int => matches!(ty.shape, Shape::Int { .. } | Shape::Year),
        Comparer::Exact | Comparer::Double => number && !ty.bits,
        Comparer::Text(_) => matches!(ty.shape, Shape::Str { .. }),
        Comparer::DateTime => ty.has_date(),
        _ => false,
    }
}
