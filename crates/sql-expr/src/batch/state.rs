//! The states of one aggregate for many groups, by the number of the group. What has no loop here (DISTINCT, GROUP_CONCAT, the JSON
//! aggregates, variances) keeps an [`Accumulator`] a group and is fed row by row.

use types::SqlError;
use types::decimal::Decimal;

use super::decimal::{decimal_at, is_exact};
use super::selection::Sel;
use super::vector::{Data, Vector};
use crate::agg::{Accumulator, AggSpec, Running};
use crate::compare::Comparer;
use crate::conv;
use crate::ctx::{EvalCtx, RowSource};
use crate::infer::{Domain, domain};
use crate::overflow;
use crate::val::Val;
use sql_parser::ast::AggregateFunc;

#[derive(Debug, Clone)]
pub(super) enum States {
    Count(Vec<u64>),
    /// Sums of whole numbers.
    Whole(Vec<i128>, Vec<u64>),
    /// Sums of decimals of one scale, which the first batch says.
    Fixed(Option<u8>, Vec<i128>, Vec<u64>),
    /// Sums of decimals.
    Exact(Vec<Decimal>, Vec<u64>),
    Double(Vec<f64>, Vec<u64>),
    /// Least or greatest so far, and the bytes of texts among them.
    Extreme(Vec<Val<'static>>, usize),
    Bits(Vec<u64>),
    Rows(Vec<Accumulator>),
}

/// The states of one aggregate.
#[derive(Debug, Clone)]
pub struct GroupStates {
    pub(super) states: States,
}

/// The error of an exact sum of more than 65 digits.
#[cold]
pub(super) fn too_large() -> SqlError {
    SqlError::expr_out_of_range("DECIMAL", "sum()")
}

/// Calls `f` with the group and the row of each selected row whose value is not NULL.
#[inline]
fn each(groups: &[u32], v: &Vector, sel: Sel<'_>, mut f: impl FnMut(usize, usize)) {
    let constant = v.is_constant();
    let at = |i: usize| if constant { 0 } else { i };
    let mut groups = groups.iter();
    if v.has_null() {
        sel.each(|i| {
            let g = groups.next().copied().unwrap_or(0) as usize;
            if !v.is_null(i) {
                f(g, at(i));
            }
        });
    } else {
        sel.each(|i| f(groups.next().copied().unwrap_or(0) as usize, at(i)));
    }
}

fn bits_of(func: AggregateFunc, bits: &mut u64, b: u64) {
    match func {
        AggregateFunc::BitAnd => *bits &= b,
        AggregateFunc::BitOr => *bits |= b,
        _ => *bits ^= b,
    }
}

impl GroupStates {
    /// No groups yet.
    pub fn new(spec: &AggSpec) -> GroupStates {
        let states = match spec.func {
            _ if spec.distinct => States::Rows(Vec::new()),
            AggregateFunc::Count => States::Count(Vec::new()),
            AggregateFunc::Sum | AggregateFunc::Avg => {
                match spec.args.first().map_or(Domain::Int, |a| domain(&a.ty)) {
                    Domain::Int => States::Whole(Vec::new(), Vec::new()),
                    Domain::Decimal => States::Fixed(None, Vec::new(), Vec::new()),
                    Domain::Double => States::Double(Vec::new(), Vec::new()),
                }
            }
            AggregateFunc::Min | AggregateFunc::Max => States::Extreme(Vec::new(), 0),
            AggregateFunc::BitAnd | AggregateFunc::BitOr | AggregateFunc::BitXor => {
                States::Bits(Vec::new())
            }
            _ => States::Rows(Vec::new()),
        };
        GroupStates { states }
    }

    /// Whether it is fed row by row, so that its states can be neither merged nor written.
    pub fn is_by_rows(&self) -> bool {
        matches!(self.states, States::Rows(_))
    }

