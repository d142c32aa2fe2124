//! What happens to a row after joins and grouping: HAVING, the select list, DISTINCT, ORDER BY, LIMIT, and then the sink.

use smallvec::SmallVec;
use types::error::codes;
use types::{SqlError, ValueRef};

use super::Env;
use super::distinct::Distinct;
use super::sort::{Sorter, write_sort_key};
use super::spill::Room;
use super::spill::merge::Merged;
use super::spill::record::read_values;
use super::window::gather::Gather;
use sql_expr::{EvalCtx, Expr, NoRow, RowSource, Val, write_group_key};
use sql_plan::plan::{Block, LimitPlan, SortKey, Yields};
use sql_plan::sink::ResultSink;

/// LIMIT, evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Rows to leave out first.
    pub skip: u64,
    /// Rows to send then.
    pub take: u64,
}

impl Limits {
    /// No limit.
    pub const NONE: Limits = Limits {
        skip: 0,
        take: u64::MAX,
    };

    /// The rows that have to be found.
    pub fn needed(self) -> u64 {
        self.skip.saturating_add(self.take)
    }
}

fn count(e: &Expr, cx: &EvalCtx<'_>) -> Result<u64, SqlError> {
    let wrong = || SqlError::new(codes::ER_WRONG_ARGUMENTS, "Incorrect arguments to LIMIT");
    match e.eval(cx, &NoRow)? {
        Val::Int(i) => u64::try_from(i).map_err(|_| wrong()),
        Val::Uint(u) => Ok(u),
        Val::Bytes(b) => std::str::from_utf8(&b)
            .ok()
            .and_then(|s| s.trim().parse().ok())
            .ok_or_else(wrong),
        Val::Null => Ok(0),
        _ => Err(wrong()),
    }
}

/// Evaluates LIMIT.
pub(crate) fn limits(l: Option<&LimitPlan>, cx: &EvalCtx<'_>) -> Result<Limits, SqlError> {
    let Some(l) = l else { return Ok(Limits::NONE) };
    Ok(Limits {
        skip: l.offset.as_ref().map_or(Ok(0), |e| count(e, cx))?,
        take: count(&l.count, cx)?,
    })
}

/// Between rows that are sent: sends when much is waiting, and pauses.
#[inline]
pub(crate) async fn flush_now_and_then(
    rows: u64,
    env: &mut Env<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    if sink.is_full() || rows.is_multiple_of(64) && sink.wants_flush() {
        sink.flush().await?;
    }
    if env.due() {
        env.pause().await?;
    }
    Ok(())
}

/// Value `i` in the form in which it leaves the block.
fn yielded<'v>(yields: &Yields, i: usize, v: &'v Val<'_>, e: &Expr) -> ValueRef<'v> {
    match yields {
        Yields::Shown => v.as_value_ref(&e.ty),
        Yields::Computed => v.as_computed_ref(&e.ty),
        Yields::Assigned(columns) => match columns.get(i) {
            Some(ty) => v.as_assigned_ref(&e.ty, ty),
            None => v.as_value_ref(&e.ty),
        },
    }
}

/// What sorts a block's rows.
fn sorter(block: &Block, limits: Limits, cx: &EvalCtx<'_>) -> Option<Sorter> {
    let plan = block.sort().filter(|s| !s.given)?;
    let account = cx.memory();
    let width = block.output().len();
    let keep = match block.calc_found_rows() {
        true => u64::MAX,
        false => limits.needed(),
    };
    let sorter = match plan.column {
        Some(c) => {
            let unique = block.distinct().is_some_and(|d| d.sorts);
            Sorter::by_column(width, keep, c, plan.keys[0].part.clone(), unique, account)
        }
        None => Sorter::new(width, keep, account),
    };
    Some(sorter.with_room(Room::sort(cx)))
}

