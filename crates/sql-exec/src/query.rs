//! Queries as a whole: blocks, row lists and set operations, with the ORDER BY and LIMIT around them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use types::{SqlError, ValueRef};

use super::Env;
use super::block::{Counts, run_block};
use super::distinct::Distinct;
use super::keymap::KeyMap;
use super::output::{Limits, flush_now_and_then, limits};
use super::row::OnlySubs;
use super::sort::{Sorter, write_sort_key};
use super::spill::Room;
use super::spill::gather::Gathered;
use super::spill::record::read_values;
use super::store::RowStore;
use super::sub::SubValues;
use sql_expr::json::table::{Document, Rows};
use sql_expr::memory::Charge;
use sql_expr::{ExprType, RowSource, Val, write_group_key};
use sql_parser::ast::SetOp;
use sql_plan::plan::tally::Place;
use sql_plan::plan::{Block, Body, JsonRows, OUTPUT_SLOT, QueryPlan, SetArm, SortKey, SubPlan};
use sql_plan::sink::ResultSink;

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
    if let Some(shared) = q.shared.as_ref().filter(|s| s.is_named_again()) {
        return Box::pin(run_shared(q, shared.number, env, outer, sink));
    }
    run_alone(q, env, outer, sink, enough)
}

/// Sends the rows of a common table expression, which are made when they are wanted first.
async fn run_shared(
    q: &QueryPlan,
    number: u32,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    sink: &mut dyn ResultSink,
) -> Result<Counts, SqlError> {
    let rows = match env.feeds.shared.get(&number) {
        Some(rows) => Arc::clone(rows),
        None => {
            let mut rows = no_rows(&q.types, env);
            run_alone(q, env, outer, &mut rows, u64::MAX).await?;
            rows.end().await?;
            let rows = Arc::new(rows);
            env.feeds.shared.insert(number, Arc::clone(&rows));
            rows
        }
    };
    env.send_all(&[rows], sink).await
}

fn run_alone<'a>(
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
        match &q.body {
            Body::Recursive(r) => {
                return env.recur(r, &q.types, bounds, outer, sink).await;
            }
            Body::Feed(number) => return env.fed(*number, sink).await,
            Body::Json(rows) => return rows_of_document(rows, env, outer, sink).await,
            _ => {}
        }
        if q.order.is_empty() && bounds == Limits::NONE && streams(&q.body) {
            return stream(&q.body, env, outer, sink).await;
        }
        let rows = collect(&q.body, &q.types, env, outer).await?;
        let all = rows.len();
        let counts = finish(q, rows, bounds, env, outer, sink).await?;
        Ok(match counts_all(&q.body) {
            true => Counts {
                found: all as u64,
                ..counts
            },
            false => counts,
        })
    })
}

/// Sends the rows of JSON_TABLE as they are found in the document, which is not copied.
async fn rows_of_document(
    j: &JsonRows,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    sink: &mut dyn ResultSink,
) -> Result<Counts, SqlError> {
    let cx = env.cx;
    let doc = loop {
        let v = j.doc.eval(cx, outer);
        if let Some(v) = env.settle(v).await? {
            break v;
        }
    };
    // The document is held until its last row.
    let _held = cx.take_held();
    let mut counts = Counts::default();
    let Some(doc) = Document::of(&doc, &j.doc.ty, cx)? else {
        return Ok(counts);
    };
    let mut rows = Rows::new(&j.table, &doc);
    while rows.next(cx)? {
        sink.row_begin();
        for (c, v) in rows.row().iter().enumerate() {
            sink.value(v.as_ref(), c);
        }
        sink.row_end();
        cx.let_go();
        counts.sent += 1;
        flush_now_and_then(counts.sent, env, sink).await?;
    }
    counts.found = counts.sent;
    Ok(counts)
}

