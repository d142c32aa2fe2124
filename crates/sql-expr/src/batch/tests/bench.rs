//! The first and the sixth query of TPC-H by batches and by rows: the same sums, and how fast each is.
//! `TIDEMILL_BATCHES=400 cargo test --release -p sql-expr speed -- --nocapture` prints rows a second.

use std::time::Instant;

use base::SplitMix64;
use types::decimal::Decimal;
use types::temporal::Date;
use types::{CollationId, DataType, Value};

use super::super::*;
use super::{aggregates_of, bound, layout};
use crate::agg::{Accumulator, AggSpec};
use crate::tests::Bench;
use crate::*;

/// Batches of each query: few, or as many as this says.
const VARIABLE: &str = "TIDEMILL_BATCHES";

fn asked() -> usize {
    let text = std::env::var(VARIABLE).ok();
    text.and_then(|n| n.parse().ok()).unwrap_or(2)
}

/// Columns of `lineitem` under the names that this table has: n price, m discount, w tax, d date, s and g the flags, i quantity.
fn lineitem(rng: &mut SplitMix64) -> Vec<Value> {
    let decimal = |m: u64, s| Value::Decimal(Decimal::from_i128(i128::from(m), s));
    let flag = |f: &str, c| Value::Str(f.into(), c);
    let mut row = vec![Value::Null; super::columns().len()];
    row[0] = Value::Int(rng.within(1, 50) as i64);
    row[3] = decimal(rng.within(90_000, 10_494_950), 2);
    row[4] = decimal(rng.below(11), 2);
    row[5] = decimal(rng.below(9), 2);
    row[7] = Value::Date(Date::from_parts(
        rng.within(1992, 1998) as u16,
        rng.within(1, 12) as u8,
        rng.within(1, 28) as u8,
    ));
    row[11] = flag(rng.pick(&["A", "N", "R"]), CollationId::UTF8MB4_0900_AI_CI);
    row[12] = flag(rng.pick(&["F", "O"]), CollationId::UTF8MB4_0900_AI_CI);
    row
}

fn by_rows(
    specs: &[AggSpec],
    keys: &[Expr],
    cond: &Expr,
    rows: &[Vec<Value>],
    cx: &EvalCtx<'_>,
) -> Vec<String> {
    let mut groups: std::collections::HashMap<Vec<u8>, Vec<Accumulator>> = Default::default();
    let mut key = Vec::new();
    for r in rows {
        let row = ValuesRow(r);
        if cond.truth(cx, &row).unwrap() != Some(true) {
            continue;
        }
        key.clear();
        for k in keys {
            write_group_key(&k.eval(cx, &row).unwrap(), &k.ty, &mut key);
        }
        if !groups.contains_key(&key) {
            groups.insert(key.clone(), specs.iter().map(AggSpec::start).collect());
        }
        for (a, s) in groups.get_mut(&key).unwrap().iter_mut().zip(specs) {
            a.add(s, cx, &row).unwrap();
        }
    }
    let mut out: Vec<String> = groups
        .into_values()
        .map(|accs| {
            let done = accs.into_iter().zip(specs);
            done.map(|(a, s)| format!("{:?} ", a.finish(s, cx).unwrap()))
                .collect()
        })
        .collect();
    out.sort();
    out
}

fn by_batches(
    specs: &[AggSpec],
    keys: &[Expr],
    cond: &Expr,
    batches: &[Batch],
    cx: &EvalCtx<'_>,
) -> Vec<String> {
    let mut pool = Scratch::new();
    let (mut groups, mut sums) = (Groups::new(1), Aggregates::new(specs));
    let (mut numbers, mut first) = (Vec::new(), Vec::new());
    let list: Vec<&Expr> = keys.iter().collect();
    for b in batches {
        let mut b = b.clone();
        filter_batch(std::slice::from_ref(cond), cx, &mut b, &NoRow, &mut pool).unwrap();
        let values = eval_all(&list, cx, &b, &NoRow, &mut pool).unwrap();
        let columns: Vec<_> = values
            .iter()
            .zip(keys)
            .map(|(v, k)| (&**v, &k.ty))
            .collect();
        first.clear();
        groups.assign(&columns, b.selected(), &mut numbers, &mut first);
        sums.grow(specs, groups.len());
        sums.update(specs, cx, &b, &NoRow, &numbers, &mut pool)
            .unwrap();
    }
    let mut out: Vec<String> = (0..groups.len())
        .map(|g| {
            let value = |k| format!("{:?} ", sums.finish(specs, k, g, cx).unwrap());
            (0..specs.len()).map(value).collect()
        })
        .collect();
    out.sort();
    out
}

fn compared(name: &str, aggregates: &str, keys: &[&str], condition: &str) {
    let bench = Bench::new();
    let cx = bench.cx(&[]);
    let mut rng = SplitMix64::new(1);
    let specs = aggregates_of(&format!("COALESCE({aggregates})"), &bench).unwrap();
    let keys: Vec<Expr> = keys.iter().map(|k| bound(k, &bench).unwrap()).collect();
    let cond = bound(condition, &bench).unwrap();
    let mut types: Vec<DataType> = super::columns().into_iter().map(|(_, t)| t).collect();
    types[4] = DataType::decimal(12, 2);
    types[5] = DataType::decimal(12, 2);
    let mut builders: Vec<VectorBuilder> = types.iter().map(VectorBuilder::of_column).collect();
    let (mut rows, mut batches) = (Vec::new(), Vec::new());
    for _ in 0..asked() {
        for _ in 0..ROWS {
            let row = lineitem(&mut rng);
            for (b, v) in builders.iter_mut().zip(&row) {
                b.push(v.as_ref());
            }
            rows.push(row);
        }
        batches.push(Batch::build(&layout(), &mut builders));
    }
    let time = |f: &mut dyn FnMut() -> Vec<String>| {
        let best = (0..5).map(|_| {
            let from = Instant::now();
            let out = f();
            (from.elapsed(), out)
        });
        best.min_by_key(|(t, _)| *t).unwrap()
    };
    let (slow, wanted) = time(&mut || by_rows(&specs, &keys, &cond, &rows, &cx));
    let (fast, got) = time(&mut || by_batches(&specs, &keys, &cond, &batches, &cx));
    assert_eq!(got, wanted);
    let million = |t: std::time::Duration| rows.len() as f64 / t.as_secs_f64() / 1e6;
    eprintln!(
        "{name}: {:.1} million rows/s by rows, {:.1} by batches: {:.1}x",
        million(slow),
        million(fast),
        slow.as_secs_f64() / fast.as_secs_f64()
    );
}

#[test]
fn speed_and_the_same_sums() {
    compared(
        "Q1, one sum",
        "SUM(n * (1 - m) * (1 + w))",
        &["s", "g"],
        "d <= DATE '1998-12-01' - INTERVAL 90 DAY",
    );
    compared(
        "Q1, all",
        "SUM(i), SUM(n), SUM(n * (1 - m)), SUM(n * (1 - m) * (1 + w)), AVG(i), AVG(n), AVG(m), COUNT(*)",
        &["s", "g"],
        "d <= DATE '1998-12-01' - INTERVAL 90 DAY",
    );
    compared(
        "Q6",
        "SUM(n * m)",
        &[],
        "d >= DATE '1994-01-01' AND d < DATE '1994-01-01' + INTERVAL 1 YEAR \
         AND m BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND i < 24",
    );
}