/// The end of a block's pipeline.
pub(crate) struct Output<'p> {
    having: Option<&'p Expr>,
    exprs: &'p [Expr],
    plain: Option<&'p [(u16, u16)]>,
    yields: &'p Yields,
    order: &'p [SortKey],
    distinct: Option<Distinct>,
    /// Rows are the same where their sort keys are.
    same_by_order: bool,
    sorter: Option<Sorter>,
    /// Where rows go first that have window functions before them.
    windows: Option<Box<Gather<'p>>>,
    /// The rows come in the order that is asked for, and are to leave in it.
    delivered: bool,
    /// Rows that were put off.
    late: u64,
    limits: Limits,
    /// Count all rows although no more are sent (SQL_CALC_FOUND_ROWS).
    count_all: bool,
    key: Vec<u8>,
    passed: u64,
    /// Rows sent.
    pub sent: u64,
}

impl<'p> Output<'p> {
    /// The end of a block's pipeline.
    pub fn new(block: &'p Block, limits: Limits, cx: &EvalCtx<'_>) -> Output<'p> {
        let sorter = sorter(block, limits, cx);
        let project = block.project();
        let distinct = block.distinct();
        Output {
            having: block.having(),
            exprs: block.output(),
            plain: project.and_then(|p| p.plain.as_deref()),
            yields: project.map_or(&Yields::Shown, |p| &p.yields),
            order: block.order(),
            distinct: distinct.filter(|d| !d.sorts).map(|_| Distinct::new(cx)),
            same_by_order: distinct.is_some_and(|d| d.by_order),
            sorter,
            windows: {
                let plan = block.windows();
                plan.and_then(|w| Gather::new(w, cx)).map(Box::new)
            },
            delivered: !block.delivered().is_empty(),
            late: 0,
            limits,
            count_all: block.calc_found_rows(),
            key: Vec::new(),
            passed: 0,
            sent: 0,
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
        self.having = None;
        Some(*rows)
    }

    /// Rows found, sent or not.
    pub fn found(&self) -> u64 {
        if self.count_all {
            self.passed
        } else {
            self.sent
        }
    }

    /// Whether no further row can matter.
    pub fn full(&self) -> bool {
        !self.count_all && self.streams() && self.passed >= self.limits.needed()
    }

