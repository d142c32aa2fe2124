//! Values as a program sees them, and the way to and from its own types.

use std::fmt;

use types::{CollationId, Date, DateTime, Decimal, Time, ValueRef, charset, convert};

use crate::error::{Error, Result};

/// A value of a row or a parameter.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width; YEAR and BIT.
    UInt(u64),
    /// FLOAT and DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// CHAR, VARCHAR, TEXT, ENUM, SET, JSON.
    Text(String),
    /// BINARY, VARBINARY, BLOB.
    Bytes(Vec<u8>),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME and TIMESTAMP; the latter in the session's time zone.
    DateTime(DateTime),
}

impl Value {
    /// What the SQL layer hands out.
    pub(crate) fn of(v: ValueRef<'_>) -> Value {
        match v {
            ValueRef::Null => Value::Null,
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::UInt(v) | ValueRef::Bit(v, _) => Value::UInt(v),
            ValueRef::Float(v) => Value::Double(f64::from(v)),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Str(bytes, collation) if collation.is_binary() => {
                Value::Bytes(bytes.to_vec())
            }
            ValueRef::Str(bytes, collation) => {
                Value::Text(charset::to_utf8(collation.charset(), bytes))
            }
            ValueRef::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Time(v) => Value::Time(v),
            ValueRef::DateTime(v) => Value::DateTime(v),
            ValueRef::Enum(_, labels) | ValueRef::Set(_, labels) => {
                let mut name = Vec::new();
                convert::write_value(v, &mut name);
                Value::Text(charset::to_utf8(labels.collation.charset(), &name))
            }
        }
    }

    /// What the SQL layer takes.
    pub(crate) fn into_sql(self) -> types::Value {
        match self {
            Value::Null => types::Value::Null,
            Value::Int(v) => types::Value::Int(v),
            Value::UInt(v) => types::Value::UInt(v),
            Value::Double(v) => types::Value::Double(v),
            Value::Decimal(v) => types::Value::Decimal(v),
            Value::Text(v) => types::Value::Str(v.into_bytes(), CollationId::DEFAULT),
            Value::Bytes(v) => types::Value::Bytes(v),
            Value::Date(v) => types::Value::Date(v),
            Value::Time(v) => types::Value::Time(v),
            Value::DateTime(v) => types::Value::DateTime(v),
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    fn kind(&self) -> &'static str {
        match self {
            Value::Null => "NULL",
            Value::Int(_) | Value::UInt(_) => "an integer",
            Value::Double(_) => "a DOUBLE",
            Value::Decimal(_) => "a DECIMAL",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
            Value::Date(_) => "a DATE",
            Value::Time(_) => "a TIME",
            Value::DateTime(_) => "a DATETIME",
        }
    }
}

/// As SQL shows it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Text(v) => f.write_str(v),
            Value::Bytes(v) => f.write_str(&String::from_utf8_lossy(v)),
            other => {
                let mut out = Vec::new();
                convert::write_value(other.clone().into_sql().as_ref(), &mut out);
                f.write_str(&String::from_utf8_lossy(&out))
            }
        }
    }
}

/// A type that can be a parameter.
pub trait ToValue {
    /// The value.
    fn to_value(&self) -> Value;
}

/// A type that a value can be read as.
pub trait FromValue: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](crate::ErrorKind::Value): it is NULL or of another kind, or does not fit.
    fn from_value(v: &Value) -> Result<Self>;
}

#[cold]
fn mismatch<T>(v: &Value) -> Error {
    Error::value(format!(
        "{} is not a {}",
        v.kind(),
        std::any::type_name::<T>()
    ))
}

macro_rules! integers {
    ($($t:ty as $variant:ident($wide:ty);)*) => { $(
        impl ToValue for $t {
            fn to_value(&self) -> Value {
                Value::$variant(<$wide>::from(*self))
            }
        }

        impl FromValue for $t {
            fn from_value(v: &Value) -> Result<Self> {
                let narrow = match v {
                    Value::Int(n) => <$t>::try_from(*n).ok(),
                    Value::UInt(n) => <$t>::try_from(*n).ok(),
                    Value::Decimal(n) if n.scale() == 0 => {
                        n.to_i64().and_then(|n| <$t>::try_from(n).ok())
                    }
                    _ => return Err(mismatch::<$t>(v)),
                };
                narrow.ok_or_else(|| Error::value(format!("{v} does not fit in {}", stringify!($t))))
            }
        }
    )* };
}

integers! {
    i8 as Int(i64);
    i16 as Int(i64);
    i32 as Int(i64);
    i64 as Int(i64);
    u8 as UInt(u64);
    u16 as UInt(u64);
    u32 as UInt(u64);
    u64 as UInt(u64);
}

macro_rules! plain {
    ($($t:ty as $variant:ident;)*) => { $(
        impl ToValue for $t {
            fn to_value(&self) -> Value {
                Value::$variant(self.clone())
            }
        }

        impl FromValue for $t {
            fn from_value(v: &Value) -> Result<Self> {
                match v {
                    Value::$variant(v) => Ok(v.clone()),
                    _ => Err(mismatch::<$t>(v)),
                }
            }
        }
    )* };
}

