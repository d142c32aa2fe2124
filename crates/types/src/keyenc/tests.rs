//! Keys order as their values compare, and give reversible values back.

use super::*;
use crate::convert::compare;
use crate::datatype::{IntWidth, Labels};
use crate::temporal::{DateTime, Time};
use proptest::prelude::*;
use std::sync::Arc;

fn key(p: &KeyPart, v: &Value) -> Vec<u8> {
    let mut k = Vec::new();
    p.encode(v.as_ref(), &mut k);
    k
}

/// Values of one type in ascending order.
fn ladders() -> Vec<(DataType, Vec<Value>)> {
    let mut all = number_ladders();
    all.extend(other_ladders());
    all
}

fn number_ladders() -> Vec<(DataType, Vec<Value>)> {
    use DataType as T;
    let dec = |s: &str| Value::Decimal(s.parse().unwrap_or_default());
    vec![
        (
            T::int(IntWidth::Tiny, false),
            [-128, -1, 0, 1, 127].map(Value::Int).to_vec(),
        ),
        (
            T::int(IntWidth::Medium, false),
            [-8_388_608, -1, 0, 8_388_607].map(Value::Int).to_vec(),
        ),
        (
            T::BIGINT,
            [i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int).to_vec(),
        ),
        (
            T::UBIGINT,
            [0, 1, 1 << 63, u64::MAX].map(Value::UInt).to_vec(),
        ),
        (
            T::DOUBLE,
            [-1e300, -1.0, -1e-300, 0.0, 1e-300, 1.5, 1e300]
                .map(Value::Double)
                .to_vec(),
        ),
        (
            T::Float {
                unsigned: false,
                digits: None,
            },
            [-1.5f32, 0.0, 0.1, 3e38].map(Value::Float).to_vec(),
        ),
        (
            T::decimal(10, 2),
            vec![
                dec("-99999999.99"),
                dec("-0.01"),
                dec("0"),
                dec("0.01"),
                dec("5"),
                dec("99999999.99"),
            ],
        ),
    ]
}

fn other_ladders() -> Vec<(DataType, Vec<Value>)> {
    use DataType as T;
    let dt = |y, mo, d, h, us| {
        Value::DateTime(DateTime::from_parts(Date::from_parts(y, mo, d), h, 0, 0, us).with_fsp(6))
    };
    let e = Arc::new(Labels {
        names: vec![(*b"b").into(), (*b"a").into()],
        collation: CollationId::DEFAULT,
    });
    let b = |b: &[u8]| Value::Bytes(b.to_vec());
    vec![
        (
            T::Date,
            vec![
                Value::Date(Date::ZERO),
                Value::Date(Date::from_parts(1999, 12, 31)),
                Value::Date(Date::from_parts(9999, 1, 1)),
            ],
        ),
        (
            T::DateTime(6),
            vec![
                dt(0, 0, 0, 0, 0),
                dt(2024, 1, 31, 10, 0),
                dt(2024, 1, 31, 10, 1),
                dt(2024, 2, 1, 0, 0),
            ],
        ),
        (
            T::Time(6),
            [-3_020_399_000_000, -1, 0, 1, 3_020_399_000_000]
                .map(|m| Value::Time(Time::from_micros(m, 6)))
                .to_vec(),
        ),
        (T::Year, [0u64, 1901, 2155].map(Value::UInt).to_vec()),
        (
            T::Bit(9),
            [0u64, 1, 256, 511].map(|v| Value::Bit(v, 9)).to_vec(),
        ),
        (
            T::Enum(e.clone()),
            [0u16, 1, 2].map(|n| Value::Enum(n, e.clone())).to_vec(),
        ),
        (
            T::Set(e.clone()),
            [0u64, 1, 2, 3].map(|n| Value::Set(n, e.clone())).to_vec(),
        ),
        (
            T::VarBinary(9),
            vec![
                b(b""),
                b(b"\0"),
                b(b"\0\0"),
                b(b"\0\x01"),
                b(b"\x01"),
                b(b"\x01\0"),
                b(b"\x02"),
                b(b"a"),
                b(b"ab"),
                b(b"b"),
            ],
        ),
        (
            T::Binary(2),
            vec![b(b"\0\0"), b(b"\0\x01"), b(b"a\0"), b(b"ab")],
        ),
    ]
}

