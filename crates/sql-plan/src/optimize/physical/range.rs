//! What a condition says about one column: a value, a list of values, a bound. The raw material of index access.

use types::CollationId;

use crate::plan::Beginning;
use crate::plan::estimates::reads_params;
use sql_expr::func::json_list;
use sql_expr::{CmpOp, Expr, ExprType, Members, Node, Shape, StrKind, index_comparable};

/// What a condition says about a column.
#[derive(Clone)]
pub(crate) enum Sarg {
    /// It equals a value; with `true` also NULL equals NULL.
    Equal(Expr, bool),
    /// It is one of several values.
    OneOf(Vec<Expr>),
    /// It is above (or at, with `true`) a value.
    Low(Expr, bool),
    /// It is below (or at, with `true`) a value.
    High(Expr, bool),
    /// It is between two values, both included.
    Between(Expr, Expr),
    /// It is not NULL.
    NotNull,
    /// It begins with a text.
    Begins(Beginning),
}

/// Whether an expression can be the value of a search key at all.
fn keyable(e: &Expr) -> bool {
    !e.any(&|x| match &x.node {
        Node::Aggregate(_) | Node::Window(_) | Node::Inserted(_) | Node::AssignVar(..) => true,
        Node::Call(c) => c.def.volatile() || c.def.special(),
        _ => false,
    })
}

/// What `cond` says about the column, in terms of expressions that `allowed` accepts.
pub(crate) fn sarg(
    cond: &Expr,
    column: (u16, u16),
    ty: &ExprType,
    allowed: &dyn Fn(&Expr) -> bool,
) -> Option<Sarg> {
    let is_column = |e: &Expr| e.as_column().is_some_and(|c| (c.slot, c.ordinal) == column);
    let ok = |e: &Expr| keyable(e) && allowed(e);
    match &cond.node {
        Node::Compare(op, comparer, p) if index_comparable(comparer, ty) => {
            let (value, op) = if is_column(&p[0]) && ok(&p[1]) {
                (&p[1], *op)
            } else if is_column(&p[1]) && ok(&p[0]) {
                (&p[0], op.flipped())
            } else {
                return None;
            };
            let value = value.clone();
            Some(match op {
                CmpOp::Eq => Sarg::Equal(value, false),
                CmpOp::NullSafeEq => Sarg::Equal(value, true),
                CmpOp::Gt => Sarg::Low(value, false),
                CmpOp::Ge => Sarg::Low(value, true),
                CmpOp::Lt => Sarg::High(value, false),
                CmpOp::Le => Sarg::High(value, true),
                CmpOp::Ne => return None,
            })
        }
        Node::Between(p, c, false)
            if is_column(&p[0])
                && ok(&p[1])
                && ok(&p[2])
                && index_comparable(&c[0], ty)
                && index_comparable(&c[1], ty) =>
        {
            Some(Sarg::Between(p[1].clone(), p[2].clone()))
        }
        Node::In(list) if !list.negated && is_column(&list.expr) => match &list.members {
            Members::Sorted(c, items, item_ty) => index_comparable(c, ty).then(|| {
                let points = items.iter();
                Sarg::OneOf(
                    points
                        .map(|v| Expr::constant(v.clone(), *item_ty))
                        .collect(),
                )
            }),
            Members::Each(members) => members
                .iter()
                .all(|(c, e)| index_comparable(c, ty) && ok(e))
                .then(|| Sarg::OneOf(members.iter().map(|(_, e)| e.clone()).collect())),
        },
        Node::Like(l)
            if !l.negated && is_column(&l.text) && prefixes_are_ranges(l.collation, ty) =>
        {
            if l.given.is_none() && l.pattern.is_row_constant() && reads_params(&l.pattern) {
                return Some(Sarg::Begins(Beginning::Pattern(l.clone())));
            }
            let (text, _) = l.prefix()?;
            Beginning::is_range(&text).then_some(Sarg::Begins(Beginning::Text(text)))
        }
        Node::Call(_) => {
            let (list, value) = json_list::looks_for(cond)?;
            (is_column(list) && ok(value)).then(|| Sarg::Equal(value.clone(), false))
        }
        Node::IsNull(e, false) if is_column(e) => Some(Sarg::Equal(Expr::null(), true)),
        Node::IsNull(e, true) if is_column(e) => Some(Sarg::NotNull),
        _ => None,
    }
}

/// Whether the texts that begin with a text are neighbours in an index: its key without the end mark begins theirs. That holds for
/// keys of one level of weights, where no two characters are one letter.
fn prefixes_are_ranges(like: CollationId, column: &ExprType) -> bool {
    like == column.collation
        && match column.shape {
            // BINARY is as long as the column, filled with zeros.
            Shape::Str { kind, .. } => !(kind == StrKind::Fixed && column.is_binary_text()),
            _ => false,
        }
        && column.collation.keys_begin_alike()
}

/// Whether a condition cannot hold for a row whose column is NULL.
pub(crate) fn rejects_null(cond: &Expr, of: &dyn Fn(u16) -> bool) -> bool {
    let reads = |e: &Expr| e.as_column().is_some_and(|c| of(c.slot));
    match &cond.node {
        Node::Compare(op, _, p) => *op != CmpOp::NullSafeEq && p.iter().any(reads),
        Node::Between(p, _, false) => reads(&p[0]),
        Node::In(l) => !l.negated && reads(&l.expr),
        Node::Like(l) => reads(&l.text),
        Node::IsNull(e, true) => reads(e),
        Node::Column(_) => reads(cond),
        _ => false,
    }
}