/// Whether SQL_CALC_FOUND_ROWS stands in the first query of several: it is about their rows together.
fn counts_all(body: &Body<Block>) -> bool {
    match body {
        Body::Block(b) => b.calc_found_rows(),
        Body::Set(first, _) => counts_all(&first.body),
        Body::Rows(..) | Body::Recursive(_) | Body::Feed(_) | Body::Json(_) => false,
    }
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

/// No rows of a query yet.
fn no_rows(types: &[ExprType], env: &Env<'_>) -> Gathered {
    let files = env.session.temp_space();
    Gathered::new(types.len(), Room::table(env.cx), files)
}

/// The rows of a body, kept.
async fn collect(
    body: &Body<Block>,
    types: &[ExprType],
    env: &mut Env<'_>,
    outer: &dyn RowSource,
) -> Result<Gathered, SqlError> {
    let mut rows = no_rows(types, env);
    match body {
        Body::Block(b) => {
            run_block(b, env, outer, &mut rows, u64::MAX).await?;
        }
        Body::Rows(list, subqueries) => value_rows(list, subqueries, env, outer, &mut rows).await?,
        Body::Set(first, arms) => {
            run_query(first, env, outer, &mut rows, u64::MAX).await?;
            for a in arms {
                if a.op == SetOp::Union {
                    run_query(&a.query, env, outer, &mut rows, u64::MAX).await?;
                    if !a.all {
                        rows = different(rows, types, env).await?;
                    }
                    continue;
                }
                let mut other = no_rows(types, env);
                run_query(&a.query, env, outer, &mut other, u64::MAX).await?;
                rows = combine(rows, other, a, types, env).await?;
            }
        }
        Body::Recursive(_) | Body::Feed(_) | Body::Json(_) => {
            return Err(SqlError::internal("a table of its own among others"));
        }
    }
    rows.end().await?;
    Ok(rows)
}

async fn value_rows(
    list: &[Vec<sql_expr::Expr>],
    subqueries: &[SubPlan],
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    rows: &mut Gathered,
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
        add(rows, values.iter().map(types::Value::as_ref)).await?;
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

/// Adds a row.
async fn add<'v>(
    rows: &mut Gathered,
    values: impl IntoIterator<Item = ValueRef<'v>>,
) -> Result<(), SqlError> {
    rows.push(values);
    match rows.is_full() {
        true => rows.flush().await,
        false => Ok(()),
    }
}

/// Each row once.
async fn different(
    mut all: Gathered,
    types: &[ExprType],
    env: &mut Env<'_>,
) -> Result<Gathered, SqlError> {
    all.end().await?;
    let mut rows = no_rows(types, env);
    let mut seen = Distinct::new(env.cx);
    let mut key = Vec::new();
    let mut pass = all.pass();
    while let Some(some) = all.next(&mut pass).await? {
        for i in 0..some.len() {
            row_key(some, i, types, &mut key);
            match seen.insert(&key)? {
                Some(true) => add(&mut rows, some.row(i)).await?,
                Some(false) => {}
                None => seen.put_off(&key, &[], some.row(i)),
            }
            if seen.is_due() {
                seen.flush(env).await?;
            }
            if env.due() {
                env.pause().await?;
            }
        }
    }
    drop((pass, all));
    if let Some(mut late) = seen.finish(env).await? {
        while late.advance(env).await? {
            add(&mut rows, late.row()?.1).await?;
        }
    }
    Ok(rows)
}

/// INTERSECT and EXCEPT of the rows so far and those of an operand.
async fn combine(
    mut left: Gathered,
    mut right: Gathered,
    arm: &SetArm<Block>,
    types: &[ExprType],
    env: &mut Env<'_>,
) -> Result<Gathered, SqlError> {
    left.end().await?;
    right.end().await?;
    let mut key = Vec::new();
    let memory = env.cx.memory();
    let mut rows = no_rows(types, env);
    // How often each row is on the right, for ALL; whether, otherwise.
    let mut there = KeyMap::new(memory);
    let mut counts: Vec<u64> = Vec::new();
    let mut charge = Charge::to(memory);
    let mut pass = right.pass();
    while let Some(some) = right.next(&mut pass).await? {
        for i in 0..some.len() {
            row_key(some, i, types, &mut key);
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
    }
    let mut seen = KeyMap::new(memory);
    let mut pass = left.pass();
    while let Some(some) = left.next(&mut pass).await? {
        for i in 0..some.len() {
            row_key(some, i, types, &mut key);
            let matched = there.get(&key).filter(|&n| counts[n] > 0);
            if let (true, Some(n)) = (arm.all, matched) {
                counts[n] -= 1;
            }
            let wanted = matched.is_some() == (arm.op == SetOp::Intersect);
            if wanted && (arm.all || seen.insert(&key)?.1) {
                add(&mut rows, some.row(i)).await?;
            }
            if env.due() {
                env.pause().await?;
            }
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
    rows: Gathered,
    bounds: Limits,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    sink: &mut dyn ResultSink,
) -> Result<Counts, SqlError> {
    env.check()?;
    let mut out = Sending {
        bounds,
        passed: 0,
        sent: 0,
    };
    let order = &q.order;
    match (order.is_empty(), rows.in_memory()) {
        (true, _) => {
            let mut pass = rows.pass();
            while let Some(some) = rows.next(&mut pass).await? {
                for i in 0..some.len() {
                    if out.is_done() {
                        break;
                    }
                    out.row(some, i, env, sink).await?;
                }
            }
        }
        // In memory their numbers are sorted.
        (false, Some(all)) => {
            let mut sorter = Sorter::new(1, bounds.needed(), env.cx.memory());
            sort_into(&mut sorter, order, all, 0, env, outer).await?;
            let numbers = sorter.finish(env).await?.numbers();
            for n in numbers {
                out.row(all, n, env, sink).await?;
            }
        }
        (false, None) => {
            let room = Room::sort(env.cx);
            let width = q.types.len();
            let mut sorter = Sorter::new(width, bounds.needed(), env.cx.memory()).with_room(room);
            let mut pass = rows.pass();
            while let Some(some) = rows.next(&mut pass).await? {
                sort_into(&mut sorter, order, some, width, env, outer).await?;
            }
            drop((pass, rows));
            let sorted = sorter.finish(env).await?;
            for &r in &sorted.order {
                out.row(&sorted.rows, r as usize, env, sink).await?;
            }
            if let Some(mut merged) = sorted.merged {
                let mut one = RowStore::new(width, env.cx.memory());
                while !out.is_done() && merged.advance().await? {
                    one.clear();
                    one.push(read_values(merged.row(), &merged.members)?);
                    out.row(&one, 0, env, sink).await?;
                }
            }
        }
    }
    Ok(Counts {
        sent: out.sent,
        found: out.sent,
        no_index: false,
    })
}

/// Adds rows to a sort: their values, or where they have no `width` their numbers.
async fn sort_into(
    sorter: &mut Sorter,
    order: &[SortKey],
    rows: &RowStore,
    width: usize,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
) -> Result<(), SqlError> {
    let mut key = Vec::new();
    let env_cx = env.cx;
    let waits = order.iter().any(|k| k.expr.has_special());
    for at in 0..rows.len() {
        key.clear();
        let row = OutputRow { rows, at, outer };
        if waits {
            env.ahead(|| write_sort_key(order, env_cx, &row, &mut Vec::new()))
                .await?;
        }
        write_sort_key(order, env.cx, &row, &mut key)?;
        if waits {
            env.cx.row_done();
        }
        if sorter.wants(&key) {
            match width {
                0 => sorter.add(&key, [ValueRef::UInt(at as u64)]),
                _ => sorter.add(&key, rows.row(at)),
            }
        }
        if sorter.is_untidy() {
            sorter.tidy(env).await?;
        }
        if env.due() {
            env.pause().await?;
        }
    }
    Ok(())
}

/// Rows on their way to the sink, within a LIMIT.
struct Sending {
    bounds: Limits,
    passed: u64,
    sent: u64,
}

impl Sending {
    fn is_done(&self) -> bool {
        self.passed >= self.bounds.needed()
    }

    async fn row(
        &mut self,
        rows: &RowStore,
        i: usize,
        env: &mut Env<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        if self.is_done() {
            return Ok(());
        }
        self.passed += 1;
        if self.passed > self.bounds.skip {
            rows.send(i, sink);
            self.sent += 1;
            flush_now_and_then(self.sent, env, sink).await?;
        }
        Ok(())
    }
}
