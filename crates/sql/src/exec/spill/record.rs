//! Values as bytes, so that each comes back as it went: rows of tables, of sorts, of groups.

use std::sync::Arc;

use smallvec::SmallVec;
use types::datatype::Labels;
use types::{CollationId, Date, DateTime, Decimal, SqlError, Time, ValueRef};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
/// A decimal of up to 38 digits: its digits as a number.
const DECIMAL: u8 = 5;
const STR: u8 = 6;
const BYTES: u8 = 7;
const DATE: u8 = 8;
const TIME: u8 = 9;
const DATETIME: u8 = 10;
const BIT: u8 = 11;
const ENUM: u8 = 12;
const SET: u8 = 13;
/// A decimal of more digits.
const LONG_DECIMAL: u8 = 14;

/// Digits that a long decimal has room for.
const DIGITS: u8 = 65;

/// The members of ENUM and SET columns, which stay in memory: rows have their numbers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Members {
    all: Vec<Arc<Labels>>,
}

impl Members {
    fn number(&mut self, l: &Arc<Labels>) -> u32 {
        // By place: lists that are only equal are kept twice, which costs less than to compare them.
        let known = self.all.iter().rposition(|k| Arc::ptr_eq(k, l));
        known.unwrap_or_else(|| {
            self.all.push(Arc::clone(l));
            self.all.len() - 1
        }) as u32
    }
}

/// Appends a value.
pub(crate) fn write_value(v: ValueRef<'_>, members: &mut Members, out: &mut Vec<u8>) {
    let mut fixed = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match v {
        ValueRef::Null => fixed(NULL, &[]),
        ValueRef::Int(i) => fixed(INT, &i.to_le_bytes()),
        ValueRef::UInt(u) => fixed(UINT, &u.to_le_bytes()),
        ValueRef::Float(f) => fixed(FLOAT, &f.to_le_bytes()),
        ValueRef::Double(f) => fixed(DOUBLE, &f.to_le_bytes()),
        ValueRef::Decimal(d) => match d.mantissa_i128() {
            // Zero with a sign is not in the number.
            Some(m) if m != 0 || !d.is_negative() => {
                fixed(DECIMAL, &[d.scale()]);
                out.extend_from_slice(&m.to_le_bytes());
            }
            _ => {
                fixed(LONG_DECIMAL, &[d.scale()]);
                d.pack_le(DIGITS, d.scale(), out);
            }
        },
        ValueRef::Str(b, c) => {
            fixed(STR, &c.0.to_le_bytes());
            out.extend_from_slice(&(b.len() as u32).to_le_bytes());
            out.extend_from_slice(b);
        }
        ValueRef::Bytes(b) => {
            fixed(BYTES, &(b.len() as u32).to_le_bytes());
            out.extend_from_slice(b);
        }
        ValueRef::Date(x) => fixed(DATE, &x.packed().to_le_bytes()),
        ValueRef::Time(x) => {
            fixed(TIME, &[x.fsp()]);
            out.extend_from_slice(&x.micros_total().to_le_bytes());
        }
        ValueRef::DateTime(x) => {
            fixed(DATETIME, &[x.fsp()]);
            out.extend_from_slice(&x.packed().to_le_bytes());
        }
        ValueRef::Bit(b, n) => {
            fixed(BIT, &[n]);
            out.extend_from_slice(&b.to_le_bytes());
        }
        ValueRef::Enum(n, l) => {
            fixed(ENUM, &n.to_le_bytes());
            out.extend_from_slice(&members.number(l).to_le_bytes());
        }
        ValueRef::Set(n, l) => {
            fixed(SET, &n.to_le_bytes());
            out.extend_from_slice(&members.number(l).to_le_bytes());
        }
    }
}

/// The values of a row.
pub(crate) type Values<'b> = SmallVec<[ValueRef<'b>; 8]>;

/// The values that were written one behind the other.
///
/// # Errors
/// An internal error for bytes that nobody wrote so.
pub(crate) fn read_values<'b>(
    mut bytes: &'b [u8],
    members: &'b Members,
) -> Result<Values<'b>, SqlError> {
    let mut values = Values::new();
    while !bytes.is_empty() {
        let v = read_value(&mut bytes, members);
        values.push(v.ok_or_else(|| SqlError::internal("a spilled row that cannot be read"))?);
    }
    Ok(values)
}

