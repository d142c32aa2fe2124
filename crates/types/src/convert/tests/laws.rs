//! Properties that hold for any value and type.

use super::*;
use proptest::prelude::*;

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        any::<f64>()
            .prop_filter("no NaN in SQL", |v| !v.is_nan())
            .prop_map(Value::Double),
        any::<f32>()
            .prop_filter("no NaN in SQL", |v| !v.is_nan())
            .prop_map(Value::Float),
        "[-+0-9.eE: a-]{0,20}".prop_map(|s| Value::text(&s)),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(Value::Bytes),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|b| Value::Str(b, CollationId::DEFAULT)),
        (any::<i128>(), 0u8..31).prop_map(|(m, s)| Value::Decimal(Decimal::from_i128(m, s))),
        any::<u64>().prop_map(|p| Value::DateTime(DateTime::from_packed(p, 6))),
        any::<u32>().prop_map(|p| Value::Date(crate::temporal::Date::from_packed(p))),
        any::<i64>().prop_map(|m| Value::Time(Time::from_micros(m, 3))),
        any::<u64>().prop_map(|b| Value::Bit(b, 64)),
        (0u16..5).prop_map(|n| Value::Enum(n, labels())),
    ]
}

fn any_type() -> impl Strategy<Value = DataType> {
    let c = CollationId::DEFAULT;
    prop::sample::select(vec![
        DataType::INT,
        DataType::UBIGINT,
        DataType::decimal(5, 2),
        DataType::decimal(65, 30),
        DataType::DOUBLE,
        DataType::Float {
            unsigned: true,
            digits: Some((7, 2)),
        },
        DataType::Bit(9),
        DataType::Char {
            chars: 3,
            collation: c,
        },
        DataType::varchar(5, CollationId::LATIN1_SWEDISH_CI),
        DataType::Binary(4),
        DataType::Text {
            size: LobSize::Tiny,
            collation: c,
        },
        DataType::Date,
        DataType::Time(2),
        DataType::DateTime(3),
        DataType::Timestamp(6),
        DataType::Year,
        DataType::Enum(labels()),
        DataType::Set(labels()),
        DataType::Json,
    ])
}

proptest! {
    #![proptest_config(base::seeded!(2000))]

    /// Whatever is assigned can be stored, loaded and keyed, and a second assignment changes nothing.
    #[test]
    fn assignment_is_idempotent_and_storable(v in any_value(), ty in any_type()) {
        let target = Target { ty: &ty, nullable: true, column: "c", row: 1 };
        let mut w = Vec::new();
        let _ = assign(v.as_ref(), &target, &ConvertMode::STRICT, &mut w);
        let once = assign(v.as_ref(), &target, &ConvertMode::LENIENT, &mut w).unwrap().into_value();
        let twice = assign(once.as_ref(), &target, &ConvertMode::LENIENT, &mut w).unwrap().into_value();
        if once.is_null() {
            prop_assert!(twice.is_null());
            return Ok(());
        }
        let mut stored = Vec::new();
        crate::rowfield::store(&ty, once.as_ref(), &mut stored);
        let mut again = Vec::new();
        crate::rowfield::store(&ty, twice.as_ref(), &mut again);
        prop_assert_eq!(&stored, &again);
        let back = crate::rowfield::load(&ty, &stored);
        if !matches!(ty, DataType::Binary(_)) {
            prop_assert_eq!(compare(back, once.as_ref()), Some(Ordering::Equal), "{:?} {:?}", back, once);
        }
        let part = crate::keyenc::KeyPart::new(ty.clone(), false);
        let (mut k, mut l) = (Vec::new(), Vec::new());
        part.encode(once.as_ref(), &mut k);
        part.encode(back, &mut l);
        prop_assert_eq!(k, l);
    }

    #[test]
    fn comparison_and_casts_are_total(a in any_value(), b in any_value()) {
        let want = compare(a.as_ref(), b.as_ref());
        prop_assert_eq!(compare(b.as_ref(), a.as_ref()), want.map(Ordering::reverse));
        let mut w = Vec::new();
        for to in [CastType::Signed, CastType::Unsigned, CastType::Decimal(10, 3), CastType::Double, CastType::Char(Some(2), CollationId::DEFAULT),
            CastType::Binary(None), CastType::Date, CastType::Time(3), CastType::DateTime(6), CastType::Year] {
            let _ = cast(a.as_ref(), to, &ConvertMode::STRICT, &mut w);
        }
        let _ = (to_int(a.as_ref()), to_decimal(a.as_ref()), is_true(a.as_ref()), to_text(a.as_ref()));
    }

    #[test]
    fn integers_as_text(v in any::<i64>(), u in any::<u64>()) {
        let mut out = Vec::new();
        write_int(v, &mut out);
        out.push(b' ');
        write_uint(u, &mut out);
        prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{v} {u}"));
    }

    #[test]
    fn doubles_read_back(v in any::<f64>()) {
        prop_assume!(v.is_finite());
        let mut out = Vec::new();
        write_double(v, &mut out);
        prop_assert_eq!(str_to_f64(&out), (v, out.len()));
    }
}
