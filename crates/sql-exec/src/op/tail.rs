//! What rows go through behind joins and groups, up to the sink: HAVING, window functions, the select list, DISTINCT, ORDER BY, LIMIT.
//!
//! One value of each operator, in that order; a row goes through all of them in one call.

use types::{SqlError, ValueRef};

use super::distinct::Distinct;
use super::filter::Filter;
use super::limit::{Limit, Limits};
use super::project::{Project, Values};
use super::sort::{Sorter, write_sort_key};
use super::window::gather::Gather;
use crate::Env;
use crate::pause::flush_now_and_then;
use crate::spill::Room;
use crate::spill::merge::Merged;
use crate::spill::record::read_values;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::{Block, SortKey};
use sql_plan::sink::ResultSink;

/// The operators behind joins and groups.
pub(crate) struct Tail<'p> {
    filter: Filter<'p>,
    /// Where rows go first that have window functions before them.
    windows: Option<Box<Gather<'p>>>,
    project: Project<'p>,
    distinct: Option<Distinct>,
    /// Rows are the same where their sort keys are.
    by_order: bool,
    /// Rows that were put off.
    late: u64,
    order: &'p [SortKey],
    sorter: Option<Sorter>,
    /// The rows come in the order that is asked for, and are to leave in it.
    delivered: bool,
    limit: Limit,
    key: Vec<u8>,
}

/// What sorts a block's rows, of which so many are wanted.
fn sorter(block: &Block, keep: u64, cx: &EvalCtx<'_>) -> Option<Sorter> {
    let plan = block.sort().filter(|s| !s.given)?;
    let account = cx.memory();
    let width = block.output().len();
    let sorter = match plan.column {
        Some(c) => {
            let unique = block.distinct().is_some_and(|d| d.sorts);
            Sorter::by_column(width, keep, c, plan.keys[0].part.clone(), unique, account)
        }
        None => Sorter::new(width, keep, account),
    };
    Some(sorter.with_room(Room::sort(cx)))
}

