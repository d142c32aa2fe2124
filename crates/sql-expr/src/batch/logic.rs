//! Conditions over a batch: three-valued, a byte a row, the right side only where the left leaves it open.

use super::bits::Bits;
use super::eval::{Run, is_plain};
use super::selection::Sel;
use super::truth::{NO, UNKNOWN, YES, byte};
use super::vector::{Data, Vector};
use crate::conv;
use crate::node::{Expr, Node};
use crate::ty::Shape;

/// NOT.
#[inline]
fn inverted(t: u8) -> u8 {
    match t {
        NO => YES,
        YES => NO,
        t => t,
    }
}

impl<'r> Run<'r, '_> {
    /// The selected rows for which a condition holds.
    pub(super) fn holding(&mut self, e: &'r Expr, sel: Sel<'_>) -> Option<Vec<u16>> {
        let mut kept = self.pool.rows();
        let truth = self.truth(e, sel)?;
        sel.keep(&mut kept, |i| truth[i] == YES);
        self.pool.give_bytes(truth);
        Some(kept)
    }

    /// Whether a condition holds, for the selected rows.
    pub(super) fn truth(&mut self, e: &'r Expr, sel: Sel<'_>) -> Option<Vec<u8>> {
        if sel.is_empty() {
            return Some(self.pool.bytes(self.batch.len()));
        }
        match &e.node {
            Node::Compare(op, comparer, p) => self.comparison(e, *op, comparer, p, sel),
            Node::And(parts) => self.junction(parts, NO, sel),
            Node::Or(parts) => self.junction(parts, YES, sel),
            Node::Not(x) => {
                let mut t = self.truth(x, sel)?;
                sel.each(|i| t[i] = inverted(t[i]));
                Some(t)
            }
            Node::Xor(p) => {
                let mut a = self.truth(&p[0], sel)?;
                let b = self.truth(&p[1], sel)?;
                sel.each(|i| {
                    a[i] = match (a[i], b[i]) {
                        (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
                        (x, y) => x ^ y,
                    }
                });
                self.pool.give_bytes(b);
                Some(a)
            }
            Node::IsNull(x, negated) => {
                let v = self.value(x, sel)?;
                let mut out = self.pool.bytes(self.batch.len());
                sel.each(|i| out[i] = u8::from(v.is_null(i) != *negated));
                Some(out)
            }
            Node::IsTruth(x, wanted, negated) => {
                let mut t = self.truth(x, sel)?;
                let wanted = u8::from(*wanted);
                sel.each(|i| t[i] = u8::from((t[i] == wanted) != *negated));
                Some(t)
            }
            Node::Between(p, c, negated) => self.between(p, c, *negated, sel),
            Node::In(list) => self.in_list(e, list, sel),
            Node::Like(like) => self.like(like, sel),
            Node::Exists(_) | Node::Quantified(_) | Node::Regexp(_) => self.rows_truth(e, sel),
            // A document is a condition in a way of its own.
            _ if is_plain(e) && e.ty.shape != Shape::Json => {
                let v = self.value(e, sel)?;
                self.truth_of(&v, sel)
            }
            _ => self.rows_truth(e, sel),
        }
    }

    /// AND, which NO decides, or OR, which YES does.
    fn junction(&mut self, parts: &'r [Expr], decisive: u8, sel: Sel<'_>) -> Option<Vec<u8>> {
        let Some((first, rest)) = parts.split_first() else {
            return Some(self.pool.bytes(self.batch.len()));
        };
        self.cx.tick(parts.len()).ok()?;
        let mut out = self.truth(first, sel)?;
        let mut open = self.pool.rows();
        sel.keep(&mut open, |i| out[i] != decisive);
        for p in rest {
            if open.is_empty() {
                break;
            }
            let t = self.truth(p, Sel::Some(&open))?;
            let mut still = self.pool.rows();
            Sel::Some(&open).each(|i| {
                out[i] = match (out[i], t[i]) {
                    (_, d) if d == decisive => d,
                    (UNKNOWN, _) => UNKNOWN,
                    (_, t) => t,
                };
            });
            Sel::Some(&open).keep(&mut still, |i| out[i] != decisive);
            self.pool.give_bytes(t);
            self.pool.give_rows(std::mem::replace(&mut open, still));
        }
        self.pool.give_rows(open);
        Some(out)
    }

    /// Whether values count as true.
    fn truth_of(&mut self, v: &Vector, sel: Sel<'_>) -> Option<Vec<u8>> {
        let mut out = self.pool.bytes(self.batch.len());
        match v.data() {
            Data::I64(d) | Data::Decimal64 { values: d, .. } if !v.is_constant() => {
                sel.each(|i| out[i] = u8::from(d[i] != 0));
                mark_nulls(&mut out, v, sel);
            }
            _ => {
                let cx = self.cx;
                cx.quietly(|| sel.each(|i| out[i] = byte(conv::to_truth(&v.val(i), cx))))?;
            }
        }
        Some(out)
    }

    /// Truth as a value: 1, 0 or NULL.
    pub(super) fn truth_vector(&mut self, t: Vec<u8>, sel: Sel<'_>) -> Vector {
        let mut values = self.pool.i64s(self.batch.len());
        let mut nulls = None;
        sel.each(|i| {
            values[i] = i64::from(t[i]);
            if t[i] == UNKNOWN {
                nulls.get_or_insert_with(Bits::new).set(i);
            }
        });
        self.pool.give_bytes(t);
        Vector::new(Data::I64(values), nulls)
    }
}

/// What is compared with NULL is unknown.
#[inline]
pub(super) fn mark_nulls(out: &mut [u8], v: &Vector, sel: Sel<'_>) {
    if v.has_null() {
        sel.each(|i| {
            if v.is_null(i) {
                out[i] = UNKNOWN;
            }
        });
    }
}
