//! Temporal values against results known from MySQL.

mod intervals;

use super::*;
use proptest::prelude::*;

fn dt(s: &str) -> DateTime {
    DateTime::parse(s.as_bytes())
        .unwrap_or_else(|| panic!("{s}"))
        .value
}

fn shown(v: Option<impl std::fmt::Display>) -> String {
    v.map_or("NULL".to_owned(), |v| v.to_string())
}

#[test]
fn datetimes_of_text() {
    for (text, want) in [
        ("2024-01-31", "2024-01-31 00:00:00.000000"),
        ("2024-1-3", "2024-01-03 00:00:00.000000"),
        ("24-01-31", "2024-01-31 00:00:00.000000"),
        ("69-12-31", "2069-12-31 00:00:00.000000"),
        ("70-01-01", "1970-01-01 00:00:00.000000"),
        ("20240131", "2024-01-31 00:00:00.000000"),
        ("240131", "2024-01-31 00:00:00.000000"),
        ("20240131103059", "2024-01-31 10:30:59.000000"),
        ("240131103059", "2024-01-31 10:30:59.000000"),
        ("2024-01-31 10:30", "2024-01-31 10:30:00.000000"),
        ("2024-01-31T10:30:59.5", "2024-01-31 10:30:59.500000"),
        ("2024-01-31 10:30:59.1234567", "2024-01-31 10:30:59.123457"),
        ("2024/01/31 10.30.59", "2024-01-31 10:30:59.000000"),
        ("2024-01-31abc", "2024-01-31 00:00:00.000000"),
        ("abc", "NULL"),
        ("", "NULL"),
        ("2024-13-01", "NULL"),
        ("2024-02-30", "NULL"),
        ("2024-00-00", "2024-00-00 00:00:00.000000"),
        ("0000-00-00", "0000-00-00 00:00:00.000000"),
        ("00-00-00", "0000-00-00 00:00:00.000000"),
        ("2024-01-31 25:00:00", "NULL"),
        ("2024-01-31 10:60", "NULL"),
        ("20240131T103059", "2024-01-31 10:30:59.000000"),
        ("2024-01-31 10", "2024-01-31 10:00:00.000000"),
        ("2024-01-31 ", "2024-01-31 00:00:00.000000"),
        ("  2024-01-31", "2024-01-31 00:00:00.000000"),
        ("2024-01", "NULL"),
        ("2024", "NULL"),
        ("1", "NULL"),
        ("12345", "NULL"),
        ("123456", "NULL"),
        ("1234567", "NULL"),
        ("2024^01@31", "2024-01-31 00:00:00.000000"),
        ("2024-01-31 23:59:59.9999995", "2024-02-01 00:00:00.000000"),
        ("9999-12-31 23:59:59.9999999", "NULL"),
        ("2024-01-31 10:30:59.", "2024-01-31 10:30:59.000000"),
        ("20240131103059.123", "2024-01-31 10:30:59.123000"),
        ("2023-02-29", "NULL"),
        ("0000-01-01", "0000-01-01 00:00:00.000000"),
        ("10000-01-01", "NULL"),
        ("101", "NULL"),
        ("20240131 10:30:59", "NULL"),
        ("2024-1-1 1:2:3", "2024-01-01 01:02:03.000000"),
        ("1-1-1", "0001-01-01 00:00:00.000000"),
        ("100-01-01", "0100-01-01 00:00:00.000000"),
    ] {
        let got = DateTime::parse(text.as_bytes()).map(|p| p.value.with_fsp(6));
        assert_eq!(shown(got), want, "{text:?}");
    }
}

#[test]
fn what_parsing_tells() {
    let p = DateTime::parse(b"2024-01-31 10:30:59.25+05:30").unwrap();
    assert_eq!(
        (p.offset, p.truncated, p.has_time, p.value.fsp()),
        (Some(19800), false, true, 2)
    );
    let p = DateTime::parse(b"2024-01-31xyz").unwrap();
    assert!(p.truncated && !p.has_time);
    let t = Time::parse(b"900:00:00").unwrap();
    assert!(t.clamped);
    assert_eq!(t.value.to_string(), "838:59:59");
}

