//! Functions that choose among their arguments: IF, IFNULL, NULLIF, COALESCE, GREATEST, LEAST, INTERVAL …

use std::cmp::Ordering;

use types::SqlError;
use types::collation::CollationId;
use types::error::codes;
use types::temporal::DateTime;

use super::infer::{fsp_of, int};
use super::{FuncDef, MANY, def};
use crate::arms;
use crate::collate;
use crate::compare::{Comparer, moment};
use crate::conv;
use crate::infer;
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::{ExprType, Shape};
use crate::val::{Int, Val};
use crate::walk::transcode;

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("if", 3, 3, infer_if, eval_if).light(),
    def("ifnull", 2, 2, infer_coalesce, coalesce).light(),
    def("nvl", 2, 2, infer_coalesce, coalesce).light(),
    def("coalesce", 1, MANY, infer_coalesce, coalesce).light(),
    def("nullif", 2, 2, infer_nullif, nullif).light(),
    def("isnull", 1, 1, infer_isnull, isnull).light(),
    def("greatest", 2, MANY, infer_extreme, greatest).light(),
    def("least", 2, MANY, infer_extreme, least).light(),
    def("interval", 2, MANY, infer_interval, interval).light(),
    def("field", 2, MANY, infer_field, field).light(),
    def("any_value", 1, 1, infer_first, first).light(),
    def("name_const", 2, 2, infer_name_const, name_const).light(),
    def("grouping", 1, MANY, infer_grouping, grouping).light(),
];

/// Brings `args[from..]` to their common type.
fn common(cx: &InferCx<'_>, args: &mut [Expr], from: usize) -> Inferred {
    let parts: Vec<&Expr> = args[from..].iter().collect();
    let ty = arms::common_of(&parts, cx.connection, cx.name)?;
    for a in &mut args[from..] {
        let e = std::mem::replace(a, Expr::null());
        *a = arms::arm(e, &ty, cx.cx);
    }
    Ok(ty)
}

fn infer_if(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    common(cx, args, 1)
}

