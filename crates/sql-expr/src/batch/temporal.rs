//! Parts of dates and dates moved by an interval, over columns.

use types::temporal::{Date, IntervalUnit};

use super::eval::{Out, Run};
use super::selection::Sel;
use super::vector::{Data, Vector};
use crate::node::Expr;
use crate::temporal as times;
use crate::val::Val;

impl<'r> Run<'r, '_> {
    /// YEAR(x) and the like, which are those of what is stored, zero parts included.
    pub(super) fn date_part(
        &mut self,
        e: &'r Expr,
        name: &str,
        x: &'r Expr,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        let part: fn(Date) -> i64 = match name {
            "year" => |d| i64::from(d.year()),
            "month" => |d| i64::from(d.month()),
            "quarter" => |d| (i64::from(d.month()) + 2) / 3,
            _ => |d| i64::from(d.day()),
        };
        self.part(e, part, x, sel)
    }

    fn part(
        &mut self,
        e: &'r Expr,
        part: fn(Date) -> i64,
        x: &'r Expr,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        if x.is_clock() {
            return self.rows(e, sel);
        }
        let v = self.value(x, sel)?;
        let mut out = self.pool.i64s(self.len());
        match (v.data(), v.is_constant()) {
            (Data::Date(d), false) => sel.each(|i| out[i] = part(d[i])),
            (Data::DateTime(d), false) => sel.each(|i| out[i] = part(d[i].date())),
            _ => return self.rows(e, sel),
        }
        let nulls = v.nulls().cloned();
        Some(Out::Own(Vector::new(Data::I64(out), nulls)))
    }

    /// `EXTRACT(unit FROM x)`
    pub(super) fn extract(
        &mut self,
        e: &'r Expr,
        unit: IntervalUnit,
        x: &'r Expr,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        if x.ty.has_date() {
            match unit {
                IntervalUnit::Year => return self.date_part(e, "year", x, sel),
                IntervalUnit::Month => return self.date_part(e, "month", x, sel),
                IntervalUnit::Quarter => return self.date_part(e, "quarter", x, sel),
                IntervalUnit::Day => return self.date_part(e, "day", x, sel),
                _ => {}
            }
        }
        if x.is_clock() {
            return self.rows(e, sel);
        }
        let v = self.value(x, sel)?;
        let cx = self.cx;
        self.each_value(e, &v, sel, |v| Some(times::extracted(unit, &v, cx)))
    }

    /// `date + INTERVAL n unit`, or minus
    pub(super) fn add_interval(
        &mut self,
        e: &'r Expr,
        [date, amount]: &'r [Expr; 2],
        unit: IntervalUnit,
        minus: bool,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        if date.is_clock() {
            return self.rows(e, sel);
        }
        let n = self.value(amount, sel)?;
        if !n.is_constant() {
            return self.rows(e, sel);
        }
        let v = self.value(date, sel)?;
        let cx = self.cx;
        let by = match n.val(0) {
            Val::Null => None,
            n => cx.quietly(|| times::interval_of(&n, &amount.ty, unit, minus, cx))?,
        };
        let Some(by) = by else {
            return Some(Out::Own(Vector::null(self.len())));
        };
        self.each_value(e, &v, sel, |v| {
            Some(times::moved(&e.ty, &v, &by, unit, cx).into_owned())
        })
    }
}
