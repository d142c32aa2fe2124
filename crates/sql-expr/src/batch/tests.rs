//! Batches beside rows: random typed expressions over random columns give the same values, warnings and errors.

mod aggregates;
mod bench;
mod draw;
mod kinds;

use std::sync::Arc;

use base::SplitMix64;
use types::collation::CollationId;
use types::datatype::Labels;
use types::{DataType, IntWidth, SqlError, Value};

use super::*;
use crate::agg::AggSpec;
use crate::bind::{Binder, BoundSubquery, Clause, Resolved, ResolvedColumn, Scope, SubqueryKind};
use crate::column_name::{ColumnName, TableNames};
use crate::tests::{Bench, parse};
use crate::vars::VarInput;
use crate::*;
use sql_parser::ast;

fn labels() -> Arc<Labels> {
    Arc::new(Labels {
        names: vec![b"zero"[..].into(), b"apple"[..].into()],
        collation: CollationId::UTF8MB4_GENERAL_CI,
    })
}

fn columns() -> Vec<(&'static str, DataType)> {
    vec![
        ("i", DataType::int(IntWidth::Int, false)),
        ("b", DataType::int(IntWidth::Big, false)),
        ("u", DataType::UBIGINT),
        ("n", DataType::decimal(10, 2)),
        ("m", DataType::decimal(18, 0)),
        ("w", DataType::decimal(40, 6)),
        ("f", DataType::DOUBLE),
        ("d", DataType::Date),
        ("dt", DataType::DateTime(3)),
        ("ts", DataType::Timestamp(0)),
        ("t", DataType::Time(0)),
        ("s", DataType::varchar(20, CollationId::UTF8MB4_0900_AI_CI)),
        ("g", DataType::varchar(20, CollationId::UTF8MB4_GENERAL_CI)),
        ("x", DataType::VarBinary(20)),
        ("e", DataType::Enum(labels())),
        ("z", DataType::Bit(9)),
        ("y", DataType::Year),
    ]
}

struct Table;

struct Names;

impl TableNames for Names {
    fn schema(&self) -> &str {
        "test"
    }

    fn table(&self) -> &str {
        "t"
    }

    fn column(&self, ordinal: u16) -> &str {
        columns()[usize::from(ordinal)].0
    }
}

impl Scope for Table {
    fn column(&mut self, name: &ast::ColumnRef, clause: Clause) -> Result<Resolved, SqlError> {
        let cols = columns();
        let at = cols
            .iter()
            .position(|(n, _)| n.eq_ignore_ascii_case(&name.name))
            .ok_or_else(|| SqlError::unknown_column(&bind::column_text(name), clause.text()))?;
        Ok(Resolved::Column(ResolvedColumn {
            slot: 0,
            ordinal: at as u16,
            ty: ExprType::of_column(&cols[at].1, true),
            utc: matches!(cols[at].1, DataType::Timestamp(_)),
            name: ColumnName::Of(Arc::new(Names), at as u16),
        }))
    }

    fn subquery(&mut self, _: &ast::Query, _: SubqueryKind) -> Result<BoundSubquery, SqlError> {
        Err(SqlError::internal("no subqueries here"))
    }
}

fn bound(text: &str, bench: &Bench) -> Option<Expr> {
    let tree = parse(text, &bench.vars).unwrap_or_else(|e| panic!("{text}: {e}"));
    let cx = bench.cx(&[]);
    Binder::new(&cx, &mut Table, Clause::FieldList)
        .bind(&tree)
        .ok()
}

fn aggregates_of(text: &str, bench: &Bench) -> Option<Vec<AggSpec>> {
    let tree = parse(text, &bench.vars).unwrap_or_else(|e| panic!("{text}: {e}"));
    let cx = bench.cx(&[]);
    let mut list = Vec::new();
    Binder::new(&cx, &mut Table, Clause::FieldList)
        .with_aggregates(&mut list)
        .bind(&tree)
        .ok()?;
    Some(list)
}

fn layout() -> Arc<Layout> {
    Arc::new(Layout::of((0..columns().len() as u16).map(|i| (0, i))))
}

/// Random rows, some of them not live.
fn batch_of(rows: &[Vec<Value>], rng: &mut SplitMix64) -> Batch {
    let mut builders: Vec<VectorBuilder> = columns()
        .iter()
        .map(|(_, ty)| VectorBuilder::of_column(ty))
        .collect();
    for r in rows {
        for (b, v) in builders.iter_mut().zip(r) {
            b.push(v.as_ref());
        }
    }
    let mut batch = Batch::build(&layout(), &mut builders);
    if rng.one_in(2) {
        let share = rng.below(101);
        let live = (0..rows.len() as u16).filter(|_| rng.percent(share));
        batch.select(live.collect());
    }
    batch
}

