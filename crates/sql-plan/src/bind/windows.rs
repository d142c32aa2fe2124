//! The windows of a block: those of WINDOW and those behind OVER, what they inherit from each other, their frames, and what MySQL refuses of
//! them, in its order (SQL:2016, 7.15 "window clause"; MySQL's `Window::setup_windows1`, of which only the rules are taken).

use types::SqlError;
use types::error::codes;
use types::{Level, Warning};

use super::StatementBinder;
use super::names::{Names, same_name};
use super::query::sort_key;
use super::scope::BlockScope;
use super::tree::{BoundSub, SortKey};
use super::window_tree::{Distance, Frame, FrameEnd, OverWindow, Window, Windows};
use sql_expr::agg::AggSpec;
use sql_expr::bind::{Binder, Clause, UNNAMED};
use sql_expr::window::{
    Bound, BoundFrame, BoundOver, BoundSpec, WindowFn, WindowKind, is_distance, is_same_for_all,
    number, range_comparer,
};
use sql_expr::{Expr, Node, Shape, Val};
use sql_parser::ast::{self, AggregateFunc, FrameUnit};

/// A window on the way to what it means.
struct Definition {
    name: Option<Box<str>>,
    spec: BoundSpec,
    /// The window that it extends, by its place.
    base: Option<usize>,
}

impl Definition {
    fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(UNNAMED)
    }
}

fn refused(code: u16, window: &str, rest: &str) -> SqlError {
    SqlError::new(code, format!("Window '{window}'{rest}"))
}

fn illegal_frame(window: &str) -> SqlError {
    refused(
        codes::ER_WINDOW_FRAME_ILLEGAL,
        window,
        ": frame start or end is negative, NULL or of non-integral type",
    )
}

/// A number that no frame can have.
pub fn illegal_frame_of(w: &Window) -> SqlError {
    illegal_frame(w.shown_name())
}

fn no_such_window(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_WINDOW_NO_SUCH_WINDOW,
        format!("Window name '{name}' is not defined."),
    )
}

