//! One value in a row of the binary log: its type as the table's event says it, and its bytes.
//!
//! A type is MySQL's number and up to two bytes about it. The bytes of a value say nothing of signs and character sets: what reads them
//! knows that from the table.

use super::number::{decimal, put_decimal};
use super::temporal;
use super::{BITS, bytes_of};
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;
use types::datatype::{DataType, IntWidth, LobSize};
use types::temporal::{DateTime, Time};
use types::{Value, ValueRef};

/// MySQL's numbers of types in the binary log.
#[allow(missing_docs)]
pub mod code {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const OLD_TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const OLD_TIME: u8 = 11;
    pub const OLD_DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP: u8 = 17;
    pub const DATETIME: u8 = 18;
    pub const TIME: u8 = 19;
    pub const VECTOR: u8 = 242;
    pub const JSON: u8 = 245;
    pub const DECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const BLOB: u8 = 252;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// What of a length above 255 stands in the type's number: its two bits, turned.
const LONG_STRING: u8 = 0x30;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType {
    /// Of [`code`].
    pub code: u8,
    /// The bytes about it, the first in the low half.
    pub about: [u8; 2],
}

/// How many bytes about a type there are.
const fn about_len(of: u8) -> usize {
    match of {
        code::VARCHAR | code::BIT | code::DECIMAL | code::ENUM | code::SET | code::STRING => 2,
        code::FLOAT
        | code::DOUBLE
        | code::TIMESTAMP
        | code::DATETIME
        | code::TIME
        | code::JSON
        | code::BLOB
        | code::VECTOR
        | code::GEOMETRY => 1,
        _ => 0,
    }
}

impl ColumnType {
    const fn new(code: u8, first: u8, second: u8) -> ColumnType {
        ColumnType {
            code,
            about: [first, second],
        }
    }

    fn string(bytes: u32) -> ColumnType {
        let long = (bytes >> 4 & u32::from(LONG_STRING)) as u8;
        ColumnType::new(code::STRING, code::STRING ^ long, bytes as u8)
    }

    fn varchar(bytes: u32) -> ColumnType {
        let [low, high, ..] = bytes.to_le_bytes();
        ColumnType::new(code::VARCHAR, low, high)
    }

    fn blob(size: LobSize) -> ColumnType {
        let length = match size {
            LobSize::Tiny => 1,
            LobSize::Normal => 2,
            LobSize::Medium => 3,
            LobSize::Long => 4,
        };
        ColumnType::new(code::BLOB, length, 0)
    }

    /// That of a column; `None` for what no column has.
    pub fn of(ty: &DataType) -> Option<ColumnType> {
        let plain = |code| ColumnType::new(code, 0, 0);
        Some(match ty {
            DataType::Null => return None,
            DataType::Json => ColumnType::new(code::JSON, 4, 0),
            DataType::Int { width, .. } => plain(match width {
                IntWidth::Tiny => code::TINY,
                IntWidth::Small => code::SHORT,
                IntWidth::Medium => code::INT24,
                IntWidth::Int => code::LONG,
                IntWidth::Big => code::LONGLONG,
            }),
            DataType::Decimal {
                precision, scale, ..
            } => ColumnType::new(code::DECIMAL, *precision, *scale),
            DataType::Float { .. } => ColumnType::new(code::FLOAT, 4, 0),
            DataType::Double { .. } => ColumnType::new(code::DOUBLE, 8, 0),
            DataType::Bit(bits) => ColumnType::new(code::BIT, bits % BITS as u8, bits / BITS as u8),
            DataType::Char { chars, collation } => {
                ColumnType::string(chars * collation.charset().max_len() as u32)
            }
            DataType::Binary(n) => ColumnType::string(*n),
            DataType::VarChar { chars, collation } => {
                ColumnType::varchar(chars * collation.charset().max_len() as u32)
            }
            DataType::VarBinary(n) => ColumnType::varchar(*n),
            DataType::Text { size, .. } | DataType::Blob(size) => ColumnType::blob(*size),
            DataType::Date => plain(code::DATE),
            DataType::Time(fsp) => ColumnType::new(code::TIME, *fsp, 0),
            DataType::DateTime(fsp) => ColumnType::new(code::DATETIME, *fsp, 0),
            DataType::Timestamp(fsp) => ColumnType::new(code::TIMESTAMP, *fsp, 0),
            DataType::Year => plain(code::YEAR),
            DataType::Enum(labels) => {
                let bytes = if labels.names.len() < 256 { 1 } else { 2 };
                ColumnType::new(code::STRING, code::ENUM, bytes)
            }
            DataType::Set(labels) => {
                let bytes = match bytes_of(labels.names.len()) as u8 {
                    n @ 1..=4 => n,
                    0 => 1,
                    _ => 8,
                };
                ColumnType::new(code::STRING, code::SET, bytes)
            }
        })
    }

