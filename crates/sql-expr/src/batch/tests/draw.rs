//! Random values and random expressions as text.

use base::SplitMix64;
use types::decimal::Decimal;
use types::temporal::{Date, DateTime, Time};
use types::{CollationId, Value};

use super::labels;

fn whole(rng: &mut SplitMix64, wild: bool, least: i64, most: i64) -> i64 {
    match rng.below(8) {
        0 if wild => least,
        1 if wild => most,
        2 => 0,
        _ => rng.within(0, 40) as i64 - 20,
    }
}

fn date(rng: &mut SplitMix64, wild: bool) -> Date {
    match rng.below(10) {
        0 if wild => Date::ZERO,
        1 if wild => Date::from_parts(2024, 0, 15),
        2 if wild => Date::from_parts(9999, 12, 31),
        _ => Date::from_parts(
            rng.within(1992, 1999) as u16,
            rng.within(1, 12) as u8,
            rng.within(1, 28) as u8,
        ),
    }
}

fn text(rng: &mut SplitMix64) -> &'static str {
    rng.pick(&[
        "",
        "a",
        "A",
        "b",
        "abc",
        "ABC ",
        "héllo",
        "Hello",
        "12",
        "3.5x",
        "x%y",
        "1995-03-04",
        "ß",
        "zz",
    ])
}

/// A row of the columns; a wild one has the extremes of its types.
pub(super) fn row(rng: &mut SplitMix64, wild: bool) -> Vec<Value> {
    let day = date(rng, wild);
    let at = |d: Date, rng: &mut SplitMix64| {
        DateTime::from_parts(d, rng.below(24) as u8, rng.below(60) as u8, 7, 0)
    };
    let narrow = whole(rng, wild, -9_999_999_999, 9_999_999_999);
    let long = whole(rng, wild, -999_999_999_999_999_999, 999_999_999_999_999_999);
    let wide = match rng.below(6) {
        0 if wild => Decimal::max_value(40, 6, rng.one_in(2)),
        1 => Decimal::from_i128(i128::from(long) * 1_000_003, 6),
        _ => Decimal::from_i128(i128::from(narrow), 6),
    };
    let values = vec![
        Value::Int(whole(rng, wild, i64::from(i32::MIN), i64::from(i32::MAX))),
        Value::Int(whole(rng, wild, i64::MIN, i64::MAX)),
        Value::UInt(match rng.below(6) {
            0 if wild => u64::MAX,
            _ => rng.below(30),
        }),
        Value::Decimal(Decimal::from_i128(i128::from(narrow), 2)),
        Value::Decimal(Decimal::from_i128(i128::from(long), 0)),
        Value::Decimal(wide),
        Value::Double(match rng.below(8) {
            0 if wild => 1e308,
            1 => 0.0,
            2 => -0.0,
            _ => rng.within(0, 4000) as f64 / 16.0 - 100.0,
        }),
        Value::Date(day),
        Value::DateTime(at(day, rng).with_fsp(3)),
        Value::DateTime(at(Date::from_parts(1995, 6, 17), rng)),
        Value::Time(Time::from_micros(rng.below(90_000) as i64 * 1_000_000, 0)),
        Value::Str(text(rng).into(), CollationId::UTF8MB4_0900_AI_CI),
        Value::Str(text(rng).into(), CollationId::UTF8MB4_GENERAL_CI),
        Value::Bytes(text(rng).into()),
        Value::Enum(rng.within(1, 2) as u16, labels()),
        Value::Bit(rng.below(512), 9),
        Value::UInt(rng.within(1990, 1999)),
    ];
    let nulls = rng.pick(&[0, 10, 40]);
    values
        .into_iter()
        .map(|v| if rng.percent(nulls) { Value::Null } else { v })
        .collect()
}

/// An expression of any kind.
pub(super) fn any(rng: &mut SplitMix64, depth: u32) -> String {
    match rng.below(7) {
        0..=2 => number(rng, depth),
        3 => string(rng, depth),
        4 => moment(rng, depth),
        _ => condition(rng, depth),
    }
}

fn leaf_number(rng: &mut SplitMix64) -> String {
    rng.pick(&[
        "i",
        "i",
        "b",
        "u",
        "n",
        "n",
        "m",
        "w",
        "f",
        "y",
        "z",
        "0",
        "1",
        "3",
        "-2",
        "1.5",
        "0.05",
        "100.25",
        "1e2",
        "NULL",
        "9223372036854775807",
        "d",
        "'7'",
    ])
    .to_owned()
}

pub(super) fn number(rng: &mut SplitMix64, depth: u32) -> String {
    if depth == 0 || rng.one_in(6) {
        return leaf_number(rng);
    }
    let d = depth - 1;
    match rng.below(19) {
        0..=6 => {
            let op = rng.pick(&["+", "-", "*", "+", "-", "*", "/", "DIV", "%"]);
            format!("({} {op} {})", number(rng, d), number(rng, d))
        }
        7 => format!("-({})", number(rng, d)),
        8 => format!(
            "CASE WHEN {} THEN {} WHEN {} THEN {} END",
            condition(rng, d),
            number(rng, d),
            condition(rng, d),
            number(rng, d)
        ),
        9 => format!(
            "CASE {} WHEN {} THEN {} ELSE {} END",
            number(rng, d),
            number(rng, d),
            number(rng, d),
            number(rng, d)
        ),
        10 => format!(
            "IF({}, {}, {})",
            condition(rng, d),
            number(rng, d),
            number(rng, d)
        ),
        11 => format!("COALESCE({}, {})", number(rng, d), number(rng, d)),
        12 => {
            let to = rng.pick(&[
                "SIGNED",
                "UNSIGNED",
                "DECIMAL(12,3)",
                "DOUBLE",
                "DECIMAL(4,1)",
            ]);
            format!("CAST({} AS {to})", any(rng, d))
        }
        13 => {
            let f = rng.pick(&["YEAR", "MONTH", "DAY", "QUARTER", "TO_DAYS"]);
            format!("{f}({})", moment(rng, d))
        }
        14 => {
            let unit = rng.pick(&["YEAR", "MONTH", "YEAR_MONTH", "HOUR", "DAY"]);
            format!("EXTRACT({unit} FROM {})", moment(rng, d))
        }
        15 => format!("ROUND({}, 1)", number(rng, d)),
        16 => format!("CHAR_LENGTH({})", string(rng, d)),
        17 => format!("ABS({})", number(rng, d)),
        _ => format!("NULLIF({}, {})", number(rng, d), number(rng, d)),
    }
}