impl<'p> Tail<'p> {
    /// The operators of a block.
    pub fn new(block: &'p Block, limits: Limits, cx: &EvalCtx<'_>) -> Tail<'p> {
        let limit = Limit::new(limits, block.calc_found_rows());
        let distinct = block.distinct();
        Tail {
            filter: Filter(block.having()),
            windows: {
                let plan = block.windows();
                plan.and_then(|w| Gather::new(w, cx)).map(Box::new)
            },
            project: Project::of(block),
            distinct: distinct.filter(|d| !d.sorts).map(|_| Distinct::new(cx)),
            by_order: distinct.is_some_and(|d| d.by_order),
            late: 0,
            order: block.order(),
            sorter: sorter(block, limit.kept(), cx),
            delivered: !block.delivered().is_empty(),
            limit,
            key: Vec::new(),
        }
    }

    /// Whether rows go to the sink as they come.
    pub fn streams(&self) -> bool {
        self.sorter.is_none() && self.windows.is_none()
    }

    /// The rows that go to the window functions: those that come from now on are behind these.
    pub fn take_windows(&mut self) -> Option<Gather<'p>> {
        let rows = self.windows.take()?;
        // It has been looked at.
        self.filter = Filter(None);
        Some(*rows)
    }

    /// Rows sent.
    pub fn sent(&self) -> u64 {
        self.limit.sent
    }

    /// Rows found, sent or not.
    pub fn found(&self) -> u64 {
        self.limit.found()
    }

    /// Whether no further row can matter.
    #[inline]
    pub fn full(&self) -> bool {
        self.limit.is_reached() && self.streams()
    }

    /// Evaluates what [`push`](Self::push) does of what may wait, and changes nothing.
    pub fn rehearse(&self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<(), SqlError> {
        if !self.filter.passes(cx, row)? {
            return Ok(());
        }
        if let Some(w) = &self.windows {
            return w.rehearse(cx, row);
        }
        let order = self.order.iter().map(|k| &k.expr);
        let mut waiting = self
            .project
            .exprs()
            .iter()
            .chain(order)
            .filter(|e| e.has_special());
        waiting.try_for_each(|e| e.eval(cx, row).map(drop))
    }

    /// Takes a row.
    #[inline]
    pub fn push(
        &mut self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        // What the row before made is gone.
        cx.let_go();
        if !self.filter.passes(cx, row)? {
            return Ok(());
        }
        if let Some(w) = &mut self.windows {
            return w.add(cx, row);
        }
        match self.project.plain() {
            Some(columns) if self.distinct.is_none() && self.sorter.is_none() => {
                if self.limit.admit() {
                    sink.row_begin();
                    for (i, &(slot, c)) in columns.iter().enumerate() {
                        sink.value(row.column(slot, c), i);
                    }
                    sink.row_end();
                }
                Ok(())
            }
            _ => self.push_values(cx, row, sink),
        }
    }

    fn push_values(
        &mut self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let project = self.project;
        let values = project.values(cx, row)?;
        if let Some(d) = &mut self.distinct {
            self.key.clear();
            match self.by_order {
                true => write_sort_key(self.order, cx, row, &mut self.key)?,
                false => project.write_key(&values, &mut self.key),
            }
            match d.insert(&self.key)? {
                Some(true) => {}
                Some(false) => return Ok(()),
                // Whether it is a new one is known when all have come.
                None => return self.put_off(cx, row, &values),
            }
        }
        let Some(s) = &mut self.sorter else {
            if self.limit.admit() {
                project.send(&values, sink);
            }
            return Ok(());
        };
        if let Values::Plain(all) = &values
            && s.add_by_column(all)
        {
            self.limit.count();
            return Ok(());
        }
        if self.distinct.is_none() || !self.by_order {
            self.key.clear();
            write_sort_key(self.order, cx, row, &mut self.key)?;
        }
        self.limit.count();
        if s.wants(&self.key) {
            match &values {
                Values::Plain(all) => s.add(&self.key, all.iter().copied()),
                Values::Computed(all) => s.add(&self.key, project.refs(all)),
            }
        }
        Ok(())
    }

    /// Keeps a row in a file of which it is not known yet whether it came before.
    #[cold]
    fn put_off(
        &mut self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        values: &Values<'_>,
    ) -> Result<(), SqlError> {
        let mut order = Vec::new();
        if self.sorter.is_some() {
            write_sort_key(self.order, cx, row, &mut order)?;
        } else if self.delivered {
            // They come back part by part: see `sort_late`.
            order.extend_from_slice(&self.late.to_be_bytes());
        }
        self.late += 1;
        if let Some(d) = &mut self.distinct {
            match values {
                Values::Plain(all) => d.put_off(&self.key, &order, all.iter().copied()),
                Values::Computed(all) => d.put_off(&self.key, &order, self.project.refs(all)),
            }
        }
        Ok(())
    }

    /// Takes a row that was put off and is a new one: its sort key, its values.
    fn push_late(&mut self, order: &[u8], values: &[ValueRef<'_>], sink: &mut dyn ResultSink) {
        if let Some(s) = &mut self.sorter {
            self.limit.count();
            if !s.add_by_column(values) && s.wants(order) {
                s.add(order, values.iter().copied());
            }
        } else if self.limit.admit() {
            send(values, sink);
        }
    }

    /// Whether there is something to do for [`tidy`](Self::tidy).
    #[inline]
    pub fn is_untidy(&mut self) -> bool {
        if let Some(w) = &mut self.windows {
            return w.is_untidy();
        }
        self.sorter.as_mut().is_some_and(Sorter::is_untidy)
            || self.distinct.as_ref().is_some_and(Distinct::is_due)
    }

    /// Does what a row was not the place for. To be called between rows.
    #[inline]
    pub async fn tidy(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        if let Some(w) = &mut self.windows {
            if w.is_untidy() {
                w.tidy(env).await?;
            }
            return Ok(());
        }
        if let Some(d) = &mut self.distinct
            && d.is_due()
        {
            d.flush(env).await?;
        }
        if let Some(s) = &mut self.sorter
            && s.is_untidy()
        {
            s.tidy(env).await?;
        }
        Ok(())
    }

    /// The rows that were put off.
    async fn finish_distinct(
        &mut self,
        env: &mut Env<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let Some(distinct) = self.distinct.take() else {
            return Ok(());
        };
        let Some(mut late) = distinct.finish(env).await? else {
            return Ok(());
        };
        if self.delivered && self.sorter.is_none() {
            self.sort_late(env.cx);
        }
        let mut n = 0;
        while !self.full() && late.advance(env).await? {
            let (order, row) = late.row()?;
            self.push_late(order, &row, sink);
            drop(row);
            n += 1;
            self.tidy(env).await?;
            flush_now_and_then(n, env, sink).await?;
        }
        Ok(())
    }

    /// Has the rows that were put off sorted by when they came. All others were sent before the first of them came.
    fn sort_late(&mut self, cx: &EvalCtx<'_>) {
        self.limit.begin_again();
        let sorter = Sorter::new(self.project.width(), self.limit.kept(), cx.memory());
        self.sorter = Some(sorter.with_room(Room::sort(cx)));
    }

    /// Sends what had to wait for the last row.
    pub async fn finish(
        &mut self,
        env: &mut Env<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        if self.distinct.as_ref().is_some_and(Distinct::has_put_off) {
            Box::pin(self.finish_distinct(env, sink)).await?;
        }
        let Some(s) = self.sorter.take() else {
            return Ok(());
        };
        let mut sorted = s.finish(env).await?;
        if let Some(merged) = sorted.merged.take() {
            return Box::pin(self.send_merged(merged, env, sink)).await;
        }
        let skip = usize::try_from(self.limit.limits().skip).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limit.limits().take).unwrap_or(usize::MAX);
        for &r in sorted.order.iter().skip(skip).take(take) {
            sorted.rows.send(r as usize, sink);
            self.limit.sent += 1;
            flush_now_and_then(self.limit.sent, env, sink).await?;
        }
        Ok(())
    }

    /// Sends rows that were sorted in a file.
    async fn send_merged(
        &mut self,
        mut rows: Merged,
        env: &mut Env<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let mut n = 0u64;
        while n < self.limit.limits().needed() && rows.advance().await? {
            n += 1;
            if n > self.limit.limits().skip {
                send(&read_values(rows.row(), &rows.members)?, sink);
                self.limit.sent += 1;
            }
            flush_now_and_then(n, env, sink).await?;
        }
        Ok(())
    }
}

fn send(values: &[ValueRef<'_>], sink: &mut dyn ResultSink) {
    sink.row_begin();
    for (i, v) in values.iter().enumerate() {
        sink.value(*v, i);
    }
    sink.row_end();
}
