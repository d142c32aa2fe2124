//! The arms of CASE, COALESCE, UNION: expressions of which one is chosen, brought to their common type.

use types::SqlError;
use types::collation::CollationId;

use super::ctx::EvalCtx;
use super::infer::common;
use super::node::{Expr, Node};
use super::ty::{ExprType, IntKind, Shape, StrKind};
use super::unify;

/// The common type of expressions of which one is chosen, and whose texts all convert to it. `op` names the operation in a collation error.
///
/// # Errors
/// 1267, 1270, 1271.
pub fn common_of(parts: &[&Expr], connection: CollationId, op: &str) -> Result<ExprType, SqlError> {
    // A parameter that nothing is known of takes the type of the others.
    let known = |e: &&&Expr| !matches!(e.node, Node::Param(_, false));
    let mut types: Vec<&ExprType> = parts.iter().filter(known).map(|e| &e.ty).collect();
    let mut settled = types.iter().filter(|t| t.shape != Shape::Null).peekable();
    if settled.peek().is_none() || !settled.all(|t| takes_parameters(t)) {
        types = parts.iter().map(|e| &e.ty).collect();
    }
    let mut ty = common(&types, connection, op)?.words_as_text();
    if let Shape::Int { kind, digits, .. } = &mut ty.shape
        && types.len() < parts.len()
    {
        // The value may need all 64 bits: a whole number for a parameter is a BIGINT (the manual, "PREPARE Statement").
        (*kind, *digits) = (IntKind::Big, 20);
    }
    if ty.is_text() {
        unify::convertible(parts.iter().copied(), ty.collation, connection, op)?;
    }
    Ok(ty)
}

/// Whether a parameter beside it is a number of that type. One beside a YEAR may have more than four digits, one beside a FLOAT more than six.
fn takes_parameters(t: &ExprType) -> bool {
    matches!(
        t.shape,
        Shape::Int { .. } | Shape::Decimal { .. } | Shape::Double { .. }
    )
}

/// One of several that have this common type, as it; a parameter that nothing is known of takes it.
#[must_use]
pub fn arm(mut e: Expr, ty: &ExprType, cx: &EvalCtx<'_>) -> Expr {
    if matches!(e.node, Node::Param(_, false)) && takes_parameters(ty) {
        adopt(&mut e, ty);
        // The value may be another number that has room in the type, and is shown as one of it.
        return Expr {
            node: Node::Coerce(Box::new(e)),
            ty: ty.or_null(),
        };
    }
    e.coerced_to(ty, cx)
}

/// Gives a parameter the type of what it is compared or combined with.
pub(crate) fn adopt(e: &mut Expr, from: &ExprType) {
    if matches!(e.node, Node::Param(_, false)) && !matches!(from.shape, Shape::Null | Shape::Row(_))
    {
        let coercibility = e.ty.coercibility;
        e.ty = from.or_null();
        e.ty.boolean = false;
        if e.ty.is_text() {
            // It is text, also beside a literal of bits.
            e.ty.bits = false;
            e.ty.coercibility = coercibility;
            e.ty.shape = Shape::Str {
                chars: from.chars().max(255),
                kind: StrKind::Var,
            };
        }
    }
}
