//! Comparison of any two values by MySQL's coercion rules, and hashing that agrees with it.

use super::number::{to_decimal, to_f64};
use super::text::to_bytes;
use crate::charset::{self, Charset};
use crate::collation::CollationId;
use crate::temporal::{DateTime, Time};
use crate::value::ValueRef;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::Hasher;

/// How a value takes part in a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Null,
    Integer,
    Decimal,
    Real,
    Text,
    Temporal,
}

fn class(v: ValueRef<'_>) -> Class {
    match v {
        ValueRef::Null => Class::Null,
        ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Bit(..) => Class::Integer,
        ValueRef::Decimal(_) => Class::Decimal,
        ValueRef::Float(_) | ValueRef::Double(_) => Class::Real,
        ValueRef::Str(..) | ValueRef::Bytes(_) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            Class::Text
        }
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) => Class::Temporal,
    }
}

/// Compares by the values' own collations; `None` if either is NULL.
#[inline]
pub fn compare(a: ValueRef<'_>, b: ValueRef<'_>) -> Option<Ordering> {
    match (a, b) {
        (ValueRef::Int(x), ValueRef::Int(y)) => Some(x.cmp(&y)),
        (ValueRef::UInt(x), ValueRef::UInt(y)) => Some(x.cmp(&y)),
        (ValueRef::Str(x, c), ValueRef::Str(y, d)) if c == d => Some(c.compare(x, y)),
        (ValueRef::DateTime(x), ValueRef::DateTime(y)) => Some(x.cmp(&y)),
        (ValueRef::Date(x), ValueRef::Date(y)) => Some(x.cmp(&y)),
        _ => mixed(a, b, None),
    }
}

/// As [`compare`], text by the given collation (the one the binder derived for the operation).
#[inline]
pub fn compare_with(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Option<Ordering> {
    match (a, b) {
        (ValueRef::Int(x), ValueRef::Int(y)) => Some(x.cmp(&y)),
        (ValueRef::Str(x, c), ValueRef::Str(y, d)) if c == d && c == collation => {
            Some(collation.compare(x, y))
        }
        _ => mixed(a, b, Some(collation)),
    }
}

fn mixed(a: ValueRef<'_>, b: ValueRef<'_>, collation: Option<CollationId>) -> Option<Ordering> {
    use Class as C;
    Some(match (class(a), class(b)) {
        (C::Null, _) | (_, C::Null) => return None,
        (C::Integer, C::Integer) => integer(a).cmp(&integer(b)),
        (C::Integer | C::Decimal, C::Integer | C::Decimal) => to_decimal(a).cmp(&to_decimal(b)),
        (C::Text, C::Text) => text(a, b, collation),
        (C::Temporal, C::Temporal) => temporal(a, b),
        (C::Temporal, C::Text) => temporal_text(a, b, collation),
        (C::Text, C::Temporal) => temporal_text(b, a, collation).reverse(),
        (C::Temporal, _) => temporal_number(a, b),
        (_, C::Temporal) => temporal_number(b, a).reverse(),
        _ => double(to_f64(a), to_f64(b)),
    })
}

fn double(a: f64, b: f64) -> Ordering {
    // There is no NaN in SQL: arithmetic turns it into NULL.
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn integer(v: ValueRef<'_>) -> i128 {
    match v {
        ValueRef::Int(v) => i128::from(v),
        ValueRef::UInt(v) | ValueRef::Bit(v, _) => i128::from(v),
        _ => 0,
    }
}

fn collation_of(v: ValueRef<'_>) -> CollationId {
    match v {
        ValueRef::Str(_, c) => c,
        ValueRef::Enum(_, l) | ValueRef::Set(_, l) => l.collation,
        _ => CollationId::BINARY,
    }
}

/// The collation that two operands of equal coercibility are compared by: `binary` wins, then Unicode over other character sets,
/// then a `_bin` collation; otherwise the left one.
pub fn merge_collations(a: CollationId, b: CollationId) -> CollationId {
    if a == b || a.is_binary() {
        return a;
    }
    if b.is_binary() {
        return b;
    }
    match (a.charset().is_utf8(), b.charset().is_utf8()) {
        (true, false) => a,
        (false, true) => b,
        _ if a.charset() == Charset::Utf8mb3 && b.charset() == Charset::Utf8mb4 => b,
        _ if b.is_bin() => b,
        _ => a,
    }
}

fn text(a: ValueRef<'_>, b: ValueRef<'_>, collation: Option<CollationId>) -> Ordering {
    let (ca, cb) = (collation_of(a), collation_of(b));
    let c = collation.unwrap_or_else(|| merge_collations(ca, cb));
    let (x, y) = (to_bytes(a), to_bytes(b));
    c.compare(&in_charset(x, ca, c), &in_charset(y, cb, c))
}

fn in_charset<'a>(s: Cow<'a, [u8]>, from: CollationId, to: CollationId) -> Cow<'a, [u8]> {
    let (f, t) = (from.charset(), to.charset());
    let same = f == t || f == Charset::Binary || t == Charset::Binary || f.is_utf8() && t.is_utf8();
    if same || s.is_ascii() {
        return s;
    }
    let mut out = Vec::with_capacity(s.len());
    charset::convert(f, t, &s, &mut out);
    Cow::Owned(out)
}

