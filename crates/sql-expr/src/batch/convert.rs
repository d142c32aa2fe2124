//! CAST, the conversions that the binder puts in, and parts of texts: value by value from columns.

use super::eval::{Out, Run, is_plain};
use super::selection::Sel;
use super::vector::{Data, Vector};
use crate::cast;
use crate::casting;
use crate::func::substring_of;
use crate::limited;
use crate::node::{CastTo, Expr};
use crate::ty::Shape;

impl<'r> Run<'r, '_> {
    /// CAST(x AS to)
    pub(super) fn cast(
        &mut self,
        e: &'r Expr,
        x: &'r Expr,
        to: CastTo,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        if !is_plain(x) && (x.is_clock() || x.hands_on_number() || x.ty.bits) {
            return self.rows(e, sel);
        }
        let v = self.value(x, sel)?;
        if let (CastTo::Signed, Data::I64(_)) | (CastTo::Double, Data::F64(_)) = (to, v.data()) {
            return Some(v);
        }
        let cx = self.cx;
        self.each_value(e, &v, sel, |v| {
            let made = casting::cast_value(v, x, to, cx);
            limited::settle(made, to.name(), cx).ok()
        })
    }

    /// A value in the form of another type.
    pub(super) fn coerce(&mut self, e: &'r Expr, x: &'r Expr, sel: Sel<'_>) -> Option<Out<'r>> {
        if e.ty.is_number() && !is_plain(x) {
            return self.rows(e, sel);
        }
        let v = self.value(x, sel)?;
        if let (Shape::Decimal { scale, .. }, false) = (e.ty.shape, v.is_constant())
            && let Some(v) = self.rescaled(&v, scale, sel)
        {
            return Some(Out::Own(v));
        }
        let cx = self.cx;
        self.each_value(e, &v, sel, |v| Some(cast::coerce(v, &x.ty, &e.ty, cx)))
    }

    /// Whole numbers and short decimals with more digits behind the point; `None` where there is no room, or digits would go.
    fn rescaled(&mut self, v: &Vector, scale: u8, sel: Sel<'_>) -> Option<Vector> {
        let (values, from) = match v.data() {
            Data::I64(d) => (d, 0),
            Data::Decimal64 { scale, values } => (values, *scale),
            _ => return None,
        };
        let by = 10i64.checked_pow(u32::from(scale.checked_sub(from)?))?;
        let mut out = self.pool.i64s(self.len());
        let mut over = false;
        sel.each(|i| {
            let (r, o) = values[i].overflowing_mul(by);
            over |= o;
            out[i] = r;
        });
        let data = Data::Decimal64 { scale, values: out };
        (!over).then(|| Vector::new(data, v.nulls().cloned()))
    }

    /// SUBSTRING(text, position [, length])
    pub(super) fn substring(
        &mut self,
        e: &'r Expr,
        args: &'r [Expr],
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        let [text, numbers @ ..] = args else {
            return self.rows(e, sel);
        };
        if !text.ty.is_text() || !numbers.iter().all(is_plain) {
            return self.rows(e, sel);
        }
        let t = self.value(text, sel)?;
        let mut parts = Vec::with_capacity(2);
        for n in numbers {
            parts.push(self.value(n, sel)?);
        }
        let whole = |v: &Out<'_>| matches!(v.data(), Data::I64(_));
        let (Some(texts), true) = (t.texts(), parts.iter().all(whole)) else {
            return self.rows(e, sel);
        };
        let number = |v: &Out<'_>, i: usize| match v.data() {
            Data::I64(d) => d[if v.is_constant() { 0 } else { i }],
            _ => 0,
        };
        let charset = text.ty.charset();
        self.cx.tick(texts.bytes.len() / 4).ok()?;
        let mut made = super::build::VectorBuilder::of(&e.ty);
        for i in sel.iter() {
            made.pad_to(i);
            if t.is_null(i) || parts.iter().any(|p| p.is_null(i)) {
                made.push_null();
                continue;
            }
            let s = texts.get(if t.is_constant() { 0 } else { i });
            let pos = parts.first().map_or(1, |p| number(p, i));
            let len = parts.get(1).map_or(i64::MAX, |p| number(p, i));
            let (from, to) = substring_of(charset, s, pos, len);
            made.push(types::ValueRef::Str(&s[from..to], e.ty.collation));
        }
        made.pad_to(self.len());
        Some(Out::Own(made.finish()))
    }
}
