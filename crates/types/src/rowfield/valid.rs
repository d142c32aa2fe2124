//! Whether what stands in a row's field can be a value of its column: for rows that this program has not written itself.
//!
//! Must never do: convert. What an assignment could have left there is sound, in any SQL mode; all else is not.

use crate::datatype::DataType;
use crate::temporal::{Date, DateTime, MICROS};
use crate::value::ValueRef;

/// 838:59:59, in microseconds.
const LONGEST_TIME: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS;

fn date(d: Date) -> bool {
    d.year() <= 9999 && d.month() <= 12 && d.day() <= 31
}

fn datetime(d: DateTime) -> bool {
    date(d.date()) && d.hour() < 24 && d.minute() < 60 && d.second() < 60 && d.micros() < 1_000_000
}

/// Whether a value that was [loaded](super::load) as this type's is one of its values. Of JSON only that it is text is looked at.
pub fn is_valid(ty: &DataType, v: ValueRef<'_>) -> bool {
    match (ty, v) {
        (_, ValueRef::Null) => true,
        (DataType::Int { .. } | DataType::Year, ValueRef::Int(_) | ValueRef::UInt(_)) => true,
        (DataType::Float { unsigned, .. }, ValueRef::Float(f)) => {
            f.is_finite() && !(*unsigned && f < 0.0)
        }
        (DataType::Double { unsigned, .. }, ValueRef::Double(f)) => {
            f.is_finite() && !(*unsigned && f < 0.0)
        }
        (
            DataType::Decimal {
                precision,
                scale,
                unsigned,
                ..
            },
            ValueRef::Decimal(d),
        ) => {
            let whole = precision.saturating_sub(*scale);
            d.int_digits() <= whole && !(*unsigned && d.is_negative())
        }
        (DataType::Bit(n), ValueRef::Bit(v, _)) => *n >= 64 || v >> n == 0,
        (DataType::Date, ValueRef::Date(d)) => date(d),
        (DataType::DateTime(_) | DataType::Timestamp(_), ValueRef::DateTime(d)) => datetime(d),
        (DataType::Time(_), ValueRef::Time(t)) => t.micros_total().abs() <= LONGEST_TIME,
        (DataType::Enum(l), ValueRef::Enum(n, _)) => usize::from(n) <= l.names.len(),
        (DataType::Set(l), ValueRef::Set(bits, _)) => {
            l.names.len() >= 64 || bits >> l.names.len() == 0
        }
        (
            DataType::Char { chars, collation } | DataType::VarChar { chars, collation },
            ValueRef::Str(b, _),
        ) => {
            let charset = collation.charset();
            charset.first_invalid(b).is_none() && charset.char_count(b) as u64 <= u64::from(*chars)
        }
        (DataType::Text { size, collation }, ValueRef::Str(b, _)) => {
            collation.charset().first_invalid(b).is_none() && b.len() as u64 <= size.max_bytes()
        }
        (DataType::Json, ValueRef::Str(b, _)) => std::str::from_utf8(b).is_ok(),
        (DataType::Binary(n) | DataType::VarBinary(n), ValueRef::Bytes(b)) => {
            b.len() as u64 <= u64::from(*n)
        }
        (DataType::Blob(size), ValueRef::Bytes(b)) => b.len() as u64 <= size.max_bytes(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::CollationId;
    use crate::rowfield::load;

    fn field(ty: &DataType, bytes: &[u8]) -> bool {
        is_valid(ty, load(ty, bytes))
    }

    #[test]
    fn what_no_assignment_leaves_is_not_sound() {
        let text = DataType::varchar(3, CollationId::DEFAULT);
        assert!(field(&text, "äöü".as_bytes()) && field(&text, b""));
        assert!(!field(&text, b"abcd") && !field(&text, b"a\xFF"));
        let date = |y: u32, m: u32, d: u32| (y * 512 + m * 32 + d).to_le_bytes();
        assert!(field(&DataType::Date, &date(2024, 2, 31)[..3]));
        assert!(!field(&DataType::Date, &date(2024, 13, 1)[..3]));
        assert!(!field(&DataType::Date, &date(10_000, 1, 1)[..3]));
        assert!(!field(&DataType::DateTime(0), &[0xFF; 5]));
        // A time beyond the range is loaded as the longest one.
        assert!(field(&DataType::Time(6), &[0xFF; 6]));
        assert!(field(&DataType::Bit(4), &[15]) && !field(&DataType::Bit(4), &[16]));
        let double = DataType::Double {
            unsigned: false,
            digits: None,
        };
        assert!(!field(&double, &f64::NAN.to_le_bytes()) && field(&double, &1f64.to_le_bytes()));
        let decimal = |p, s| DataType::Decimal {
            precision: p,
            scale: s,
            unsigned: false,
            zerofill: false,
        };
        // 99.9 and 100.0.
        assert!(field(&decimal(3, 1), &999i16.to_le_bytes()));
        assert!(!field(&decimal(3, 1), &1000i16.to_le_bytes()));
    }
}
