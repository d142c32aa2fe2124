//! Every function and operator with arguments at the edges: whatever the result, evaluation must not panic.

use super::{Bench, parse};
use crate::bind::{Binder, Clause, NoColumns};
use crate::*;

const VALUES: &[&str] = &[
    "NULL",
    "0",
    "-1",
    "1",
    "7",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1.5",
    "-0.00000000000000000000000000001",
    "99999999999999999999999999999999999999999999999999999999999999999",
    "1e308",
    "-1e300",
    "1e-300",
    "''",
    "'a'",
    "'abc,def'",
    "'-5 12:13:14.5'",
    "'9999-12-31 23:59:59.999999'",
    "'0000-00-00'",
    "'2024-00-10'",
    "'{\"a\": [1, 2]}'",
    "'$.a[18446744073709551615]'",
    "'$[0 to 18446744073709551615]'",
    "'héllo wörld'",
    "'%Y-%m-%d %H:%i:%s.%f %x%v%j%D%'",
    "x'FF00FE'",
    "DATE '9999-12-31'",
    "TIME '838:59:59'",
    "TIME '-838:59:59'",
    "TIMESTAMP '1000-01-01 00:00:00'",
    "TRUE",
];

fn run(text: &str, bench: &Bench) {
    let Ok(tree) = parse(text, &bench.vars) else {
        return;
    };
    let cx = bench.cx(&[]);
    let mut scope = NoColumns;
    let Ok(e) = Binder::new(&cx, &mut scope, Clause::FieldList).bind(&tree) else {
        return;
    };
    if let Ok(v) = e.eval(&cx, &NoRow) {
        let value = v.as_value_ref(&e.ty);
        let mut key = Vec::new();
        write_group_key(&v, &e.ty, &mut key);
        let _ = (value, value_text(&v, &e.ty), text_of_type(&e));
    }
    let _ = e.truth(&cx, &NoRow);
    let _ = crate::text(&e);
}

fn text_of_type(e: &Expr) -> String {
    e.ty.to_data_type().to_string()
}

#[test]
fn functions_survive_any_arguments() {
    let bench = Bench::new();
    let mut rng = base::SplitMix64::new(base::seed::of("nasty"));
    let mut names: Vec<&str> = func::names().filter(|n| *n != "benchmark").collect();
    names.sort_unstable();
    for name in names {
        for _ in 0..150 {
            let n = rng.below(5);
            let args: Vec<&str> = (0..n).map(|_| rng.pick(VALUES)).collect();
            run(&format!("{name}({})", args.join(", ")), &bench);
        }
    }
}

#[test]
fn operators_survive_any_operands() {
    let bench = Bench::new();
    let forms = [
        "A + B",
        "A - B",
        "A * B",
        "A / B",
        "A DIV B",
        "A % B",
        "A << B",
        "A >> B",
        "A & B",
        "A | B",
        "A ^ B",
        "-A",
        "~A",
        "A = B",
        "A <=> B",
        "A < B",
        "A LIKE B",
        "A REGEXP B",
        "A IN (B, 1, NULL)",
        "A BETWEEN B AND A",
        "CASE A WHEN B THEN A ELSE B END",
        "CAST(A AS SIGNED)",
        "CAST(A AS UNSIGNED)",
        "CAST(A AS DECIMAL(65,30))",
        "CAST(A AS DECIMAL(1,0))",
        "CAST(A AS DATE)",
        "CAST(A AS TIME(3))",
        "CAST(A AS DATETIME(6))",
        "CAST(A AS YEAR)",
        "CAST(A AS CHAR(2))",
        "CAST(A AS BINARY(2))",
        "CAST(A AS JSON)",
        "CAST(A AS FLOAT)",
        "A XOR B",
        "A + INTERVAL B DAY",
        "A - INTERVAL B MONTH",
        "A + INTERVAL B MICROSECOND",
        "A + INTERVAL B DAY_MICROSECOND",
        "A + INTERVAL B YEAR_MONTH",
        "EXTRACT(DAY_MICROSECOND FROM A)",
        "EXTRACT(WEEK FROM A)",
        "TIMESTAMPDIFF(MICROSECOND, A, B)",
        "TIMESTAMPDIFF(MONTH, A, B)",
        "CONVERT(A USING latin1)",
        "TRIM(BOTH A FROM B)",
        "CHAR(A, B USING utf8mb4)",
        "A COLLATE utf8mb4_bin = B",
        "REGEXP_REPLACE(A, 'a', B)",
        "(A, B) < (B, A)",
        "REGEXP_SUBSTR(A, '.', B)",
        "WEIGHT_STRING(A AS CHAR(3))",
        "ROUND(A, B)",
    ];
    for form in forms {
        for a in VALUES {
            for b in VALUES {
                let text = form.replace('A', "\u{1}").replace('B', "\u{2}");
                // letters of keywords come back; operands stand alone
                let text = restore(&text, a, b);
                run(&text, &bench);
            }
        }
    }
}

/// Puts operands where a marker stands alone, and the letters back where it is part of a word.
fn restore(form: &str, a: &str, b: &str) -> String {
    let chars: Vec<char> = form.chars().collect();
    let word = |c: Option<&char>| {
        c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '\u{1}' | '\u{2}' | '_' | '\''))
    };
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        let alone = !word(i.checked_sub(1).and_then(|p| chars.get(p))) && !word(chars.get(i + 1));
        match (c, alone) {
            ('\u{1}', true) => out.push_str(a),
            ('\u{2}', true) => out.push_str(b),
            ('\u{1}', false) => out.push('A'),
            ('\u{2}', false) => out.push('B'),
            (c, _) => out.push(*c),
        }
    }
    out
}
