//! The value an expression has while a row is looked at: borrowed from the row or the statement where possible, owned
//! where it was computed. Conversions between kinds of number are here; those from text are in `num`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use types::datatype::{DataType, Labels};
use types::decimal::Decimal;
use types::decimal::arith::Rounding;
use types::temporal::{Date, DateTime, Time};
use types::{CollationId, Value, ValueRef};

use super::ty::{ExprType, Shape};

/// A value during evaluation. The collation of text is in the expression's type, not here.
#[derive(Debug, Clone)]
pub enum Val<'a> {
    /// NULL.
    Null,
    /// A signed whole number.
    Int(i64),
    /// An unsigned whole number.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// An exact decimal.
    Decimal(Decimal),
    /// Text or bytes; JSON as its text.
    Bytes(Cow<'a, [u8]>),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME, and TIMESTAMP in the session's zone.
    DateTime(DateTime),
    /// BIT: the bits and how many.
    Bit(u64, u8),
    /// The number of an ENUM's member and the members.
    Enum(u16, Cow<'a, Arc<Labels>>),
    /// The bits of a SET and the members.
    Set(u64, Cow<'a, Arc<Labels>>),
}

impl<'a> Val<'a> {
    /// Owned text.
    pub fn owned(bytes: impl Into<Vec<u8>>) -> Val<'static> {
        Val::Bytes(Cow::Owned(bytes.into()))
    }

    /// Borrowed text.
    pub const fn borrowed(bytes: &'a [u8]) -> Val<'a> {
        Val::Bytes(Cow::Borrowed(bytes))
    }

    /// 1, 0 or NULL.
    pub const fn truth(t: Option<bool>) -> Val<'static> {
        match t {
            Some(true) => Val::Int(1),
            Some(false) => Val::Int(0),
            None => Val::Null,
        }
    }

    /// Whether it is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Val::Null)
    }

    /// The same, owning its bytes.
    pub fn into_owned(self) -> Val<'static> {
        match self {
            Val::Bytes(b) => Val::Bytes(Cow::Owned(b.into_owned())),
            Val::Null => Val::Null,
            Val::Int(i) => Val::Int(i),
            Val::Uint(u) => Val::Uint(u),
            Val::Double(d) => Val::Double(d),
            Val::Decimal(d) => Val::Decimal(d),
            Val::Date(d) => Val::Date(d),
            Val::Time(t) => Val::Time(t),
            Val::DateTime(d) => Val::DateTime(d),
            Val::Bit(b, n) => Val::Bit(b, n),
            Val::Enum(n, l) => Val::Enum(n, Cow::Owned(l.into_owned())),
            Val::Set(n, l) => Val::Set(n, Cow::Owned(l.into_owned())),
        }
    }

    /// The same, borrowing its bytes.
    pub fn reborrow(&self) -> Val<'_> {
        match self {
            Val::Bytes(b) => Val::Bytes(Cow::Borrowed(b)),
            Val::Null => Val::Null,
            Val::Int(i) => Val::Int(*i),
            Val::Uint(u) => Val::Uint(*u),
            Val::Double(d) => Val::Double(*d),
            Val::Decimal(d) => Val::Decimal(*d),
            Val::Date(d) => Val::Date(*d),
            Val::Time(t) => Val::Time(*t),
            Val::DateTime(d) => Val::DateTime(*d),
            Val::Bit(b, n) => Val::Bit(*b, *n),
            Val::Enum(n, l) => Val::Enum(*n, Cow::Borrowed(l)),
            Val::Set(n, l) => Val::Set(*n, Cow::Borrowed(l)),
        }
    }

    /// What the storage and wire crates call the same value; `ty` says whether text has a collation and whether a
    /// number is single precision.
    pub fn to_value(&self, ty: &ExprType) -> Value {
        match self {
            Val::Bytes(b) if ty.is_binary_text() || !ty.is_text() => Value::Bytes(b.to_vec()),
            Val::Bytes(b) => Value::Str(b.to_vec(), ty.collation),
            v => v.as_value_ref(ty).to_owned(),
        }
    }

    /// As [`to_value`](Self::to_value), taking over the bytes.
    pub fn into_value(self, ty: &ExprType) -> Value {
        match self {
            Val::Bytes(b) if ty.is_binary_text() || !ty.is_text() => Value::Bytes(b.into_owned()),
            Val::Bytes(b) => Value::Str(b.into_owned(), ty.collation),
            v => v.to_value(ty),
        }
    }

    /// As [`to_value`](Self::to_value), borrowed.
    pub fn as_value_ref(&self, ty: &ExprType) -> ValueRef<'_> {
        match self {
            Val::Null => ValueRef::Null,
            Val::Int(i) => ValueRef::Int(*i),
            Val::Uint(u) => ValueRef::UInt(*u),
            Val::Double(d) if matches!(ty.shape, Shape::Float { .. }) => ValueRef::Float(*d as f32),
            Val::Double(d) => ValueRef::Double(*d),
            Val::Decimal(d) => ValueRef::Decimal(shown_decimal(d, ty)),
            Val::Bytes(b) if ty.is_binary_text() || !ty.is_text() => ValueRef::Bytes(b),
            Val::Bytes(b) => ValueRef::Str(b, ty.collation),
            Val::Date(d) => ValueRef::Date(*d),
            Val::Time(t) => ValueRef::Time(*t),
            Val::DateTime(d) => ValueRef::DateTime(*d),
            Val::Bit(b, n) => ValueRef::Bit(*b, *n),
            Val::Enum(n, l) => ValueRef::Enum(*n, l),
            Val::Set(n, l) => ValueRef::Set(*n, l),
        }
    }
}

