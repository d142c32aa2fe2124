//! Results held to `max_allowed_packet`, whatever the function: nothing longer comes out, and nothing much longer is built on the way.

use std::time::{Duration, Instant};

use types::{CollationId, Pace, Value};

use super::{Bench, parse};
use crate::bind::{Binder, Clause, NoColumns};
use crate::*;

const PACKET: usize = 1 << 20;

/// Texts that are allowed themselves; what is made of several, or by replacing each letter of one by another, is not.
fn texts() -> Vec<Value> {
    let n = PACKET - 16;
    let json = format!("[{}1]", "[[[[1]]]],".repeat(n / 12));
    [
        "a".repeat(n),
        "\u{1}".repeat(n),
        "ŉ".repeat(n / 2),
        "'".repeat(n),
        "%M".repeat(n / 2),
        json,
        "x,".repeat(n / 2),
        "a".to_owned(),
    ]
    .into_iter()
    .map(|t| Value::Str(t.into_bytes(), CollationId::DEFAULT))
    .collect()
}

/// The length of a result and the warnings beside it; `None` for what does not bind.
fn length(text: &str, bench: &Bench, params: &[Value]) -> Option<(Option<usize>, Vec<u16>)> {
    let tree = parse(text, &bench.vars).ok()?;
    let mut cx = bench.cx(params);
    cx.max_packet = PACKET as u64;
    let mut scope = NoColumns;
    let e = Binder::new(&cx, &mut scope, Clause::FieldList)
        .bind(&tree)
        .ok()?;
    let value = e.eval(&cx, &NoRow).ok()?;
    let len = match &value {
        Val::Bytes(b) => Some(b.len()),
        _ => None,
    };
    drop(value);
    let (list, _) = cx.take_warnings();
    Some((len, list.iter().map(|w| w.code).collect()))
}

#[test]
fn no_result_is_longer_than_a_packet() {
    let bench = Bench::new();
    let texts = texts();
    let mut names: Vec<&str> = func::names().filter(|n| *n != "benchmark").collect();
    names.sort_unstable();
    let numbers = ["-1", "3", "1000000", "9223372036854775807"];
    for name in names {
        for (text, value) in texts.iter().enumerate() {
            // The long text in every place, beside itself, short texts and numbers of every size.
            for args in [
                "?".to_owned(),
                "?, ?".to_owned(),
                "?, ?, ?".to_owned(),
                "?, ?, ?, ?".to_owned(),
                "?, 'a', ?".to_owned(),
                "'$', ?, ?".to_owned(),
                "'k', ?, 'l', ?".to_owned(),
                "18446744073709551615, ?, ?".to_owned(),
                "18446744073709551615, ?, ?, ?".to_owned(),
                "NOW(), ?".to_owned(),
            ]
            .into_iter()
            .chain(numbers.iter().flat_map(|n| {
                [
                    format!("?, {n}"),
                    format!("{n}, ?"),
                    n.to_string(),
                    format!("?, {n}, ?"),
                    format!("?, 1, {n}, ?"),
                ]
            })) {
                let call = format!("{name}({args})");
                let n = args.matches('?').count();
                let params = vec![value.clone(); n];
                let begun = Instant::now();
                if let Some((Some(len), _)) = length(&call, &bench, &params) {
                    assert!(len <= PACKET, "{call} of text {text}: {len}");
                }
                let took = begun.elapsed();
                assert!(
                    took < Duration::from_secs(5),
                    "{call} of text {text}: {took:?}"
                );
            }
        }
    }
}