impl StatementBinder<'_> {
    /// Binds what WINDOW defines.
    pub(crate) fn named_windows(
        &self,
        defined: &[(ast::Name, ast::WindowSpec)],
        names: &Names<'_>,
        subqueries: &mut Vec<BoundSub>,
        aggregates: &mut Vec<AggSpec>,
    ) -> Result<Vec<BoundSpec>, SqlError> {
        let mut all = Vec::with_capacity(defined.len());
        for (name, spec) in defined {
            let known = aggregates.len();
            let mut scope = BlockScope {
                planner: self,
                names,
                subqueries,
                inserted: None,
            };
            let around = names.clause.replace(Some(Clause::FieldList));
            let bound = Binder::new(self.ctx.cx, &mut scope, Clause::FieldList)
                .with_aggregates(aggregates)
                .window_spec(spec, name);
            names.clause.set(around);
            let bound = bound?;
            self.note_window(&bound);
            aggregates[known..]
                .iter()
                .for_each(|a| self.note_aggregated(a));
            all.push(bound);
        }
        Ok(all)
    }

    /// Counts the parameters of a window, and of a function over it.
    pub(crate) fn note_window(&self, spec: &BoundSpec) {
        let order = spec.order.iter().map(|(e, _)| e);
        spec.partition
            .iter()
            .chain(order)
            .for_each(|e| self.note_params(e));
        if let Some(f) = &spec.frame {
            let offsets = [&f.start, &f.end].into_iter().filter_map(Bound::offset);
            offsets.for_each(|(e, _)| self.note_params(e));
        }
    }

    /// The same of a function's arguments: some are of the type of the result.
    pub(crate) fn note_window_fn(&self, f: &WindowFn) {
        match &f.kind {
            WindowKind::Aggregate(a) => self.note_aggregated(a),
            WindowKind::Function(_, args) => {
                for (i, e) in args.iter().enumerate() {
                    self.note_params(e);
                    if i != 1 {
                        self.note_shown(e);
                    }
                }
            }
        }
    }

    /// The windows of a block, once all of its expressions are bound: those of WINDOW as they are in `specs`, and those behind OVER.
    pub(crate) fn windows(
        &self,
        defined: &[(ast::Name, ast::WindowSpec)],
        specs: Vec<BoundSpec>,
        names: &Names<'_>,
    ) -> Result<Option<Box<Windows>>, SqlError> {
        let found = match &names.windows {
            Some(list) => std::mem::take(&mut *list.borrow_mut()),
            None => Vec::new(),
        };
        let mut all: Vec<Definition> = Vec::with_capacity(specs.len());
        for ((name, _), spec) in defined.iter().zip(specs) {
            all.push(Definition {
                name: Some(name.clone()),
                spec,
                base: None,
            });
        }
        let named = all.len();
        let mut functions: Vec<OverWindow> = Vec::with_capacity(found.len());
        for f in found {
            let window = match f.over {
                BoundOver::Named(name) => place(&all[..named], &name)?,
                BoundOver::Spec(spec) => {
                    all.push(Definition {
                        name: None,
                        spec,
                        base: None,
                    });
                    all.len() - 1
                }
            };
            let function = f.function;
            functions.push(OverWindow { function, window });
        }
        if all.is_empty() {
            return Ok(None);
        }
        inherit(&mut all)?;
        let mut windows = Vec::with_capacity(all.len());
        for at in 0..all.len() {
            windows.push(self.window(&all, at, &functions)?);
        }
        // A window that no function goes over is checked, and then forgotten, unless another extends it.
        let used = |w: usize| functions.iter().any(|f| f.window == w);
        let mut places = Vec::with_capacity(windows.len());
        let mut next = 0;
        for w in 0..windows.len() {
            places.push(next);
            next += usize::from(used(w));
        }
        let mut extended = vec![false; all.len()];
        for w in (0..all.len()).filter(|w| used(*w)) {
            let mut next = all[w].base;
            while let Some(b) = next {
                extended[b] = true;
                next = all[b].base;
            }
        }
        let (mut own, mut bases) = (Vec::new(), Vec::new());
        for (w, window) in windows.into_iter().enumerate() {
            if used(w) {
                own.push(window);
            } else if extended[w] {
                bases.push(window);
            }
        }
        for f in &mut functions {
            f.window = places[f.window];
        }
        let windows = Windows {
            windows: own,
            bases,
            functions,
        };
        Ok((!windows.functions.is_empty()).then(|| Box::new(windows)))
    }

    /// One window with what it inherits, checked.
    fn window(
        &self,
        all: &[Definition],
        at: usize,
        functions: &[OverWindow],
    ) -> Result<Window, SqlError> {
        let d = &all[at];
        let name = d.shown_name();
        let same = |o: &Definition| match (&o.name, &d.name) {
            (Some(a), Some(b)) => same_name(a, b),
            _ => false,
        };
        if all.iter().enumerate().any(|(i, o)| i != at && same(o)) {
            let rest = " is defined twice.";
            return Err(refused(codes::ER_WINDOW_DUPLICATE_NAME, name, rest));
        }
        let (partition, order) = effective(all, at);
        for f in functions.iter().filter(|f| f.window == at) {
            check_function(&f.function)?;
            if self.explains.get() && d.spec.frame.is_some() && !f.function.is_framed() {
                let function = f.function.name();
                self.ctx.cx.warn(Warning::new(
                    Level::Note,
                    codes::ER_WINDOW_FUNCTION_IGNORES_FRAME,
                    format!(
                        "Window function '{function}' ignores the frame clause of window '{name}' and aggregates over the whole partition"
                    ),
                ));
            }
        }
        let frame = match &d.spec.frame {
            Some(f) => self.frame(f, &order, name)?,
            None => Frame {
                rows: false,
                start: FrameEnd::UnboundedPreceding,
                end: match order.is_empty() {
                    true => FrameEnd::UnboundedFollowing,
                    false => FrameEnd::CurrentRow,
                },
            },
        };
        Ok(Window {
            name: d.name.clone(),
            base: d.spec.base.clone(),
            partition,
            order,
            own: (!d.spec.partition.is_empty(), !d.spec.order.is_empty()),
            frame,
            is_framed: d.spec.frame.is_some(),
            position: at + 1,
        })
    }

    fn frame(&self, f: &BoundFrame, order: &[SortKey], name: &str) -> Result<Frame, SqlError> {
        if f.exclude {
            return Err(SqlError::not_supported("EXCLUDE"));
        }
        let rows = match f.unit {
            FrameUnit::Rows => true,
            FrameUnit::Range => false,
            FrameUnit::Groups => return Err(SqlError::not_supported("GROUPS")),
        };
        if !rows {
            for b in [&f.start, &f.end] {
                check_range(b, order, name)?;
            }
        }
        let start = self.frame_end(&f.start, true, f, order, name)?;
        let end = self.frame_end(&f.end, false, f, order, name)?;
        Ok(Frame { rows, start, end })
    }

    fn frame_end(
        &self,
        b: &Bound,
        is_start: bool,
        f: &BoundFrame,
        order: &[SortKey],
        name: &str,
    ) -> Result<FrameEnd, SqlError> {
        match (b, is_start) {
            (Bound::UnboundedFollowing, true) => {
                let rest = ": frame start cannot be UNBOUNDED FOLLOWING.";
                return Err(refused(codes::ER_WINDOW_FRAME_START_ILLEGAL, name, rest));
            }
            (Bound::UnboundedPreceding, false) => {
                let rest = ": frame end cannot be UNBOUNDED PRECEDING.";
                return Err(refused(codes::ER_WINDOW_FRAME_END_ILLEGAL, name, rest));
            }
            _ => {}
        }
        let backwards = matches!(
            (&f.start, b),
            (
                Bound::CurrentRow | Bound::Following(..),
                Bound::Preceding(..)
            ) | (Bound::Following(..), Bound::CurrentRow)
        );
        if !is_start && backwards {
            return Err(illegal_frame(name));
        }
        let Some((amount, unit)) = b.offset() else {
            return Ok(match b {
                Bound::UnboundedPreceding => FrameEnd::UnboundedPreceding,
                Bound::UnboundedFollowing => FrameEnd::UnboundedFollowing,
                _ => FrameEnd::CurrentRow,
            });
        };
        let preceding = matches!(b, Bound::Preceding(..));
        let d = self.distance(amount, unit, preceding, f.unit, order, name)?;
        Ok(match preceding {
            true => FrameEnd::Preceding(d),
            false => FrameEnd::Following(d),
        })
    }

    fn distance(
        &self,
        amount: &Expr,
        unit: Option<types::temporal::IntervalUnit>,
        preceding: bool,
        counted: FrameUnit,
        order: &[SortKey],
        name: &str,
    ) -> Result<Distance, SqlError> {
        if counted == FrameUnit::Rows && unit.is_some() {
            let rest = ": INTERVAL can only be used with RANGE frames.";
            return Err(refused(codes::ER_WINDOW_ROWS_INTERVAL_USE, name, rest));
        }
        if !is_same_for_all(amount) {
            let rest = " has a non-constant frame bound.";
            return Err(refused(
                codes::ER_WINDOW_RANGE_BOUND_NOT_CONSTANT,
                name,
                rest,
            ));
        }
        // What a parameter is shows when the statement runs.
        let known = !amount.any(&|x| matches!(x.node, Node::Param(..) | Node::UserVar(_)));
        if counted == FrameUnit::Rows {
            let whole = matches!(amount.as_const(), Some(Val::Int(_) | Val::Uint(_)));
            if known && (!whole || number(amount, self.ctx.cx)?.is_none_or(|n| n < 0)) {
                return Err(illegal_frame(name));
            }
            return Ok(Distance {
                amount: amount.clone(),
                unit: None,
                limit: None,
            });
        }
        if known && !is_distance(amount, unit, self.ctx.cx)? {
            return Err(illegal_frame(name));
        }
        let Some(key) = order.first() else {
            return Err(illegal_frame(name));
        };
        let mut nowhere = sql_expr::bind::NoColumns;
        let binder = Binder::new(self.ctx.cx, &mut nowhere, Clause::WindowFrame);
        let minus = preceding != key.desc;
        let end = binder.shifted(key.expr.clone(), amount.clone(), unit, minus);
        // What a parameter is decides how it is computed with.
        self.note_params(&end);
        let comparer = range_comparer(&key.expr.ty, &end.ty, self.ctx.cx)?;
        Ok(Distance {
            amount: amount.clone(),
            unit,
            limit: Some((end, comparer)),
        })
    }
}

