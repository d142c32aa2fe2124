//! What sorting, grouping and index access ask of expression values: an order, a byte string per group, and whether an
//! index of a column answers a comparison.

use std::cmp::Ordering;

use types::Value;
use types::datatype::DataType;

use super::cast;
use super::compare::Comparer;
use super::conv;
use super::ctx::EvalCtx;
use super::json;
use super::ty::{ExprType, Shape};
use super::val::{Num, Val};
use types::temporal::Universal;

/// The order of two values of one type, as ORDER BY has it: NULL first, ENUM by number.
pub fn sort_order(a: &Val<'_>, b: &Val<'_>, ty: &ExprType) -> Ordering {
    match (a, b) {
        (Val::Null, Val::Null) => Ordering::Equal,
        (Val::Null, _) => Ordering::Less,
        (_, Val::Null) => Ordering::Greater,
        (Val::Int(x), Val::Int(y)) => x.cmp(y),
        (Val::Bytes(_), Val::Bytes(_)) if ty.shape == Shape::Json => {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            json::write_order_key(a, ty, true, &mut x);
            json::write_order_key(b, ty, true, &mut y);
            x.cmp(&y)
        }
        (Val::Bytes(x), Val::Bytes(y)) => ty.collation.compare(x, y),
        (Val::Decimal(x), Val::Decimal(y)) => x.cmp(y),
        (Val::Double(x), Val::Double(y)) => x.partial_cmp(y).unwrap_or(Ordering::Equal),
        (Val::Date(x), Val::Date(y)) => x.cmp(y),
        (Val::DateTime(x), Val::DateTime(y)) => x.cmp(y),
        (Val::Date(x), Val::DateTime(y)) => x.at_midnight().cmp(y),
        (Val::DateTime(x), Val::Date(y)) => x.cmp(&y.at_midnight()),
        (Val::Time(x), Val::Time(y)) => x.cmp(y),
        (Val::Enum(x, _), Val::Enum(y, _)) => x.cmp(y),
        (Val::Set(x, _), Val::Set(y, _)) | (Val::Bit(x, _), Val::Bit(y, _)) => x.cmp(y),
        _ => match (number(a), number(b)) {
            (Some(x), Some(y)) => x.order(y),
            _ => ty
                .collation
                .compare(&conv::text_of(a, ty), &conv::text_of(b, ty)),
        },
    }
}

fn number(v: &Val<'_>) -> Option<Num> {
    match v {
        Val::Int(i) => Some(Num::Int(*i)),
        Val::Uint(u) => Some(Num::Uint(*u)),
        Val::Double(d) => Some(Num::Double(*d)),
        Val::Decimal(d) => Some(Num::Decimal(*d)),
        _ => None,
    }
}

/// Appends bytes that are equal for equal values of the type and different otherwise; no key is the beginning of
/// another. NULL equals NULL.
pub fn write_group_key(v: &Val<'_>, ty: &ExprType, out: &mut Vec<u8>) {
    if v.is_null() {
        out.push(0);
        return;
    }
    out.push(1);
    match v {
        Val::Null => {}
        Val::Int(i) => out.extend_from_slice(&i128::from(*i).to_le_bytes()),
        Val::Uint(u) => out.extend_from_slice(&i128::from(*u).to_le_bytes()),
        Val::Double(d) => {
            let d = if *d == 0.0 { 0.0 } else { *d };
            out.extend_from_slice(&d.to_bits().to_le_bytes());
        }
        Val::Decimal(d) => {
            super::val::shown_decimal(d, ty)
                .normalized()
                .write_text(out);
            out.push(0);
        }
        Val::Bytes(_) if ty.shape == Shape::Json => json::write_order_key(v, ty, true, out),
        Val::Bytes(b) => ty.collation.write_key(b, out),
        Val::Date(d) => out.extend_from_slice(&d.at_midnight().packed().to_le_bytes()),
        Val::DateTime(d) => out.extend_from_slice(&d.packed().to_le_bytes()),
        Val::Time(t) => out.extend_from_slice(&t.micros_total().to_le_bytes()),
        Val::Bit(b, _) => out.extend_from_slice(&b.to_le_bytes()),
        Val::Enum(n, _) => out.extend_from_slice(&n.to_le_bytes()),
        Val::Set(n, _) => out.extend_from_slice(&n.to_le_bytes()),
    }
}

