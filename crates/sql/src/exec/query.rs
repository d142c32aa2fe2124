//! Queries as a whole: blocks, row lists and set operations, with the ORDER BY and LIMIT around them.

use std::future::Future;
use std::pin::Pin;

use types::{SqlError, ValueRef};

use super::Env;
use super::block::{Counts, run_block};
use super::keymap::KeyMap;
use super::output::{Limits, flush_now_and_then, limits};
use super::row::OnlySubs;
use super::sort::{Sorter, write_sort_key};
use super::store::RowStore;
use super::sub::SubValues;
use crate::plan::tally::Place;
use crate::plan::{Block, Body, OUTPUT_SLOT, QueryPlan, SetArm, SubPlan};
use crate::sink::ResultSink;
use sql_expr::memory::Charge;
use sql_expr::{ExprType, RowSource, Val, write_group_key};
use sql_parser::ast::SetOp;

/// A running query.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Counts, SqlError>> + Send + 'a>>;

/// Runs a query; at most `enough` of its rows matter.
pub(crate) fn run_query<'a>(
    q: &'a QueryPlan,
    env: &'a mut Env<'_>,
    outer: &'a dyn RowSource,
    sink: &'a mut dyn ResultSink,
    enough: u64,
) -> Running<'a> {
    Box::pin(async move {
        if let Body::Block(b) = &q.body {
            let begun = env.begun();
            let counts = run_block(b, env, outer, sink, enough).await?;
            env.tell(b, Place::Block, begun, 1, counts.sent);
            return Ok(counts);
        }
        let mut bounds = limits(q.limit.as_ref(), env.cx)?;
        bounds.take = bounds.take.min(enough);
        if q.order.is_empty() && bounds == Limits::NONE && streams(&q.body) {
            return stream(&q.body, env, outer, sink).await;
        }
        let rows = collect(&q.body, &q.types, env, outer).await?;
        finish(q, rows, bounds, env, outer, sink).await
    })
}

/// Whether the rows can go to the sink as they come: nothing is compared with anything.
fn streams(body: &Body<Block>) -> bool {
    match body {
        Body::Set(_, arms) => arms.iter().all(|a| a.op == SetOp::Union && a.all),
        _ => false,
    }
}

async fn stream(
    body: &Body<Block>,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    sink: &mut dyn ResultSink,
) -> Result<Counts, SqlError> {
    let Body::Set(first, arms) = body else {
        return Ok(Counts::default());
    };
    let mut total = run_query(first, env, outer, sink, u64::MAX).await?;
    for a in arms {
        let c = run_query(&a.query, env, outer, sink, u64::MAX).await?;
        total.sent += c.sent;
        total.found += c.found;
        total.no_index |= c.no_index;
    }
    Ok(total)
}

/// The rows of a body, kept.
async fn collect(
    body: &Body<Block>,
    types: &[ExprType],
    env: &mut Env<'_>,
    outer: &dyn RowSource,
) -> Result<RowStore, SqlError> {
    let mut rows = RowStore::new(types.len(), env.cx.memory());
    match body {
        Body::Block(b) => {
            run_block(b, env, outer, &mut rows, u64::MAX).await?;
        }
        Body::Rows(list, subqueries) => value_rows(list, subqueries, env, outer, &mut rows).await?,
        Body::Set(first, arms) => {
            run_query(first, env, outer, &mut rows, u64::MAX).await?;
            for a in arms {
                let mut other = RowStore::new(types.len(), env.cx.memory());
                run_query(&a.query, env, outer, &mut other, u64::MAX).await?;
                rows = combine(rows, other, a, types, env).await?;
            }
        }
    }
    Ok(rows)
}

async fn value_rows(
    list: &[Vec<sql_expr::Expr>],
    subqueries: &[SubPlan],
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    rows: &mut RowStore,
) -> Result<(), SqlError> {
    let mut subs = SubValues::new(subqueries, env, outer).await?;
    for (i, s) in subqueries.iter().enumerate().filter(|(_, s)| s.correlated) {
        let fetched = super::sub::fetch(s, env, outer).await?;
        subs.set(i as u32, fetched);
    }
    let cx = env.cx;
    for row in list {
        let mut values = Vec::with_capacity(row.len());
        for e in row {
            loop {
                let source = OnlySubs { subs: &subs, outer };
                let v = e.eval(cx, &source).map(|v| v.to_value(&e.ty));
                if let Some(v) = env.settle(v).await? {
                    values.push(v);
                    break;
                }
            }
        }
        rows.push(values.iter().map(types::Value::as_ref));
        if env.due() {
            env.pause().await?;
        }
    }
    Ok(())
}