plain! {
    Decimal as Decimal;
    Date as Date;
    Time as Time;
    DateTime as DateTime;
}

impl ToValue for bool {
    fn to_value(&self) -> Value {
        Value::Int(i64::from(*self))
    }
}

impl FromValue for bool {
    fn from_value(v: &Value) -> Result<Self> {
        match v {
            Value::Int(n) => Ok(*n != 0),
            Value::UInt(n) => Ok(*n != 0),
            _ => Err(mismatch::<bool>(v)),
        }
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value {
        Value::Double(*self)
    }
}

impl ToValue for f32 {
    fn to_value(&self) -> Value {
        Value::Double(f64::from(*self))
    }
}

impl FromValue for f64 {
    fn from_value(v: &Value) -> Result<Self> {
        match v {
            Value::Double(v) => Ok(*v),
            Value::Int(v) => Ok(*v as f64),
            Value::UInt(v) => Ok(*v as f64),
            Value::Decimal(v) => Ok(v.to_f64()),
            _ => Err(mismatch::<f64>(v)),
        }
    }
}

impl FromValue for f32 {
    fn from_value(v: &Value) -> Result<Self> {
        f64::from_value(v).map(|v| v as f32)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value {
        Value::Text(self.to_owned())
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }
}

/// Any value but NULL and bytes that are not UTF-8, as SQL shows it.
impl FromValue for String {
    fn from_value(v: &Value) -> Result<Self> {
        match v {
            Value::Null => Err(mismatch::<String>(v)),
            Value::Bytes(bytes) => {
                String::from_utf8(bytes.clone()).map_err(|_| mismatch::<String>(v))
            }
            other => Ok(other.to_string()),
        }
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value {
        Value::Bytes(self.to_vec())
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value {
        Value::Bytes(self.to_vec())
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value {
        Value::Bytes(self.clone())
    }
}

impl FromValue for Vec<u8> {
    fn from_value(v: &Value) -> Result<Self> {
        match v {
            Value::Bytes(v) => Ok(v.clone()),
            Value::Text(v) => Ok(v.clone().into_bytes()),
            _ => Err(mismatch::<Vec<u8>>(v)),
        }
    }
}

impl ToValue for Value {
    fn to_value(&self) -> Value {
        self.clone()
    }
}

impl FromValue for Value {
    fn from_value(v: &Value) -> Result<Self> {
        Ok(v.clone())
    }
}

/// `None` is NULL.
impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

/// NULL is `None`.
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(v: &Value) -> Result<Self> {
        match v {
            Value::Null => Ok(None),
            v => T::from_value(v).map(Some),
        }
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

/// The values of a statement's `?`, in order: `()` for none, a tuple of up to twelve, an array, a slice or a `Vec`.
pub trait Params {
    /// The values.
    fn to_values(&self) -> Vec<Value>;
}

impl Params for () {
    fn to_values(&self) -> Vec<Value> {
        Vec::new()
    }
}

impl<T: ToValue> Params for [T] {
    fn to_values(&self) -> Vec<Value> {
        self.iter().map(ToValue::to_value).collect()
    }
}

impl<T: ToValue, const N: usize> Params for [T; N] {
    fn to_values(&self) -> Vec<Value> {
        self.as_slice().to_values()
    }
}

impl<T: ToValue> Params for Vec<T> {
    fn to_values(&self) -> Vec<Value> {
        self.as_slice().to_values()
    }
}

impl<P: Params + ?Sized> Params for &P {
    fn to_values(&self) -> Vec<Value> {
        (**self).to_values()
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: ToValue),*> Params for ($($name,)*) {
            fn to_values(&self) -> Vec<Value> {
                vec![$(self.$index.to_value()),*]
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_checked() {
        assert_eq!(i64::from_value(&Value::UInt(5)), Ok(5));
        assert_eq!(u8::from_value(&Value::Int(255)), Ok(255));
        assert!(u8::from_value(&Value::Int(256)).is_err());
        assert!(i64::from_value(&Value::Null).is_err());
        assert_eq!(Option::<i64>::from_value(&Value::Null), Ok(None));
        assert_eq!(
            i64::from_value(&Value::Decimal(Decimal::from_i64(7))),
            Ok(7)
        );
    }

    #[test]
    fn anything_reads_as_text() {
        assert_eq!(String::from_value(&Value::Int(-3)).as_deref(), Ok("-3"));
        let day = Value::Date(Date::from_parts(2024, 2, 29));
        assert_eq!(String::from_value(&day).as_deref(), Ok("2024-02-29"));
        assert!(String::from_value(&Value::Bytes(vec![0xFF])).is_err());
    }

    #[test]
    fn parameters_of_many_shapes() {
        assert_eq!((1, "a", None::<i32>).to_values().len(), 3);
        assert_eq!([1u8, 2].to_values(), [Value::UInt(1), Value::UInt(2)]);
        let mixed: [&dyn ToValue; 2] = [&1, &"x"];
        assert_eq!(mixed[..].to_values()[1], Value::Text("x".to_owned()));
    }
}