impl Val<'_> {
    /// As a computed value that goes on being computed with: a quotient keeps the digits that are not shown.
    pub fn as_computed_ref(&self, ty: &ExprType) -> ValueRef<'_> {
        match self {
            Val::Decimal(d) => ValueRef::Decimal(*d),
            v => v.as_value_ref(ty),
        }
    }

    /// As a value for a column of that type. To a column of numbers a hexadecimal or bit literal is a number (of more than
    /// eight bytes, one that none can hold), and a quotient has all its digits. To a JSON column only a document has the collation of documents.
    pub fn as_assigned_ref(&self, ty: &ExprType, column: &DataType) -> ValueRef<'_> {
        if *column == DataType::Json && ty.shape != Shape::Json {
            return match self.as_value_ref(ty) {
                ValueRef::Str(b, CollationId::UTF8MB4_BIN) => {
                    ValueRef::Str(b, CollationId::DEFAULT)
                }
                v => v,
            };
        }
        if !column.is_numeric() {
            return self.as_value_ref(ty);
        }
        match (self, literal_bits(self, ty)) {
            (Val::Bytes(b), Some(_)) if b.len() > 8 => {
                ValueRef::Decimal(Decimal::max_value(65, 0, false))
            }
            (_, Some(n)) => ValueRef::UInt(n),
            _ => self.as_computed_ref(ty),
        }
    }
}

/// A decimal as its type shows it: a quotient carries more digits while it is computed with.
pub(super) fn shown_decimal(d: &Decimal, ty: &ExprType) -> Decimal {
    match ty.shape {
        Shape::Decimal { scale, .. } if scale < d.scale() => d.rescale(scale).unwrap_or(*d),
        _ => *d,
    }
}

impl<'a> From<ValueRef<'a>> for Val<'a> {
    #[inline]
    fn from(v: ValueRef<'a>) -> Val<'a> {
        match v {
            ValueRef::Null => Val::Null,
            ValueRef::Int(i) => Val::Int(i),
            ValueRef::UInt(u) => Val::Uint(u),
            ValueRef::Float(f) => Val::Double(f64::from(f)),
            ValueRef::Double(d) => Val::Double(d),
            ValueRef::Decimal(d) => Val::Decimal(d),
            ValueRef::Str(b, _) | ValueRef::Bytes(b) => Val::Bytes(Cow::Borrowed(b)),
            ValueRef::Date(d) => Val::Date(d),
            ValueRef::Time(t) => Val::Time(t),
            ValueRef::DateTime(d) => Val::DateTime(d),
            ValueRef::Bit(b, n) => Val::Bit(b, n),
            ValueRef::Enum(n, l) => Val::Enum(n, Cow::Borrowed(l)),
            ValueRef::Set(n, l) => Val::Set(n, Cow::Borrowed(l)),
        }
    }
}

/// A number of one of the kinds arithmetic knows.
#[derive(Debug, Clone, Copy)]
pub enum Num {
    /// Signed.
    Int(i64),
    /// Unsigned.
    Uint(u64),
    /// Exact.
    Decimal(Decimal),
    /// Approximate.
    Double(f64),
}