pub(super) fn condition(rng: &mut SplitMix64, depth: u32) -> String {
    if depth == 0 {
        let op = rng.pick(&["<", ">=", "=", "<>"]);
        return format!("{} {op} {}", leaf_number(rng), leaf_number(rng));
    }
    let d = depth - 1;
    let op = rng.pick(&["=", "<>", "<", "<=", ">", ">=", "<=>"]);
    match rng.below(16) {
        0..=1 => format!("({} {op} {})", number(rng, d), number(rng, d)),
        2..=3 => format!("({} {op} {})", string(rng, d), string(rng, d)),
        4..=5 => format!("({} {op} {})", moment(rng, d), moment(rng, d)),
        6..=7 => format!("({} AND {})", condition(rng, d), condition(rng, d)),
        8 => format!("({} OR {} OR i > 2)", condition(rng, d), condition(rng, d)),
        9 => format!("NOT ({})", condition(rng, d)),
        10 => format!("({} XOR {})", condition(rng, d), condition(rng, d)),
        11 => format!("({} IS {}NULL)", any(rng, d), rng.pick(&["", "NOT "])),
        12 => format!(
            "({} {}BETWEEN {} AND {})",
            number(rng, d),
            rng.pick(&["", "NOT "]),
            number(rng, d),
            number(rng, d)
        ),
        13 => {
            let not = rng.pick(&["", "NOT "]);
            let list = rng.pick(&[
                "(1, 2, 7)",
                "(0, NULL, -3)",
                "(1.5, 2)",
                "(1,2,3,4,5,6,7,8,9,11)",
            ]);
            match rng.below(3) {
                0 => format!("({} {not}IN ('a', 'Hello', 'zz'))", string(rng, d)),
                1 => format!("({} {not}IN ({}, 2))", number(rng, d), number(rng, d)),
                _ => format!("({} {not}IN {list})", number(rng, d)),
            }
        }
        14 => {
            let p = rng.pick(&["'a%'", "'%l%'", "'H_llo'", "'x\\\\%y'", "g", "NULL", "'%'"]);
            format!("({} {}LIKE {p})", string(rng, d), rng.pick(&["", "NOT "]))
        }
        _ => format!(
            "({} IS {})",
            condition(rng, d),
            rng.pick(&["TRUE", "NOT FALSE", "UNKNOWN"])
        ),
    }
}

pub(super) fn string(rng: &mut SplitMix64, depth: u32) -> String {
    if depth == 0 || rng.one_in(3) {
        return rng
            .pick(&[
                "s", "s", "g", "x", "e", "'a'", "'Hello'", "'12'", "''", "NULL",
            ])
            .to_owned();
    }
    let d = depth - 1;
    match rng.below(8) {
        0..=2 => format!(
            "SUBSTRING({}, {}, {})",
            string(rng, d),
            rng.pick(&["1", "2", "-2", "0", "i"]),
            rng.pick(&["1", "2", "9", "-1", "i"])
        ),
        3 => format!("UPPER({})", string(rng, d)),
        4 => format!("CONCAT({}, {})", string(rng, d), any(rng, d)),
        5 => format!(
            "IF({}, {}, {})",
            condition(rng, d),
            string(rng, d),
            string(rng, d)
        ),
        6 => format!("COALESCE({}, {})", string(rng, d), string(rng, d)),
        _ => format!("CAST({} AS CHAR({}))", any(rng, d), rng.pick(&["3", "30"])),
    }
}

pub(super) fn moment(rng: &mut SplitMix64, depth: u32) -> String {
    if depth == 0 || rng.one_in(3) {
        return rng
            .pick(&[
                "d",
                "d",
                "dt",
                "ts",
                "t",
                "DATE '1995-03-04'",
                "TIMESTAMP '1996-01-01 10:00:00'",
                "NULL",
            ])
            .to_owned();
    }
    let d = depth - 1;
    match rng.below(5) {
        0..=1 => format!(
            "({} {} INTERVAL {} {})",
            moment(rng, d),
            rng.pick(&["+", "-"]),
            rng.pick(&["1", "90", "'3'", "i"]),
            rng.pick(&["DAY", "MONTH", "YEAR", "HOUR", "DAY_HOUR"])
        ),
        2 => format!(
            "CAST({} AS {})",
            any(rng, d),
            rng.pick(&["DATE", "DATETIME", "DATETIME(2)"])
        ),
        3 => format!("COALESCE({}, {})", moment(rng, d), moment(rng, d)),
        _ => format!(
            "CASE WHEN {} THEN {} END",
            condition(rng, d),
            moment(rng, d)
        ),
    }
}