#[test]
fn times_of_text() {
    for (text, want) in [
        ("10:11:12", "10:11:12.000000"),
        ("10:11", "10:11:00.000000"),
        ("10", "00:00:10.000000"),
        ("1011", "00:10:11.000000"),
        ("101112", "10:11:12.000000"),
        ("1 10:11:12", "34:11:12.000000"),
        ("1 10", "34:00:00.000000"),
        ("-10:11:12", "-10:11:12.000000"),
        ("-1 1:1", "-25:01:00.000000"),
        ("838:59:59", "838:59:59.000000"),
        ("839:00:00", "838:59:59.000000"),
        ("10:11:12.123456", "10:11:12.123456"),
        ("10:11:12.1234567", "10:11:12.123457"),
        ("10:60:00", "NULL"),
        ("101160", "NULL"),
        ("1:2:3", "01:02:03.000000"),
        ("abc", "NULL"),
        ("10:11abc", "10:11:00.000000"),
        ("2024-01-31 10:11:12", "10:11:12.000000"),
        ("20240131101112", "10:11:12.000000"),
        ("9999999", "NULL"),
        ("8385959", "838:59:59.000000"),
        ("100 1:1:1", "838:59:59.000000"),
        ("0:0:0.5", "00:00:00.500000"),
        ("12.5", "00:00:12.500000"),
        ("1011.5", "00:10:11.500000"),
        ("-0:0:1", "-00:00:01.000000"),
        ("00:00:60", "NULL"),
    ] {
        let got = Time::parse(text.as_bytes()).map(|p| p.value.with_fsp(6));
        assert_eq!(shown(got), want, "{text:?}");
    }
}

#[test]
fn numbers() {
    for (n, want) in [
        (0, "0000-00-00 00:00:00"),
        (1, "NULL"),
        (101, "2000-01-01 00:00:00"),
        (20240131, "2024-01-31 00:00:00"),
        (240131, "2024-01-31 00:00:00"),
        (691231, "2069-12-31 00:00:00"),
        (700101, "1970-01-01 00:00:00"),
        (1231, "2000-12-31 00:00:00"),
        (20240131103059, "2024-01-31 10:30:59"),
        (240131103059, "2024-01-31 10:30:59"),
        (101000000, "2000-01-01 00:00:00"),
        (99991232, "NULL"),
        (100000101000000, "NULL"),
        (20240230, "NULL"),
        (20240131250000, "NULL"),
        (-1, "NULL"),
    ] {
        assert_eq!(shown(DateTime::from_number(n).map(|d| d.0)), want, "{n}");
    }
    for (n, want) in [
        (0, "00:00:00"),
        (59, "00:00:59"),
        (60, "NULL"),
        (10112, "01:01:12"),
        (8385959, "838:59:59"),
        (8385960, "838:59:59"),
        (-101112, "-10:11:12"),
        (20240131101112, "10:11:12"),
    ] {
        assert_eq!(shown(Time::from_number(n).map(|t| t.0)), want, "{n}");
    }
}

#[test]
fn differences() {
    use IntervalUnit as U;
    for (unit, a, b, want) in [
        (U::Month, "2003-02-01", "2003-05-01", 3),
        (U::Year, "2002-05-01", "2001-01-01", -1),
        (U::Minute, "2003-02-01", "2003-05-01 12:05:55", 128_885),
        (U::Month, "2024-01-31", "2024-02-29", 0),
        (U::Month, "2024-01-30 10:00:00", "2024-02-29 09:00:00", 0),
        (U::Day, "2024-01-01 12:00:00", "2024-01-02 11:59:59", 0),
        (U::Quarter, "2024-01-01", "2024-12-31", 3),
        (U::Week, "2024-01-01", "2024-01-15", 2),
        (
            U::Microsecond,
            "2024-01-01",
            "2024-01-01 00:00:01.5",
            1_500_000,
        ),
        (U::Month, "2024-02-29", "2024-01-31", 0),
        (U::Second, "2024-01-02", "2024-01-01 23:59:58.5", -1),
    ] {
        assert_eq!(timestamp_diff(unit, dt(a), dt(b)), Some(want), "{a} {b}");
    }
}