fn temporal(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match (a, b) {
        (ValueRef::Time(x), ValueRef::Time(y)) => x.cmp(&y),
        // A TIME beside a date: only the time of day can be compared without knowing today.
        (ValueRef::Time(x), other) => x.cmp(&datetime(other).time()),
        (other, ValueRef::Time(y)) => datetime(other).time().cmp(&y),
        _ => datetime(a).cmp(&datetime(b)),
    }
}

fn datetime(v: ValueRef<'_>) -> DateTime {
    match v {
        ValueRef::Date(d) => d.at_midnight(),
        ValueRef::DateTime(d) => d,
        _ => DateTime::ZERO,
    }
}

fn temporal_text(t: ValueRef<'_>, s: ValueRef<'_>, collation: Option<CollationId>) -> Ordering {
    let bytes = to_bytes(s);
    if let ValueRef::Time(x) = t {
        if let Some(p) = Time::parse(&bytes) {
            return x.cmp(&p.value);
        }
    } else if let Some(p) = DateTime::parse(&bytes) {
        return datetime(t).cmp(&p.value);
    }
    // MySQL compares text that is no date as text.
    let c = collation.unwrap_or_else(|| collation_of(s));
    c.compare(&to_bytes(t), &bytes)
}

fn temporal_number(t: ValueRef<'_>, n: ValueRef<'_>) -> Ordering {
    if let (ValueRef::Int(_) | ValueRef::UInt(_), ValueRef::Date(_) | ValueRef::DateTime(_)) =
        (n, t)
        && let Ok(v) = i64::try_from(integer(n))
        && let Some((d, _)) = DateTime::from_number(v)
    {
        return datetime(t).cmp(&d);
    }
    double(to_f64(t), to_f64(n))
}

/// Feeds a hash so that values of one class that compare equal hash equally: integers of either sign kind, decimals of
/// any scale, doubles, text under its collation. Values of different classes must be brought to one type first.
pub fn hash_value<H: Hasher>(v: ValueRef<'_>, state: &mut H) {
    use std::hash::Hash;
    match v {
        ValueRef::Null => state.write_u8(0),
        ValueRef::Int(v) => state.write_u64(v as u64),
        ValueRef::UInt(v) | ValueRef::Bit(v, _) => state.write_u64(v),
        ValueRef::Float(v) => state.write_u64((f64::from(v) + 0.0).to_bits()),
        ValueRef::Double(v) => state.write_u64((v + 0.0).to_bits()),
        ValueRef::Decimal(d) => d.hash(state),
        ValueRef::Str(b, c) => c.hash(b, state),
        ValueRef::Bytes(b) => CollationId::BINARY.hash(b, state),
        ValueRef::Date(d) => d.at_midnight().hash(state),
        ValueRef::DateTime(d) => d.hash(state),
        ValueRef::Time(t) => t.hash(state),
        ValueRef::Enum(n, l) => l.collation.hash(l.name(n), state),
        ValueRef::Set(..) => collation_of(v).hash(&to_bytes(v), state),
    }
}