    /// Appends the bytes about it.
    pub(super) fn put_about(self, out: &mut Vec<u8>) {
        out.put_bytes(&self.about[..about_len(self.code)]);
    }

    /// Reads them.
    pub(super) fn read_about(code: u8, r: &mut Reader<'_>) -> ReadResult<ColumnType> {
        let mut about = [0; 2];
        let n = about_len(code);
        about[..n].copy_from_slice(r.read_bytes(n)?);
        Ok(ColumnType { code, about })
    }

    /// The number of the type that it stands for, and the most bytes of a string: CHAR, ENUM and SET share one number.
    fn real(self) -> (u8, usize) {
        let [first, second] = self.about;
        if self.code != code::STRING {
            return (self.code, usize::from(u16::from_le_bytes(self.about)));
        }
        match first & LONG_STRING == LONG_STRING {
            true => (first, usize::from(second)),
            false => {
                let high = usize::from(first & LONG_STRING ^ LONG_STRING) << 4;
                (first | LONG_STRING, usize::from(second) | high)
            }
        }
    }

    /// Whether its values are numbers, as the table's event counts columns that can have a sign.
    pub fn is_numeric(self) -> bool {
        matches!(
            self.code,
            code::TINY
                | code::SHORT
                | code::INT24
                | code::LONG
                | code::LONGLONG
                | code::DECIMAL
                | code::FLOAT
                | code::DOUBLE
                | code::YEAR
        )
    }

    /// Whether its values are texts or byte strings, as the table's event counts columns that have a character set.
    pub fn is_character(self) -> bool {
        match self.code {
            code::VARCHAR | code::BLOB | code::VECTOR => true,
            code::STRING => self.real().0 == code::STRING,
            _ => false,
        }
    }

    /// ENUM.
    pub fn is_enum(self) -> bool {
        self.real().0 == code::ENUM
    }

    /// SET.
    pub fn is_set(self) -> bool {
        self.real().0 == code::SET
    }