fn row_key(rows: &RowStore, i: usize, types: &[ExprType], key: &mut Vec<u8>) {
    key.clear();
    for (v, t) in rows.row(i).zip(types) {
        write_group_key(&Val::from(v), t, key);
    }
}

/// Applies a set operation to the rows so far and those of an operand.
async fn combine(
    left: RowStore,
    right: RowStore,
    arm: &SetArm<Block>,
    types: &[ExprType],
    env: &mut Env<'_>,
) -> Result<RowStore, SqlError> {
    let mut key = Vec::new();
    if arm.op == SetOp::Union && arm.all {
        let mut rows = left;
        for i in 0..right.len() {
            rows.push(right.row(i));
            if env.due() {
                env.pause().await?;
            }
        }
        return Ok(rows);
    }
    let memory = env.cx.memory();
    let mut rows = RowStore::new(types.len(), memory);
    if arm.op == SetOp::Union {
        let mut seen = KeyMap::new(memory);
        for store in [&left, &right] {
            for i in 0..store.len() {
                row_key(store, i, types, &mut key);
                if seen.insert(&key)?.1 {
                    rows.push(store.row(i));
                }
                if env.due() {
                    env.pause().await?;
                }
            }
        }
        return Ok(rows);
    }
    // How often each row is on the right, for ALL; whether, otherwise.
    let mut there = KeyMap::new(memory);
    let mut counts: Vec<u64> = Vec::new();
    let mut charge = Charge::to(memory);
    for i in 0..right.len() {
        row_key(&right, i, types, &mut key);
        let (n, new) = there.insert(&key)?;
        if new {
            if !charge.reserve(&mut counts, 1) {
                env.check()?;
            }
            counts.push(0);
        }
        counts[n] += 1;
        if env.due() {
            env.pause().await?;
        }
    }
    let mut seen = KeyMap::new(memory);
    for i in 0..left.len() {
        row_key(&left, i, types, &mut key);
        let matched = there.get(&key).filter(|&n| counts[n] > 0);
        if let (true, Some(n)) = (arm.all, matched) {
            counts[n] -= 1;
        }
        let wanted = matched.is_some() == (arm.op == SetOp::Intersect);
        if wanted && (arm.all || seen.insert(&key)?.1) {
            rows.push(left.row(i));
        }
        if env.due() {
            env.pause().await?;
        }
    }
    Ok(rows)
}

struct OutputRow<'a> {
    rows: &'a RowStore,
    at: usize,
    outer: &'a dyn RowSource,
}

impl RowSource for OutputRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        if slot == OUTPUT_SLOT {
            self.rows.column(self.at, usize::from(ordinal))
        } else {
            self.outer.column(slot, ordinal)
        }
    }
}

/// Orders and cuts kept rows and sends them.
async fn finish(
    q: &QueryPlan,
    rows: RowStore,
    bounds: Limits,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    sink: &mut dyn ResultSink,
) -> Result<Counts, SqlError> {
    let cx = env.cx;
    env.check()?;
    let order: Vec<u32> = if q.order.is_empty() {
        (0..rows.len() as u32).collect()
    } else {
        let mut sorter = Sorter::new(1, bounds.needed(), cx.memory());
        let mut key = Vec::new();
        for at in 0..rows.len() {
            key.clear();
            let source = OutputRow {
                rows: &rows,
                at,
                outer,
            };
            write_sort_key(&q.order, cx, &source, &mut key)?;
            if sorter.wants(&key) {
                sorter.add(&key, [ValueRef::UInt(at as u64)]);
            }
            if sorter.is_untidy() {
                sorter.tidy(env).await?;
            }
            if env.due() {
                env.pause().await?;
            }
        }
        let numbers = sorter.finish(env).await?.numbers();
        numbers.into_iter().map(|n| n as u32).collect()
    };
    let skip = usize::try_from(bounds.skip).unwrap_or(usize::MAX);
    let take = usize::try_from(bounds.take).unwrap_or(usize::MAX);
    let mut sent = 0u64;
    for &r in order.iter().skip(skip).take(take) {
        rows.send(r as usize, sink);
        sent += 1;
        flush_now_and_then(sent, env, sink).await?;
    }
    Ok(Counts {
        sent,
        found: sent,
        no_index: false,
    })
}