#[test]
fn ladders_ascend_and_return() {
    for (ty, values) in ladders() {
        for nullable in [false, true] {
            for descending in [false, true] {
                let p = KeyPart {
                    ty: ty.clone(),
                    nullable,
                    prefix: 0,
                    descending,
                };
                let keys: Vec<_> = values.iter().map(|v| key(&p, v)).collect();
                for w in keys.windows(2) {
                    assert_eq!(w[0] < w[1], !descending, "{ty} {w:x?}");
                }
                if nullable {
                    assert_eq!(key(&p, &Value::Null) < keys[0], !descending);
                    let n = p.decode(&key(&p, &Value::Null));
                    assert!(matches!(n, Some((Some(Value::Null), 1))), "{n:?}");
                }
                for (k, v) in keys.iter().zip(&values) {
                    let mut k = k.clone();
                    let n = k.len();
                    k.extend_from_slice(b"tail");
                    let (back, used) = p.decode(&k).unwrap_or((None, 0));
                    assert_eq!(used, n, "{ty}");
                    let back = back.unwrap_or_default();
                    let same = compare(back.as_ref(), v.as_ref());
                    assert_eq!(same, Some(std::cmp::Ordering::Equal), "{ty} {back:?} {v:?}");
                    assert!(
                        p.decode(&k[..n - 1]).is_none() || n == 1 || descending,
                        "{ty}"
                    );
                }
            }
        }
    }
}

#[test]
fn prefixes_count_characters() {
    let p = KeyPart {
        prefix: 2,
        ..KeyPart::new(DataType::varchar(20, CollationId::DEFAULT), false)
    };
    assert_eq!(key(&p, &Value::text("éab")), key(&p, &Value::text("EA")));
    assert_ne!(key(&p, &Value::text("éab")), key(&p, &Value::text("E")));
    let b = KeyPart {
        prefix: 2,
        ..KeyPart::new(DataType::Blob(crate::LobSize::Normal), false)
    };
    assert_eq!(
        key(&b, &Value::Bytes(b"abc".to_vec())),
        key(&b, &Value::Bytes(b"abd".to_vec()))
    );
    assert!(!p.is_reversible() && !b.is_reversible());
}

#[test]
fn ascii_keys_are_short() {
    for name in [
        "utf8mb4_0900_ai_ci",
        "utf8mb4_general_ci",
        "utf8mb4_bin",
        "utf8mb4_unicode_ci",
    ] {
        let c = CollationId::by_name(name).unwrap_or_default();
        let p = KeyPart::new(DataType::varchar(20, c), false);
        assert_eq!(
            key(&p, &Value::Str(b"Hello World-42".to_vec(), c)).len(),
            15,
            "{name}"
        );
    }
}

fn rows() -> impl Strategy<Value = (Value, Value, Value)> {
    let text = prop_oneof!["[abAB é ]{0,4}", any::<String>()];
    (
        prop::option::of(-3i64..3),
        prop::option::of(text),
        prop::collection::vec(0u8..3, 0..4),
    )
        .prop_map(|(i, s, b)| {
            (
                i.map_or(Value::Null, Value::Int),
                s.map_or(Value::Null, |s| Value::text(&s)),
                Value::Bytes(b),
            )
        })
}

fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    compare(a.as_ref(), b.as_ref()).unwrap_or_else(|| b.is_null().cmp(&a.is_null()))
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn tuples_order_as_their_values(a in rows(), b in rows()) {
        let parts = [
            KeyPart::new(DataType::INT, true),
            KeyPart::new(DataType::varchar(9, CollationId::DEFAULT), true),
            KeyPart::new(DataType::VarBinary(9), false),
        ];
        let encode = |r: &(Value, Value, Value)| {
            let mut k = Vec::new();
            encode_key(&parts, [r.0.as_ref(), r.1.as_ref(), r.2.as_ref()], &mut k);
            k
        };
        let want = order(&a.0, &b.0).then_with(|| order(&a.1, &b.1)).then_with(|| order(&a.2, &b.2));
        let ka = encode(&a);
        prop_assert_eq!(ka.cmp(&encode(&b)), want);
        let mut rest = &ka[..];
        for p in &parts {
            let (_, n) = p.decode(rest).unwrap();
            rest = &rest[n..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn doubles_order(a in any::<f64>(), b in any::<f64>()) {
        prop_assume!(!a.is_nan() && !b.is_nan());
        let p = KeyPart::new(DataType::DOUBLE, false);
        let (x, y) = (key(&p, &Value::Double(a)), key(&p, &Value::Double(b)));
        prop_assert_eq!(x.cmp(&y), a.partial_cmp(&b).unwrap());
    }

    #[test]
    fn junk_never_panics(junk in prop::collection::vec(any::<u8>(), 0..40)) {
        for (ty, _) in ladders() {
            for nullable in [false, true] {
                let _ = KeyPart::new(ty.clone(), nullable).decode(&junk);
            }
        }
        for info in crate::collation::COLLATIONS {
            let _ = CollationId(info.id).key_len(&junk);
        }
    }
}