    /// Appends a value that is not NULL. One of JSON is given as bytes, in the form that MySQL keeps it in.
    ///
    /// # Errors
    /// [`ProtocolError::WrongArguments`]: the value is not one of the type.
    pub fn put(self, value: ValueRef<'_>, out: &mut Vec<u8>) -> ReadResult<()> {
        let (real, length) = self.real();
        let number = match value {
            ValueRef::Int(v) => Some(v as u64),
            ValueRef::UInt(v) | ValueRef::Bit(v, _) | ValueRef::Set(v, _) => Some(v),
            ValueRef::Enum(v, _) => Some(u64::from(v)),
            _ => None,
        };
        let [first, second] = self.about;
        match (real, value) {
            (code::FLOAT, ValueRef::Float(v)) => out.put_bytes(&v.to_le_bytes()),
            (code::DOUBLE, ValueRef::Double(v)) => out.put_bytes(&v.to_le_bytes()),
            (code::DECIMAL, ValueRef::Decimal(v)) => put_decimal(&v, first, second, out),
            (code::DATE, ValueRef::Date(v)) => temporal::put_date(v, out),
            (code::DATETIME, ValueRef::DateTime(v)) => temporal::put_datetime(v, first, out),
            (code::TIMESTAMP, ValueRef::DateTime(v)) => temporal::put_timestamp(v, first, out),
            (code::TIME, ValueRef::Time(v)) => temporal::put_time(v, first, out),
            // What is stored is text, and this is not: whoever writes makes the form of it that MySQL keeps.
            (code::JSON, ValueRef::Str(..)) => return Err(ProtocolError::WrongArguments),
            (_, ValueRef::Str(bytes, _)) => put_string(real, length, bytes, b' ', out)?,
            (_, ValueRef::Bytes(bytes)) => put_string(real, length, bytes, 0, out)?,
            _ => {
                let (bytes, value) = match (real, number) {
                    // Years are counted from 1900; 0 is a year of its own.
                    (code::YEAR, Some(v)) => (1, v.saturating_sub(1900)),
                    (code::BIT, Some(v)) => {
                        let n = self.bit_bytes();
                        out.put_bytes(&v.to_be_bytes()[8 - n..]);
                        return Ok(());
                    }
                    (code::ENUM | code::SET, Some(v)) => (length.min(8), v),
                    (_, Some(v)) => (int_bytes(real).ok_or(ProtocolError::WrongArguments)?, v),
                    _ => return Err(ProtocolError::WrongArguments),
                };
                out.put_bytes(&value.to_le_bytes()[..bytes]);
            }
        }
        Ok(())
    }

    fn bit_bytes(self) -> usize {
        let [rest, whole] = self.about.map(usize::from);
        (whole + usize::from(rest > 0)).min(8)
    }

