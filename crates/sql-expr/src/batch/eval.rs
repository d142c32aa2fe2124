//! The evaluation of a bound expression over a batch: which node has a loop over columns, and the way back to rows.
//!
//! Inside, `None` stands for "a row of this would warn or fail": whoever began then evaluates row by row.

use std::ops::Deref;
use std::sync::Arc;

use types::SqlError;

use super::build::VectorBuilder;
use super::rows::Batch;
use super::scratch::Scratch;
use super::selection::Sel;
use super::vector::{Data, Vector};
use crate::ctx::{EvalCtx, RowSource};
use crate::node::{AGGREGATE_SLOT, Column, Expr, INSERTED_SLOT, Node};
use crate::ty::Shape;
use crate::val::Val;

/// The values of an expression: a column of the batch, or something made.
pub(super) enum Out<'r> {
    Shared(&'r Arc<Vector>),
    Own(Vector),
}

impl Deref for Out<'_> {
    type Target = Vector;

    #[inline]
    fn deref(&self) -> &Vector {
        match self {
            Out::Shared(v) => v,
            Out::Own(v) => v,
        }
    }
}

impl Out<'_> {
    fn into_arc(self) -> Arc<Vector> {
        match self {
            Out::Shared(v) => Arc::clone(v),
            Out::Own(v) => Arc::new(v),
        }
    }
}

/// What an evaluation goes on with.
pub(super) struct Run<'r, 'c> {
    pub(super) cx: &'r EvalCtx<'c>,
    pub(super) batch: &'r Batch,
    pub(super) outer: &'r dyn RowSource,
    pub(super) pool: &'r mut Scratch,
}

/// Whether evaluating it twice differs from once, or the order of the rows matters.
pub fn has_effects(e: &Expr) -> bool {
    e.any(&|e| match &e.node {
        Node::AssignVar(..) | Node::UserVar(_) => true,
        Node::Call(c) => c.def.volatile() || c.def.name == "last_insert_id",
        Node::SysVar(id, _) => id.def().live,
        _ => false,
    })
}

/// The values for the live rows, where no row warns or fails; `None` where one would, or where the expression has effects.
///
/// Long texts that were made stay held by the context as those of a row do: whoever is done with the batch, or charges its memory itself,
/// calls [`EvalCtx::let_go`].
pub fn eval_quietly(
    e: &Expr,
    cx: &EvalCtx<'_>,
    batch: &Batch,
    outer: &dyn RowSource,
    pool: &mut Scratch,
) -> Option<Arc<Vector>> {
    if has_effects(e) {
        return None;
    }
    let (sel, mark) = (batch.selected(), cx.mark());
    let mut run = Run {
        cx,
        batch,
        outer,
        pool,
    };
    let made = run.value(e, sel).map(Out::into_arc);
    if made.is_none() {
        // Less than is held is never refused.
        cx.keep(mark, 0).ok()?;
    }
    made
}

/// The values for the live rows.
///
/// # Errors
/// The error of the first row that has one. What waits for a [`Special`](crate::Special) is not for batches.
pub fn eval_batch(
    e: &Expr,
    cx: &EvalCtx<'_>,
    batch: &Batch,
    outer: &dyn RowSource,
    pool: &mut Scratch,
) -> Result<Arc<Vector>, SqlError> {
    if let Some(v) = eval_quietly(e, cx, batch, outer, pool) {
        return Ok(v);
    }
    let mut made = eval_rows(std::slice::from_ref(&e), cx, batch, outer)?;
    Ok(made
        .pop()
        .unwrap_or_else(|| Arc::new(Vector::null(batch.len()))))
}

/// The values of several expressions: where one warns, fails or has effects, all are evaluated row by row, each row's from the left to the right.
///
/// # Errors
/// As [`eval_batch`].
pub fn eval_all(
    list: &[&Expr],
    cx: &EvalCtx<'_>,
    batch: &Batch,
    outer: &dyn RowSource,
    pool: &mut Scratch,
) -> Result<Vec<Arc<Vector>>, SqlError> {
    if !list.iter().any(|e| has_effects(e)) {
        let made: Option<Vec<_>> = list
            .iter()
            .map(|e| eval_quietly(e, cx, batch, outer, pool))
            .collect();
        if let Some(made) = made {
            return Ok(made);
        }
    }
    eval_rows(list, cx, batch, outer)
}

