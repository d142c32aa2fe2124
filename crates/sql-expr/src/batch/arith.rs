//! Arithmetic over columns of whole numbers and doubles; decimals are in `decimal`. A result that has no room is looked for among the
//! rows that are not NULL, and leads back to rows, which raise error 1690.

use std::borrow::Cow;

use super::bits::Bits;
use super::decimal::{decimal_at, is_exact, nulls_of};
use super::eval::{Out, Run};
use super::lane::{Lane, zip};
use super::selection::Sel;
use super::vector::{Data, Vector};
use crate::infer::{Arith, Domain};
use crate::node::Expr;
use crate::vars::SqlMode;

/// A whole number, where it is one.
fn whole_at(v: &Vector, i: usize) -> Option<i128> {
    let i = if v.is_constant() { 0 } else { i };
    match v.data() {
        Data::I64(d) => Some(i128::from(d[i])),
        Data::U64(d) => Some(i128::from(d[i])),
        _ => None,
    }
}

fn is_whole(d: &Data) -> bool {
    matches!(d, Data::I64(_) | Data::U64(_))
}

fn is_number(d: &Data) -> bool {
    is_exact(d) || matches!(d, Data::F64(_))
}

impl<'r> Run<'r, '_> {
    /// `a op b` in a domain.
    pub(super) fn arith(
        &mut self,
        e: &'r Expr,
        op: Arith,
        domain: Domain,
        [a, b]: &'r [Expr; 2],
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        let x = self.value(a, sel)?;
        let y = self.value(b, sel)?;
        let made = self.computed(e, op, domain, &x, &y, sel);
        for v in [x, y] {
            if let Out::Own(v) = v {
                self.pool.recycle(v);
            }
        }
        match made? {
            Some(v) => Some(v),
            None => self.rows(e, sel),
        }
    }

    /// The inner `None` for operands that there is no loop for.
    fn computed(
        &mut self,
        e: &'r Expr,
        op: Arith,
        domain: Domain,
        x: &Vector,
        y: &Vector,
        sel: Sel<'_>,
    ) -> Option<Option<Out<'r>>> {
        let known = |v: &Vector| v.is_all_null() || is_number(v.data());
        if !known(x) || !known(y) {
            return Some(None);
        }
        if x.is_all_null() || y.is_all_null() {
            return Some(Some(Out::Own(Vector::null(self.len()))));
        }
        match domain {
            Domain::Int if is_whole(x.data()) && is_whole(y.data()) => {
                self.whole_arith(e, op, x, y, sel).map(Some)
            }
            Domain::Decimal if is_exact(x.data()) && is_exact(y.data()) && op != Arith::IntDiv => {
                self.exact_arith(e, op, x, y, sel).map(Some)
            }
            Domain::Double => self.double_arith(op, x, y, sel).map(Some),
            _ => Some(None),
        }
    }

    fn whole_arith(
        &mut self,
        e: &Expr,
        op: Arith,
        x: &Vector,
        y: &Vector,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        let unsigned = e.ty.is_unsigned();
        let mut nulls = nulls_of(x, y);
        if let (Data::I64(a), Data::I64(b), false) = (x.data(), y.data(), unsigned)
            && matches!(op, Arith::Add | Arith::Sub | Arith::Mul)
        {
            let (a, b) = (Lane::of(a, x.is_constant()), Lane::of(b, y.is_constant()));
            let mut out = self.pool.i64s(self.len());
            let mut over = false;
            let f = match op {
                Arith::Add => i64::overflowing_add,
                Arith::Sub => i64::overflowing_sub,
                _ => i64::overflowing_mul,
            };
            macro_rules! run {
                ($f:expr) => {
                    zip(a, b, sel, &mut out, |x, y| {
                        let (r, o) = $f(x, y);
                        over |= o;
                        r
                    })
                };
            }
            match op {
                Arith::Add => run!(i64::overflowing_add),
                Arith::Sub => run!(i64::overflowing_sub),
                _ => run!(i64::overflowing_mul),
            }
            let real = |i| !x.is_null(i) && !y.is_null(i) && f(a.get(i), b.get(i)).1;
            if over && sel.iter().any(real) {
                return None;
            }
            return Some(Out::Own(Vector::new(Data::I64(out), nulls)));
        }
        let warns = self.cx.sql_mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO);
        let (mut signed, mut natural) = (Vec::new(), Vec::new());
        match unsigned {
            true => natural.resize(self.len(), 0u64),
            false => signed.resize(self.len(), 0i64),
        }
        for i in sel.iter() {
            if x.is_null(i) || y.is_null(i) {
                continue;
            }
            let (a, b) = (whole_at(x, i)?, whole_at(y, i)?);
            let r = match op {
                Arith::Add => a + b,
                Arith::Sub => a - b,
                Arith::Mul => a.checked_mul(b)?,
                _ if b == 0 => {
                    if warns {
                        return None;
                    }
                    nulls.get_or_insert_with(Bits::new).set(i);
                    continue;
                }
                Arith::IntDiv => a / b,
                Arith::Mod => a % b,
                Arith::Div => return None,
            };
            match unsigned {
                true => natural[i] = u64::try_from(r).ok()?,
                false => signed[i] = i64::try_from(r).ok()?,
            }
        }
        let data = match unsigned {
            true => Data::U64(natural),
            false => Data::I64(signed),
        };
        Some(Out::Own(Vector::new(data, nulls)))
    }

    /// Numbers in floating point; `None` for what is no number.
    pub(super) fn doubles<'v>(
        &self,
        v: &Vector,
        d: &'v Data,
        sel: Sel<'_>,
    ) -> Option<Cow<'v, [f64]>> {
        let sel = if v.is_constant() { Sel::All(1) } else { sel };
        let mut out = Vec::new();
        let mut make = |f: &dyn Fn(usize) -> f64| {
            out.resize(d.len(), 0.0);
            sel.each(|i| out[i] = f(i));
        };
        match d {
            Data::F64(d) => return Some(Cow::Borrowed(d)),
            Data::I64(d) => make(&|i| d[i] as f64),
            Data::U64(d) => make(&|i| d[i] as f64),
            Data::Decimal64 { .. } | Data::Decimal128 { .. } | Data::Decimal(_) => {
                make(&|i| decimal_at(v, i).to_f64());
            }
            _ => return None,
        }
        Some(Cow::Owned(out))
    }

    fn double_arith(&mut self, op: Arith, x: &Vector, y: &Vector, sel: Sel<'_>) -> Option<Out<'r>> {
        let a = self.doubles(x, x.data(), sel)?;
        let b = self.doubles(y, y.data(), sel)?;
        let (a, b) = (
            Lane::of(&a[..], x.is_constant()),
            Lane::of(&b[..], y.is_constant()),
        );
        let mut out = self.pool.f64s(self.len());
        match op {
            Arith::Add => zip(a, b, sel, &mut out, |x, y| x + y),
            Arith::Sub => zip(a, b, sel, &mut out, |x, y| x - y),
            Arith::Mul => zip(a, b, sel, &mut out, |x, y| x * y),
            Arith::Div => zip(a, b, sel, &mut out, |x, y| x / y),
            _ => zip(a, b, sel, &mut out, |x, y| x % y),
        }
        let mut nulls = nulls_of(x, y);
        let divides = !matches!(op, Arith::Add | Arith::Sub | Arith::Mul);
        let mut finite = true;
        sel.each(|i| finite &= out[i].is_finite());
        if divides {
            sel.each(|i| finite &= b.get(i) != 0.0);
        }
        if !finite {
            let warns = self.cx.sql_mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO);
            for i in sel.iter() {
                if x.is_null(i) || y.is_null(i) {
                    continue;
                }
                if divides && b.get(i) == 0.0 && !warns {
                    nulls.get_or_insert_with(Bits::new).set(i);
                } else if !out[i].is_finite() || (divides && b.get(i) == 0.0) {
                    return None;
                }
            }
        }
        Some(Out::Own(Vector::new(Data::F64(out), nulls)))
    }

    /// `-x`
    pub(super) fn negate(
        &mut self,
        e: &'r Expr,
        domain: Domain,
        a: &'r Expr,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        let x = self.value(a, sel)?;
        if x.is_all_null() {
            return Some(Out::Own(Vector::null(self.len())));
        }
        if x.is_constant() || e.ty.is_unsigned() {
            return self.rows(e, sel);
        }
        let nulls = x.nulls().cloned();
        let data = match (domain, x.data()) {
            (Domain::Int, Data::I64(d)) => {
                let mut out = self.pool.i64s(self.len());
                let mut least = false;
                sel.each(|i| {
                    least |= d[i] == i64::MIN;
                    out[i] = d[i].wrapping_neg();
                });
                if least && sel.iter().any(|i| !x.is_null(i) && d[i] == i64::MIN) {
                    return None;
                }
                Data::I64(out)
            }
            (Domain::Decimal, Data::Decimal64 { scale, values }) => {
                let mut out = self.pool.i64s(self.len());
                let mut least = false;
                sel.each(|i| {
                    least |= values[i] == i64::MIN;
                    out[i] = values[i].wrapping_neg();
                });
                if least {
                    return self.rows(e, sel);
                }
                Data::Decimal64 {
                    scale: *scale,
                    values: out,
                }
            }
            (Domain::Double, Data::F64(d)) => {
                let mut out = self.pool.f64s(self.len());
                sel.each(|i| out[i] = -d[i]);
                Data::F64(out)
            }
            _ => return self.rows(e, sel),
        };
        Some(Out::Own(Vector::new(data, nulls)))
    }
}