    /// Reads a value that is not NULL. Integers are signed unless `unsigned` says otherwise; texts come as bytes, an ENUM as its number,
    /// a SET as its bits, TIMESTAMP in UTC.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or the type is not known.
    pub fn read(self, r: &mut Reader<'_>, unsigned: bool) -> ReadResult<Value> {
        let (real, length) = self.real();
        let [first, second] = self.about;
        Ok(match real {
            code::FLOAT => Value::Float(f32::from_le_bytes(r.array()?)),
            code::DOUBLE => Value::Double(f64::from_le_bytes(r.array()?)),
            code::DECIMAL => Value::Decimal(decimal(r, first, second)?),
            code::DATE => Value::Date(temporal::date(r)?),
            code::DATETIME => Value::DateTime(temporal::datetime(r, first)?),
            code::TIMESTAMP => Value::DateTime(temporal::timestamp(r, first)?),
            code::TIME => Value::Time(temporal::time(r, first)?),
            code::OLD_DATETIME | code::OLD_TIMESTAMP | code::OLD_TIME => old_temporal(real, r)?,
            code::YEAR => match r.u8()? {
                0 => Value::Int(0),
                n => Value::Int(1900 + i64::from(n)),
            },
            code::BIT => {
                let bytes = r.read_bytes(self.bit_bytes())?;
                let bits = bytes.iter().fold(0, |v, b| v << BITS | u64::from(*b));
                Value::Bit(bits, first.saturating_add(second.saturating_mul(8)).min(64))
            }
            code::ENUM | code::SET if (1..=8).contains(&length) => {
                Value::UInt(low_first(r.read_bytes(length)?))
            }
            code::VARCHAR | code::STRING => {
                let n = match length < 256 {
                    true => usize::from(r.u8()?),
                    false => usize::from(r.u16()?),
                };
                Value::Bytes(r.read_bytes(n)?.to_vec())
            }
            code::BLOB | code::JSON | code::GEOMETRY | code::VECTOR if (1..=4).contains(&first) => {
                let n = low_first(r.read_bytes(usize::from(first))?);
                Value::Bytes(r.read_bytes(n as usize)?.to_vec())
            }
            _ => {
                let bytes = int_bytes(real).ok_or(ProtocolError::Malformed)?;
                let v = low_first(r.read_bytes(bytes)?);
                let above = 64 - bytes as u32 * 8;
                match unsigned {
                    true => Value::UInt(v),
                    false => Value::Int((v << above) as i64 >> above),
                }
            }
        })
    }
}

fn int_bytes(real: u8) -> Option<usize> {
    Some(match real {
        code::TINY => 1,
        code::SHORT => 2,
        code::INT24 => 3,
        code::LONG => 4,
        code::LONGLONG => 8,
        _ => return None,
    })
}

fn low_first(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
}

/// A string, with its length in front. What pads a CHAR or BINARY is left out, as MySQL does.
fn put_string(real: u8, length: usize, bytes: &[u8], pad: u8, out: &mut Vec<u8>) -> ReadResult<()> {
    let (bytes, length_bytes) = match real {
        code::STRING => {
            let end = bytes.iter().rposition(|b| *b != pad).map_or(0, |at| at + 1);
            (&bytes[..end], if length < 256 { 1 } else { 2 })
        }
        code::VARCHAR => (bytes, if length < 256 { 1 } else { 2 }),
        // JSON in the form that MySQL keeps it in.
        code::BLOB | code::JSON | code::GEOMETRY | code::VECTOR => (bytes, length & 0xFF),
        _ => return Err(ProtocolError::WrongArguments),
    };
    let length = bytes.len() as u64;
    if !(1..=4).contains(&length_bytes) || length >> (8 * length_bytes) != 0 {
        return Err(ProtocolError::WrongArguments);
    }
    out.put_bytes(&length.to_le_bytes()[..length_bytes]);
    out.put_bytes(bytes);
    Ok(())
}

/// Times as servers before MySQL 5.6.4 wrote them, and MariaDB does for columns that are as old.
fn old_temporal(real: u8, r: &mut Reader<'_>) -> ReadResult<Value> {
    let datetime = |n: i64| match n {
        0 => Ok(DateTime::ZERO),
        n => DateTime::from_number(n)
            .map(|(v, _)| v)
            .ok_or(ProtocolError::Malformed),
    };
    Ok(match real {
        code::OLD_TIMESTAMP => Value::DateTime(match r.u32()? {
            0 => DateTime::ZERO,
            s => DateTime::from_unix_micros(i64::from(s) * 1_000_000, 0)
                .ok_or(ProtocolError::Malformed)?,
        }),
        code::OLD_DATETIME => Value::DateTime(datetime(r.u64()? as i64)?),
        _ => {
            let n = i64::from((r.u24()? << 8) as i32 >> 8);
            let (time, _) = Time::from_number(n).ok_or(ProtocolError::Malformed)?;
            Value::Time(time)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use types::CollationId;
    use types::datatype::Labels;
    use types::decimal::Decimal;
    use types::temporal::Date;

    fn bytes(ty: &DataType, value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        let column = ColumnType::of(ty).unwrap();
        column.put(value.as_ref(), &mut out).unwrap();
        out
    }

    fn labels(n: usize) -> Arc<Labels> {
        let names = (0..n).map(|i| i.to_string().into_bytes().into()).collect();
        let collation = CollationId(255);
        Arc::new(Labels { names, collation })
    }

    #[test]
    fn the_bytes_are_those_of_mysql() {
        let text = |s: &str| Value::Str(s.as_bytes().to_vec(), CollationId(255));
        let char_ = |chars| DataType::Char {
            chars,
            collation: CollationId(255),
        };
        let varchar = |chars| DataType::varchar(chars, CollationId(255));
        let few = labels(3);
        let many = labels(300);
        let cases: Vec<(DataType, Value, Vec<u8>)> = vec![
            (DataType::INT, Value::Int(-2), vec![0xFE, 0xFF, 0xFF, 0xFF]),
            (
                DataType::int(IntWidth::Medium, true),
                Value::UInt(0x01_0203),
                vec![3, 2, 1],
            ),
            (DataType::Year, Value::Int(2024), vec![124]),
            (DataType::Year, Value::Int(0), vec![0]),
            (DataType::Bit(12), Value::Bit(0xABC, 12), vec![0x0A, 0xBC]),
            (varchar(10), text("ab"), vec![2, b'a', b'b']),
            (varchar(64), text("ab"), vec![2, 0, b'a', b'b']),
            (char_(10), text("ab "), vec![2, b'a', b'b']),
            (char_(100), text("ab"), vec![2, 0, b'a', b'b']),
            (
                DataType::Binary(4),
                Value::Bytes(vec![1, 0, 0, 0]),
                vec![1, 1],
            ),
            (
                DataType::Blob(LobSize::Medium),
                Value::Bytes(vec![0]),
                vec![1, 0, 0, 0],
            ),
            (
                DataType::Enum(few.clone()),
                Value::Enum(2, few.clone()),
                vec![2],
            ),
            (
                DataType::Enum(many.clone()),
                Value::Enum(258, many),
                vec![2, 1],
            ),
            (DataType::Set(few.clone()), Value::Set(5, few), vec![5]),
            (
                DataType::Date,
                Value::Date(Date::from_parts(2010, 10, 17)),
                vec![0x51, 0xB5, 0x0F],
            ),
            (
                DataType::decimal(4, 2),
                Value::Decimal(Decimal::from_i128(-150, 2)),
                vec![0x7E, 0xCD],
            ),
        ];
        for (ty, value, expected) in cases {
            assert_eq!(bytes(&ty, &value), expected, "{ty:?}");
        }
        let json = ColumnType::of(&DataType::Json).unwrap();
        let mut out = Vec::new();
        assert!(json.put(text("[]").as_ref(), &mut out).is_err());
        json.put(ValueRef::Bytes(&[4, 0]), &mut out).unwrap();
        assert_eq!(out, [2, 0, 0, 0, 4, 0]);
    }

    #[test]
    fn what_a_type_cannot_hold_is_refused() {
        let mut out = Vec::new();
        let column = ColumnType::of(&DataType::INT).unwrap();
        assert!(column.put(ValueRef::Bytes(b"1"), &mut out).is_err());
        let column = ColumnType::of(&DataType::VarBinary(10)).unwrap();
        assert!(column.put(ValueRef::Int(1), &mut out).is_err());
        assert!(column.put(ValueRef::Bytes(&[0; 256]), &mut out).is_err());
        assert!(out.is_empty());
    }

    #[test]
    fn a_long_char_has_its_length_in_its_type() {
        for n in [1u32, 255, 256, 600, 1020] {
            let (real, length) = ColumnType::string(n).real();
            assert_eq!((real, length), (code::STRING, n as usize));
        }
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn integers_are_read_back(v: i64, u: u64) {
            for width in [IntWidth::Tiny, IntWidth::Small, IntWidth::Medium, IntWidth::Int, IntWidth::Big] {
                let above = 64 - width.bytes() as u32 * 8;
                let (v, u) = (v << above >> above, u << above >> above);
                let column = ColumnType::of(&DataType::int(width, false)).unwrap();
                let mut out = Vec::new();
                column.put(ValueRef::Int(v), &mut out).unwrap();
                column.put(ValueRef::UInt(u), &mut out).unwrap();
                let mut r = Reader::new(&out);
                let same = matches!(column.read(&mut r, false), Ok(Value::Int(n)) if n == v);
                prop_assert!(same);
                let same = matches!(column.read(&mut r, true), Ok(Value::UInt(n)) if n == u);
                prop_assert!(same && r.is_empty());
            }
        }

        #[test]
        fn any_bytes_of_any_type_are_read_without_panic(
            code: u8, about: [u8; 2], unsigned: bool, bytes: Vec<u8>
        ) {
            let _ = ColumnType { code, about }.read(&mut Reader::new(&bytes), unsigned);
        }
    }
}