    /// Makes room for so many groups.
    pub fn grow(&mut self, spec: &AggSpec, groups: usize) {
        match &mut self.states {
            States::Count(n) => n.resize(groups, 0),
            States::Bits(n) => n.resize(groups, spec.no_bits()),
            States::Whole(sums, n) | States::Fixed(_, sums, n) => {
                sums.resize(groups, 0);
                n.resize(groups, 0);
            }
            States::Exact(sums, n) => {
                sums.resize(groups, Decimal::ZERO);
                n.resize(groups, 0);
            }
            States::Double(sums, n) => {
                sums.resize(groups, 0.0);
                n.resize(groups, 0);
            }
            States::Extreme(best, _) => best.resize(groups, Val::Null),
            States::Rows(a) => a.resize_with(groups, || spec.start()),
        }
    }

    /// Whether taking these values into account neither warns nor fails (but for a sum of more than 65 digits).
    pub(super) fn is_quiet(&self, spec: &AggSpec, v: &Vector) -> bool {
        let d = v.data();
        v.is_all_null()
            || match &self.states {
                States::Count(_) | States::Rows(_) => true,
                States::Whole(..) | States::Bits(_) => matches!(d, Data::I64(_) | Data::U64(_)),
                States::Fixed(..) | States::Exact(..) => is_exact(d),
                States::Double(..) => is_exact(d) || matches!(d, Data::F64(_)),
                States::Extreme(..) => match (&spec.comparer, d) {
                    (Comparer::Text(_), Data::Text(_) | Data::Vals(_)) => true,
                    (_, Data::Text(_) | Data::Vals(_)) => false,
                    _ => true,
                },
            }
    }

    /// COUNT(*) of rows.
    pub(super) fn count(&mut self, groups: &[u32]) {
        if let States::Count(n) = &mut self.states {
            for g in groups {
                n[*g as usize] += 1;
            }
        }
    }

    /// Takes the values of the selected rows into account, of which [`is_quiet`](Self::is_quiet) holds.
    pub(super) fn add(
        &mut self,
        spec: &AggSpec,
        v: &Vector,
        groups: &[u32],
        sel: Sel<'_>,
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        if v.is_all_null() {
            return Ok(());
        }
        match (&mut self.states, v.data()) {
            (States::Count(n), _) => each(groups, v, sel, |g, _| n[g] += 1),
            (States::Whole(sums, n), Data::I64(d)) => each(groups, v, sel, |g, i| {
                sums[g] += i128::from(d[i]);
                n[g] += 1;
            }),
            (States::Whole(sums, n), Data::U64(d)) => each(groups, v, sel, |g, i| {
                sums[g] += i128::from(d[i]);
                n[g] += 1;
            }),
            (States::Bits(bits), Data::I64(d)) => each(groups, v, sel, |g, i| {
                bits_of(spec.func, &mut bits[g], d[i] as u64);
            }),
            (States::Bits(bits), Data::U64(d)) => {
                each(groups, v, sel, |g, i| {
                    bits_of(spec.func, &mut bits[g], d[i])
                });
            }
            (States::Double(sums, n), Data::F64(d)) => each(groups, v, sel, |g, i| {
                sums[g] += d[i];
                n[g] += 1;
            }),
            (States::Fixed(..), _) => return self.add_fixed(v, groups, sel),
            (States::Exact(..), _) => return self.add_exact(v, groups, sel),
            _ => {
                for (i, g) in sel.iter().zip(groups) {
                    self.add_val(spec, *g as usize, &v.val(i), cx)?;
                }
            }
        }
        Ok(())
    }

