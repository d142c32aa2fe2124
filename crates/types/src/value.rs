//! Values: the owned [`Value`] and its borrowed twin [`ValueRef`], which row decoding and expression evaluation use so that a scan
//! allocates nothing.
//!
//! A [`ValueRef`] is 32 bytes and `Copy`. There is no equality on them here: SQL equality depends on types and collations and lives in `convert`.

use crate::collation::CollationId;
use crate::datatype::Labels;
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, Time};
use std::sync::Arc;

/// A value that owns its bytes.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A signed integer of any width; also YEAR.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// A character string in its collation's character set; also JSON.
    Str(Vec<u8>, CollationId),
    /// A byte string.
    Bytes(Vec<u8>),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME, or a TIMESTAMP in UTC.
    DateTime(DateTime),
    /// BIT: value and number of bits; a number in arithmetic, a byte string on the wire.
    Bit(u64, u8),
    /// ENUM number (0 = the empty error value) and its members.
    Enum(u16, Arc<Labels>),
    /// SET bits and its members.
    Set(u64, Arc<Labels>),
}

/// A value that borrows its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub enum ValueRef<'a> {
    /// NULL.
    #[default]
    Null,
    /// A signed integer of any width; also YEAR.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// A character string in its collation's character set; also JSON.
    Str(&'a [u8], CollationId),
    /// A byte string.
    Bytes(&'a [u8]),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME, or a TIMESTAMP in UTC.
    DateTime(DateTime),
    /// BIT: value and number of bits.
    Bit(u64, u8),
    /// ENUM number and its members.
    Enum(u16, &'a Arc<Labels>),
    /// SET bits and its members.
    Set(u64, &'a Arc<Labels>),
}

impl Value {
    /// A character string of the default collation.
    pub fn text(s: &str) -> Value {
        Value::Str(s.as_bytes().to_vec(), CollationId::DEFAULT)
    }

    /// Borrows.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Int(v) => ValueRef::Int(*v),
            Value::UInt(v) => ValueRef::UInt(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Double(v) => ValueRef::Double(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::Str(b, c) => ValueRef::Str(b, *c),
            Value::Bytes(b) => ValueRef::Bytes(b),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Time(v) => ValueRef::Time(*v),
            Value::DateTime(v) => ValueRef::DateTime(*v),
            Value::Bit(v, n) => ValueRef::Bit(*v, *n),
            Value::Enum(v, l) => ValueRef::Enum(*v, l),
            Value::Set(v, l) => ValueRef::Set(*v, l),
        }
    }

    /// NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl<'a> ValueRef<'a> {
    /// Copies the bytes.
    pub fn to_owned(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::UInt(v) => Value::UInt(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Str(b, c) => Value::Str(b.to_vec(), c),
            ValueRef::Bytes(b) => Value::Bytes(b.to_vec()),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Time(v) => Value::Time(v),
            ValueRef::DateTime(v) => Value::DateTime(v),
            ValueRef::Bit(v, n) => Value::Bit(v, n),
            ValueRef::Enum(v, l) => Value::Enum(v, Arc::clone(l)),
            ValueRef::Set(v, l) => Value::Set(v, Arc::clone(l)),
        }
    }

    /// NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// Bytes of a string value (not of ENUM or SET).
    #[inline]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self {
            ValueRef::Str(b, _) | ValueRef::Bytes(b) => Some(b),
            _ => None,
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    #[inline]
    fn from(v: &'a Value) -> Self {
        v.as_ref()
    }
}

macro_rules! from {
    ($($t:ty => $v:ident;)*) => { $(
        impl From<$t> for Value {
            fn from(v: $t) -> Self {
                Value::$v(v.into())
            }
        }
    )* };
}

from! {
    i64 => Int;
    i32 => Int;
    u64 => UInt;
    f64 => Double;
    Decimal => Decimal;
    Date => Date;
    Time => Time;
    DateTime => DateTime;
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Value::text(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size_of::<Value>(), 40);
        assert_eq!(size_of::<ValueRef<'_>>(), 32);
    }

    #[test]
    fn borrowing_and_owning_agree() {
        let v = Value::text("héllo");
        match v.as_ref().to_owned() {
            Value::Str(b, c) => {
                assert_eq!((b, c), ("héllo".as_bytes().to_vec(), CollationId::DEFAULT))
            }
            other => panic!("{other:?}"),
        }
        assert!(Value::Null.as_ref().is_null());
        assert_eq!(v.as_ref().as_bytes(), Some("héllo".as_bytes()));
    }
}
