//! Conversions against results known from MySQL.

mod assigning;
mod laws;

use super::*;
use crate::datatype::{DataType, IntWidth, Labels, LobSize};
use crate::decimal::Decimal;
use crate::error::Level;
use crate::temporal::Time;
use crate::value::{Value, ValueRef};
use crate::{CollationId, SqlError};
use std::cmp::Ordering;
use std::sync::Arc;

fn t(s: &str) -> Value {
    Value::text(s)
}

fn d(s: &str) -> Value {
    Value::Decimal(s.parse().unwrap_or_else(|()| panic!("{s}")))
}

fn date(s: &str) -> Value {
    Value::Date(DateTime::parse(s.as_bytes()).unwrap().value.date())
}

fn dt(s: &str) -> Value {
    Value::DateTime(DateTime::parse(s.as_bytes()).unwrap().value)
}

fn time(s: &str) -> Value {
    Value::Time(Time::parse(s.as_bytes()).unwrap().value)
}

fn bytes(b: &[u8]) -> Value {
    Value::Bytes(b.to_vec())
}

fn labels() -> Arc<Labels> {
    Arc::new(Labels {
        names: vec![(*b"red").into(), (*b"green").into(), (*b"7").into()],
        collation: CollationId::DEFAULT,
    })
}

#[test]
fn comparisons() {
    use Ordering::{Equal, Greater, Less};
    for (a, b, want) in [
        (Value::Int(1), t("1"), Equal),
        (Value::Int(1), t("1abc"), Equal),
        (t("abc"), Value::Int(0), Equal),
        (d("1.0"), Value::Int(1), Equal),
        (t("a"), t("A"), Equal),
        (t("a"), bytes(b"A"), Greater),
        (Value::UInt(u64::MAX), Value::Int(-1), Greater),
        (date("2024-01-31"), t("2024-01-31"), Equal),
        (date("2024-01-31"), t("2024-1-31 00:00:01"), Less),
        (date("2024-01-31"), Value::Int(20240131), Equal),
        (date("2024-01-31"), dt("2024-01-31 00:00:01"), Less),
        (time("10:00:00"), t("10:00"), Equal),
        (time("10:00:00"), Value::Int(100_000), Equal),
        (Value::Double(0.1), d("0.1"), Equal),
        (
            Value::Int(9_007_199_254_740_993),
            d("9007199254740992.0"),
            Greater,
        ),
        (t("10"), t("9"), Less),
        (Value::Int(10), t("9"), Greater),
        (Value::Bit(5, 8), Value::Int(5), Equal),
        (Value::Int(1), d("1.00000000000000000000001"), Less),
        (Value::Enum(2, labels()), t("GREEN"), Equal),
        (Value::Set(3, labels()), t("red,green"), Equal),
        (Value::Float(0.5), Value::Double(0.5), Equal),
        (
            Value::Str(b"\xE9".to_vec(), CollationId::LATIN1_SWEDISH_CI),
            t("é"),
            Equal,
        ),
    ] {
        assert_eq!(compare(a.as_ref(), b.as_ref()), Some(want), "{a:?} {b:?}");
        assert_eq!(
            compare(b.as_ref(), a.as_ref()),
            Some(want.reverse()),
            "{b:?} {a:?}"
        );
    }
    assert_eq!(compare(ValueRef::Null, ValueRef::Null), None);
    let (a, b) = (t("a"), t("A"));
    assert_eq!(
        compare_with(a.as_ref(), b.as_ref(), CollationId::UTF8MB4_BIN),
        Some(Greater)
    );
}