/// Row by row.
fn eval_rows(
    list: &[&Expr],
    cx: &EvalCtx<'_>,
    batch: &Batch,
    outer: &dyn RowSource,
) -> Result<Vec<Arc<Vector>>, SqlError> {
    let mut builders: Vec<VectorBuilder> = list.iter().map(|e| VectorBuilder::of(&e.ty)).collect();
    let mark = cx.mark();
    for i in batch.selected().iter() {
        let row = batch.row(i, outer);
        for (e, b) in list.iter().zip(&mut builders) {
            b.pad_to(i);
            b.push_val(&e.eval(cx, &row)?);
        }
        cx.keep(mark, builders.iter().map(VectorBuilder::growth).sum())?;
    }
    let finish = |b: &mut VectorBuilder| {
        b.pad_to(batch.len());
        Arc::new(b.finish())
    };
    Ok(builders.iter_mut().map(finish).collect())
}

/// The live rows for which all conditions hold; `None` where a row would warn or fail, or a condition has effects.
pub fn filter_quietly(
    conditions: &[Expr],
    cx: &EvalCtx<'_>,
    batch: &Batch,
    outer: &dyn RowSource,
    pool: &mut Scratch,
) -> Option<Vec<u16>> {
    if conditions.iter().any(has_effects) {
        return None;
    }
    let mut run = Run {
        cx,
        batch,
        outer,
        pool,
    };
    let mark = cx.mark();
    let mut kept: Option<Vec<u16>> = None;
    for c in conditions {
        let sel = kept.as_deref().map_or(batch.selected(), Sel::Some);
        let next = run.holding(c, sel);
        cx.keep(mark, 0).ok()?;
        if let Some(old) = kept.replace(next?) {
            run.pool.give_rows(old);
        }
    }
    Some(kept.unwrap_or_else(|| batch.selected().iter().map(|i| i as u16).collect()))
}

/// Leaves the live rows for which all conditions hold.
///
/// # Errors
/// As [`eval_batch`].
pub fn filter_batch(
    conditions: &[Expr],
    cx: &EvalCtx<'_>,
    batch: &mut Batch,
    outer: &dyn RowSource,
    pool: &mut Scratch,
) -> Result<(), SqlError> {
    let kept = match filter_quietly(conditions, cx, batch, outer, pool) {
        Some(kept) => kept,
        None => {
            let mut kept = Vec::new();
            let mark = cx.mark();
            for i in batch.selected().iter() {
                let row = batch.row(i, outer);
                let mut holds = true;
                for c in conditions {
                    if c.truth(cx, &row)? != Some(true) {
                        holds = false;
                        break;
                    }
                }
                cx.keep(mark, 0)?;
                if holds {
                    kept.push(i as u16);
                }
            }
            kept
        }
    };
    if let Some(old) = batch.select(kept) {
        pool.give_rows(old);
    }
    Ok(())
}

