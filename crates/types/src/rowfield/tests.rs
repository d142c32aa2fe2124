//! Stored fields come back as they went in.

use super::*;
use crate::convert::compare;
use crate::datatype::{Labels, LobSize};
use crate::value::Value;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

fn round_trip(ty: &DataType, v: &Value) {
    let mut b = Vec::new();
    store(ty, v.as_ref(), &mut b);
    if let Some(w) = fixed_width(ty) {
        assert_eq!(b.len(), w, "{ty}");
    }
    let back = load(ty, &b);
    assert_eq!(
        compare(back, v.as_ref()),
        Some(Ordering::Equal),
        "{ty}: {v:?} came back as {back:?}"
    );
}

#[test]
fn every_type() {
    use DataType as T;
    let l = Arc::new(Labels {
        names: (0..9).map(|i| vec![b'a' + i].into()).collect(),
        collation: CollationId::DEFAULT,
    });
    let c = CollationId::DEFAULT;
    for (ty, v) in [
        (T::int(IntWidth::Tiny, false), Value::Int(-5)),
        (T::int(IntWidth::Tiny, true), Value::UInt(255)),
        (T::int(IntWidth::Medium, false), Value::Int(-8_388_608)),
        (T::int(IntWidth::Medium, true), Value::UInt(16_777_215)),
        (T::INT, Value::Int(i64::from(i32::MIN))),
        (T::BIGINT, Value::Int(i64::MIN)),
        (T::UBIGINT, Value::UInt(u64::MAX)),
        (
            T::decimal(65, 30),
            Value::Decimal(Decimal::max_value(65, 30, true)),
        ),
        (
            T::decimal(5, 2),
            Value::Decimal(Decimal::from_i128(-12345, 2)),
        ),
        (T::DOUBLE, Value::Double(-0.1)),
        (
            T::Float {
                unsigned: false,
                digits: None,
            },
            Value::Float(1.25),
        ),
        (T::Bit(12), Value::Bit(0xABC, 12)),
        (
            T::Char {
                chars: 5,
                collation: c,
            },
            Value::text("é"),
        ),
        (T::varchar(5, c), Value::text("a ")),
        (
            T::Text {
                size: LobSize::Long,
                collation: c,
            },
            Value::text(""),
        ),
        (T::VarBinary(4), Value::Bytes(vec![0, 255])),
        (T::Blob(LobSize::Tiny), Value::Bytes(vec![1])),
        (T::Date, Value::Date(Date::from_parts(9999, 12, 31))),
        (
            T::Time(0),
            Value::Time(Time::from_parts(true, 838, 59, 59, 0, 0)),
        ),
        (
            T::Time(6),
            Value::Time(Time::from_parts(true, 838, 59, 59, 0, 6)),
        ),
        (
            T::Time(3),
            Value::Time(Time::from_parts(true, 0, 0, 0, 123_000, 3)),
        ),
        (
            T::DateTime(0),
            Value::DateTime(DateTime::from_parts(
                Date::from_parts(2024, 2, 29),
                23,
                59,
                58,
                0,
            )),
        ),
        (
            T::Timestamp(4),
            Value::DateTime(DateTime::from_parts(
                Date::from_parts(2024, 2, 29),
                23,
                59,
                58,
                123_400,
            )),
        ),
        (T::Year, Value::UInt(2155)),
        (T::Year, Value::UInt(0)),
        (T::Enum(l.clone()), Value::Enum(9, l.clone())),
        (T::Set(l.clone()), Value::Set(0x1FF, l.clone())),
        (
            T::Json,
            Value::Str(b"{}".to_vec(), CollationId::UTF8MB4_BIN),
        ),
    ] {
        round_trip(&ty, &v);
    }
}

#[test]
fn padding() {
    let mut b = Vec::new();
    store(&DataType::Binary(4), ValueRef::Bytes(b"ab"), &mut b);
    assert_eq!(b, b"ab\0\0");
    b.clear();
    let ch = DataType::Char {
        chars: 4,
        collation: CollationId::DEFAULT,
    };
    store(&ch, ValueRef::Str(b"ab  ", CollationId::DEFAULT), &mut b);
    assert_eq!(b, b"ab");
}

#[test]
fn widths() {
    for (ty, w) in [
        (DataType::decimal(10, 2), Some(5)),
        (DataType::Time(0), Some(3)),
        (DataType::DateTime(0), Some(5)),
        (DataType::DateTime(6), Some(8)),
        (DataType::Bit(1), Some(1)),
        (DataType::Bit(64), Some(8)),
        (DataType::Binary(16), Some(16)),
        (DataType::varchar(9, CollationId::DEFAULT), None),
    ] {
        assert_eq!(fixed_width(&ty), w, "{ty}");
    }
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn integers(v in any::<i64>()) {
        round_trip(&DataType::BIGINT, &Value::Int(v));
        round_trip(&DataType::INT, &Value::Int(i64::from(v as i32)));
        round_trip(&DataType::int(IntWidth::Medium, false), &Value::Int(v << 40 >> 40));
        round_trip(&DataType::UBIGINT, &Value::UInt(v as u64));
    }

    #[test]
    fn times(m in -3_020_399_999_999i64..3_020_399_999_999, fsp in 0u8..7) {
        let t = Time::from_micros(m, 6).truncate(fsp);
        round_trip(&DataType::Time(fsp), &Value::Time(t));
    }

    #[test]
    fn loading_junk_never_panics(junk in prop::collection::vec(any::<u8>(), 0..10)) {
        for ty in [DataType::INT, DataType::decimal(30, 5), DataType::decimal(9, 2), DataType::DOUBLE, DataType::Time(6),
            DataType::DateTime(3), DataType::Date, DataType::Year, DataType::Bit(9), DataType::Binary(3)] {
            let v = load(&ty, &junk).to_owned();
            let mut out = Vec::new();
            crate::convert::write_text(v.as_ref(), &ty, &mut out);
        }
    }
}