/// The place of a window by its name.
fn place(all: &[Definition], name: &str) -> Result<usize, SqlError> {
    let is = |d: &Definition| d.name.as_deref().is_some_and(|n| same_name(n, name));
    all.iter().position(is).ok_or_else(|| no_such_window(name))
}

/// Finds the windows that others extend, and checks what these may add.
fn inherit(all: &mut [Definition]) -> Result<(), SqlError> {
    for at in 0..all.len() {
        if let Some(base) = &all[at].spec.base {
            all[at].base = Some(place(all, base)?);
        }
    }
    for at in 0..all.len() {
        let mut steps = 0;
        let mut next = all[at].base;
        while let Some(b) = next {
            steps += 1;
            if steps > all.len() {
                return Err(SqlError::fixed(
                    codes::ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH,
                ));
            }
            next = all[b].base;
        }
    }
    for at in 0..all.len() {
        if all[at].base.is_some() && !all[at].spec.partition.is_empty() {
            return Err(SqlError::fixed(codes::ER_WINDOW_NO_CHILD_PARTITIONING));
        }
        if all.iter().any(|d| d.base == Some(at)) {
            if all[at].spec.frame.is_some() {
                let rest = " has a frame definition, so cannot be referenced by another window.";
                let name = all[at].shown_name();
                return Err(refused(codes::ER_WINDOW_NO_INHERIT_FRAME, name, rest));
            }
            continue;
        }
        let mut ordered: Option<usize> = None;
        let mut next = Some(at);
        while let Some(w) = next {
            if !all[w].spec.order.is_empty()
                && let Some(before) = ordered.replace(w)
            {
                let (name, other) = (all[before].shown_name(), all[w].shown_name());
                return Err(SqlError::new(
                    codes::ER_WINDOW_NO_REDEFINE_ORDER_BY,
                    format!(
                        "Window '{name}' cannot inherit '{other}' since both contain an ORDER BY clause."
                    ),
                ));
            }
            next = all[w].base;
        }
    }
    Ok(())
}

