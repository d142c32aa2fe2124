//! Assignment to columns, strict and lenient.

use super::*;

/// Assigns and shows the result as the text protocol would, then the warnings' codes.
fn try_assign(
    ty: &DataType,
    v: &Value,
    mode: &ConvertMode,
) -> Result<(String, Vec<u16>), SqlError> {
    let mut w = Vec::new();
    let target = Target {
        ty,
        nullable: false,
        column: "c",
        row: 1,
    };
    let got = assign(v.as_ref(), &target, mode, &mut w)?;
    let mut out = Vec::new();
    write_text(got.as_ref(), ty, &mut out);
    let text = String::from_utf8(out).unwrap_or_else(|e| format!("{:x?}", e.into_bytes()));
    Ok((text, w.iter().map(|w| w.code).collect()))
}

/// Type, value, what strict mode gives (`!code` for an error), what lenient mode stores and its warning.
type Case = (DataType, Value, &'static str, &'static str, &'static [u16]);

fn check(cases: Vec<Case>) {
    for (ty, v, strict, lenient, codes) in cases {
        let got = match try_assign(&ty, &v, &ConvertMode::STRICT) {
            Ok((s, _)) => s,
            Err(e) => format!("!{}", e.code),
        };
        assert_eq!(got, strict, "strict {ty} <- {v:?}");
        let (got, w) = try_assign(&ty, &v, &ConvertMode::LENIENT).unwrap();
        assert_eq!(
            (got.as_str(), &w[..]),
            (lenient, codes),
            "lenient {ty} <- {v:?}"
        );
    }
}

#[test]
fn into_integers() {
    let tiny = DataType::int(IntWidth::Tiny, false);
    let utiny = DataType::int(IntWidth::Tiny, true);
    let int = DataType::INT;
    check(vec![
        (tiny.clone(), Value::Int(127), "127", "127", &[]),
        (tiny.clone(), Value::Int(128), "!1264", "127", &[1264]),
        (tiny.clone(), Value::Int(-129), "!1264", "-128", &[1264]),
        (utiny.clone(), Value::Int(-1), "!1264", "0", &[1264]),
        (utiny, Value::UInt(u64::MAX), "!1264", "255", &[1264]),
        (int.clone(), Value::Double(2.5), "2", "2", &[]),
        (int.clone(), Value::Double(3.5), "4", "4", &[]),
        (int.clone(), d("2.5"), "3", "3", &[]),
        (int.clone(), t("2.5"), "3", "3", &[]),
        (int.clone(), t("1e2"), "100", "100", &[]),
        (int.clone(), t(" 12 "), "12", "12", &[]),
        (int.clone(), t("12abc"), "!1265", "12", &[1265]),
        (int.clone(), t("abc"), "!1366", "0", &[1366]),
        // That it does not fit is told alone.
        (tiny.clone(), t("300 abc"), "!1264", "127", &[1264]),
        (int.clone(), t(""), "!1366", "0", &[1366]),
        (int.clone(), t("1e20"), "!1264", "2147483647", &[1264]),
        (
            int.clone(),
            Value::Double(1e20),
            "!1264",
            "2147483647",
            &[1264],
        ),
        (int.clone(), Value::Null, "!1048", "0", &[1048]),
        (int.clone(), date("2024-01-31"), "20240131", "20240131", &[]),
        (
            DataType::BIGINT,
            dt("2024-01-31 10:11:12.6"),
            "20240131101113",
            "20240131101113",
            &[],
        ),
        (int.clone(), time("10:11:12"), "101112", "101112", &[]),
        (int.clone(), Value::Bit(5, 8), "5", "5", &[]),
        (int, Value::Enum(2, labels()), "2", "2", &[]),
        (
            DataType::UBIGINT,
            t("18446744073709551615"),
            "18446744073709551615",
            "18446744073709551615",
            &[],
        ),
        (
            DataType::UBIGINT,
            t("18446744073709551616"),
            "!1264",
            "18446744073709551615",
            &[1264],
        ),
    ]);
}

#[test]
fn into_decimals_and_reals() {
    let dec = DataType::decimal(5, 2);
    let udec = DataType::Decimal {
        precision: 5,
        scale: 2,
        unsigned: true,
        zerofill: false,
    };
    let float = DataType::Float {
        unsigned: false,
        digits: None,
    };
    let fixed = DataType::Double {
        unsigned: false,
        digits: Some((10, 3)),
    };
    check(vec![
        (dec.clone(), d("1.5"), "1.50", "1.50", &[]),
        (dec.clone(), Value::Int(-999), "-999.00", "-999.00", &[]),
        (dec.clone(), Value::Int(1000), "!1264", "999.99", &[1264]),
        (dec.clone(), t("-1e9"), "!1264", "-999.99", &[1264]),
        (dec.clone(), d("1.005"), "1.01", "1.01", &[1265]),
        (dec.clone(), d("999.995"), "!1264", "999.99", &[1264]),
        (dec.clone(), Value::Double(1.005), "1.01", "1.01", &[]),
        (dec.clone(), t("abc"), "!1366", "0.00", &[1366]),
        (dec, t("1.5x"), "!1265", "1.50", &[1265]),
        (udec, Value::Int(-1), "!1264", "0.00", &[1264]),
        (DataType::DOUBLE, t("1.5"), "1.5", "1.5", &[]),
        (DataType::DOUBLE, t("abc"), "!1265", "0", &[1265]),
        (DataType::DOUBLE, t("1e"), "!1265", "1", &[1265]),
        (DataType::DOUBLE, d("0.1"), "0.1", "0.1", &[]),
        (
            fixed.clone(),
            Value::Double(1234.56789),
            "1234.568",
            "1234.568",
            &[],
        ),
        (fixed, Value::Double(1e8), "!1264", "9999999.999", &[1264]),
        (float.clone(), Value::Double(0.1), "0.1", "0.1", &[]),
        (float, Value::Double(1e39), "!1264", "3.40282e38", &[1264]),
    ]);
}

#[test]
fn into_strings() {
    let c = CollationId::DEFAULT;
    let vc = DataType::varchar(3, c);
    let ch = DataType::Char {
        chars: 3,
        collation: c,
    };
    let latin = DataType::varchar(3, CollationId::LATIN1_SWEDISH_CI);
    let tiny = DataType::Text {
        size: LobSize::Tiny,
        collation: c,
    };
    let long = "é".repeat(200);
    check(vec![
        (vc.clone(), t("abc"), "abc", "abc", &[]),
        (vc.clone(), t("日本語"), "日本語", "日本語", &[]),
        (vc.clone(), t("abcd"), "!1406", "abc", &[1265]),
        (vc.clone(), t("abc  "), "abc", "abc", &[1265]),
        (vc.clone(), t("a  "), "a  ", "a  ", &[]),
        (ch.clone(), t("a  "), "a", "a", &[]),
        (ch.clone(), t("abc   "), "abc", "abc", &[]),
        (ch, t("abcd"), "!1406", "abc", &[1265]),
        (vc.clone(), Value::Int(-12), "-12", "-12", &[]),
        (vc.clone(), Value::Int(1234), "!1406", "123", &[1265]),
        (vc.clone(), bytes(b"a\xFF"), "!1366", "a", &[1366]),
        (vc, Value::Enum(1, labels()), "red", "red", &[]),
        (latin.clone(), t("é"), "[e9]", "[e9]", &[]),
        (latin, t("日"), "!1366", "?", &[1366]),
        (DataType::Binary(2), t("abc"), "!1406", "ab", &[1265]),
        (DataType::VarBinary(3), Value::Int(12), "12", "12", &[]),
        (DataType::Bit(4), Value::Int(15), "\u{f}", "\u{f}", &[]),
        (DataType::Bit(4), Value::Int(16), "!1406", "\u{f}", &[1264]),
        (DataType::Bit(4), Value::Double(1.9), "\u{1}", "\u{1}", &[]),
        (DataType::Bit(4), d("1.9"), "\u{2}", "\u{2}", &[]),
        (DataType::Bit(4), d("-1.5"), "!1264", "\u{0}", &[1264]),
        (DataType::VarBinary(5), Value::Bit(77, 8), "77", "77", &[]),
        (
            DataType::Blob(LobSize::Normal),
            Value::Bit(77, 8),
            "M",
            "M",
            &[],
        ),
        (DataType::Bit(16), bytes(b"ab"), "ab", "ab", &[]),
    ]);
    let (s, w) = try_assign(
        &tiny,
        &Value::Str(long.into_bytes(), c),
        &ConvertMode::LENIENT,
    )
    .unwrap();
    assert_eq!((s.len(), &w[..]), (254, &[1265][..]));
    let e = try_assign(
        &DataType::varchar(9, c),
        &bytes(b"x\xF0\x9F"),
        &ConvertMode::STRICT,
    )
    .unwrap_err();
    assert_eq!(
        e.message,
        "Incorrect string value: '\\xF0\\x9F' for column 'c' at row 1"
    );
}

#[test]
fn into_dates() {
    let dt0 = DataType::DateTime(0);
    check(vec![
        (
            DataType::Date,
            t("2024-01-31"),
            "2024-01-31",
            "2024-01-31",
            &[],
        ),
        (
            DataType::Date,
            t("2024-01-31 10:00:00"),
            "2024-01-31",
            "2024-01-31",
            &[1265],
        ),
        (DataType::Date, t("abc"), "!1292", "0000-00-00", &[1265]),
        (
            DataType::Date,
            t("2024-02-30"),
            "!1292",
            "0000-00-00",
            &[1264],
        ),
        (
            DataType::Date,
            t("2024-01-31abc"),
            "!1292",
            "2024-01-31",
            &[1265],
        ),
        (DataType::Date, t("0000-00-00"), "!1292", "0000-00-00", &[]),
        (DataType::Date, t("2024-00-10"), "!1292", "2024-00-10", &[]),
        (
            DataType::Date,
            Value::Int(20240131),
            "2024-01-31",
            "2024-01-31",
            &[],
        ),
        (
            DataType::Date,
            Value::Int(20240231),
            "!1292",
            "0000-00-00",
            &[1265],
        ),
        (
            dt0.clone(),
            t("2024-01-31 10:11:12.6"),
            "2024-01-31 10:11:13",
            "2024-01-31 10:11:13",
            &[],
        ),
        (
            DataType::DateTime(3),
            t("2024-01-31 10:11:12.6"),
            "2024-01-31 10:11:12.600",
            "2024-01-31 10:11:12.600",
            &[],
        ),
        (
            dt0.clone(),
            date("2024-01-31"),
            "2024-01-31 00:00:00",
            "2024-01-31 00:00:00",
            &[],
        ),
        (
            dt0.clone(),
            t("2024-01-31 10:00:00+02:00"),
            "2024-01-31 08:00:00",
            "2024-01-31 08:00:00",
            &[],
        ),
        (
            DataType::DateTime(2),
            d("20240131101112.55"),
            "2024-01-31 10:11:12.55",
            "2024-01-31 10:11:12.55",
            &[],
        ),
    ]);
}

#[test]
fn into_timestamps_times_and_years() {
    check(vec![
        (
            DataType::Timestamp(0),
            t("2038-01-19 03:14:07"),
            "2038-01-19 03:14:07",
            "2038-01-19 03:14:07",
            &[],
        ),
        (
            DataType::Timestamp(0),
            t("2038-01-19 03:14:08"),
            "!1292",
            "0000-00-00 00:00:00",
            &[1264],
        ),
        (
            DataType::Timestamp(0),
            t("1969-12-31 23:59:59"),
            "!1292",
            "0000-00-00 00:00:00",
            &[1264],
        ),
        (
            DataType::Time(0),
            t("10:11:12.5"),
            "10:11:13",
            "10:11:13",
            &[],
        ),
        (
            DataType::Time(1),
            t("-10:11"),
            "-10:11:00.0",
            "-10:11:00.0",
            &[],
        ),
        (
            DataType::Time(0),
            t("900:00:00"),
            "!1292",
            "838:59:59",
            &[1264],
        ),
        (DataType::Time(0), t("abc"), "!1292", "00:00:00", &[1265]),
        (
            DataType::Time(0),
            Value::Int(101112),
            "10:11:12",
            "10:11:12",
            &[],
        ),
        (
            DataType::Time(0),
            dt("2024-01-31 10:11:12"),
            "10:11:12",
            "10:11:12",
            &[1265],
        ),
        (DataType::Year, Value::Int(24), "2024", "2024", &[]),
        (DataType::Year, Value::Int(70), "1970", "1970", &[]),
        (DataType::Year, Value::Int(0), "0000", "0000", &[]),
        (DataType::Year, t("0"), "2000", "2000", &[]),
        (DataType::Year, t("0000"), "0000", "0000", &[]),
        (DataType::Year, Value::Int(1900), "!1264", "0000", &[1264]),
    ]);
    let east = ConvertMode {
        zone: crate::temporal::Zone::Fixed(7200),
        ..ConvertMode::STRICT
    };
    let (s, _) = try_assign(&DataType::Timestamp(0), &t("2024-01-31 01:00:00"), &east).unwrap();
    assert_eq!(s, "2024-01-30 23:00:00");
    let e = try_assign(&DataType::DateTime(0), &t("nope"), &ConvertMode::STRICT).unwrap_err();
    assert_eq!(
        e.message,
        "Incorrect datetime value: 'nope' for column 'c' at row 1"
    );
}

#[test]
fn what_is_no_time_or_year() {
    check(vec![
        // Zero as text is 2000 unless it has four digits; what is no number is zero.
        (DataType::Year, t("a"), "!1366", "0000", &[1366]),
        (DataType::Year, t(""), "!1366", "0000", &[1366]),
        (DataType::Year, t("12abc"), "!1265", "2012", &[1265]),
        (DataType::Year, t("0000-00"), "!1265", "2000", &[1265]),
        (DataType::Year, t("3000x"), "!1264", "0000", &[1264]),
        // Far beyond its range a number is the last time.
        (
            DataType::Time(0),
            Value::Double(1e20),
            "!1292",
            "838:59:59",
            &[1264],
        ),
        (
            DataType::Time(0),
            Value::UInt(u64::MAX),
            "!1292",
            "838:59:59",
            &[1264],
        ),
        (
            DataType::Time(0),
            d("-99999999999999999999.5"),
            "!1292",
            "-838:59:59",
            &[1264],
        ),
        // A number in floating point is no time.
        (DataType::Time(0), t("1e2"), "!1292", "00:00:00", &[1265]),
        (DataType::Time(0), t("1E+2"), "!1292", "00:00:00", &[1265]),
        (DataType::Time(0), t("1e"), "!1292", "00:00:01", &[1265]),
    ]);
    let today = ConvertMode {
        today: Today::Is(DateTime::parse(b"2023-11-14").unwrap().value.date()),
        ..ConvertMode::STRICT
    };
    let (year, _) = try_assign(&DataType::Year, &time("10:11:12"), &today).unwrap();
    assert_eq!(year, "2023");
    // The last hour of 1999 in UTC is one of 2000 further in the east.
    for (seconds, day) in [(0, "1999-12-31"), (7200, "2000-01-01")] {
        let now = ConvertMode {
            today: Today::At(946_684_800_000_000 - 1_800_000_000),
            zone: crate::temporal::Zone::Fixed(seconds),
            ..ConvertMode::STRICT
        };
        let (s, _) = try_assign(&DataType::DateTime(0), &time("10:11:12"), &now).unwrap();
        assert_eq!(s, format!("{day} 10:11:12"));
    }
}

#[test]
fn into_enum_and_set() {
    let e = DataType::Enum(labels());
    let s = DataType::Set(labels());
    check(vec![
        (e.clone(), t("GREEN"), "green", "green", &[]),
        (e.clone(), t("red  "), "red", "red", &[]),
        (e.clone(), Value::Int(1), "red", "red", &[]),
        (e.clone(), t("2"), "green", "green", &[]),
        (e.clone(), t("7"), "7", "7", &[]),
        (e.clone(), t("blue"), "!1265", "", &[1265]),
        (e.clone(), Value::Int(4), "!1265", "", &[1265]),
        (e.clone(), Value::Null, "!1048", "red", &[1048]),
        (s.clone(), t("green,red"), "red,green", "red,green", &[]),
        (s.clone(), t(""), "", "", &[]),
        (s.clone(), Value::Int(3), "red,green", "red,green", &[]),
        (s.clone(), t("red,blue"), "!1265", "red", &[1265]),
        (s.clone(), Value::Int(8), "!1265", "", &[1265]),
        // A fraction is cut off, and not rounded.
        (e.clone(), d("1.9"), "red", "red", &[]),
        (e.clone(), Value::Double(2.9), "green", "green", &[]),
        (s.clone(), d("1.5"), "red", "red", &[]),
        // A date is text here.
        (e, date("0000-00-01"), "!1265", "", &[1265]),
        (s.clone(), date("0000-00-01"), "!1265", "", &[1265]),
        // Numbers in files may have blanks in front.
        (s.clone(), t("  3"), "red,green", "red,green", &[]),
        // An empty part is a label that is not there.
        (s.clone(), t("red,"), "!1265", "red", &[1265]),
        (s.clone(), t(",red"), "!1265", "red", &[1265]),
        (s, t("   "), "", "", &[]),
    ]);
    let with_empty = DataType::Set(Arc::new(Labels {
        names: vec![(*b"something").into(), (*b"").into()],
        collation: CollationId::DEFAULT,
    }));
    let got = try_assign(&with_empty, &t("something,"), &ConvertMode::STRICT).unwrap();
    assert_eq!(got.0, "something,");
}

#[test]
fn right_values_are_borrowed() {
    let v = t("abc");
    let ty = DataType::varchar(3, CollationId::UTF8MB4_BIN);
    let target = Target {
        ty: &ty,
        nullable: true,
        column: "c",
        row: 1,
    };
    let got = assign(v.as_ref(), &target, &ConvertMode::STRICT, &mut Vec::new()).unwrap();
    match got {
        Converted::Ref(ValueRef::Str(b, c)) => {
            assert_eq!((b, c), (&b"abc"[..], CollationId::UTF8MB4_BIN))
        }
        other => panic!("{other:?}"),
    }
    let null = assign(
        ValueRef::Null,
        &target,
        &ConvertMode::STRICT,
        &mut Vec::new(),
    )
    .unwrap();
    assert!(null.into_value().is_null());
}

#[test]
fn notes_are_notes() {
    let ty = DataType::decimal(5, 1);
    let target = Target {
        ty: &ty,
        nullable: true,
        column: "c",
        row: 3,
    };
    let mut w = Vec::new();
    assign(d("1.25").as_ref(), &target, &ConvertMode::STRICT, &mut w).unwrap();
    assert_eq!(
        (w[0].level, w[0].message.as_str()),
        (Level::Note, "Data truncated for column 'c' at row 3")
    );
}
