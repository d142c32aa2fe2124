//! Amounts of time: how text and numbers are read, and what they move.

use super::*;
use crate::decimal::Decimal;

/// The amount that a text is for the unit.
fn amount(unit: IntervalUnit, text: &str) -> Option<Interval> {
    if unit.is_compound() {
        return Interval::parse(unit, text.as_bytes());
    }
    let n = Decimal::parse(text.as_bytes()).value;
    match unit {
        IntervalUnit::Second => Interval::from_seconds(&n),
        _ => Interval::from_int(unit, n.to_i64()?),
    }
}

#[test]
fn intervals() {
    use IntervalUnit as U;
    for (start, text, unit, want) in [
        ("2024-01-31", "1", U::Month, "2024-02-29 00:00:00.000000"),
        ("2024-03-31", "-1", U::Month, "2024-02-29 00:00:00.000000"),
        ("2024-02-29", "1", U::Year, "2025-02-28 00:00:00.000000"),
        (
            "2024-01-31 10:00:00",
            "90",
            U::Second,
            "2024-01-31 10:01:30.000000",
        ),
        (
            "2024-01-31",
            "1:30",
            U::HourMinute,
            "2024-01-31 01:30:00.000000",
        ),
        (
            "2024-01-31",
            "1 1:1:1",
            U::DaySecond,
            "2024-02-01 01:01:01.000000",
        ),
        (
            "2024-01-31",
            "1.5",
            U::SecondMicrosecond,
            "2024-01-31 00:00:01.500000",
        ),
        ("2024-01-31", "1.5", U::Second, "2024-01-31 00:00:01.500000"),
        (
            "2024-01-31",
            "1-6",
            U::YearMonth,
            "2025-07-31 00:00:00.000000",
        ),
        (
            "2024-01-31",
            "-1",
            U::Microsecond,
            "2024-01-30 23:59:59.999999",
        ),
        ("2024-01-31", "2", U::Quarter, "2024-07-31 00:00:00.000000"),
        ("2024-01-31", "1", U::Week, "2024-02-07 00:00:00.000000"),
        ("2024-01-31", "2", U::DayHour, "2024-01-31 02:00:00.000000"),
        (
            "2024-01-31",
            "-1 10",
            U::DayHour,
            "2024-01-29 14:00:00.000000",
        ),
        ("9999-12-31", "1", U::Day, "NULL"),
        ("0000-01-01", "-1", U::Day, "NULL"),
        (
            "2024-01-31",
            "1:1:1.5",
            U::HourMicrosecond,
            "2024-01-31 01:01:01.500000",
        ),
        (
            "2024-01-31",
            "-1:30",
            U::MinuteSecond,
            "2024-01-30 23:58:30.000000",
        ),
        (
            "2024-01-31",
            "10",
            U::MinuteSecond,
            "2024-01-31 00:00:10.000000",
        ),
        (
            "2024-01-31",
            "2 3 4 5",
            U::DaySecond,
            "2024-02-02 03:04:05.000000",
        ),
        (
            "2024-01-31",
            "1 2:3:4.000005",
            U::DayMicrosecond,
            "2024-02-01 02:03:04.000005",
        ),
        ("2024-00-01", "1", U::Day, "NULL"),
        ("2024-01-31", "a", U::DayHour, "2024-01-31 00:00:00.000000"),
        ("2024-01-31", "1 1:1:1", U::MinuteSecond, "NULL"),
        ("2024-01-31", "9223372036854775808", U::DayHour, "NULL"),
        (
            "2024-01-31",
            "1",
            U::SecondMicrosecond,
            "2024-01-31 00:00:00.100000",
        ),
        (
            "2024-01-31",
            "1.1234567",
            U::SecondMicrosecond,
            "2024-01-31 00:00:02.234567",
        ),
        (
            "2024-01-31",
            "1.9999999",
            U::Second,
            "2024-01-31 00:00:01.999999",
        ),
        (
            "2018-05-01",
            "1.999",
            U::DayHour,
            "2018-06-12 15:00:00.000000",
        ),
        (
            "2018-05-01",
            "1.999",
            U::YearMonth,
            "2102-08-01 00:00:00.000000",
        ),
        (
            "2024-01-31",
            " -x1/2;",
            U::HourMinute,
            "2024-01-30 22:58:00.000000",
        ),
        ("2024-01-31", "99999999999", U::Month, "NULL"),
    ] {
        let got = amount(unit, text).and_then(|i| dt(start).with_fsp(6).add_interval(&i));
        assert_eq!(shown(got), want, "{start} + {text} {}", unit.name());
    }
    assert_eq!(IntervalUnit::by_name("day_second"), Some(U::DaySecond));
    assert_eq!(IntervalUnit::by_name("SQL_TSI_MONTH"), Some(U::Month));
    assert_eq!(IntervalUnit::by_name("eon"), None);
    assert_eq!(
        Interval::from_int(U::Hour, i64::MAX).map(|i| i.micros),
        Some(i128::from(i64::MAX) * 3_600_000_000)
    );
    assert_eq!(Interval::parse(U::Day, b"1"), None);
}
