//! Evaluation of bound expressions over a row. Values are borrowed from the row and the statement wherever possible;
//! conditions go through [`Expr::truth`], which makes no intermediate values for AND, OR, NOT and comparisons.

use std::borrow::Cow;

use std::cmp::Ordering;

use types::error::codes;
use types::{SqlError, ValueRef};

use super::arith;
use super::cast;
use super::casting;
use super::compare::Comparer;
use super::conv;
use super::ctx::{EvalCtx, RowSource, Special, SubquerySource, UserVar};
use super::date_arith;
use super::func::Args;
use super::infer::{Arith, Domain};
use super::limited;
use super::node::RegexpUse;
use super::node::{
    AGGREGATE_SLOT, Case, CmpOp, Column, Expr, INSERTED_SLOT, Node, Quantified, WINDOW_SLOT,
};
use super::quantified::{self, Pair};
use super::sysvar;
use super::ty::{ExprType, Shape};
use super::val::Val;
use crate::vars::ReadScope;

/// A value that was made for this row: a large one is counted as long as the row lasts, and what was held to make it no longer.
#[inline]
fn held<'a>(made: Val<'a>, mark: u64, cx: &EvalCtx<'_>) -> Result<Val<'a>, SqlError> {
    let bytes = match &made {
        Val::Bytes(Cow::Owned(b)) => b.capacity(),
        _ => 0,
    };
    cx.keep(mark, bytes)?;
    Ok(made)
}