impl Num {
    /// As floating point.
    pub fn to_f64(self) -> f64 {
        match self {
            Num::Int(i) => i as f64,
            Num::Uint(u) => u as f64,
            Num::Decimal(d) => d.to_f64(),
            Num::Double(d) => d,
        }
    }

    /// As an exact decimal; a double that does not fit becomes the largest one.
    pub fn to_decimal(self) -> Decimal {
        match self {
            Num::Int(i) => Decimal::from_i64(i),
            Num::Uint(u) => Decimal::from_u64(u),
            Num::Decimal(d) => d,
            Num::Double(d) => Decimal::from_f64(d).value,
        }
    }

    /// As a whole number, rounded; `None` outside what i64 and u64 hold.
    pub fn to_int(self) -> Option<Int> {
        match self {
            Num::Int(i) => Some(Int::signed(i)),
            Num::Uint(u) => Some(Int::unsigned(u)),
            Num::Decimal(d) => d
                .round_with(0, Rounding::HalfUp)
                .mantissa_i128()
                .and_then(Int::from_i128),
            // MySQL's rint: into a BIGINT, never an unsigned one.
            Num::Double(d) => round_to_i64(d).map(Int::signed),
        }
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        match self {
            Num::Int(i) => i == 0,
            Num::Uint(u) => u == 0,
            Num::Decimal(d) => d.is_zero(),
            Num::Double(d) => d == 0.0,
        }
    }

    /// Numeric order, exact unless a double is involved.
    pub fn order(self, other: Num) -> Ordering {
        match (self, other) {
            (Num::Int(a), Num::Int(b)) => a.cmp(&b),
            (Num::Uint(a), Num::Uint(b)) => a.cmp(&b),
            (Num::Int(a), Num::Uint(b)) => u64::try_from(a).map_or(Ordering::Less, |a| a.cmp(&b)),
            (Num::Uint(a), Num::Int(b)) => {
                u64::try_from(b).map_or(Ordering::Greater, |b| a.cmp(&b))
            }
            (Num::Double(_), _) | (_, Num::Double(_)) => {
                let (a, b) = (self.to_f64(), other.to_f64());
                a.partial_cmp(&b).unwrap_or(Ordering::Equal)
            }
            _ => self.to_decimal().cmp(&other.to_decimal()),
        }
    }

    /// As a value.
    pub fn val(self) -> Val<'static> {
        match self {
            Num::Int(i) => Val::Int(i),
            Num::Uint(u) => Val::Uint(u),
            Num::Decimal(d) => Val::Decimal(d),
            Num::Double(d) => Val::Double(d),
        }
    }
}

/// A whole number from −2^63 to 2^64−1: what MySQL's integer functions pass around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Int {
    bits: u64,
    negative: bool,
}

impl Int {
    /// From a signed number.
    pub const fn signed(i: i64) -> Int {
        Int {
            bits: i as u64,
            negative: i < 0,
        }
    }

    /// From an unsigned number.
    pub const fn unsigned(u: u64) -> Int {
        Int {
            bits: u,
            negative: false,
        }
    }

    /// From a wide number; `None` out of range.
    pub fn from_i128(v: i128) -> Option<Int> {
        if let Ok(i) = i64::try_from(v) {
            Some(Self::signed(i))
        } else {
            u64::try_from(v).ok().map(Self::unsigned)
        }
    }

    /// The 64 bits, two's complement for a negative number.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// Below zero.
    pub const fn is_negative(self) -> bool {
        self.negative
    }

    /// As a wide number.
    pub const fn wide(self) -> i128 {
        if self.negative {
            self.bits as i64 as i128
        } else {
            self.bits as i128
        }
    }

    /// As i64, clamped.
    pub const fn saturating_i64(self) -> i64 {
        if !self.negative && self.bits > i64::MAX as u64 {
            i64::MAX
        } else {
            self.bits as i64
        }
    }
}

/// The number that a hexadecimal or bit literal is: its last eight bytes. `None` for everything else.
pub(super) fn literal_bits(v: &Val<'_>, ty: &ExprType) -> Option<u64> {
    match v {
        Val::Bytes(b) if ty.bits => Some(b.iter().fold(0, |n, &x| n << 8 | u64::from(x))),
        _ => None,
    }
}

/// A double rounded to a whole number of i64's range, as MySQL's rint does; `None` outside.
pub fn round_to_i64(d: f64) -> Option<i64> {
    let r = d.round_ties_even();
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
        .contains(&r)
        .then_some(r as i64)
}
