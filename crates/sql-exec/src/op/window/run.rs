//! Window functions of a block: from the rows that were gathered to rows with their values, one window after the other.

use types::{SqlError, ValueRef};

use crate::Env;
use crate::op::tail::Tail;
use crate::op::window::function::Functions;
use crate::op::window::gather::{Feed, Gather, Stored, stored};
use crate::op::window::partition::{Cursor, Source};
use crate::pause::flush_now_and_then;
use crate::row::OnlySubs;
use crate::sub::{self, SubValues};
use sql_expr::{AGGREGATE_SLOT, RowSource, SubquerySource, Val, WINDOW_SLOT};
use sql_plan::bind::tree::WINDOW_ROW_SLOT;
use sql_plan::plan::Block;
use sql_plan::plan::op::window::{Stage, WindowPlan};
use sql_plan::plan::tally::Place;
use sql_plan::sink::ResultSink;

/// Sends the gathered rows of a block to its output, with the values of its window functions.
///
/// # Errors
/// What evaluating raises; the files; the statement is to end.
pub(crate) async fn run(
    block: &Block,
    rows: Gather<'_>,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &mut SubValues,
    out: &mut Tail<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let Some(plan) = block.windows() else {
        return Ok(());
    };
    let cx = env.cx;
    let begun = env.begun();
    let mut sent = 0u64;
    let mut sorted = rows.finish(env).await?;
    let mut stages = plan.stages.iter().peekable();
    while let Some(stage) = stages.next() {
        let window = &plan.windows.windows[stage.window];
        let mut functions = Functions::new(stage, window, cx)?;
        let mut source = Source::new(stage, sorted, cx);
        let mut next = stages.peek().map(|s| Feed::new(s, cx));
        let mut cursor = Cursor::default();
        while let Some(p) = source.next(env).await? {
            functions.begin();
            cursor.reset();
            for at in 0..p.len {
                functions.step(&p, at, env).await?;
                p.seek(&mut cursor, at, env).await?;
                let row = p.row(&cursor);
                if let Some(feed) = &mut next {
                    let types = stage.functions.iter().map(|f| &f.ty);
                    let values = functions.values.iter().zip(types);
                    feed.add(cx, row, values.map(|(v, ty)| stored(v, ty)))?;
                    feed.tidy(env).await?;
                    if env.due() {
                        env.pause().await?;
                    }
                    continue;
                }
                let windowed = Windowed {
                    plan,
                    stage,
                    row,
                    values: &functions.values,
                };
                send(block, &windowed, env, outer, subs, out, sink).await?;
                sent += 1;
                if out.full() {
                    env.tell(block, Place::Windows, begun, 1, sent);
                    return Ok(());
                }
                flush_now_and_then(sent, env, sink).await?;
            }
        }
        match next {
            Some(feed) => {
                drop(source);
                sorted = feed.finish(env).await?;
            }
            None => break,
        }
    }
    env.tell(block, Place::Windows, begun, 1, sent);
    Ok(())
}

/// Sends a row to the output.
async fn send(
    block: &Block,
    row: &Windowed<'_>,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &mut SubValues,
    out: &mut Tail<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let cx = env.cx;
    for &i in &row.plan.subqueries {
        let rest = OnlySubs { subs, outer };
        let rows = sub::rows(&block.subqueries[i as usize], env, &row.over(&rest)).await?;
        subs.set(i, rows);
    }
    let rest = OnlySubs { subs, outer };
    let row = row.over(&rest);
    if block.special {
        env.ahead(|| out.rehearse(cx, &row)).await?;
    }
    loop {
        let pushed = out.push(cx, &row, sink);
        if env.settle(pushed).await?.is_some() {
            break;
        }
    }
    out.tidy(env).await
}

/// A stored row and the values of the last window.
struct Windowed<'a> {
    plan: &'a WindowPlan,
    stage: &'a Stage,
    row: Stored<'a>,
    values: &'a [Val<'static>],
}

impl<'a> Windowed<'a> {
    fn over(&'a self, rest: &'a dyn RowSource) -> WindowRow<'a> {
        WindowRow { of: self, rest }
    }

    fn stored(&self, at: usize) -> ValueRef<'a> {
        self.row.store.column(self.row.row, at)
    }

    fn value(&self, number: usize) -> ValueRef<'a> {
        let Some(&at) = self.plan.values.get(number) else {
            return ValueRef::Null;
        };
        match at.checked_sub(self.stage.width) {
            None => self.stored(at),
            Some(i) => match (self.values.get(i), self.stage.functions.get(i)) {
                (Some(v), Some(f)) => stored(v, &f.ty),
                _ => ValueRef::Null,
            },
        }
    }
}

/// A row behind the window functions.
struct WindowRow<'a> {
    of: &'a Windowed<'a>,
    rest: &'a dyn RowSource,
}

impl RowSource for WindowRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        let plan = self.of.plan;
        let at = usize::from(ordinal);
        let below = plan.below;
        match slot {
            WINDOW_ROW_SLOT => self.of.stored(at),
            WINDOW_SLOT => self.of.value(at),
            AGGREGATE_SLOT => self.of.stored(plan.carried.len() + at),
            s if below.has(s) => self.of.stored(plan.carried.len() + below.place(s, ordinal)),
            // A subquery names the table's column.
            _ => match plan.carried.iter().position(|c| *c == (slot, ordinal)) {
                Some(i) => self.of.stored(i),
                None => self.rest.column(slot, ordinal),
            },
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}