type Outcome = (Vec<String>, Option<(u16, String)>, Vec<(u16, String)>);

fn warnings(cx: &EvalCtx<'_>) -> Vec<(u16, String)> {
    let (list, _) = cx.take_warnings();
    list.into_iter().map(|w| (w.code, w.message)).collect()
}

fn by_rows(e: &Expr, bench: &Bench, rows: &[Vec<Value>], live: Sel<'_>) -> Outcome {
    let cx = bench.cx(&[]);
    let mut values = Vec::new();
    for i in live.iter() {
        match e.eval(&cx, &ValuesRow(&rows[i])) {
            Ok(v) => values.push(format!("{v:?}")),
            Err(e) => return (vec![], Some((e.code, e.message)), warnings(&cx)),
        }
    }
    (values, None, warnings(&cx))
}

fn by_batch(e: &Expr, bench: &Bench, batch: &Batch, pool: &mut Scratch) -> Outcome {
    let cx = bench.cx(&[]);
    match eval_batch(e, &cx, batch, &NoRow, pool) {
        Ok(v) => {
            let values = batch.selected().iter().map(|i| format!("{:?}", v.val(i)));
            (values.collect(), None, warnings(&cx))
        }
        Err(e) => (vec![], Some((e.code, e.message)), warnings(&cx)),
    }
}

fn filtered_by_rows(
    e: &Expr,
    bench: &Bench,
    rows: &[Vec<Value>],
    live: Sel<'_>,
) -> (Vec<usize>, Option<u16>, usize) {
    let cx = bench.cx(&[]);
    let mut kept = Vec::new();
    for i in live.iter() {
        match e.truth(&cx, &ValuesRow(&rows[i])) {
            Ok(Some(true)) => kept.push(i),
            Ok(_) => {}
            Err(e) => return (vec![], Some(e.code), warnings(&cx).len()),
        }
    }
    (kept, None, warnings(&cx).len())
}

fn filtered(e: &Expr, bench: &Bench, mut batch: Batch) -> (Vec<usize>, Option<u16>, usize) {
    let cx = bench.cx(&[]);
    let conditions = std::slice::from_ref(e);
    match filter_batch(conditions, &cx, &mut batch, &NoRow, &mut Scratch::new()) {
        Ok(()) => (batch.selected().iter().collect(), None, warnings(&cx).len()),
        Err(e) => (vec![], Some(e.code), warnings(&cx).len()),
    }
}

#[test]
fn batches_give_what_rows_give() {
    let mut rng = SplitMix64::new(base::seed::of("batches"));
    let mut bench = Bench::new();
    let mut pool = Scratch::new();
    let (mut tried, mut quiet) = (0, 0);
    for round in 0..60 {
        let wild = round % 3 == 0;
        // A division by zero is a warning in one mode only, and a TIMESTAMP another time in each zone.
        for (name, value) in [
            ("time_zone", rng.pick(&["+00:00", "-05:30"])),
            (
                "sql_mode",
                rng.pick(&["", "ERROR_FOR_DIVISION_BY_ZERO", "TRADITIONAL"]),
            ),
        ] {
            let value = VarInput::Text(value.to_owned());
            bench.vars.set(name, &value).unwrap();
        }
        let rows: Vec<Vec<Value>> = (0..rng.within(1, 90))
            .map(|_| draw::row(&mut rng, wild))
            .collect();
        let batch = batch_of(&rows, &mut rng);
        for _ in 0..120 {
            let text = draw::any(&mut rng, 3);
            let Some(e) = bound(&text, &bench) else {
                continue;
            };
            tried += 1;
            let cx = bench.cx(&[]);
            quiet += u32::from(eval_quietly(&e, &cx, &batch, &NoRow, &mut pool).is_some());
            assert!(warnings(&cx).is_empty(), "{text} left warnings");
            let live = batch.selected();
            assert_eq!(
                by_batch(&e, &bench, &batch, &mut pool),
                by_rows(&e, &bench, &rows, live),
                "{text}\n{e:?}"
            );
            assert_eq!(
                filtered(&e, &bench, batch.clone()),
                filtered_by_rows(&e, &bench, &rows, live),
                "WHERE {text}"
            );
        }
    }
    eprintln!("{tried} expressions, {quiet} without going back to rows");
    assert!(quiet * 3 > tried);
}