/// A copy of a user variable's value.
fn user_var(name: &str, cx: &EvalCtx<'_>) -> Result<Val<'static>, SqlError> {
    cx.with_user_vars(|vars| {
        let Some(var) = vars.get(name) else {
            return Ok(Val::Null);
        };
        if let Val::Bytes(b) = &var.value {
            cx.hold(b.len())?;
        }
        Ok(var.value.clone())
    })
}

/// Sets a user variable, which has a copy of the value.
fn assign(name: &str, v: &Val<'_>, ty: ExprType, cx: &EvalCtx<'_>) -> Result<(), SqlError> {
    if let Val::Bytes(b) = v {
        cx.hold(b.len())?;
    }
    let value = v.reborrow().into_owned();
    cx.with_user_vars(|u| u.set(name, UserVar { value, ty }));
    Ok(())
}

impl Expr {
    /// The value for a row.
    ///
    /// # Errors
    /// What MySQL raises for the operation; [`EvalCtx::unevaluated`] says whether the error
    /// means that the expression waits.
    pub fn eval<'a>(
        &'a self,
        cx: &'a EvalCtx<'_>,
        row: &'a dyn RowSource,
    ) -> Result<Val<'a>, SqlError> {
        match &self.node {
            Node::Const(v) | Node::Known(_, v) => Ok(v.reborrow()),
            Node::Column(c) => Ok(column(c.slot, c, cx, row)),
            Node::Call(c) => {
                cx.tick(1)?;
                let args = Args {
                    args: &c.args,
                    ty: &self.ty,
                    cx,
                    row,
                };
                let mark = cx.mark();
                let made = limited::settle((c.def.eval)(args), c.def.name, cx)?;
                held(made, mark, cx)
            }
            Node::Arith(op, domain, p) => self.arithmetic(*op, *domain, p, cx, row),
            Node::Param(i, _) => Ok(cx
                .params
                .get(*i as usize)
                .map_or(Val::Null, |v| Val::from(v.as_ref()))),
            Node::Case(c) => case(c, cx, row),
            _ => self.eval_rest(cx, row),
        }
    }

    fn arithmetic(
        &self,
        op: Arith,
        domain: Domain,
        p: &[Expr; 2],
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<Val<'static>, SqlError> {
        cx.tick(1)?;
        arith::binary(self, op, domain, p, cx, row)
    }

    fn eval_rest<'a>(
        &'a self,
        cx: &'a EvalCtx<'_>,
        row: &'a dyn RowSource,
    ) -> Result<Val<'a>, SqlError> {
        match &self.node {
            Node::Inserted(c) => Ok(column(INSERTED_SLOT, c, cx, row)),
            Node::Aggregate(i) => Ok(row.column(AGGREGATE_SLOT, *i as u16).into()),
            Node::Window(i) => Ok(row.column(WINDOW_SLOT, *i as u16).into()),
            Node::UserVar(name) => user_var(name, cx),
            Node::AssignVar(name, e) => {
                let v = e.eval(cx, row)?;
                assign(name, &v, e.ty, cx)?;
                Ok(v)
            }
            // A session's own value is what it is.
            Node::SysVar(id, scope)
                if id.def().live
                    && (!id.def().has_session() || *scope == Some(ReadScope::Global))
                    && cx.live_is_behind() =>
            {
                cx.special(&self.ty, Special::Variable(*id))
            }
            Node::SysVar(id, scope) => Ok(sysvar::value(*id, *scope, cx)),
            Node::Neg(domain, e) => arith::negate(self, *domain, e, cx, row),
            Node::BitNot(e) => arith::invert(self, e, cx, row),
            Node::Bits(op, p) => arith::bitwise(self, *op, p, cx, row),
            Node::Cast(e, to) => {
                let mark = cx.mark();
                let made = limited::settle(casting::cast(e, *to, cx, row), to.name(), cx)?;
                held(made, mark, cx)
            }
            Node::Transcode(e, from, to) => {
                let mark = cx.mark();
                let made = cast::transcode(e.eval(cx, row)?, &e.ty, *from, *to, cx);
                held(limited::settle(made, "convert", cx)?, mark, cx)
            }
            Node::Collate(e) => e.eval(cx, row),
            Node::Coerce(e) => {
                let mark = cx.mark();
                let value = if self.ty.is_number() {
                    e.eval_number(cx, row)?
                } else {
                    e.eval(cx, row)?
                };
                let made = cast::coerce(value, &e.ty, &self.ty, cx);
                held(made, mark, cx)
            }
            Node::DateArith(p, unit, minus) => {
                date_arith::add_interval(self, p, *unit, *minus, cx, row)
            }
            Node::Extract(unit, e) => date_arith::extract(*unit, e, cx, row),
            Node::TimestampDiff(unit, p) => date_arith::timestamp_diff(*unit, p, cx, row),
            Node::Subquery(i) => subqueries(row)?.scalar(*i),
            Node::Regexp(r) => {
                let mark = cx.mark();
                held(
                    limited::settle(r.eval(cx, row), r.usage.name(), cx)?,
                    mark,
                    cx,
                )
            }
            Node::Row(_) => Err(SqlError::new(
                codes::ER_OPERAND_COLUMNS,
                "Operand should contain 1 column(s)",
            )),
            _ => Ok(Val::truth(self.truth(cx, row)?)),
        }
    }

    /// Whether the expression holds for a row; `None` for NULL.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub fn truth(&self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<Option<bool>, SqlError> {
        match &self.node {
            Node::Compare(op, comparer, p) => compare(*op, comparer, p, cx, row),
            Node::And(parts) => {
                let mut unknown = false;
                cx.tick(parts.len())?;
                for p in parts {
                    match p.truth(cx, row)? {
                        Some(false) => return Ok(Some(false)),
                        None => unknown = true,
                        Some(true) => {}
                    }
                }
                Ok(if unknown { None } else { Some(true) })
            }
            Node::Or(parts) => {
                let mut unknown = false;
                cx.tick(parts.len())?;
                for p in parts {
                    match p.truth(cx, row)? {
                        Some(true) => return Ok(Some(true)),
                        None => unknown = true,
                        Some(false) => {}
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            Node::Not(e) => Ok(e.truth(cx, row)?.map(|t| !t)),
            Node::Xor(p) => {
                let (Some(a), Some(b)) = (p[0].truth(cx, row)?, p[1].truth(cx, row)?) else {
                    return Ok(None);
                };
                Ok(Some(a != b))
            }
            Node::IsNull(e, negated) => Ok(Some(e.eval(cx, row)?.is_null() != *negated)),
            Node::IsTruth(e, wanted, negated) => {
                Ok(Some((e.truth(cx, row)? == Some(*wanted)) != *negated))
            }
            Node::Between(p, c, negated) => between(p, c, *negated, cx, row),
            Node::In(list) => {
                cx.tick(1)?;
                list.truth(cx, row)
            }
            Node::Like(like) => like.truth(cx, row),
            Node::Exists(i) => subqueries(row)?.exists(*i).map(Some),
            Node::Quantified(q) => quantified(q, cx, row),
            Node::Regexp(r) if r.usage == RegexpUse::Like => {
                Ok(conv::to_truth(&r.eval(cx, row)?, cx))
            }
            // A document is a condition by not being the number 0 (MySQL's warning 3986 says so).
            _ if self.ty.shape == Shape::Json => {
                let v = self.eval(cx, row)?;
                let zero = (Val::Int(0), ExprType::int(1, false));
                let how = Comparer::Json(true, false);
                Ok(how.equal(&v, &self.ty, &zero.0, &zero.1, cx).map(|e| !e))
            }
            _ => Ok(conv::to_truth(&self.eval_number(cx, row)?, cx)),
        }
    }
}

fn subqueries(row: &dyn RowSource) -> Result<&dyn SubquerySource, SqlError> {
    row.subqueries()
        .ok_or_else(|| SqlError::internal("a subquery without values"))
}

#[inline]
fn column<'a>(slot: u16, c: &Column, cx: &EvalCtx<'_>, row: &'a dyn RowSource) -> Val<'a> {
    let v = Val::from(row.column(slot, c.ordinal));
    if c.utc
        && let Val::DateTime(d) = v
    {
        return Val::DateTime(cx.zone.to_local(d).unwrap_or(d));
    }
    v
}

fn compare(
    op: CmpOp,
    comparer: &Comparer,
    p: &[Expr; 2],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<bool>, SqlError> {
    let [a, b] = p;
    if let Comparer::Row(_) = comparer {
        return match op {
            CmpOp::Eq => row_equal(comparer, a, b, cx, row),
            CmpOp::Ne => Ok(row_equal(comparer, a, b, cx, row)?.map(|t| !t)),
            CmpOp::NullSafeEq => row_same(comparer, a, b, cx, row).map(Some),
            _ => Ok(row_order(comparer, a, b, cx, row)?.map(|o| op.holds(o))),
        };
    }
    if let (Node::Column(c), Node::Const(k)) = (&a.node, &b.node)
        && let Some(found) = column_with_constant(op, comparer, c, k, row)
    {
        return Ok(found);
    }
    let x = a.eval(cx, row)?;
    if x.is_null() && op != CmpOp::NullSafeEq {
        return Ok(None);
    }
    let y = b.eval(cx, row)?;
    Ok(match op {
        CmpOp::NullSafeEq => Some(match (x.is_null(), y.is_null()) {
            (true, true) => true,
            (false, false) => comparer.equal(&x, &a.ty, &y, &b.ty, cx) == Some(true),
            _ => false,
        }),
        CmpOp::Eq => comparer.equal(&x, &a.ty, &y, &b.ty, cx),
        CmpOp::Ne => comparer.equal(&x, &a.ty, &y, &b.ty, cx).map(|e| !e),
        _ => comparer
            .order(&x, &a.ty, &y, &b.ty, cx)
            .map(|o| op.holds(o)),
    })
}

/// The everyday condition, `column op constant` of one kind, without making values; `None` for any other.
#[inline]
fn column_with_constant(
    op: CmpOp,
    comparer: &Comparer,
    c: &Column,
    constant: &Val<'_>,
    row: &dyn RowSource,
) -> Option<Option<bool>> {
    if op == CmpOp::NullSafeEq || c.utc {
        return None;
    }
    let order = match (comparer, row.column(c.slot, c.ordinal), constant) {
        (_, ValueRef::Null, _) => return Some(None),
        (Comparer::Int | Comparer::Exact, ValueRef::Int(x), Val::Int(y)) => x.cmp(y),
        (Comparer::Text(collation), ValueRef::Str(x, _) | ValueRef::Bytes(x), Val::Bytes(y)) => {
            match op {
                CmpOp::Eq => return Some(Some(collation.equal(x, y))),
                CmpOp::Ne => return Some(Some(!collation.equal(x, y))),
                _ => collation.compare(x, y),
            }
        }
        (Comparer::DateTime, ValueRef::DateTime(x), Val::DateTime(y)) => x.cmp(y),
        (Comparer::DateTime, ValueRef::Date(x), Val::Date(y)) => x.cmp(y),
        _ => return None,
    };
    Some(Some(op.holds(order)))
}

/// The members of a row expression; a scalar is a row of one.
fn members(e: &Expr) -> &[Expr] {
    match &e.node {
        Node::Row(v) => v,
        _ => std::slice::from_ref(e),
    }
}

fn row_parts(c: &Comparer) -> &[Comparer] {
    match c {
        Comparer::Row(v) => v,
        c => std::slice::from_ref(c),
    }
}

/// Whether two rows (or scalars) are equal: unknown where NULL leaves it open.
pub(super) fn row_equal(
    c: &Comparer,
    a: &Expr,
    b: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<bool>, SqlError> {
    let mut unknown = false;
    let flat = |e: &Expr| {
        !matches!(e.node, Node::Subquery(_))
            && !members(e)
                .iter()
                .any(|m| matches!(m.ty.shape, Shape::Row(_)))
    };
    if flat(a) && flat(b) {
        for (c, (x, y)) in row_parts(c).iter().zip(members(a).iter().zip(members(b))) {
            let (left, right) = (x.eval(cx, row)?, y.eval(cx, row)?);
            match c.equal(&left, &x.ty, &right, &y.ty, cx) {
                // The rest cannot make it true.
                Some(false) => return Ok(Some(false)),
                None => unknown = true,
                Some(true) => {}
            }
        }
        return Ok(if unknown { None } else { Some(true) });
    }
    let (left, right) = (row_values(a, cx, row)?, row_values(b, cx, row)?);
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(None);
    };
    for (c, ((x, xe), (y, ye))) in row_parts(c).iter().zip(left.iter().zip(&right)) {
        match pair_equal(c, (x, xe), (y, ye), cx) {
            Some(false) => return Ok(Some(false)),
            None => unknown = true,
            Some(true) => {}
        }
    }
    Ok(if unknown { None } else { Some(true) })
}

fn pair_equal(
    c: &Comparer,
    (x, xe): (&Val<'_>, &Option<&Expr>),
    (y, ye): (&Val<'_>, &Option<&Expr>),
    cx: &EvalCtx<'_>,
) -> Option<bool> {
    let any = super::ty::ExprType::null();
    let (xt, yt) = (xe.map_or(any, |e| e.ty), ye.map_or(any, |e| e.ty));
    c.equal(x, &xt, y, &yt, cx)
}

/// The values of a row expression: of `(a, b)`, of a row subquery (`None` for no row), of a scalar. A row among the members
/// stands for its own values; a row subquery without a row is NULLs there.
fn row_values<'a>(
    e: &'a Expr,
    cx: &'a EvalCtx<'_>,
    row: &'a dyn RowSource,
) -> Result<Option<Vec<Pair<'a>>>, SqlError> {
    if let Node::Subquery(i) = &e.node {
        let values = subqueries(row)?.row(*i)?;
        return Ok(values.map(|vs| vs.into_iter().map(|v| (v, None)).collect()));
    }
    let mut values = Vec::new();
    for m in members(e) {
        match m.ty.shape {
            Shape::Row(n) => match row_values(m, cx, row)? {
                Some(inner) => values.extend(inner),
                None => values.extend((0..n).map(|_| (Val::Null, None))),
            },
            _ => values.push((m.eval(cx, row)?, Some(m))),
        }
    }
    Ok(Some(values))
}

fn row_same(
    c: &Comparer,
    a: &Expr,
    b: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<bool, SqlError> {
    let (left, right) = (row_values(a, cx, row)?, row_values(b, cx, row)?);
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(false);
    };
    let same =
        row_parts(c)
            .iter()
            .zip(left.iter().zip(&right))
            .all(|(c, ((x, xe), (y, ye)))| match (x.is_null(), y.is_null()) {
                (true, true) => true,
                (false, false) => pair_equal(c, (x, xe), (y, ye), cx) == Some(true),
                _ => false,
            });
    Ok(same)
}

fn row_order(
    c: &Comparer,
    a: &Expr,
    b: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<Ordering>, SqlError> {
    let (left, right) = (row_values(a, cx, row)?, row_values(b, cx, row)?);
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(None);
    };
    let any = super::ty::ExprType::null();
    for (c, ((x, xe), (y, ye))) in row_parts(c).iter().zip(left.iter().zip(&right)) {
        let (xt, yt) = (xe.map_or(any, |e| e.ty), ye.map_or(any, |e| e.ty));
        match c.order(x, &xt, y, &yt, cx) {
            None => return Ok(None),
            Some(Ordering::Equal) => {}
            o => return Ok(o),
        }
    }
    Ok(Some(Ordering::Equal))
}

fn between(
    p: &[Expr; 3],
    c: &[Comparer; 2],
    negated: bool,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<bool>, SqlError> {
    let [x, low, high] = p;
    let v = x.eval(cx, row)?;
    if v.is_null() {
        return Ok(None);
    }
    let a = low.eval(cx, row)?;
    let above = c[0].order(&v, &x.ty, &a, &low.ty, cx).map(Ordering::is_ge);
    // Both bounds are read, and warned of, whatever the first says.
    let b = high.eval(cx, row)?;
    let below = c[1].order(&v, &x.ty, &b, &high.ty, cx).map(Ordering::is_le);
    Ok(match (above, below) {
        (Some(false), _) | (_, Some(false)) => Some(negated),
        (Some(true), Some(true)) => Some(!negated),
        _ => None,
    })
}

fn case<'a>(c: &'a Case, cx: &'a EvalCtx<'_>, row: &'a dyn RowSource) -> Result<Val<'a>, SqlError> {
    match chosen(c, cx, row)? {
        Some(e) => e.eval(cx, row),
        None => Ok(Val::Null),
    }
}

/// The arm of a CASE that its conditions choose; `None` where nothing does and there is no ELSE.
pub(super) fn chosen<'e>(
    c: &'e Case,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<&'e Expr>, SqlError> {
    cx.tick(c.arms.len() + 1)?;
    match &c.operand {
        None => {
            for (when, _, then) in &c.arms {
                if when.truth(cx, row)? == Some(true) {
                    return Ok(Some(then));
                }
            }
        }
        Some(o) => {
            let x = o.eval(cx, row)?;
            if !x.is_null() {
                for (when, comparer, then) in &c.arms {
                    let y = when.eval(cx, row)?;
                    if comparer.equal(&x, &o.ty, &y, &when.ty, cx) == Some(true) {
                        return Ok(Some(then));
                    }
                }
            }
        }
    }
    Ok(c.otherwise.as_ref())
}

/// `x op ANY (..)`: true if it holds for one row, unknown if NULL leaves it open, false for no rows; ALL is the dual.
fn quantified(
    q: &Quantified,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<bool>, SqlError> {
    let left = row_values(&q.expr, cx, row)?;
    let rows = subqueries(row)?;
    if let Some(left) = &left
        && let Some(truth) = quantified::by_key(q, left, rows, cx)?
    {
        return Ok(truth);
    }
    let mut unknown = false;
    let mut decided = false;
    let decisive = !q.all;
    rows.rows(q.subquery, &mut |right| {
        cx.tick(4)?;
        // a row subquery without a row is NULL
        let holds = left
            .as_ref()
            .and_then(|left| quantified::holds(q, left, right, cx));
        match holds {
            None => unknown = true,
            Some(h) if h == decisive => {
                decided = true;
                return Ok(false);
            }
            Some(_) => {}
        }
        Ok(true)
    })?;
    Ok(match (decided, unknown) {
        (true, _) => Some(decisive),
        (_, true) => None,
        _ => Some(!decisive),
    })
}

/// Evaluates an expression that reads no row.
///
/// # Errors
/// As [`Expr::eval`].
pub fn eval_constant(e: &Expr, cx: &EvalCtx<'_>) -> Result<Val<'static>, SqlError> {
    e.eval(cx, &super::ctx::NoRow).map(Val::into_owned)
}
