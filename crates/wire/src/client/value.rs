//! Values as a client sees them.

use crate::column_type::{self, ColumnType};
use crate::error::ProtocolError;
use crate::param::ParamValue;
use crate::read::{ReadResult, Reader};
use crate::temporal::{DateTime, Time};
use crate::write::Put;

/// A value of a result row, or a parameter. Text rows hold `Null` and `Bytes` alone.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// Text, bytes, DECIMAL.
    Bytes(Vec<u8>),
    /// A DATE.
    Date(DateTime),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// A TIME.
    Time(Time),
}

impl Value {
    /// Reads one value of a binary row.
    pub(super) fn read(kind: ColumnType, flags: u16, reader: &mut Reader<'_>) -> ReadResult<Self> {
        let unsigned = flags & column_type::UNSIGNED != 0;
        Ok(match ParamValue::read(kind as u8, unsigned, reader)? {
            ParamValue::Null => Value::Null,
            ParamValue::Int(value) => Value::Int(value),
            ParamValue::UInt(value) => Value::UInt(value),
            ParamValue::Float(value) => Value::Float(value),
            ParamValue::Double(value) => Value::Double(value),
            ParamValue::Decimal(bytes) | ParamValue::Text(bytes) | ParamValue::Blob(bytes) => {
                Value::Bytes(bytes.to_vec())
            }
            ParamValue::Date(value) => Value::Date(value),
            ParamValue::DateTime(value) => Value::DateTime(value),
            ParamValue::Time(value) => Value::Time(value),
        })
    }

    /// The parameter type and flag bytes.
    pub(super) fn wire_type(&self) -> [u8; 2] {
        let kind = match self {
            Value::Null => ColumnType::Null,
            Value::Int(_) => ColumnType::LongLong,
            Value::UInt(_) => return [ColumnType::LongLong as u8, 0x80],
            Value::Float(_) => ColumnType::Float,
            Value::Double(_) => ColumnType::Double,
            Value::Bytes(_) => ColumnType::VarString,
            Value::Date(_) => ColumnType::Date,
            Value::DateTime(_) => ColumnType::DateTime,
            Value::Time(_) => ColumnType::Time,
        };
        [kind as u8, 0]
    }

    /// Appends the value as a parameter.
    pub(super) fn write(&self, buf: &mut Vec<u8>) {
        match self {
            Value::Null => {}
            Value::Int(value) => buf.put_u64(*value as u64),
            Value::UInt(value) => buf.put_u64(*value),
            Value::Float(value) => buf.put_u32(value.to_bits()),
            Value::Double(value) => buf.put_u64(value.to_bits()),
            Value::Bytes(bytes) => buf.put_lenenc_bytes(bytes),
            Value::Date(value) => value.write(true, buf),
            Value::DateTime(value) => value.write(false, buf),
            Value::Time(value) => value.write(buf),
        }
    }

    /// The value as text where it is text; `None` for NULL and other kinds.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The value as an integer, also from a text row.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            Value::UInt(value) => i64::try_from(*value).ok(),
            Value::Bytes(_) => self.as_str()?.parse().ok(),
            _ => None,
        }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Bytes(value.as_bytes().to_vec())
    }
}

/// Reads one text row of `columns` values.
pub(super) fn read_text_row(packet: &[u8], columns: usize) -> ReadResult<Vec<Value>> {
    let mut reader = Reader::new(packet);
    let mut row = Vec::new();
    for _ in 0..columns {
        row.push(match reader.lenenc_or_null()? {
            None => Value::Null,
            Some(bytes) => Value::Bytes(bytes.to_vec()),
        });
    }
    if !reader.is_empty() {
        return Err(ProtocolError::Malformed);
    }
    Ok(row)
}
