//! Queries as a whole: whatever stands around blocks, and where common table expressions keep their rows.

use std::sync::Arc;

use types::SqlError;

use super::block::run_block;
use super::limit::{Limits, limits};
use super::{json_table, set, values};
use crate::Env;
use crate::env::{Counts, Running};
use crate::spill::gather::Gathered;
use sql_expr::{ExprType, RowSource};
use sql_parser::ast::SetOp;
use sql_plan::plan::tally::Place;
use sql_plan::plan::{Block, Body, QueryPlan};
use sql_plan::sink::ResultSink;

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
            let mut rows = set::no_rows(&q.types, env);
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
            Body::Json(rows) => return json_table::run(rows, env, outer, sink).await,
            _ => {}
        }
        if q.order.is_empty() && bounds == Limits::NONE && streams(&q.body) {
            return stream(&q.body, env, outer, sink).await;
        }
        let rows = collect(&q.body, &q.types, env, outer).await?;
        let all = rows.len();
        let counts = set::finish(q, rows, bounds, env, outer, sink).await?;
        Ok(match counts_all(&q.body) {
            true => Counts {
                found: all as u64,
                ..counts
            },
            false => counts,
        })
    })
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

/// The rows of a body, kept.
async fn collect(
    body: &Body<Block>,
    types: &[ExprType],
    env: &mut Env<'_>,
    outer: &dyn RowSource,
) -> Result<Gathered, SqlError> {
    let mut rows = set::no_rows(types, env);
    match body {
        Body::Block(b) => {
            run_block(b, env, outer, &mut rows, u64::MAX).await?;
        }
        Body::Rows(list, subqueries) => {
            values::run(list, subqueries, env, outer, &mut rows).await?
        }
        Body::Set(first, arms) => {
            run_query(first, env, outer, &mut rows, u64::MAX).await?;
            for a in arms {
                if a.op == SetOp::Union {
                    run_query(&a.query, env, outer, &mut rows, u64::MAX).await?;
                    if !a.all {
                        rows = set::different(rows, types, env).await?;
                    }
                    continue;
                }
                let mut other = set::no_rows(types, env);
                run_query(&a.query, env, outer, &mut other, u64::MAX).await?;
                rows = set::combine(rows, other, a, types, env).await?;
            }
        }
        Body::Recursive(_) | Body::Feed(_) | Body::Json(_) => {
            return Err(SqlError::internal("a table of its own among others"));
        }
    }
    rows.end().await?;
    Ok(rows)
}
