//! Numbers in floating point where whole ones are asked for: what an operator or a function computes must have room in 64 bits, or
//! it is error 1690. A literal's and a column's value is clamped instead ([`conv`](crate::conv)), never refused here.

use types::SqlError;

use super::node::{Expr, Node};
use super::print;
use super::val::{Val, round_to_i64};

/// Whether the value is computed: by arithmetic, by a function that does not hand on one of its arguments, by an aggregate.
pub(super) fn computes(e: &Expr) -> bool {
    match &e.node {
        Node::Neg(..)
        | Node::Arith(..)
        | Node::Aggregate(_)
        | Node::Window(_)
        | Node::Known(..) => true,
        Node::Call(c) => !matches!(c.def.name, "if" | "nullif" | "any_value" | "name_const"),
        _ => false,
    }
}

/// Whether a value of floating point has room in a BIGINT.
pub(super) fn has_room(v: &Val<'_>) -> bool {
    !matches!(v, Val::Double(d) if round_to_i64(*d).is_none())
}

/// Refuses the value `v` of `e` as a whole number.
///
/// # Errors
/// 1690 for a number in floating point that `e` computes and that a BIGINT has no room for.
#[inline]
pub(super) fn check(e: &Expr, v: &Val<'_>) -> Result<(), SqlError> {
    if matches!(v, Val::Double(_)) && !has_room(v) && computes(e) {
        return Err(SqlError::expr_out_of_range("BIGINT", &print::text(e)));
    }
    Ok(())
}
