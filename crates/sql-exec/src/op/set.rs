//! Set operations: the rows of several queries, each row once where that is asked for; and the ORDER BY and LIMIT around them.

use types::{SqlError, ValueRef};

use super::distinct::Distinct;
use super::limit::Limits;
use super::sort::{Sorter, write_sort_key};
use crate::Env;
use crate::env::Counts;
use crate::keymap::KeyMap;
use crate::pause::flush_now_and_then;
use crate::spill::Room;
use crate::spill::gather::Gathered;
use crate::spill::record::read_values;
use crate::store::RowStore;
use sql_expr::memory::Charge;
use sql_expr::{ExprType, RowSource, Val, write_group_key};
use sql_parser::ast::SetOp;
use sql_plan::plan::{Block, OUTPUT_SLOT, QueryPlan, SetArm, SortKey};
use sql_plan::sink::ResultSink;

/// No rows of a query yet.
pub(super) fn no_rows(types: &[ExprType], env: &Env<'_>) -> Gathered {
    let files = env.session.temp_space();
    Gathered::new(types.len(), Room::table(env.cx), files)
}

fn row_key(rows: &RowStore, i: usize, types: &[ExprType], key: &mut Vec<u8>) {
    key.clear();
    for (v, t) in rows.row(i).zip(types) {
        write_group_key(&Val::from(v), t, key);
    }
}

/// Adds a row.
pub(super) async fn add<'v>(
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
pub(super) async fn different(
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
pub(super) async fn combine(
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
pub(super) async fn finish(
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
