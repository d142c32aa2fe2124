//! CHAR columns under PAD_CHAR_TO_FULL_LENGTH: what a function takes and a result shows of them is as long as the column.
//!
//! Never here: comparisons. They go by what is stored, as an index does.

use types::SqlError;
use types::charset::Charset;

use super::def;
use super::def::some;
use crate::ctx::EvalCtx;
use crate::node::{Args, Call, Expr, FuncDef, InferCx, Node};
use crate::ty::{ExprType, Shape, StrKind};
use crate::val::Val;
use crate::vars::SqlMode;

/// It has no name that a statement could call it by.
static PAD: FuncDef = def("", 1, 1, infer, pad);

/// A column of CHAR as it is shown, where the session asks for that; anything else as it is.
pub fn padded(e: Expr, cx: &EvalCtx<'_>) -> Expr {
    let fixed = matches!(
        e.ty.shape,
        Shape::Str {
            kind: StrKind::Fixed,
            ..
        }
    );
    let column = matches!(e.node, Node::Column(_)) && fixed && e.ty.charset() != Charset::Binary;
    if !column || !cx.sql_mode.has(SqlMode::PAD_CHAR_TO_FULL_LENGTH) {
        return e;
    }
    let ty = e.ty;
    let args = vec![e];
    let node = Node::Call(Call { def: &PAD, args });
    Expr { node, ty }
}

fn infer(_: &InferCx<'_>, args: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(args[0].ty)
}

fn pad(a: Args<'_>) -> Result<Val<'_>, SqlError> {
    let t = some!(a.text(0)?);
    let missing = match a.ty(0).shape {
        Shape::Str { chars, .. } => (chars as usize).saturating_sub(a.charset(0).char_count(&t)),
        _ => 0,
    };
    if missing == 0 {
        return Ok(Val::Bytes(t));
    }
    let mut out = t.into_owned();
    out.resize(out.len() + missing, b' ');
    Ok(Val::owned(out))
}
