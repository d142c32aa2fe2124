//! IN and NOT IN of a subquery: what is found by keys is what comparing row by row gives, for values of every type beside every other.

use std::collections::HashSet;

use super::{Bench, parse};
use crate::bind::{Binder, Clause, NoColumns};
use crate::node::{CmpOp, Quantified};
use crate::*;
use types::{SqlError, ValueRef};

/// Rows that are found by keys, or not.
struct Rows {
    rows: Vec<Vec<Val<'static>>>,
    by_keys: bool,
}

impl RowSource for Rows {
    fn column(&self, _slot: u16, _ordinal: u16) -> ValueRef<'_> {
        ValueRef::Null
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        Some(self)
    }
}

impl SubquerySource for Rows {
    fn scalar(&self, _: u32) -> Result<Val<'_>, SqlError> {
        Ok(Val::Null)
    }

    fn row(&self, _: u32) -> Result<Option<Vec<Val<'_>>>, SqlError> {
        Ok(None)
    }

    fn exists(&self, _: u32) -> Result<bool, SqlError> {
        Ok(!self.rows.is_empty())
    }

    fn rows(
        &self,
        _: u32,
        each: &mut dyn FnMut(&[Val<'_>]) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        for r in &self.rows {
            if !each(r)? {
                break;
            }
        }
        Ok(())
    }

    fn find(&self, _: u32, key: &[u8], key_of: &WriteKey<'_>) -> Option<ListLookup> {
        let (mut keys, mut nulls) = (HashSet::new(), false);
        for r in self.rows.iter().filter(|_| self.by_keys) {
            let mut key = Vec::new();
            match key_of(r, &mut key) {
                RowKey::Written => {
                    keys.insert(key);
                }
                RowKey::Null => nulls = true,
                RowKey::Unknown => return None,
            }
        }
        self.by_keys.then(|| match keys.contains(key) {
            true => ListLookup::Equal,
            false => ListLookup::Not { nulls },
        })
    }
}

/// Values of one type each, some of them equal to those of other types.
const TYPES: &[&[&str]] = &[
    &["0", "1", "-1", "5", "20240229", "9223372036854775807"],
    &["18446744073709551615", "9223372036854775808"],
    &[
        "5.0",
        "5.00",
        "0.0",
        "-0.0",
        "5.5",
        "9223372036854775808.0",
        "-1.10",
        "20240229.0",
    ],
    &[
        "5e0",
        "0e0",
        "-0e0",
        "1.1e0",
        "9.223372036854775807e18",
        "2.0240229e7",
    ],
    &[
        "'a'",
        "'A'",
        "'a '",
        "'5'",
        "'5.0'",
        "' 5'",
        "'5x'",
        "''",
        "'2024-02-29'",
        "'0'",
        "'ß'",
        "'ss'",
    ],
    &["BINARY 'a'", "BINARY 'A'", "BINARY 'a '", "BINARY '5'"],
    &["DATE'2024-02-29'", "DATE'2024-03-01'"],
    &[
        "TIMESTAMP'2024-02-29 00:00:00'",
        "TIMESTAMP'2024-02-29 00:00:01'",
    ],
    &[
        "TIMESTAMP'2024-02-29 00:00:00.000000'",
        "TIMESTAMP'2024-02-29 00:00:00.5'",
    ],
    &["TIME'00:00:00'", "TIME'00:00:05'", "TIME'-00:00:05'"],
    &["x'35'", "b'101'"],
    &["NULL"],
];

fn bound(bench: &Bench, text: &str) -> Expr {
    let e = parse(text, &bench.vars).unwrap();
    let cx = bench.cx(&[]);
    Binder::new(&cx, &mut NoColumns, Clause::Where)
        .bind(&e)
        .unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

#[test]
fn keys_find_what_comparing_finds() {
    let bench = Bench::new();
    let cx = bench.cx(&[]);
    let (mut tried, mut found) = (0, 0);
    for (left, right) in TYPES.iter().flat_map(|l| TYPES.iter().map(move |r| (l, r))) {
        let values: Vec<Expr> = right.iter().map(|t| bound(&bench, t)).collect();
        for probe in left.iter().map(|t| bound(&bench, t)).chain([Expr::null()]) {
            let Ok(how) = Comparer::choose(&probe.ty, &values[0].ty, cx.collation, "=") else {
                continue;
            };
            let comparer = how.by_digits(&probe.ty, &values[0].ty);
            for (op, all) in [(CmpOp::Eq, false), (CmpOp::Ne, true), (CmpOp::Eq, true)] {
                for rows in subsets(&values, &cx) {
                    let q = Quantified {
                        expr: probe.clone(),
                        op,
                        all,
                        comparers: vec![comparer.clone()],
                        subquery: 0,
                    };
                    let e = Expr {
                        node: Node::Quantified(Box::new(q)),
                        ty: ExprType::truth(true),
                    };
                    let [compared, by_keys] = [false, true].map(|by_keys| {
                        let rows = Rows {
                            rows: rows.clone(),
                            by_keys,
                        };
                        e.truth(&cx, &rows).unwrap()
                    });
                    assert_eq!(compared, by_keys, "{left:?} {op:?} {rows:?}");
                    tried += 1;
                    found += u32::from(compared == Some(true));
                }
            }
        }
    }
    assert!(tried > 5_000 && found > 500, "{tried}, {found}");
}

/// None, each alone, all, and each of these with NULL.
fn subsets(values: &[Expr], cx: &EvalCtx<'_>) -> Vec<Vec<Vec<Val<'static>>>> {
    let value = |e: &Expr| vec![eval_constant(e, cx).unwrap()];
    let mut out = vec![Vec::new(), values.iter().map(value).collect()];
    out.extend(values.iter().map(|e| vec![value(e)]));
    let with_null = out.iter().map(|rows: &Vec<Vec<Val<'static>>>| {
        let mut rows = rows.clone();
        rows.push(vec![Val::Null]);
        rows
    });
    let with_null: Vec<_> = with_null.collect();
    out.extend(with_null);
    out
}