    fn add_fixed(&mut self, v: &Vector, groups: &[u32], sel: Sel<'_>) -> Result<(), SqlError> {
        let States::Fixed(scale, sums, n) = &mut self.states else {
            return Ok(());
        };
        /// Sums below this have room for a batch of 64-bit numbers.
        const ROOM: i128 = i128::MAX / 4;
        let of = match v.data() {
            Data::I64(_) => Some(0),
            Data::Decimal64 { scale, .. } | Data::Decimal128 { scale, .. } => Some(*scale),
            _ => None,
        };
        if of.is_some() && (scale.is_none() || *scale == of) {
            *scale = of;
            match v.data() {
                Data::I64(d) | Data::Decimal64 { values: d, .. } => {
                    let mut tight = false;
                    each(groups, v, sel, |g, i| {
                        sums[g] += i128::from(d[i]);
                        n[g] += 1;
                        tight |= sums[g].unsigned_abs() > ROOM as u128;
                    });
                    if tight {
                        self.widen();
                    }
                    return Ok(());
                }
                Data::Decimal128 { values, .. } => {
                    let small = |m: i128| m.unsigned_abs() < 1 << 112;
                    let mut fits = sums.iter().all(|s| s.unsigned_abs() < ROOM as u128);
                    sel.each(|i| fits &= small(values[if v.is_constant() { 0 } else { i }]));
                    if fits && sel.len() < 1 << 12 {
                        each(groups, v, sel, |g, i| {
                            sums[g] += values[i];
                            n[g] += 1;
                        });
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        self.widen();
        self.add_exact(v, groups, sel)
    }

    fn add_exact(&mut self, v: &Vector, groups: &[u32], sel: Sel<'_>) -> Result<(), SqlError> {
        let States::Exact(sums, n) = &mut self.states else {
            return Ok(());
        };
        let mut fits = true;
        for (i, g) in sel.iter().zip(groups) {
            if v.is_null(i) {
                continue;
            }
            let g = *g as usize;
            match sums[g].checked_add(&decimal_at(v, i)) {
                Some(s) => sums[g] = s,
                None => fits = false,
            }
            n[g] += 1;
        }
        if fits { Ok(()) } else { Err(too_large()) }
    }

    /// Sums of one scale as decimals of any length.
    pub(super) fn widen(&mut self) {
        if let States::Fixed(scale, sums, n) = &mut self.states {
            let scale = scale.unwrap_or(0);
            let decimal = |(s, n): (&i128, &u64)| match n {
                0 => Decimal::ZERO,
                _ => Decimal::from_i128(*s, scale),
            };
            let exact = sums.iter().zip(n.iter()).map(decimal).collect();
            self.states = States::Exact(exact, std::mem::take(n));
        }
    }

    /// Takes one value into account, as [`Accumulator`] does.
    pub(super) fn add_val(
        &mut self,
        spec: &AggSpec,
        g: usize,
        v: &Val<'_>,
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        if v.is_null() {
            return Ok(());
        }
        self.widen();
        match &mut self.states {
            States::Count(n) => n[g] += 1,
            States::Whole(sums, n) => {
                sums[g] += conv::to_int(v, cx).map_or(0, |i| i.wide());
                n[g] += 1;
            }
            States::Exact(sums, n) => {
                let d = conv::to_decimal(v, cx).unwrap_or(Decimal::ZERO);
                sums[g] = sums[g].checked_add(&d).ok_or_else(too_large)?;
                n[g] += 1;
            }
            States::Double(sums, n) => {
                sums[g] += conv::to_double(v, cx).unwrap_or(0.0);
                n[g] += 1;
            }
            States::Extreme(best, texts) => {
                if let Some(v) = better(spec, v, &best[g], cx) {
                    if let Val::Bytes(b) = &v {
                        *texts += b.len();
                    }
                    if let Val::Bytes(b) = &best[g] {
                        *texts -= b.len().min(*texts);
                    }
                    best[g] = v;
                }
            }
            States::Bits(bits) => {
                if let Some(e) = spec.args.first() {
                    overflow::check(e, v)?;
                }
                let b = conv::to_int(v, cx).map_or(0, |i| i.bits());
                bits_of(spec.func, &mut bits[g], b);
            }
            States::Fixed(..) | States::Rows(_) => {}
        }
        Ok(())
    }

    /// Takes a row into account.
    pub(super) fn add_row(
        &mut self,
        spec: &AggSpec,
        g: usize,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<(), SqlError> {
        if let States::Rows(a) = &mut self.states {
            return a[g].add(spec, cx, row);
        }
        match spec.args.first() {
            None => {
                self.count(&[g as u32]);
                Ok(())
            }
            Some(e) => {
                let v = e.eval(cx, row)?;
                self.add_val(spec, g, &v, cx)
            }
        }
    }

    /// The value for a group, which is asked for once.
    ///
    /// # Errors
    /// As [`Accumulator::finish`].
    pub fn finish(
        &mut self,
        spec: &AggSpec,
        g: usize,
        cx: &EvalCtx<'_>,
    ) -> Result<Val<'static>, SqlError> {
        let running = match &mut self.states {
            States::Rows(a) => {
                return std::mem::replace(&mut a[g], spec.start()).finish(spec, cx);
            }
            States::Count(n) => Running::Count(n[g]),
            States::Whole(sums, n) => Running::Whole(sums[g], n[g]),
            States::Fixed(scale, sums, n) => {
                Running::Exact(Decimal::from_i128(sums[g], scale.unwrap_or(0)), n[g])
            }
            States::Exact(sums, n) => Running::Exact(sums[g], n[g]),
            States::Double(sums, n) => Running::Double(sums[g], n[g]),
            States::Extreme(best, _) => match std::mem::replace(&mut best[g], Val::Null) {
                Val::Null => Running::Extreme(None),
                v => Running::Extreme(Some(v)),
            },
            States::Bits(b) => Running::Bits(b[g]),
        };
        Accumulator::of(running).finish(spec, cx)
    }

    /// What it takes at most while there come to be so many groups: a vector that grows takes its old room and twice as much.
    pub(super) fn memory_with(&self, groups: usize) -> usize {
        let (room, size) = match &self.states {
            States::Count(n) | States::Bits(n) => (n.capacity(), 8),
            States::Whole(_, n) | States::Fixed(_, _, n) => (n.capacity(), 24),
            States::Exact(_, n) => (n.capacity(), 8 + size_of::<Decimal>()),
            States::Double(_, n) => (n.capacity(), 16),
            States::Extreme(v, _) => (v.capacity(), size_of::<Val<'_>>()),
            States::Rows(a) => (a.capacity(), size_of::<Accumulator>()),
        };
        match groups <= room {
            true => self.memory(),
            false => self.memory() + groups.max(2 * room) * size,
        }
    }

    /// What it takes, for whoever charges it; what rows keep is charged already.
    pub fn memory(&self) -> usize {
        match &self.states {
            States::Count(n) | States::Bits(n) => n.capacity() * 8,
            States::Whole(_, n) | States::Fixed(_, _, n) => n.capacity() * 24,
            States::Exact(_, n) => n.capacity() * (8 + size_of::<Decimal>()),
            States::Double(_, n) => n.capacity() * 16,
            States::Extreme(v, texts) => v.capacity() * size_of::<Val<'_>>() + texts,
            States::Rows(a) => a.capacity() * size_of::<Accumulator>(),
        }
    }
}

/// The value to keep, where it goes before or behind the best so far.
pub(super) fn better(
    spec: &AggSpec,
    v: &Val<'_>,
    best: &Val<'_>,
    cx: &EvalCtx<'_>,
) -> Option<Val<'static>> {
    let ty = &spec.args.first()?.ty;
    let better = best.is_null()
        || match spec.comparer.order(v, ty, best, ty, cx) {
            Some(o) if spec.func == AggregateFunc::Min => o.is_lt(),
            Some(o) => o.is_gt(),
            None => false,
        };
    better.then(|| match v {
        Val::Enum(..) | Val::Set(..) => Val::owned(conv::text_of(v, ty).into_owned()),
        v => v.reborrow().into_owned(),
    })
}