#[test]
fn weeks() {
    // WEEK in modes 0-7, then YEARWEEK in modes 0-3.
    for (date, want) in [
        ("2024-01-01", "0,1,53,1,1,1,1,1,202353,202401,202353,202401"),
        (
            "2023-01-01",
            "1,0,1,52,1,0,1,52,202301,202252,202301,202252",
        ),
        (
            "2022-01-01",
            "0,0,52,52,0,0,52,52,202152,202152,202152,202152",
        ),
        (
            "2021-01-01",
            "0,0,52,53,0,0,53,52,202052,202053,202052,202053",
        ),
        (
            "2020-01-01",
            "0,1,52,1,1,0,1,52,201952,202001,201952,202001",
        ),
        (
            "2019-12-31",
            "52,53,52,1,53,52,1,52,201952,202001,201952,202001",
        ),
        (
            "2018-12-31",
            "52,53,52,1,53,53,1,53,201852,201901,201852,201901",
        ),
        (
            "2020-12-31",
            "52,53,52,53,53,52,53,52,202052,202053,202052,202053",
        ),
        (
            "2016-01-03",
            "1,0,1,53,1,0,1,52,201601,201553,201601,201553",
        ),
        (
            "2017-01-01",
            "1,0,1,52,1,0,1,52,201701,201652,201701,201652",
        ),
        ("2008-02-20", "7,8,7,8,8,7,8,7,200807,200808,200807,200808"),
        (
            "2000-01-01",
            "0,0,52,52,0,0,52,52,199952,199952,199952,199952",
        ),
        (
            "1999-12-31",
            "52,52,52,52,52,52,52,52,199952,199952,199952,199952",
        ),
        (
            "2026-11-21",
            "46,47,46,47,46,46,46,46,202646,202647,202646,202647",
        ),
    ] {
        let d = dt(date).date();
        let mut got: Vec<u32> = (0..8).map(|m| u32::from(week(d, m))).collect();
        for m in 0..4 {
            let (y, w) = year_week(d, m);
            got.push(u32::from(y) * 100 + u32::from(w));
        }
        let got: Vec<String> = got.iter().map(u32::to_string).collect();
        assert_eq!(got.join(","), want, "{date}");
    }
}

#[test]
fn formatting() {
    let d = "2024-02-03 04:05:06.000789";
    for (value, format, want) in [
        (d, "%a %b %c %D %d %e %f", "Sat Feb 2 3rd 03 3 000789"),
        (d, "%H %h %I %i %j %k %l", "04 04 04 05 034 4 4"),
        (
            d,
            "%M %m %p %r %S %s %T",
            "February 02 AM 04:05:06 AM 06 06 04:05:06",
        ),
        (
            d,
            "%U %u %V %v %W %w %X %x %Y %y %%",
            "04 05 04 05 Saturday 6 2024 2024 2024 24 %",
        ),
        (d, "%q%", "q%"),
        (d, "%1x", "1x"),
        ("2009-10-04 22:23:00", "%W %M %Y", "Sunday October 2009"),
        ("2006-06-00", "%d", "00"),
        ("1999-01-01", "%X %V", "1998 52"),
        ("2024-12-31 12:00:00", "%h:%i %p", "12:00 PM"),
        ("2024-00-10", "%M", "NULL"),
        ("0000-00-00", "%W", "NULL"),
        ("2024-01-11", "%D", "11th"),
        ("2024-01-22", "%D", "22nd"),
    ] {
        let mut out = Vec::new();
        let ok = english(dt(value), format.as_bytes(), &mut out);
        let got = if ok {
            String::from_utf8_lossy(&out).into_owned()
        } else {
            "NULL".into()
        };
        assert_eq!(got, want, "{value} {format}");
    }
    for (value, format, want) in [
        ("100:00:01.5", "%H %k %h %I %l", "100 100 04 04 4"),
        ("-10:00:01", "%T %p %f", "-10:00:01 AM 000000"),
        ("23:59:59", "%r", "11:59:59 PM"),
        ("25:00:00", "%p", "AM"),
    ] {
        let mut out = Vec::new();
        time_format(
            Time::parse(value.as_bytes()).unwrap().value,
            format.as_bytes(),
            &mut out,
        );
        assert_eq!(String::from_utf8_lossy(&out), want, "{value} {format}");
    }
}