impl<'r> Run<'r, '_> {
    /// Rows of the batch, live or not.
    pub(super) fn len(&self) -> usize {
        self.batch.len()
    }

    /// The values for the selected rows.
    pub(super) fn value(&mut self, e: &'r Expr, sel: Sel<'_>) -> Option<Out<'r>> {
        if sel.is_empty() {
            return Some(Out::Own(Vector::null(self.len())));
        }
        self.cx.tick(sel.len()).ok()?;
        match &e.node {
            Node::Const(v) | Node::Known(_, v) => self.constant(v, e),
            Node::Param(i, _) => {
                let v = self.cx.params.get(*i as usize);
                let v = v.map_or(Val::Null, |v| Val::from(v.as_ref()));
                self.constant(&v, e)
            }
            Node::Column(c) => self.column(c.slot, c, e, sel),
            Node::Inserted(c) => self.column(INSERTED_SLOT, c, e, sel),
            Node::Aggregate(i) => match self.batch.column(AGGREGATE_SLOT, *i as u16) {
                Some(v) => Some(Out::Shared(v)),
                None => self.rows(e, sel),
            },
            Node::Collate(x) => self.value(x, sel),
            Node::Arith(op, domain, p) => self.arith(e, *op, *domain, p, sel),
            Node::Neg(domain, x) => self.negate(e, *domain, x, sel),
            Node::Case(c) => self.case(e, c, sel),
            Node::Cast(x, to) => self.cast(e, x, *to, sel),
            Node::Coerce(x) => self.coerce(e, x, sel),
            Node::Extract(unit, x) => self.extract(e, *unit, x, sel),
            Node::DateArith(p, unit, minus) => self.add_interval(e, p, *unit, *minus, sel),
            Node::Call(c) => self.call(e, c, sel),
            Node::Compare(..)
            | Node::And(_)
            | Node::Or(_)
            | Node::Not(_)
            | Node::Xor(_)
            | Node::IsNull(..)
            | Node::IsTruth(..)
            | Node::Between(..)
            | Node::In(_)
            | Node::Like(_) => {
                let truth = self.truth(e, sel)?;
                Some(Out::Own(self.truth_vector(truth, sel)))
            }
            _ => self.rows(e, sel),
        }
    }

    fn constant(&self, v: &Val<'_>, e: &Expr) -> Option<Out<'r>> {
        Some(Out::Own(match v {
            Val::Null => Vector::null(self.len()),
            v => Vector::constant(v, &e.ty, self.len()),
        }))
    }

    fn column(&mut self, slot: u16, c: &Column, e: &'r Expr, sel: Sel<'_>) -> Option<Out<'r>> {
        let Some(v) = self.batch.column(slot, c.ordinal) else {
            let v = Val::from(self.outer.column(slot, c.ordinal));
            return match c.utc {
                true => self.rows(e, sel),
                false => self.constant(&v, e),
            };
        };
        if !c.utc || self.cx.zone.is_utc() {
            return Some(Out::Shared(v));
        }
        let Data::DateTime(values) = v.data() else {
            return self.rows(e, sel);
        };
        let zone = self.cx.zone;
        let mut shifted = values.clone();
        if v.is_constant() {
            return self.rows(e, sel);
        }
        sel.each(|i| shifted[i] = zone.to_local(values[i]).unwrap_or(values[i]));
        let made = Vector::new(Data::DateTime(shifted), v.nulls().cloned());
        Some(Out::Own(made))
    }

    /// Row by row, where that is quiet.
    pub(super) fn rows(&mut self, e: &Expr, sel: Sel<'_>) -> Option<Out<'r>> {
        let (cx, batch, outer) = (self.cx, self.batch, self.outer);
        let mut b = VectorBuilder::of(&e.ty);
        cx.quietly(|| {
            let mark = cx.mark();
            for i in sel.iter() {
                let row = batch.row(i, outer);
                b.pad_to(i);
                b.push_val(&e.eval(cx, &row).ok()?);
                cx.keep(mark, b.growth()).ok()?;
            }
            Some(())
        })??;
        b.pad_to(batch.len());
        Some(Out::Own(b.finish()))
    }

    /// The same for a condition.
    pub(super) fn rows_truth(&mut self, e: &Expr, sel: Sel<'_>) -> Option<Vec<u8>> {
        let (cx, batch, outer) = (self.cx, self.batch, self.outer);
        let mut out = self.pool.bytes(batch.len());
        cx.quietly(|| {
            let mark = cx.mark();
            for i in sel.iter() {
                let row = batch.row(i, outer);
                out[i] = super::truth::byte(e.truth(cx, &row).ok()?);
                cx.keep(mark, 0).ok()?;
            }
            Some(())
        })??;
        Some(out)
    }

    /// One value after the other from those of an operand that are not NULL; what is NULL stays so.
    pub(super) fn each_value(
        &mut self,
        e: &Expr,
        x: &Vector,
        sel: Sel<'_>,
        mut f: impl for<'v> FnMut(Val<'v>) -> Option<Val<'v>>,
    ) -> Option<Out<'r>> {
        let cx = self.cx;
        let mut b = VectorBuilder::of(&e.ty);
        cx.quietly(|| {
            let mark = cx.mark();
            for i in sel.iter() {
                b.pad_to(i);
                match x.val(i) {
                    Val::Null => b.push_null(),
                    v => b.push_val(&f(v)?),
                }
                cx.keep(mark, b.growth()).ok()?;
            }
            Some(())
        })??;
        b.pad_to(self.len());
        Some(Out::Own(b.finish()))
    }

    /// A call: those that have loops; all others row by row.
    fn call(&mut self, e: &'r Expr, c: &'r crate::node::Call, sel: Sel<'_>) -> Option<Out<'r>> {
        match (c.def.name, c.args.as_slice()) {
            ("if", [when, yes, no]) => self.if_call(e, [when, yes, no], sel),
            ("coalesce" | "ifnull" | "nvl", args) => self.coalesce(e, args, sel),
            ("year" | "month" | "day" | "dayofmonth" | "quarter", [x]) => {
                self.date_part(e, c.def.name, x, sel)
            }
            ("substring" | "substr" | "mid", args) => self.substring(e, args, sel),
            _ => self.rows(e, sel),
        }
    }
}

/// Whether a number asked of it is its value: all but text, which may hand on the number of an arm.
pub(super) fn is_plain(e: &Expr) -> bool {
    !matches!(e.ty.shape, Shape::Str { .. })
}