#[test]
fn what_is_too_long_is_null_with_a_warning() {
    let bench = Bench::new();
    let long = texts()[0].clone();
    for call in [
        "CONCAT(?, ?)",
        "CONCAT_WS(?, 1, 2, 3)",
        "REPLACE(?, 'a', ?)",
        "REGEXP_REPLACE(?, 'a', ?)",
        "INSERT(?, 1, 0, ?)",
        "REPEAT(?, 2)",
        "REPEAT('ab', 9223372036854775807)",
        "SPACE(9223372036854775807)",
        "LPAD('a', 4294967295, 'b')",
        "RPAD(?, 2000000, ?)",
        "EXPORT_SET(5, ?, ?)",
        "MAKE_SET(3, ?, ?)",
        "HEX(?)",
        "TO_BASE64(?)",
        "JSON_ARRAY(?, ?)",
        "JSON_OBJECT('a', ?, 'b', ?)",
        "JSON_SET('{}', '$.a', ?, '$.b', ?)",
        "CAST('' AS BINARY(4294967295))",
        "CAST(? AS BINARY(2000000))",
        "WEIGHT_STRING(?)",
    ] {
        let params = vec![long.clone(); call.matches('?').count()];
        let (len, warnings) = length(call, &bench, &params).unwrap_or_else(|| panic!("{call}"));
        assert_eq!((len, warnings), (None, vec![1301]), "{call}");
    }
    // What fits is as it was.
    let half = Value::Str("a".repeat(PACKET / 2).into_bytes(), CollationId::DEFAULT);
    for call in [
        "CONCAT(?, ?)",
        "REPEAT(?, 2)",
        "HEX(?)",
        "RPAD(?, 1048576, 'b')",
    ] {
        let params = vec![half.clone(); call.matches('?').count()];
        assert_eq!(
            length(call, &bench, &params),
            Some((Some(PACKET), vec![])),
            "{call}"
        );
    }
}

#[test]
fn searches_are_linear() {
    let bench = Bench::new();
    let text = |s: String| Value::Str(s.into_bytes(), CollationId::DEFAULT);
    let hay = text("a".repeat(800_000));
    let needle = text("a".repeat(400_000) + "b");
    let begun = Instant::now();
    for call in [
        "LOCATE(?, ?)",
        "REPLACE(?, ?, 'x')",
        "SUBSTRING_INDEX(?, ?, 2)",
        "SUBSTRING_INDEX(?, ?, -2)",
        "FIND_IN_SET(?, ?)",
        "LOCATE(? COLLATE utf8mb4_bin, ?)",
        "LOCATE(? COLLATE utf8mb4_general_ci, ?)",
    ] {
        let params = match call.starts_with('L') || call.starts_with('F') {
            true => [needle.clone(), hay.clone()],
            false => [hay.clone(), needle.clone()],
        };
        assert!(length(call, &bench, &params).is_some(), "{call}");
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_path_of_many_descents_does_not_multiply() {
    let mut doc = "1".to_owned();
    for _ in 0..40 {
        doc = format!("{{\"a\":{doc}}}");
    }
    let doc = json::parse(&doc).expect("a document");
    let path = json::Path::parse(&format!("${}", "**.a".repeat(12))).expect("a path");
    let found = path.find(&doc, &Pace::unwatched()).expect("nobody ends it");
    assert_eq!(found.len(), 29);
}

#[test]
fn documents_stay_shallow() {
    let bench = Bench::new();
    let deep = "[".repeat(100) + &"]".repeat(100);
    let run = |call: &str| {
        let tree = parse(call, &bench.vars).expect("a text");
        let cx = bench.cx(&[]);
        let mut scope = NoColumns;
        Binder::new(&cx, &mut scope, Clause::FieldList)
            .bind(&tree)
            .and_then(|e| e.eval(&cx, &NoRow).map(|_| 0))
            .unwrap_or_else(|e| e.code)
    };
    assert_eq!(run(&format!("JSON_DEPTH('{deep}')")), 0);
    assert_eq!(run(&format!("JSON_DEPTH('[{deep}]')")), 3157);
    assert_eq!(run(&format!("JSON_ARRAY(CAST('{deep}' AS JSON))")), 3157);
    assert_eq!(
        run(&format!("JSON_SET('{{}}', '$.a', CAST('{deep}' AS JSON))")),
        3157
    );
}
