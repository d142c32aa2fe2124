//! `@@name` in an expression: its type when the statement is bound, its value when evaluated. Values that come from
//! the session's state rather than from its settings are answered here.

use types::collation::CollationId;

use super::conv;
use super::ctx::EvalCtx;
use super::ty::{Coercibility, ExprType, IntKind, Shape};
use super::val::Val;
use crate::vars::{ReadScope, VarDef, VarId, VarInput, VarKind, VarValue};

/// The type of `@@name`.
pub(super) fn ty(def: &VarDef) -> ExprType {
    let int = |unsigned, digits| {
        ExprType::plain(
            Shape::Int {
                kind: IntKind::Big,
                unsigned,
                digits,
            },
            false,
        )
    };
    match def.kind {
        VarKind::Bool => int(false, 1),
        VarKind::Int { .. } => int(false, 21),
        VarKind::Uint { .. } if def.name == "timestamp" => {
            ExprType::plain(Shape::Double { scale: 6 }, false)
        }
        VarKind::Uint { .. } => int(true, 21),
        VarKind::Double { .. } => ExprType::plain(Shape::Double { scale: 6 }, false),
        _ => ExprType::text(
            65_535,
            CollationId::UTF8MB4_GENERAL_CI,
            Coercibility::System,
            true,
        ),
    }
}

/// The value of `@@name`.
pub(super) fn value(id: VarId, scope: Option<ReadScope>, cx: &EvalCtx<'_>) -> Val<'static> {
    let def = id.def();
    if def.computed {
        return match def.name {
            "last_insert_id" | "identity" => Val::Uint(cx.facts.last_insert_id),
            "insert_id" => Val::Uint(cx.facts.insert_id),
            "timestamp" => Val::Double(cx.now_micros as f64 / 1e6),
            "warning_count" => Val::Uint(cx.facts.warning_count),
            "error_count" => Val::Uint(cx.facts.error_count),
            "pseudo_thread_id" => Val::Uint(cx.facts.thread()),
            _ => from_var(cx.vars.value(id)),
        };
    }
    from_var(cx.vars.selected(id, scope))
}

impl EvalCtx<'_> {
    /// The server's value of a variable.
    pub fn variable(&self, id: VarId) -> Val<'static> {
        value(id, Some(ReadScope::Global), self)
    }
}

fn from_var(v: VarValue) -> Val<'static> {
    match v {
        VarValue::Null => Val::Null,
        VarValue::Bool(b) => Val::Int(i64::from(b)),
        VarValue::Int(i) => Val::Int(i),
        VarValue::Uint(u) => Val::Uint(u),
        VarValue::Double(d) => Val::Double(d),
        VarValue::Text(t) => Val::owned(t.as_bytes()),
    }
}

impl VarInput {
    /// The value of an expression as SET's input.
    pub fn from_val(v: &Val<'_>, ty: &ExprType) -> VarInput {
        match v {
            Val::Null => VarInput::Null,
            Val::Int(i) => VarInput::Int(*i),
            Val::Uint(u) => VarInput::Uint(*u),
            Val::Double(d) => VarInput::Double(*d),
            Val::Decimal(d) => VarInput::Double(d.to_f64()),
            Val::Bit(b, _) => VarInput::Uint(*b),
            v => VarInput::Text(String::from_utf8_lossy(&conv::text_of(v, ty)).into_owned()),
        }
    }
}