    /// Evaluates what [`push`](Self::push) does of what may wait, and changes nothing.
    pub fn rehearse(&self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<(), SqlError> {
        if let Some(h) = self.having
            && h.truth(cx, row)? != Some(true)
        {
            return Ok(());
        }
        if let Some(w) = &self.windows {
            return w.rehearse(cx, row);
        }
        let order = self.order.iter().map(|k| &k.expr);
        let mut waiting = self.exprs.iter().chain(order).filter(|e| e.has_special());
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
        if let Some(h) = self.having
            && h.truth(cx, row)? != Some(true)
        {
            return Ok(());
        }
        if let Some(w) = &mut self.windows {
            return w.add(cx, row);
        }
        match self.plain {
            Some(columns) if self.distinct.is_none() && self.sorter.is_none() => {
                if self.admit() {
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

    /// Counts a row that is to be sent; `false` where LIMIT leaves it out.
    fn admit(&mut self) -> bool {
        let n = self.passed;
        self.passed += 1;
        let inside = n >= self.limits.skip && n < self.limits.needed();
        self.sent += u64::from(inside);
        inside
    }

    fn push_values(
        &mut self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        // The values in the columns' own form where there is nothing to compute.
        let mut plain: SmallVec<[ValueRef<'_>; 8]> = SmallVec::new();
        let mut values: SmallVec<[Val<'_>; 8]> = SmallVec::new();
        match self.plain {
            Some(columns) => plain.extend(columns.iter().map(|&(s, c)| row.column(s, c))),
            None => {
                for e in self.exprs {
                    values.push(e.eval(cx, row)?);
                }
            }
        }
        let exprs = self.exprs;
        let yields = self.yields;
        if let Some(d) = &mut self.distinct {
            self.key.clear();
            if self.same_by_order {
                write_sort_key(self.order, cx, row, &mut self.key)?;
            } else if self.plain.is_some() {
                for (v, e) in plain.iter().zip(exprs) {
                    write_group_key(&Val::from(*v), &e.ty, &mut self.key);
                }
            } else {
                for (v, e) in values.iter().zip(exprs) {
                    write_group_key(v, &e.ty, &mut self.key);
                }
            }
            match d.insert(&self.key)? {
                Some(true) => {}
                Some(false) => return Ok(()),
                // Whether it is a new one is known when all have come.
                None => return self.put_off(cx, row, &plain, &values),
            }
        }
        if let Some(s) = &mut self.sorter {
            if s.add_by_column(&plain) {
                self.passed += 1;
                return Ok(());
            }
            if self.distinct.is_none() || !self.same_by_order {
                self.key.clear();
                write_sort_key(self.order, cx, row, &mut self.key)?;
            }
            self.passed += 1;
        }
        if let Some(s) = &mut self.sorter {
            if s.wants(&self.key) {
                if self.plain.is_some() {
                    s.add(&self.key, plain.iter().copied());
                } else {
                    let refs = values.iter().zip(exprs).enumerate();
                    let refs = refs.map(|(i, (v, e))| yielded(yields, i, v, e));
                    s.add(&self.key, refs);
                }
            }
            return Ok(());
        }
        if self.admit() {
            sink.row_begin();
            if self.plain.is_some() {
                for (i, v) in plain.iter().enumerate() {
                    sink.value(*v, i);
                }
            } else {
                for (i, (v, e)) in values.iter().zip(exprs).enumerate() {
                    sink.value(yielded(yields, i, v, e), i);
                }
            }
            sink.row_end();
        }
        Ok(())
    }

    /// Keeps a row in a file of which it is not known yet whether it came before.
    #[cold]
    fn put_off(
        &mut self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        plain: &[ValueRef<'_>],
        values: &[Val<'_>],
    ) -> Result<(), SqlError> {
        let mut order = Vec::new();
        if self.sorter.is_some() {
            write_sort_key(self.order, cx, row, &mut order)?;
        } else if self.delivered {
            // They come back part by part: see `sort_late`.
            order.extend_from_slice(&self.late.to_be_bytes());
        }
        self.late += 1;
        let Some(d) = &mut self.distinct else {
            return Ok(());
        };
        if self.plain.is_some() {
            d.put_off(&self.key, &order, plain.iter().copied());
        } else {
            let refs = values.iter().zip(self.exprs).enumerate();
            let refs = refs.map(|(i, (v, e))| yielded(self.yields, i, v, e));
            d.put_off(&self.key, &order, refs);
        }
        Ok(())
    }

    /// Takes a row that was put off and is a new one: its sort key, its values.
    fn push_late(&mut self, order: &[u8], values: &[ValueRef<'_>], sink: &mut dyn ResultSink) {
        if let Some(s) = &mut self.sorter {
            self.passed += 1;
            if !s.add_by_column(values) && s.wants(order) {
                s.add(order, values.iter().copied());
            }
        } else if self.admit() {
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
        let before = self.passed;
        let skip = self.limits.skip.saturating_sub(before);
        let take = self.limits.needed().saturating_sub(before) - skip;
        self.limits = Limits { skip, take };
        let keep = match self.count_all {
            true => u64::MAX,
            false => self.limits.needed(),
        };
        let sorter = Sorter::new(self.exprs.len(), keep, cx.memory());
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
        let skip = usize::try_from(self.limits.skip).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limits.take).unwrap_or(usize::MAX);
        for &r in sorted.order.iter().skip(skip).take(take) {
            sorted.rows.send(r as usize, sink);
            self.sent += 1;
            flush_now_and_then(self.sent, env, sink).await?;
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
        while n < self.limits.needed() && rows.advance().await? {
            n += 1;
            if n > self.limits.skip {
                send(&read_values(rows.row(), &rows.members)?, sink);
                self.sent += 1;
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