#[test]
fn casts() {
    use CastType as C;
    let m = ConvertMode::LENIENT;
    let ch = |n| C::Char(n, CollationId::DEFAULT);
    for (v, to, want, codes) in [
        (t("12abc"), C::Signed, "12", &[1292][..]),
        (t(" 12 "), C::Signed, "12", &[]),
        (t("-5"), C::Unsigned, "18446744073709551611", &[]),
        (Value::Int(-5), C::Unsigned, "18446744073709551611", &[]),
        (d("1.5"), C::Signed, "2", &[]),
        (d("-1.5"), C::Signed, "-2", &[]),
        (Value::Double(1.5), C::Signed, "2", &[]),
        (Value::Double(2.5), C::Signed, "2", &[]),
        (t("1.9"), C::Signed, "1", &[1292]),
        (t("9999999999999999999999"), C::Signed, "-1", &[1292]),
        (
            t("9223372036854775808"),
            C::Signed,
            "-9223372036854775808",
            &[],
        ),
        (t("18446744073709551615"), C::Signed, "-1", &[]),
        (Value::UInt(u64::MAX), C::Signed, "-1", &[]),
        (t("-1.5"), C::Decimal(5, 2), "-1.50", &[]),
        (t("1234.567"), C::Decimal(5, 2), "999.99", &[1264]),
        (t("abc"), C::Decimal(5, 2), "0.00", &[1292]),
        (Value::Int(12345), ch(Some(3)), "123", &[1292]),
        (Value::Double(1e20), ch(None), "1e20", &[]),
        (t("abc"), C::Binary(Some(5)), "abc\0\0", &[]),
        (Value::Int(20240131), C::Date, "2024-01-31", &[]),
        (
            t("2024-01-31 10:11:12.7"),
            C::DateTime(0),
            "2024-01-31 10:11:13",
            &[],
        ),
        (t("10:11:12.75"), C::Time(1), "10:11:12.8", &[]),
        (Value::Int(101112), C::Time(0), "10:11:12", &[]),
        (dt("2024-01-31 10:11:12"), C::Time(0), "10:11:12", &[]),
        (dt("2024-01-31 10:11:12"), C::Signed, "20240131101112", &[]),
        (
            dt("2024-01-31 10:11:12.6"),
            C::Decimal(20, 2),
            "20240131101112.60",
            &[],
        ),
        (
            Value::Double(1e20),
            C::Signed,
            "9223372036854775807",
            &[1292],
        ),
        (
            Value::Double(-1e20),
            C::Signed,
            "-9223372036854775808",
            &[1292],
        ),
        (
            Value::Double(1e20),
            C::Unsigned,
            "18446744073709551615",
            &[1292],
        ),
        (t(""), C::Signed, "0", &[1292]),
        (t("0x10"), C::Signed, "0", &[1292]),
        (t("1e2"), C::Double, "100", &[]),
        (t("-1e-2x"), C::Double, "-0.01", &[1292]),
        (t("nope"), C::Date, "NULL", &[1292]),
        (t("24"), C::Year, "2024", &[]),
        (bytes(b"\xFF"), ch(None), "NULL", &[1300]),
        (Value::Null, C::Signed, "NULL", &[]),
    ] {
        let mut w = Vec::new();
        let got = cast(v.as_ref(), to, &m, &mut w);
        let w: Vec<u16> = w.iter().map(|w| w.code).collect();
        assert_eq!(
            (to_text(got.as_ref()).as_str(), &w[..]),
            (want, codes),
            "CAST({v:?} AS {to:?})"
        );
    }
}

#[test]
fn doubles_as_text() {
    for (v, want) in [
        (1e14, "100000000000000"),
        (1e15, "1e15"),
        (1e20, "1e20"),
        (1.5e15, "1.5e15"),
        (123456789012345678.0, "1.2345678901234568e17"),
        (1234567890123456.0, "1.234567890123456e15"),
        (123456789012345.0, "123456789012345"),
        // A fraction is written behind the point, and the even one of two digits that are as near.
        (1_234_567_890_123_456.7, "1234567890123456.8"),
        (1_000_000_000_000_057.2, "1000000000000057.2"),
        (-1_000_000_000_000_000.5, "-1000000000000000.5"),
        (0.0001, "0.0001"),
        (1e-15, "0.000000000000001"),
        (1e-16, "1e-16"),
        (1.5e-15, "0.0000000000000015"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0 / 3.0, "0.3333333333333333"),
        (-1e-300, "-1e-300"),
        (f64::MAX, "1.7976931348623157e308"),
        (100.0, "100"),
        (12345678.9, "12345678.9"),
        (-0.5, "-0.5"),
    ] {
        let mut out = Vec::new();
        write_double(v, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), want);
    }
    for (v, want) in [
        (0.1f32, "0.1"),
        (1e10, "10000000000"),
        (16777217.0, "16777200"),
        (1.17549e-38, "1.17549e-38"),
        (3.4e38, "3.4e38"),
        (0.333_333_34, "0.333333"),
        (123456.7, "123457"),
        (1234567.8, "1234570"),
        (0.00001234567, "0.0000123457"),
    ] {
        let mut out = Vec::new();
        write_float(v, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), want);
    }
}

#[test]
fn typed_text() {
    let zf = DataType::Int {
        width: IntWidth::Int,
        unsigned: true,
        zerofill: true,
        display: 5,
    };
    for (ty, v, want) in [
        (zf, Value::UInt(42), "00042"),
        (
            DataType::Decimal {
                precision: 6,
                scale: 2,
                unsigned: true,
                zerofill: true,
            },
            d("1.50"),
            "0001.50",
        ),
        (DataType::Year, Value::UInt(0), "0000"),
        (
            DataType::Double {
                unsigned: false,
                digits: Some((10, 3)),
            },
            Value::Double(1.5),
            "1.500",
        ),
        (DataType::Bit(9), Value::Bit(0x141, 9), "\u{1}A"),
        (
            DataType::BIGINT,
            Value::Int(i64::MIN),
            "-9223372036854775808",
        ),
        (
            DataType::UBIGINT,
            Value::UInt(u64::MAX),
            "18446744073709551615",
        ),
    ] {
        let mut out = Vec::new();
        write_text(v.as_ref(), &ty, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), want, "{ty}");
    }
}

#[test]
fn truth() {
    for (v, want) in [
        (Value::Null, None),
        (Value::Int(0), Some(false)),
        (t("0.0"), Some(false)),
        (t("1x"), Some(true)),
        (t("x"), Some(false)),
        (d("0.01"), Some(true)),
        (time("00:00:00"), Some(false)),
    ] {
        assert_eq!(is_true(v.as_ref()), want, "{v:?}");
    }
    let mut w = Vec::new();
    to_truth_warn(t("1x").as_ref(), &mut w);
    assert_eq!(w[0].message, "Truncated incorrect DOUBLE value: '1x'");
}