fn eval_if(a: Args<'_>) -> Out<'_> {
    if a.truth(0)? == Some(true) {
        a.val(1)
    } else {
        a.val(2)
    }
}

fn infer_coalesce(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args.iter().all(|a| a.ty.nullable);
    let mut ty = common(cx, args, 0)?;
    ty.nullable = nullable;
    Ok(ty)
}

fn coalesce(a: Args<'_>) -> Out<'_> {
    for i in 0..a.len() {
        let v = a.val(i)?;
        if !v.is_null() {
            return Ok(v);
        }
    }
    Ok(Val::Null)
}

fn infer_nullif(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    if args.iter().all(|a| a.ty.is_text()) {
        cx.unify(args.iter_mut(), true)?;
    }
    Ok(args[0].ty.or_null())
}

fn nullif(a: Args<'_>) -> Out<'_> {
    let x = a.val(0)?;
    if x.is_null() {
        // What it is compared with is not computed.
        return Ok(Val::Null);
    }
    let c = Comparer::choose(a.ty(0), a.ty(1), a.cx.collation, "nullif")?;
    let c = c.by_digits(a.ty(0), a.ty(1));
    let (p, q) = c.pair(&a.args[0], &a.args[1], a.cx, a.row)?;
    if c.equal(&p, a.ty(0), &q, a.ty(1), a.cx) == Some(true) {
        Ok(Val::Null)
    } else {
        Ok(x)
    }
}

fn infer_grouping(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::int(21, false))
}

/// Where WITH ROLLUP has grouping values, something else has been put in its place.
fn grouping(_: Args<'_>) -> Out<'_> {
    Err(SqlError::new(
        codes::ER_INVALID_GROUP_FUNC_USE,
        "Invalid use of group function",
    ))
}

fn infer_isnull(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::truth(false))
}

fn isnull(a: Args<'_>) -> Out<'_> {
    Ok(Val::truth(Some(a.val(0)?.is_null())))
}

fn infer_extreme(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let texts = args.iter().any(|a| a.ty.is_text());
    let numbers = args.iter().any(|a| a.ty.is_number());
    if texts && numbers && !args.iter().any(|a| a.ty.is_temporal()) {
        // mixed texts and numbers are compared as text, as MySQL 8.0 does
        cx.unify(args.iter_mut(), true)?;
    }
    let parts: Vec<&ExprType> = args.iter().map(|a| &a.ty).collect();
    let ty = infer::common(&parts, cx.connection, cx.name)?;
    if ty.is_text() && args.iter().any(|a| a.ty.has_date()) {
        // They are compared as dates, and stay what they are until then.
        for a in args.iter_mut() {
            transcode(a, ty.collation);
        }
        return Ok(ty);
    }
    common(cx, args, 0)
}

/// The extreme of dates and of what else stands beside them, as MySQL 8.0 has it: all are read as dates, and the result is text in the
/// form of the most detailed type among them. Where what is found is no date, they are compared as text.
fn extreme_date<'a>(a: &Args<'a>, greatest: bool) -> Out<'a> {
    let mut values = Vec::with_capacity(a.len());
    for i in 0..a.len() {
        let v = a.val(i)?;
        if v.is_null() {
            return Ok(Val::Null);
        }
        values.push(v);
    }
    let mut best: Option<DateTime> = None;
    for (i, v) in values.iter().enumerate() {
        let text = match v {
            Val::Date(_) | Val::DateTime(_) | Val::Time(_) => None,
            v => Some(Val::owned(conv::text_of(v, a.ty(i)).into_owned())),
        };
        let found = moment(text.as_ref().unwrap_or(v), a.cx);
        let Some(d) = found else {
            return Ok(Val::Null);
        };
        if best.is_none_or(|b| d != b && (d > b) == greatest) {
            best = Some(d);
        }
    }
    match best {
        Some(d) if d != DateTime::ZERO => {
            let timed = |e: &&Expr| matches!(e.ty.shape, Shape::DateTime(_) | Shape::Timestamp(_));
            let v = if a.args.iter().any(|e| timed(&e)) {
                Val::DateTime(d.with_fsp(a.args.iter().map(fsp_of).max().unwrap_or(0)))
            } else {
                Val::Date(d.date())
            };
            Ok(Val::owned(conv::text_of(&v, a.ty).into_owned()))
        }
        _ => {
            let c = a.ty.collation;
            let texts = (0..a.len()).map(|i| conv::text_of(&values[i], a.ty(i)).into_owned());
            let best = texts.reduce(|b, t| {
                let better = if greatest {
                    Ordering::Greater
                } else {
                    Ordering::Less
                };
                if c.compare(&t, &b) == better { t } else { b }
            });
            Ok(best.map_or(Val::Null, Val::owned))
        }
    }
}

fn extreme(a: Args<'_>, greatest: bool) -> Out<'_> {
    if a.ty.is_text() && a.args.iter().any(|e| e.ty.has_date()) {
        return extreme_date(&a, greatest);
    }
    let comparer = Comparer::choose(a.ty, a.ty, a.cx.collation, "greatest")?;
    let mut best = a.val(0)?;
    if best.is_null() {
        return Ok(Val::Null);
    }
    for i in 1..a.len() {
        let v = a.val(i)?;
        if v.is_null() {
            return Ok(Val::Null);
        }
        match comparer.order(&v, a.ty, &best, a.ty, a.cx) {
            Some(o) if o.is_gt() == greatest && o.is_ne() => best = v,
            _ => {}
        }
    }
    Ok(best)
}

fn greatest(a: Args<'_>) -> Out<'_> {
    extreme(a, true)
}

fn least(a: Args<'_>) -> Out<'_> {
    extreme(a, false)
}

fn infer_interval(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    int::<10>(cx, args).map(|t| ExprType {
        nullable: false,
        ..t
    })
}

fn interval(a: Args<'_>) -> Out<'_> {
    let Some(x) = a.num(0)? else {
        return Ok(Val::Int(-1));
    };
    let mut n = 0;
    for i in 1..a.len() {
        match a.num(i)? {
            Some(bound) if x.order(bound).is_lt() => break,
            _ => n = i as i64,
        }
    }
    Ok(Val::Int(n))
}

fn infer_first(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(args[0].ty)
}

fn first(a: Args<'_>) -> Out<'_> {
    a.val(0)
}

fn infer_name_const(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    if args.iter().all(|a| a.as_const().is_some()) {
        Ok(args[1].ty)
    } else {
        Err(SqlError::new(
            codes::ER_WRONG_ARGUMENTS,
            "Incorrect arguments to NAME_CONST",
        ))
    }
}

fn name_const(a: Args<'_>) -> Out<'_> {
    a.val(1)
}

/// As what FIELD compares: all of its arguments have one say in it.
fn field_kind<'e>(types: impl Iterator<Item = &'e ExprType> + Clone) -> Comparer {
    let text = |t: &ExprType| t.is_text() || t.is_temporal() || t.shape == Shape::Null;
    if types.clone().all(text) {
        Comparer::Text(CollationId::BINARY)
    } else if types.clone().all(ExprType::is_integer) {
        Comparer::Int
    } else if types
        .clone()
        .all(|t| t.is_integer() || matches!(t.shape, Shape::Decimal { .. }))
    {
        Comparer::Exact
    } else {
        Comparer::Double
    }
}

fn infer_field(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    if matches!(field_kind(args.iter().map(|a| &a.ty)), Comparer::Text(_)) {
        cx.unify(args.iter_mut(), true)?;
    }
    Ok(ExprType::int(3, false))
}

fn field(a: Args<'_>) -> Out<'_> {
    let types = a.args.iter().map(|e| &e.ty);
    let kind = field_kind(types.clone());
    let mut found = None;
    match kind {
        Comparer::Text(_) => {
            let collation = collate::aggregate(types, a.cx.collation, true, "field")?.collation;
            let x = a.text(0)?;
            for i in (1..a.len()).take_while(|_| x.is_some()) {
                let y = a.text(i)?;
                if x.as_ref()
                    .zip(y.as_ref())
                    .is_some_and(|(x, y)| collation.equal(x, y))
                {
                    found = Some(i);
                    break;
                }
            }
        }
        // The 64 bits are compared, signed or not.
        Comparer::Int => found = first_same(a, |i| Ok(a.int(i)?.map(Int::bits)))?,
        Comparer::Exact => found = first_same(a, |i| a.decimal(i))?,
        _ => found = first_same(a, |i| a.f64(i))?,
    }
    Ok(Val::Int(found.map_or(0, |i| i as i64)))
}

/// The first argument that is the same as argument 0, which is not NULL.
fn first_same<T: PartialEq>(
    a: Args<'_>,
    read: impl Fn(usize) -> Result<Option<T>, SqlError>,
) -> Result<Option<usize>, SqlError> {
    let x = read(0)?;
    for i in (1..a.len()).take_while(|_| x.is_some()) {
        if read(i)? == x {
            return Ok(Some(i));
        }
    }
    Ok(None)
}