#[test]
fn str_to_date_reads_formats() {
    for (text, format, want) in [
        ("01,5,2013", "%d,%m,%Y", "2013-05-01"),
        ("May 1, 2013", "%M %d,%Y", "2013-05-01"),
        ("a09:30:17", "a%h:%i:%s", "09:30:17"),
        ("a09:30:17", "%h:%i:%s", "NULL"),
        ("09:30:17a", "%h:%i:%s", "09:30:17"),
        ("abc", "abc", "0000-00-00"),
        ("9", "%m", "0000-09-00"),
        ("9", "%s", "00:00:09"),
        ("2013-02-30", "%Y-%m-%d", "NULL"),
        ("200442 Monday", "%X%V %W", "2004-10-18"),
        ("200442 Monday", "%x%v %W", "2004-10-11"),
        ("10:11:12 PM", "%r", "22:11:12"),
        ("10:11:12 PM", "%h:%i:%s %p", "22:11:12"),
        ("13:00 PM", "%h:%i %p", "NULL"),
        ("2024 60", "%Y %j", "2024-02-29"),
        ("99-1-1", "%y-%m-%d", "1999-01-01"),
        (
            "2024-01-31 10:11:12.5",
            "%Y-%m-%d %H:%i:%s.%f",
            "2024-01-31 10:11:12.500000",
        ),
        ("3rd Feb 2024", "%D %b %Y", "2024-02-03"),
        ("12:30 AM", "%h:%i %p", "00:30:00"),
        ("2024-01-31xyz", "%Y-%m-%d", "2024-01-31"),
        ("Sunday 1 January 2023", "%W %e %M %Y", "2023-01-01"),
        // The text may end before the format does.
        ("2024", "%Y-%m-%d", "2024-00-00"),
        ("2024-02", "%Y-%m-%d", "2024-02-00"),
        ("1", "%h %p %r", "01:00:00"),
        ("2024-02 x", "%Y-%m-%d", "NULL"),
    ] {
        let got = match str_to_date(text.as_bytes(), format.as_bytes()) {
            None => "NULL".to_owned(),
            Some((StrToDate::Date(d), _)) => d.to_string(),
            Some((StrToDate::Time(t), _)) => t.to_string(),
            Some((StrToDate::DateTime(d), _)) => d.to_string(),
        };
        assert_eq!(got, want, "{text} {format}");
    }
}

#[test]
fn day_numbers() {
    for (date, n) in [
        ("0000-01-01", 1),
        ("0001-01-01", 366),
        ("1970-01-01", 719_528),
        ("2024-02-29", 739_310),
        ("9999-12-31", 3_652_424),
    ] {
        assert_eq!(dt(date).date().to_days(), n, "{date}");
    }
    for (n, want) in [
        (0, "0000-00-00"),
        (365, "0000-00-00"),
        (366, "0001-01-01"),
        (719_528, "1970-01-01"),
        (3_652_424, "9999-12-31"),
        (3_652_425, "NULL"),
    ] {
        assert_eq!(shown(from_days(n)), want);
    }
    assert_eq!(dt("2026-11-21").date().weekday(), 5);
    assert_eq!(dt("2024-12-31").date().day_of_year(), 366);
    assert_eq!(shown(dt("2023-02-05").date().last_day()), "2023-02-28");
}

