//! How two values are compared: chosen once from their types, MySQL's way, and then applied to every row without
//! allocating for numbers and text.

use std::cmp::Ordering;

use types::SqlError;
use types::collation::CollationId;
use types::error::codes;
use types::temporal::DateTime;

use super::cast;
use super::collate;
use super::conv;
use super::ctx::EvalCtx;
use super::json;
use super::ty::{ExprType, NOT_FIXED, Shape};
use super::val::{Num, Val};

/// A way to compare two values.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparer {
    /// As whole numbers.
    Int,
    /// As exact numbers.
    Exact,
    /// As doubles.
    Double,
    /// As doubles that are equal where they differ by less than half of the last of so many digits after the point.
    Digits(u8),
    /// As text of a collation (or bytes, where it is `binary`).
    Text(CollationId),
    /// As dates and times.
    DateTime,
    /// As times of day.
    Time,
    /// As JSON documents; what is none is one as a scalar. Of each side: whether it is a document where its type is no longer known.
    Json(bool, bool),
    /// Member by member.
    Row(Vec<Comparer>),
}

impl Comparer {
    /// The way to compare values of these types; `op` names the operation in a collation error.
    ///
    /// # Errors
    /// 1267 for collations that do not mix, 1241 for a row beside a scalar.
    pub fn choose(
        a: &ExprType,
        b: &ExprType,
        connection: CollationId,
        op: &str,
    ) -> Result<Comparer, SqlError> {
        Ok(match (a.shape, b.shape) {
            (Shape::Row(n), _) | (_, Shape::Row(n)) => {
                return Err(SqlError::new(
                    codes::ER_OPERAND_COLUMNS,
                    format!("Operand should contain {n} column(s)"),
                ));
            }
            (Shape::Null, _) | (_, Shape::Null) => {
                Self::choose_one(if a.shape == Shape::Null { b } else { a })
            }
            (Shape::Json, _) | (_, Shape::Json) => {
                Comparer::Json(a.shape == Shape::Json, b.shape == Shape::Json)
            }
            _ if a.is_text() && b.is_text() => {
                let c = collate::aggregate([a, b], connection, true, op)?;
                Comparer::Text(c.collation)
            }
            _ if a.is_temporal() || b.is_temporal() => {
                return Self::choose_temporal(a, b, connection, op);
            }
            _ if a.is_integer() && b.is_integer() => Comparer::Int,
            _ if a.is_text() || b.is_text() => Comparer::Double,
            _ => match (super::infer::domain(a), super::infer::domain(b)) {
                (super::infer::Domain::Double, _) | (_, super::infer::Domain::Double) => {
                    Comparer::Double
                }
                _ => Comparer::Exact,
            },
        })
    }

    /// The way to compare two numbers by an operator, where one is FLOAT or DOUBLE: both may say how many digits they have after the
    /// point, and then no digit behind the longer of them counts. BETWEEN, CASE and lists of several members compare the doubles.
    pub(crate) fn by_digits(self, a: &ExprType, b: &ExprType) -> Comparer {
        match (self, a.scale().max(b.scale())) {
            (Comparer::Double, scale)
                if scale < NOT_FIXED && !a.is_temporal() && !b.is_temporal() =>
            {
                Comparer::Digits(scale)
            }
            (other, _) => other,
        }
    }

    fn choose_one(t: &ExprType) -> Comparer {
        match t.shape {
            Shape::Json => Comparer::Json(true, true),
            _ if t.is_text() => Comparer::Text(t.collation),
            Shape::Time(_) => Comparer::Time,
            _ if t.is_temporal() => Comparer::DateTime,
            _ if t.is_integer() || t.shape == Shape::Null => Comparer::Int,
            Shape::Decimal { .. } => Comparer::Exact,
            _ => Comparer::Double,
        }
    }

    fn choose_temporal(
        a: &ExprType,
        b: &ExprType,
        connection: CollationId,
        op: &str,
    ) -> Result<Comparer, SqlError> {
        let (t, o) = if a.is_temporal() { (a, b) } else { (b, a) };
        Ok(match (t.shape, o.shape) {
            (Shape::Time(_), Shape::Time(_)) => Comparer::Time,
            // A time and text are compared as text; a constant beside a column of times was made one before.
            (Shape::Time(_), _) if o.is_text() => {
                let c = collate::aggregate([a, b], connection, true, op)?;
                Comparer::Text(c.collation)
            }
            _ if o.is_temporal() || o.is_text() => Comparer::DateTime,
            (_, Shape::Float { .. } | Shape::Double { .. }) => Comparer::Double,
            _ => Comparer::Exact,
        })
    }

