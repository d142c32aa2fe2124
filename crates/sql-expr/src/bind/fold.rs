//! Computes what is constant while a statement is bound. What would warn or fail is left to run time, where MySQL
//! reports it once for each row that reaches it.

use crate::ctx::{EvalCtx, NoRow};
use crate::node::{Expr, Node};
use crate::overflow;
use crate::ty::Shape;
use crate::val::Val;

fn pure(e: &Expr) -> bool {
    match &e.node {
        Node::Arith(..)
        | Node::Neg(..)
        | Node::Bits(..)
        | Node::BitNot(_)
        | Node::Not(_)
        | Node::Compare(..)
        | Node::And(_)
        | Node::Or(_)
        | Node::Xor(_)
        | Node::IsNull(..)
        | Node::IsTruth(..)
        | Node::Between(..)
        | Node::In(_)
        | Node::Like(_)
        | Node::Regexp(_)
        | Node::Case(_)
        | Node::Transcode(..)
        | Node::DateArith(..)
        | Node::Extract(..)
        | Node::TimestampDiff(..) => true,
        // a time alone takes its date from the clock
        Node::Cast(x, _) | Node::Coerce(x) => !matches!(x.ty.shape, Shape::Time(_)),
        Node::Call(c) => c.def.foldable(),
        _ => false,
    }
}

/// The same expression, as a constant where it is one.
pub(crate) fn fold(e: Expr, cx: &EvalCtx<'_>) -> Expr {
    if !pure(&e) {
        return e;
    }
    let mut constant = true;
    e.each_child(&mut |c| {
        constant &= matches!(c.node, Node::Const(_) | Node::Known(..) | Node::Collate(_))
            && c.as_const().is_some()
    });
    // The number that an arm is would be lost.
    let clock = e.is_clock();
    if !constant || (e.hands_on_number() && !clock) {
        return e;
    }
    let value = cx.quietly(|| e.eval(cx, &NoRow).map(Val::into_owned));
    match value {
        Some(Ok(v)) => {
            let mut ty = e.ty;
            ty.bits = false;
            if clock || (overflow::computes(&e) && !overflow::has_room(&v)) {
                // Who asks for a whole number has to name the expression, or needs to know that its text was a time.
                let node = Node::Known(Box::new(e), v);
                return Expr { node, ty };
            }
            Expr::constant(v, ty)
        }
        _ => e,
    }
}