/// Whether an index on a column of that type finds what the comparer finds.
pub fn index_comparable(comparer: &Comparer, column: &ExprType) -> bool {
    match (comparer, column.shape) {
        (Comparer::Int | Comparer::Exact, Shape::Int { .. } | Shape::Year | Shape::Bit(_))
        | (Comparer::Int | Comparer::Exact, Shape::Decimal { .. })
        | (Comparer::Double, Shape::Double { .. } | Shape::Float { .. })
        | (Comparer::DateTime, Shape::Date | Shape::DateTime(_) | Shape::Timestamp(_))
        | (Comparer::Time, Shape::Time(_)) => true,
        (Comparer::Text(c), Shape::Str { .. }) => *c == column.collation,
        _ => false,
    }
}

/// A value as the column stores it, for an index look-up: `None` where the column cannot hold it exactly, so that the
/// comparison has to look at rows. The column's index must be [`index_comparable`].
pub fn as_column_value(
    v: &Val<'_>,
    ty: &ExprType,
    column: &DataType,
    cx: &EvalCtx<'_>,
) -> Option<Value> {
    if v.is_null() {
        return Some(Value::Null);
    }
    cx.quietly(|| convert(v, ty, column, cx)).flatten()
}

fn convert(v: &Val<'_>, ty: &ExprType, column: &DataType, cx: &EvalCtx<'_>) -> Option<Value> {
    match column {
        DataType::Int {
            width, unsigned, ..
        } => {
            let n = cast::exact_int(conv::to_num(v, cx)?)?.wide();
            if *unsigned {
                let u = u64::try_from(n).ok()?;
                (u <= width.unsigned_max()).then_some(Value::UInt(u))
            } else {
                let i = i64::try_from(n).ok()?;
                let (min, max) = width.signed_range();
                (min..=max).contains(&i).then_some(Value::Int(i))
            }
        }
        DataType::Year => {
            let n = cast::exact_int(conv::to_num(v, cx)?)?.wide();
            (n == 0 || (1901..=2155).contains(&n)).then_some(Value::UInt(n as u64))
        }
        DataType::Bit(bits) => {
            let n = u64::try_from(cast::exact_int(conv::to_num(v, cx)?)?.wide()).ok()?;
            let fits = *bits >= 64 || n >> bits == 0;
            fits.then_some(Value::Bit(n, *bits))
        }
        DataType::Decimal {
            precision, scale, ..
        } => {
            let d = conv::to_decimal(v, cx)?;
            let r = d.rescale(*scale)?;
            (r == d && r.int_digits() + scale <= *precision).then_some(Value::Decimal(r))
        }
        DataType::Float { .. } => {
            let d = conv::to_double(v, cx)?;
            (f64::from(d as f32) == d).then_some(Value::Float(d as f32))
        }
        DataType::Double { .. } => conv::to_double(v, cx).map(Value::Double),
        DataType::Char { collation, .. }
        | DataType::VarChar { collation, .. }
        | DataType::Text { collation, .. } => {
            Some(Value::Str(conv::text_of(v, ty).into_owned(), *collation))
        }
        // What is stored has zeros behind it, which count in a comparison: `'ab'` is no value of BINARY(3).
        DataType::Binary(len) => {
            let text = conv::text_of(v, ty);
            (text.len() == *len as usize).then(|| Value::Bytes(text.into_owned()))
        }
        DataType::VarBinary(_) | DataType::Blob(_) => {
            Some(Value::Bytes(conv::text_of(v, ty).into_owned()))
        }
        DataType::Date => {
            let d = conv::to_datetime(v, cx)?;
            (d.micros_of_day() == 0).then(|| Value::Date(d.date()))
        }
        DataType::DateTime(fsp) => {
            let d = conv::to_datetime(v, cx)?;
            (d.truncate(*fsp) == d).then(|| Value::DateTime(d.with_fsp(*fsp)))
        }
        DataType::Timestamp(fsp) => {
            let d = conv::to_datetime(v, cx)?;
            if d.truncate(*fsp) != d {
                return None;
            }
            match cx.zone.to_utc(d.with_fsp(*fsp))? {
                Universal::Once(utc) => Some(Value::DateTime(utc)),
                // No row has it, or rows of two moments do: rows are compared by their local times.
                Universal::Twice(_) | Universal::Never(_) => None,
            }
        }
        DataType::Time(fsp) => {
            let t = conv::to_time(v, cx)?;
            (t.truncate(*fsp) == t).then(|| Value::Time(t.with_fsp(*fsp)))
        }
        DataType::Null | DataType::Enum(_) | DataType::Set(_) | DataType::Json => None,
    }
}
