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

/// A time, an amount, its unit, and the sum.
const AMOUNTS: &str = "\
2024-01-31 | 1 | MONTH | 2024-02-29 00:00:00.000000
2024-03-31 | -1 | MONTH | 2024-02-29 00:00:00.000000
2024-02-29 | 1 | YEAR | 2025-02-28 00:00:00.000000
2024-01-31 10:00:00 | 90 | SECOND | 2024-01-31 10:01:30.000000
2024-01-31 | 1:30 | HOUR_MINUTE | 2024-01-31 01:30:00.000000
2024-01-31 | 1 1:1:1 | DAY_SECOND | 2024-02-01 01:01:01.000000
2024-01-31 | 1.5 | SECOND_MICROSECOND | 2024-01-31 00:00:01.500000
2024-01-31 | 1.5 | SECOND | 2024-01-31 00:00:01.500000
2024-01-31 | 1-6 | YEAR_MONTH | 2025-07-31 00:00:00.000000
2024-01-31 | -1 | MICROSECOND | 2024-01-30 23:59:59.999999
2024-01-31 | 2 | QUARTER | 2024-07-31 00:00:00.000000
2024-01-31 | 1 | WEEK | 2024-02-07 00:00:00.000000
2024-01-31 | 2 | DAY_HOUR | 2024-01-31 02:00:00.000000
2024-01-31 | -1 10 | DAY_HOUR | 2024-01-29 14:00:00.000000
9999-12-31 | 1 | DAY | NULL
0000-01-01 | -1 | DAY | NULL
2024-01-31 | 1:1:1.5 | HOUR_MICROSECOND | 2024-01-31 01:01:01.500000
2024-01-31 | -1:30 | MINUTE_SECOND | 2024-01-30 23:58:30.000000
2024-01-31 | 10 | MINUTE_SECOND | 2024-01-31 00:00:10.000000
2024-01-31 | 2 3 4 5 | DAY_SECOND | 2024-02-02 03:04:05.000000
2024-01-31 | 1 2:3:4.000005 | DAY_MICROSECOND | 2024-02-01 02:03:04.000005
2024-00-01 | 1 | DAY | NULL
2024-01-31 | a | DAY_HOUR | 2024-01-31 00:00:00.000000
2024-01-31 | 1 1:1:1 | MINUTE_SECOND | NULL
2024-01-31 | 9223372036854775808 | DAY_HOUR | NULL
2024-01-31 | 1 | SECOND_MICROSECOND | 2024-01-31 00:00:00.100000
2024-01-31 | 1.1234567 | SECOND_MICROSECOND | 2024-01-31 00:00:02.234567
2024-01-31 | 1.9999999 | SECOND | 2024-01-31 00:00:01.999999
2018-05-01 | 1.999 | DAY_HOUR | 2018-06-12 15:00:00.000000
2018-05-01 | 1.999 | YEAR_MONTH | 2102-08-01 00:00:00.000000
2024-01-31 |  -x1/2; | HOUR_MINUTE | 2024-01-30 22:58:00.000000
2024-01-31 | 99999999999 | MONTH | NULL";

#[test]
fn intervals() {
    use IntervalUnit as U;
    for line in AMOUNTS.lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        let &[start, text, unit, want] = &fields[..] else {
            panic!("{line}");
        };
        let unit = U::by_name(unit).expect(unit);
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