/// PARTITION BY and ORDER BY of a window, where it or one that it extends has them.
fn effective(all: &[Definition], at: usize) -> (Vec<SortKey>, Vec<SortKey>) {
    let (mut partition, mut order) = (Vec::new(), Vec::new());
    let mut next = Some(at);
    while let Some(w) = next {
        let spec = &all[w].spec;
        if partition.is_empty() {
            let keys = spec.partition.iter();
            partition = keys.map(|e| sort_key(e.clone(), false)).collect();
        }
        if order.is_empty() {
            let keys = spec.order.iter();
            order = keys.map(|(e, desc)| sort_key(e.clone(), *desc)).collect();
        }
        next = all[w].base;
    }
    (partition, order)
}

/// What no window function can have.
fn check_function(f: &WindowFn) -> Result<(), SqlError> {
    if let WindowKind::Aggregate(a) = &f.kind {
        if a.func == AggregateFunc::GroupConcat {
            return Err(SqlError::not_supported("group_concat as window function"));
        }
        if a.distinct {
            return Err(SqlError::not_supported("<window function>(DISTINCT ..)"));
        }
    }
    if f.ignore_nulls {
        return Err(SqlError::not_supported("IGNORE NULLS"));
    }
    if f.from_last {
        return Err(SqlError::not_supported("FROM LAST"));
    }
    Ok(())
}

/// Checks an end of a RANGE frame against what the window is ordered by.
fn check_range(b: &Bound, order: &[SortKey], name: &str) -> Result<(), SqlError> {
    let Some((_, unit)) = b.offset() else {
        return Ok(());
    };
    let (temporal, number) = match order {
        [k] => (
            k.expr.ty.is_temporal(),
            k.expr.ty.is_number() || k.expr.ty.shape == Shape::Null,
        ),
        _ => (false, false),
    };
    if !temporal && !number {
        return Err(refused(
            codes::ER_WINDOW_RANGE_FRAME_ORDER_TYPE,
            name,
            " with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type",
        ));
    }
    if temporal && unit.is_none() {
        return Err(refused(
            codes::ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE,
            name,
            " with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.",
        ));
    }
    if !temporal && unit.is_some() {
        return Err(refused(
            codes::ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE,
            name,
            " with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.",
        ));
    }
    Ok(())
}