#[test]
fn rounding_and_unix_time() {
    let v = dt("2024-12-31 23:59:59.995");
    assert_eq!(shown(v.round(2)), "2025-01-01 00:00:00.00");
    assert_eq!(v.truncate(2).to_string(), "2024-12-31 23:59:59.99");
    assert_eq!(
        shown(dt("2024-01-01 10:00:58.6").round(0)),
        "2024-01-01 10:00:59"
    );
    assert_eq!(
        Time::from_micros(-1_500_000, 6).round(0).to_string(),
        "-00:00:02"
    );
    assert_eq!(dt("1970-01-01 00:00:01").to_unix_seconds(), Some(1));
    assert_eq!(
        shown(DateTime::from_unix_micros(1_700_000_000_123_456, 3)),
        "2023-11-14 22:13:20.123"
    );
    assert_eq!(
        shown(dt("2024-03-01 00:30:00").shift_seconds(-3600)),
        "2024-02-29 23:30:00"
    );
    assert_eq!(dt("2024-01-31 10:11:12").to_number(), 20_240_131_101_112);
}

#[test]
fn zones() {
    for (text, secs) in [
        ("SYSTEM", 0),
        ("utc", 0),
        ("+00:00", 0),
        ("-05:30", -19_800),
        ("+14:00", 50_400),
        ("-13:59", -50_340),
        ("+1:00", 3600),
    ] {
        assert_eq!(
            TimeZone::parse(text).map(|z| z.zone(Zone::UTC)),
            Some(Zone::Fixed(secs)),
            "{text}"
        );
    }
    for bad in ["", "+14:01", "-14:00", "05:00", "+5", "+05:60", "+005:00"] {
        assert_eq!(TimeZone::parse(bad), None, "{bad}");
    }
    assert_eq!(TimeZone::Offset(-19_800).to_string(), "-05:30");
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn days_round_trip(n in 366i64..3_652_425) {
        let d = from_days(n).unwrap();
        prop_assert!(d.is_valid());
        prop_assert_eq!(d.to_days(), n);
    }

    #[test]
    fn text_round_trips(us in 0i64..253_402_300_799_999_999) {
        let v = DateTime::from_unix_micros(us, 6).unwrap();
        let p = DateTime::parse(v.to_string().as_bytes()).unwrap();
        prop_assert_eq!(p.value, v);
        prop_assert_eq!(DateTime::from_linear(v.to_linear().unwrap(), 6), Some(v));
    }

    #[test]
    fn parsers_take_anything(b in prop::collection::vec(any::<u8>(), 0..20), f in "[%A-Za-z0-9 ]{0,8}", n in any::<i64>()) {
        let _ = DateTime::parse(&b);
        let _ = Time::parse(&b);
        let _ = str_to_date(&b, f.as_bytes());
        let _ = Interval::parse(IntervalUnit::DayMicrosecond, &b);
        let _ = DateTime::from_number(n);
        let _ = Time::from_number(n);
    }

    #[test]
    fn digits_parse_without_panic(s in "[-0-9:. TZ]{0,30}", f in "(%[A-Za-z%])(:?%[A-Za-z]){0,6}") {
        if let Some(p) = DateTime::parse(s.as_bytes()) {
            let mut out = Vec::new();
            english(p.value, f.as_bytes(), &mut out);
            for m in 0..8 {
                week(p.value.date(), m);
            }
        }
        let _ = Time::parse(s.as_bytes());
        let _ = str_to_date(s.as_bytes(), f.as_bytes());
    }
}

/// DATE_FORMAT with English names.
fn english(v: DateTime, format: &[u8], out: &mut Vec<u8>) -> bool {
    let name = |n: &'static str, out: &mut Vec<u8>| out.extend_from_slice(n.as_bytes());
    date_format(v, format, &locale::ENGLISH, name, out)
}