    /// The order of two values of these types; `None` where one is NULL or, for times, no time at all.
    #[inline]
    pub fn order(
        &self,
        a: &Val<'_>,
        at: &ExprType,
        b: &Val<'_>,
        bt: &ExprType,
        cx: &EvalCtx<'_>,
    ) -> Option<Ordering> {
        match (self, a, b) {
            (_, Val::Null, _) | (_, _, Val::Null) => None,
            (Comparer::Int | Comparer::Exact, Val::Int(x), Val::Int(y)) => Some(x.cmp(y)),
            (Comparer::Text(c), Val::Bytes(x), Val::Bytes(y)) => Some(c.compare(x, y)),
            (Comparer::DateTime, Val::DateTime(x), Val::DateTime(y)) => Some(x.cmp(y)),
            (Comparer::DateTime, Val::Date(x), Val::Date(y)) => Some(x.cmp(y)),
            (Comparer::Double, Val::Double(x), Val::Double(y)) => {
                Some(x.partial_cmp(y).unwrap_or(Ordering::Equal))
            }
            _ => self.order_slow(a, at, b, bt, cx),
        }
    }

    fn order_slow(
        &self,
        a: &Val<'_>,
        at: &ExprType,
        b: &Val<'_>,
        bt: &ExprType,
        cx: &EvalCtx<'_>,
    ) -> Option<Ordering> {
        match self {
            // a parameter may turn out to be no whole number after all
            Comparer::Int | Comparer::Exact | Comparer::Double | Comparer::Digits(_)
                if at.bits || bt.bits =>
            {
                let (a, b) = (
                    conv::numeric(a.reborrow(), at),
                    conv::numeric(b.reborrow(), bt),
                );
                let plain = ExprType::null();
                self.order_slow(&a, &plain, &b, &plain, cx)
            }
            Comparer::Int => Some(conv::to_num(a, cx)?.order(conv::to_num(b, cx)?)),
            Comparer::Exact => {
                let x = exact(a, cx)?;
                let y = exact(b, cx)?;
                Some(x.order(y))
            }
            Comparer::Double => {
                let x = conv::to_double(a, cx)?;
                let y = conv::to_double(b, cx)?;
                Some(x.partial_cmp(&y).unwrap_or(Ordering::Equal))
            }
            Comparer::Digits(scale) => {
                let x = conv::to_double(a, cx)?;
                let y = conv::to_double(b, cx)?;
                let least = 5.0 / 10f64.powi(i32::from(*scale) + 1);
                Some(match (x - y).abs() < least {
                    true => Ordering::Equal,
                    false => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
                })
            }
            Comparer::Text(c) => Some(c.compare(&conv::text_of(a, at), &conv::text_of(b, bt))),
            Comparer::DateTime if is_number(a) || is_number(b) => {
                // A parameter that is a number: one that is no date is compared as a number.
                let both = cx.quietly(|| Some((moment(a, cx)?, moment(b, cx)?)));
                match both.flatten() {
                    Some((x, y)) => Some(x.cmp(&y)),
                    None => Some(conv::to_num(a, cx)?.order(conv::to_num(b, cx)?)),
                }
            }
            Comparer::DateTime => {
                let x = moment(a, cx)?;
                let y = moment(b, cx)?;
                Some(x.cmp(&y))
            }
            Comparer::Time => {
                let x = conv::to_time(a, cx)?;
                let y = conv::to_time(b, cx)?;
                Some(x.cmp(&y))
            }
            Comparer::Json(..) if at.shape == bt.shape && same_text(a, b) => Some(Ordering::Equal),
            Comparer::Json(x, y) => {
                // The keys are copies. What has no room ends the statement when the account is asked next.
                let bytes = |v: &Val<'_>| match v {
                    Val::Bytes(b) => b.len(),
                    _ => 0,
                };
                cx.hold(2 * (bytes(a) + bytes(b))).ok()?;
                let (mut left, mut right) = (Vec::new(), Vec::new());
                json::write_order_key(a, at, *x, &mut left);
                json::write_order_key(b, bt, *y, &mut right);
                Some(left.cmp(&right))
            }
            Comparer::Row(_) => None,
        }
    }

    /// Whether two values are equal; `None` where one is NULL.
    #[inline]
    pub fn equal(
        &self,
        a: &Val<'_>,
        at: &ExprType,
        b: &Val<'_>,
        bt: &ExprType,
        cx: &EvalCtx<'_>,
    ) -> Option<bool> {
        match (self, a, b) {
            (Comparer::Text(c), Val::Bytes(x), Val::Bytes(y)) => Some(c.equal(x, y)),
            _ => self.order(a, at, b, bt, cx).map(Ordering::is_eq),
        }
    }
}

fn same_text(a: &Val<'_>, b: &Val<'_>) -> bool {
    matches!((a, b), (Val::Bytes(x), Val::Bytes(y)) if x == y)
}

fn is_number(v: &Val<'_>) -> bool {
    matches!(
        v,
        Val::Int(_) | Val::Uint(_) | Val::Decimal(_) | Val::Double(_)
    )
}

/// A value beside a date: text that is none, or that the SQL mode does not allow, counts as the zero date, with warning 1292.
pub(super) fn moment(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<DateTime> {
    let d = conv::to_datetime(v, cx);
    match v {
        Val::Bytes(_) | Val::Enum(..) | Val::Set(..) => {
            Some(cast::allowed(d, v, cx).unwrap_or(DateTime::ZERO))
        }
        _ => d,
    }
}

/// A value as an exact number, text too.
pub(super) fn exact(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<Num> {
    match v {
        Val::Bytes(_) => conv::to_decimal(v, cx).map(Num::Decimal),
        _ => conv::to_num(v, cx),
    }
}
