//! CASE, IF, IFNULL and COALESCE over columns: each arm is evaluated for the rows that chose it, and the arms are put together.

use super::bits::Bits;
use super::build::VectorBuilder;
use super::eval::{Out, Run};
use super::selection::Sel;
use super::truth::YES;
use super::vector::{Data, Vector};
use crate::node::{Case, CmpOp, Expr};

/// An arm's values and the rows that chose it.
type Arm<'r> = (Out<'r>, Vec<u16>);

impl<'r> Run<'r, '_> {
    /// CASE
    pub(super) fn case(&mut self, e: &'r Expr, c: &'r Case, sel: Sel<'_>) -> Option<Out<'r>> {
        let operand = match &c.operand {
            Some(o) => Some((self.value(o, sel)?, &o.ty)),
            None => None,
        };
        let mut arms: Vec<Arm<'r>> = Vec::new();
        let mut open = self.pool.rows();
        sel.keep(&mut open, |_| true);
        for (when, comparer, then) in &c.arms {
            if open.is_empty() {
                break;
            }
            let here = Sel::Some(&open);
            let t = match &operand {
                None => self.truth(when, here)?,
                Some((x, ty)) => {
                    let y = self.value(when, here)?;
                    self.compared(CmpOp::Eq, comparer, (x, ty), (&y, &when.ty), here)?
                }
            };
            open = self.taken(&mut arms, then, open, t)?;
        }
        if let Some(o) = &c.otherwise {
            let v = self.value(o, Sel::Some(&open))?;
            arms.push((v, open));
        }
        Some(Out::Own(self.joined(e, arms, sel)))
    }

    /// The rows for which the condition holds take an arm; the others are left.
    fn taken(
        &mut self,
        arms: &mut Vec<Arm<'r>>,
        then: &'r Expr,
        open: Vec<u16>,
        t: Vec<u8>,
    ) -> Option<Vec<u16>> {
        let (mut yes, mut rest) = (self.pool.rows(), self.pool.rows());
        Sel::Some(&open).keep(&mut yes, |i| t[i] == YES);
        Sel::Some(&open).keep(&mut rest, |i| t[i] != YES);
        self.pool.give_bytes(t);
        self.pool.give_rows(open);
        if !yes.is_empty() {
            let v = self.value(then, Sel::Some(&yes))?;
            arms.push((v, yes));
        }
        Some(rest)
    }

    /// IF(when, yes, no)
    pub(super) fn if_call(
        &mut self,
        e: &'r Expr,
        [when, yes, no]: [&'r Expr; 3],
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        let t = self.truth(when, sel)?;
        let mut open = self.pool.rows();
        sel.keep(&mut open, |_| true);
        let mut arms = Vec::new();
        let rest = self.taken(&mut arms, yes, open, t)?;
        let v = self.value(no, Sel::Some(&rest))?;
        arms.push((v, rest));
        Some(Out::Own(self.joined(e, arms, sel)))
    }

    /// COALESCE(..)
    pub(super) fn coalesce(
        &mut self,
        e: &'r Expr,
        args: &'r [Expr],
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        let mut arms = Vec::new();
        let mut open = self.pool.rows();
        sel.keep(&mut open, |_| true);
        for a in args {
            if open.is_empty() {
                break;
            }
            let v = self.value(a, Sel::Some(&open))?;
            let (mut filled, mut rest) = (self.pool.rows(), self.pool.rows());
            Sel::Some(&open).keep(&mut filled, |i| !v.is_null(i));
            Sel::Some(&open).keep(&mut rest, |i| v.is_null(i));
            self.pool.give_rows(std::mem::replace(&mut open, rest));
            arms.push((v, filled));
        }
        Some(Out::Own(self.joined(e, arms, sel)))
    }

    /// One column of what the arms gave; NULL where none was chosen.
    fn joined(&mut self, e: &Expr, mut arms: Vec<Arm<'r>>, sel: Sel<'_>) -> Vector {
        arms.retain(|(v, rows)| !rows.is_empty() && !v.is_all_null());
        if let Some(v) = self.joined_numbers(&arms, sel) {
            return v;
        }
        let mut which = self.pool.bytes(self.batch.len());
        if arms.len() >= usize::from(u8::MAX) {
            return self.joined_slowly(e, &arms);
        }
        for (k, (_, rows)) in arms.iter().enumerate() {
            Sel::Some(rows).each(|i| which[i] = k as u8 + 1);
        }
        let mut b = VectorBuilder::of(&e.ty);
        for i in sel.iter() {
            b.pad_to(i);
            match usize::from(which[i]).checked_sub(1) {
                Some(k) => b.push(arms[k].0.value_ref(i)),
                None => b.push_null(),
            }
        }
        b.pad_to(self.len());
        b.finish()
    }

    /// More arms than a byte tells apart.
    fn joined_slowly(&mut self, e: &Expr, arms: &[Arm<'r>]) -> Vector {
        let mut which = vec![None; self.len()];
        for (v, rows) in arms {
            Sel::Some(rows).each(|i| which[i] = Some(v));
        }
        let mut b = VectorBuilder::of(&e.ty);
        for (i, v) in which.into_iter().enumerate() {
            match v {
                Some(v) => b.push(v.value_ref(i)),
                None => b.push_null(),
            }
        }
        b.finish()
    }

    /// The same without looking at each value's kind, where all arms are whole numbers or decimals of one scale.
    fn joined_numbers(&mut self, arms: &[Arm<'r>], sel: Sel<'_>) -> Option<Vector> {
        let kind = |d: &Data| match d {
            Data::I64(_) => Some(None),
            Data::Decimal64 { scale, .. } => Some(Some(*scale)),
            _ => None,
        };
        let (first, _) = arms.first()?;
        let scale = kind(first.data())?;
        if arms.iter().any(|(v, _)| kind(v.data()) != Some(scale)) {
            return None;
        }
        let mut out = self.pool.i64s(self.batch.len());
        let mut nulls = Bits::new();
        let mut set = self.pool.bytes(self.batch.len());
        for (v, rows) in arms {
            let (Data::I64(d) | Data::Decimal64 { values: d, .. }) = v.data() else {
                return None;
            };
            let rows = Sel::Some(rows);
            match v.is_constant() {
                true => rows.each(|i| out[i] = d[0]),
                false => rows.each(|i| out[i] = d[i]),
            }
            rows.each(|i| set[i] = 1);
        }
        sel.each(|i| {
            if set[i] == 0 {
                nulls.set(i);
            }
        });
        self.pool.give_bytes(set);
        for (v, rows) in arms {
            if v.nulls().is_some() {
                Sel::Some(rows).each(|i| {
                    if v.is_null(i) {
                        nulls.set(i);
                    }
                });
            }
        }
        let data = match scale {
            None => Data::I64(out),
            Some(scale) => Data::Decimal64 { scale, values: out },
        };
        Some(Vector::new(data, Some(nulls)))
    }
}
