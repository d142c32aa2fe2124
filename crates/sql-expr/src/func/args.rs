//! The arguments of a call while a row is looked at: evaluated when asked for, as the kind asked for.

use std::borrow::Cow;

use types::SqlError;
use types::charset::Charset;
use types::decimal::Decimal;
use types::temporal::{Date, DateTime, Time};

use crate::conv;
use crate::limited::Limited;
use crate::node::Args;
use crate::overflow;
use crate::ty::ExprType;
use crate::val::{Int, Num, Val};

impl<'a> Args<'a> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.args.len()
    }

    /// Argument `i` as it is.
    pub(crate) fn val(&self, i: usize) -> Result<Val<'a>, SqlError> {
        self.args[i].eval(self.cx, self.row)
    }

    /// Argument `i` where a date or a time is asked for.
    pub(crate) fn moment(&self, i: usize) -> Result<Val<'a>, SqlError> {
        self.args[i].eval_moment(self.cx, self.row)
    }

    /// Argument `i` where a number is asked for.
    fn numeric(&self, i: usize) -> Result<Val<'a>, SqlError> {
        self.args[i].eval_number(self.cx, self.row)
    }

    /// The type of argument `i`.
    pub(crate) fn ty(&self, i: usize) -> &'a ExprType {
        &self.args[i].ty
    }

    /// The character set of argument `i` as text.
    pub(crate) fn charset(&self, i: usize) -> Charset {
        let ty = &self.args[i].ty;
        if ty.is_text() {
            ty.charset()
        } else {
            Charset::Ascii
        }
    }

    /// As text.
    pub(crate) fn text(&self, i: usize) -> Result<Option<Cow<'a, [u8]>>, SqlError> {
        let v = self.val(i)?;
        let text = conv::into_text(v, &self.args[i].ty);
        if let Some(t) = &text {
            // What is asked for is going to be read.
            self.cx.tick(t.len() / 4)?;
        }
        Ok(text)
    }

    /// As a whole number.
    pub(crate) fn int(&self, i: usize) -> Result<Option<Int>, SqlError> {
        let v = self.numeric(i)?;
        overflow::check(&self.args[i], &v)?;
        let n = conv::to_int(&v, self.cx);
        // A decimal with a sign becomes a number with one.
        match (&v, n) {
            (Val::Decimal(d), Some(n))
                if n.wide() > i128::from(i64::MAX) && !self.args[i].ty.is_unsigned() =>
            {
                if d.to_f64() < 2f64.powi(64) {
                    self.cx
                        .warn_error(SqlError::truncated_wrong_value("DECIMAL", ""));
                }
                Ok(Some(Int::signed(i64::MAX)))
            }
            _ => Ok(n),
        }
    }

    /// As a whole number, clamped to i64.
    pub(crate) fn i64(&self, i: usize) -> Result<Option<i64>, SqlError> {
        Ok(self.int(i)?.map(Int::saturating_i64))
    }

    /// As a whole number, `default` where there is no such argument.
    pub(crate) fn i64_or(&self, i: usize, default: i64) -> Result<Option<i64>, SqlError> {
        if i < self.args.len() {
            self.i64(i)
        } else {
            Ok(Some(default))
        }
    }

    /// As a number of its own kind.
    pub(crate) fn num(&self, i: usize) -> Result<Option<Num>, SqlError> {
        Ok(conv::to_num(&self.numeric(i)?, self.cx))
    }

    /// As a double.
    pub(crate) fn f64(&self, i: usize) -> Result<Option<f64>, SqlError> {
        Ok(conv::to_double(&self.numeric(i)?, self.cx))
    }

    /// As a decimal.
    pub(crate) fn decimal(&self, i: usize) -> Result<Option<Decimal>, SqlError> {
        Ok(conv::to_decimal(&self.numeric(i)?, self.cx))
    }

    /// As a truth value.
    pub(crate) fn truth(&self, i: usize) -> Result<Option<bool>, SqlError> {
        self.args[i].truth(self.cx, self.row)
    }

    /// As a date.
    pub(crate) fn date(&self, i: usize) -> Result<Option<Date>, SqlError> {
        Ok(conv::to_date(&self.moment(i)?, self.cx))
    }

    /// As a date and time of the calendar, without zero parts.
    pub(crate) fn real_datetime(&self, i: usize) -> Result<Option<DateTime>, SqlError> {
        Ok(conv::to_real_datetime(&self.moment(i)?, self.cx))
    }

    /// As a date of the calendar, without zero parts.
    pub(crate) fn real_date(&self, i: usize) -> Result<Option<Date>, SqlError> {
        Ok(self.real_datetime(i)?.map(DateTime::date))
    }

    /// As a date and time.
    pub(crate) fn datetime(&self, i: usize) -> Result<Option<DateTime>, SqlError> {
        Ok(conv::to_datetime(&self.moment(i)?, self.cx))
    }

    /// As a time.
    pub(crate) fn time(&self, i: usize) -> Result<Option<Time>, SqlError> {
        Ok(conv::to_time(&self.moment(i)?, self.cx))
    }

    /// Asks for room for bytes that are about to be made, until the call is done.
    pub(crate) fn room(&self, bytes: usize) -> Result<(), SqlError> {
        self.cx.hold(bytes)
    }

    /// A buffer for a result that is held to `max_allowed_packet`.
    pub(crate) fn limited(&self) -> Limited<'a> {
        Limited::new(self.cx)
    }
}
