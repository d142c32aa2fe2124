//! Values as bytes, so that each comes back as it went: rows of tables, of sorts, of groups, in files and in memory (`exec::store`).

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

/// What stands before a text: a tag, a collation, a length.
const TEXT: usize = 1 + 2 + 4;

/// Bytes that a value takes at most, as [`write_value`] writes it.
#[inline]
pub(crate) fn most_bytes(v: ValueRef<'_>) -> usize {
    /// A tag, digits behind the point, and a number of 128 bits or the digits.
    const DECIMAL: usize = 2 + Decimal::packed_len(DIGITS);
    /// A tag, a number of 64 bits, and a number that says what it means.
    const FIXED: usize = 1 + 8 + 4;
    match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => TEXT + b.len(),
        ValueRef::Decimal(_) => DECIMAL,
        _ => FIXED,
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
        let value = length(bytes, members).and_then(|n| bytes.split_at_checked(n));
        let (value, rest) =
            value.ok_or_else(|| SqlError::internal("a spilled row that cannot be read"))?;
        values.push(read_value(value, members));
        bytes = rest;
    }
    Ok(values)
}

/// The bytes of the value in front, with its tag; `None` for what nobody wrote so.
fn length(bytes: &[u8], members: &Members) -> Option<usize> {
    let (tag, b) = bytes.split_first()?;
    let number = |at: usize| {
        let four = b.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*four) as usize)
    };
    let known = |at: usize| number(at).filter(|l| *l < members.all.len());
    Some(match *tag {
        NULL => 1,
        FLOAT | DATE => 1 + 4,
        INT | UINT | DOUBLE => 1 + 8,
        TIME | DATETIME | BIT => 2 + 8,
        DECIMAL => 2 + 16,
        LONG_DECIMAL => 2 + Decimal::packed_len(DIGITS),
        STR => TEXT + number(2)?,
        BYTES => TEXT - 2 + number(0)?,
        ENUM => known(2).map(|_| 1 + 2 + 4)?,
        SET => known(8).map(|_| 1 + 8 + 4)?,
        _ => return None,
    })
}

/// The value that these bytes are, and no others. (In an `Option` it would be copied, which takes as long as to read it.)
#[inline]
pub(crate) fn read_value<'b>(bytes: &'b [u8], members: &'b Members) -> ValueRef<'b> {
    let Some((&tag, b)) = bytes.split_first() else {
        return ValueRef::Null;
    };
    let label = |at_byte: usize| &members.all[u32::from_le_bytes(at(b, at_byte)) as usize];
    match tag {
        INT => ValueRef::Int(i64::from_le_bytes(at(b, 0))),
        UINT => ValueRef::UInt(u64::from_le_bytes(at(b, 0))),
        FLOAT => ValueRef::Float(f32::from_le_bytes(at(b, 0))),
        DOUBLE => ValueRef::Double(f64::from_le_bytes(at(b, 0))),
        DECIMAL => {
            let digits = i128::from_le_bytes(at(b, 1));
            ValueRef::Decimal(Decimal::from_i128(digits, b[0]))
        }
        LONG_DECIMAL => ValueRef::Decimal(Decimal::unpack_le(&b[1..], b[0])),
        STR => ValueRef::Str(&b[6..], CollationId(u16::from_le_bytes(at(b, 0)))),
        BYTES => ValueRef::Bytes(&b[4..]),
        DATE => ValueRef::Date(Date::from_packed(u32::from_le_bytes(at(b, 0)))),
        TIME => ValueRef::Time(Time::from_micros(i64::from_le_bytes(at(b, 1)), b[0])),
        DATETIME => ValueRef::DateTime(DateTime::from_packed(u64::from_le_bytes(at(b, 1)), b[0])),
        BIT => ValueRef::Bit(u64::from_le_bytes(at(b, 1)), b[0]),
        ENUM => ValueRef::Enum(u16::from_le_bytes(at(b, 0)), label(2)),
        SET => ValueRef::Set(u64::from_le_bytes(at(b, 0)), label(8)),
        _ => ValueRef::Null,
    }
}

#[inline]
fn at<const N: usize>(b: &[u8], from: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&b[from..from + N]);
    bytes
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
        for v in &row {
            let mut alone = Vec::new();
            write_value(v.as_ref(), &mut members, &mut alone);
            assert!(alone.len() <= most_bytes(v.as_ref()), "{v:?}");
            assert_eq!(length(&alone, &members), Some(alone.len()), "{v:?}");
        }
        let back = read_values(&bytes, &members).expect("values");
        let back: Vec<Value> = back.into_iter().map(ValueRef::to_owned).collect();
        assert_eq!(format!("{back:?}"), format!("{row:?}"));
        assert!(read_values(&bytes[..bytes.len() - 1], &members).is_err());
        // Whatever the bytes are, they are an error at most.
        for at in 0..bytes.len() {
            let _ = read_values(&bytes[at..], &members);
        }
    }
}