fn front<'b, const N: usize>(bytes: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (front, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(front)
}

fn text<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = u32::from_le_bytes(*front(bytes)?) as usize;
    let (text, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(text)
}

fn read_value<'b>(b: &mut &'b [u8], members: &'b Members) -> Option<ValueRef<'b>> {
    let [tag] = *front(b)?;
    Some(match tag {
        NULL => ValueRef::Null,
        INT => ValueRef::Int(i64::from_le_bytes(*front(b)?)),
        UINT => ValueRef::UInt(u64::from_le_bytes(*front(b)?)),
        FLOAT => ValueRef::Float(f32::from_le_bytes(*front(b)?)),
        DOUBLE => ValueRef::Double(f64::from_le_bytes(*front(b)?)),
        DECIMAL => {
            let [scale] = *front(b)?;
            ValueRef::Decimal(Decimal::from_i128(i128::from_le_bytes(*front(b)?), scale))
        }
        LONG_DECIMAL => {
            let [scale] = *front(b)?;
            let (packed, rest) = b.split_at_checked(Decimal::packed_len(DIGITS))?;
            *b = rest;
            ValueRef::Decimal(Decimal::unpack_le(packed, scale))
        }
        STR => {
            let collation = CollationId(u16::from_le_bytes(*front(b)?));
            ValueRef::Str(text(b)?, collation)
        }
        BYTES => ValueRef::Bytes(text(b)?),
        DATE => ValueRef::Date(Date::from_packed(u32::from_le_bytes(*front(b)?))),
        TIME => {
            let [fsp] = *front(b)?;
            ValueRef::Time(Time::from_micros(i64::from_le_bytes(*front(b)?), fsp))
        }
        DATETIME => {
            let [fsp] = *front(b)?;
            ValueRef::DateTime(DateTime::from_packed(u64::from_le_bytes(*front(b)?), fsp))
        }
        BIT => {
            let [n] = *front(b)?;
            ValueRef::Bit(u64::from_le_bytes(*front(b)?), n)
        }
        ENUM => {
            let n = u16::from_le_bytes(*front(b)?);
            let l = u32::from_le_bytes(*front(b)?);
            ValueRef::Enum(n, members.all.get(l as usize)?)
        }
        SET => {
            let n = u64::from_le_bytes(*front(b)?);
            let l = u32::from_le_bytes(*front(b)?);
            ValueRef::Set(n, members.all.get(l as usize)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    #[test]
    fn values_come_back() {
        let labels = Arc::new(Labels {
            names: vec![b"a".as_slice().into(), b"b".as_slice().into()],
            collation: CollationId::DEFAULT,
        });
        let wide =
            Decimal::parse(b"-1234567890123456789012345678901234567890123456789.012345678901");
        let row = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::UInt(u64::MAX),
            Value::Float(1.5),
            Value::Double(-0.0),
            Value::Decimal(Decimal::from_i128(-1234, 3)),
            Value::Decimal(Decimal::from_i128(0, 2)),
            Value::Decimal(wide.value),
            Value::text("héllo"),
            Value::Bytes(vec![0, 255]),
            Value::DateTime(DateTime::from_unix_micros(1_700_000_000_123_456, 6).unwrap()),
            Value::Time(Time::from_micros(-5_000_000, 3)),
            Value::Bit(5, 3),
            Value::Enum(2, Arc::clone(&labels)),
            Value::Set(3, labels),
        ];
        let mut members = Members::default();
        let mut bytes = Vec::new();
        for v in &row {
            write_value(v.as_ref(), &mut members, &mut bytes);
        }
        assert_eq!(members.all.len(), 1);
        let back = read_values(&bytes, &members).expect("values");
        let back: Vec<Value> = back.into_iter().map(ValueRef::to_owned).collect();
        assert_eq!(format!("{back:?}"), format!("{row:?}"));
        assert!(read_values(&bytes[..bytes.len() - 1], &members).is_err());
    }
}
