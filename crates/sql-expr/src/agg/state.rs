//! The running state of an aggregate over the rows of one group. Sums of whole numbers and decimals are exact;
//! variances follow Welford (Technometrics 1962), as MySQL's do.

use types::SqlError;
use types::decimal::Decimal;
use types::error::codes;

use super::AggSpec;
use super::concat::Concat;
use super::seen::Seen;
use crate::conv;
use crate::ctx::{EvalCtx, RowSource};
use crate::infer::{Domain, domain};
use crate::json::{self, Json};
use crate::keys::write_group_key;
use crate::limited::{self, Limited};
use crate::memory::Charge;
use crate::overflow;
use crate::ty::{ExprType, Shape};
use crate::val::{Val, shown_decimal};
use sql_parser::ast::AggregateFunc;

/// What has been seen of a group.
#[derive(Debug, Clone)]
pub struct Accumulator {
    pub(super) state: Running,
    /// With DISTINCT: the keys seen.
    seen: Option<Box<Seen>>,
    /// What it holds beside its own size.
    charge: Charge,
}

/// What a key or a value takes beside its bytes.
const EACH: usize = 64;

/// What a byte of a growing text takes.
const GROWTH: usize = 3;

/// The state itself.
#[derive(Debug, Clone)]
pub(crate) enum Running {
    Count(u64),
    /// Exact sum of whole numbers and how many there were.
    Whole(i128, u64),
    /// Exact sum of decimals and how many there were.
    Exact(Decimal, u64),
    /// Sum of doubles and how many there were.
    Double(f64, u64),
    /// Least or greatest so far.
    Extreme(Option<Val<'static>>),
    Bits(u64),
    /// Count, mean, sum of squared distances from the mean.
    Moments(u64, f64, f64),
    Concat(Concat),
    Array(Option<Vec<Json>>),
    Object(Option<Vec<(String, Json)>>),
}

impl Accumulator {
    pub(super) fn new(spec: &AggSpec) -> Accumulator {
        let state = match spec.func {
            AggregateFunc::Count => Running::Count(0),
            AggregateFunc::Sum | AggregateFunc::Avg => {
                match spec.args.first().map_or(Domain::Int, |a| domain(&a.ty)) {
                    Domain::Int => Running::Whole(0, 0),
                    Domain::Decimal => Running::Exact(Decimal::ZERO, 0),
                    Domain::Double => Running::Double(0.0, 0),
                }
            }
            AggregateFunc::Min | AggregateFunc::Max => Running::Extreme(None),
            AggregateFunc::BitAnd | AggregateFunc::BitOr | AggregateFunc::BitXor => {
                Running::Bits(spec.no_bits())
            }
            AggregateFunc::StdPop
            | AggregateFunc::StdSamp
            | AggregateFunc::VarPop
            | AggregateFunc::VarSamp => Running::Moments(0, 0.0, 0.0),
            AggregateFunc::GroupConcat => Running::Concat(Concat::default()),
            // No ST_COLLECT gets here: its type is refused.
            AggregateFunc::JsonArrayAgg | AggregateFunc::StCollect => Running::Array(None),
            AggregateFunc::JsonObjectAgg => Running::Object(None),
        };
        Accumulator {
            state,
            seen: (spec.distinct).then(|| Box::new(Seen::new(spec.neighbours))),
            charge: Charge::default(),
        }
    }

    /// A state that was kept elsewhere.
    pub(crate) fn of(state: Running) -> Accumulator {
        Accumulator {
            state,
            seen: None,
            charge: Charge::default(),
        }
    }

    /// Asks for room for what is about to be kept.
    fn hold(&mut self, bytes: usize, cx: &EvalCtx<'_>) -> Result<(), SqlError> {
        if self.charge.bytes() == 0 {
            self.charge = Charge::to(cx.memory());
        }
        match self.charge.add(bytes) {
            true => Ok(()),
            false => cx.memory().check(),
        }
    }

    /// Whether the key of a row, which `write` appends, is a new one, which is then kept.
    fn is_new(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        cx: &EvalCtx<'_>,
    ) -> Result<bool, SqlError> {
        let Some(seen) = &mut self.seen else {
            return Ok(true);
        };
        match seen.insert(write) {
            None => Ok(false),
            Some(_) if !seen.keeps_all() => Ok(true),
            Some(len) => self.hold(EACH + len, cx).map(|()| true),
        }
    }

    /// COUNT(*) of that many more rows.
    pub fn count_rows(&mut self, n: u64) {
        if let Running::Count(c) = &mut self.state {
            *c += n;
        }
    }

    /// Takes a row into account.
    ///
    /// # Errors
    /// What evaluating the arguments raises; 1690 where an exact sum exceeds 65 digits.
    pub fn add(
        &mut self,
        spec: &AggSpec,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<(), SqlError> {
        if spec.is_count_star() {
            self.count_rows(1);
            return Ok(());
        }
        match spec.func {
            AggregateFunc::GroupConcat => return self.add_text(spec, cx, row),
            AggregateFunc::JsonArrayAgg | AggregateFunc::JsonObjectAgg => {
                return self.add_json(spec, cx, row);
            }
            _ => {}
        }
        let Some(arg) = spec.args.first() else {
            return Ok(());
        };
        let mut v = arg.eval(cx, row)?;
        if v.is_null() {
            return Ok(());
        }
        if self.seen.is_some()
            && let Val::Decimal(d) = &v
        {
            // What is told apart is kept as a column would: a quotient with its shown digits.
            v = Val::Decimal(shown_decimal(d, &arg.ty));
        }
        let mut more = Vec::new();
        for a in &spec.args[1..] {
            let w = a.eval(cx, row)?;
            if w.is_null() {
                return Ok(());
            }
            more.push((w, &a.ty));
        }
        if self.seen.is_some() {
            let write = |key: &mut Vec<u8>| {
                write_group_key(&v, &arg.ty, key);
                more.iter().for_each(|(w, ty)| write_group_key(w, ty, key));
            };
            if !self.is_new(write, cx)? {
                return Ok(());
            }
        }
        if let (Running::Extreme(best), Val::Bytes(b)) = (&self.state, &v) {
            let before = match best {
                Some(Val::Bytes(b)) => b.len(),
                _ => 0,
            };
            if b.len() > before.max(EACH) {
                self.hold(b.len() - before, cx)?;
            }
        }
        self.add_value(spec, &v, cx)
    }

    fn add_value(&mut self, spec: &AggSpec, v: &Val<'_>, cx: &EvalCtx<'_>) -> Result<(), SqlError> {
        match &mut self.state {
            Running::Count(n) => *n += 1,
            Running::Whole(sum, n) => {
                let i = match v {
                    Val::Int(i) => i128::from(*i),
                    v => conv::to_int(v, cx).map_or(0, |i| i.wide()),
                };
                *sum += i;
                *n += 1;
            }
            Running::Exact(sum, n) => {
                let d = conv::to_decimal(v, cx).unwrap_or(Decimal::ZERO);
                *sum = sum
                    .checked_add(&d)
                    .ok_or_else(|| SqlError::expr_out_of_range("DECIMAL", "sum()"))?;
                *n += 1;
            }
            Running::Double(sum, n) => {
                *sum += conv::to_double(v, cx).unwrap_or(0.0);
                *n += 1;
            }
            Running::Extreme(best) => {
                let ty = &spec.args[0].ty;
                let better = match best {
                    None => true,
                    Some(b) => match spec.comparer.order(v, ty, b, ty, cx) {
                        Some(o) if spec.func == AggregateFunc::Min => o.is_lt(),
                        Some(o) => o.is_gt(),
                        None => false,
                    },
                };
                if better {
                    *best = Some(match v {
                        Val::Enum(..) | Val::Set(..) => {
                            Val::owned(conv::text_of(v, ty).into_owned())
                        }
                        v => v.reborrow().into_owned(),
                    });
                }
            }
            Running::Bits(bits) => {
                if let Some(e) = spec.args.first() {
                    overflow::check(e, v)?;
                }
                let b = conv::to_int(v, cx).map_or(0, |i| i.bits());
                match spec.func {
                    AggregateFunc::BitAnd => *bits &= b,
                    AggregateFunc::BitOr => *bits |= b,
                    _ => *bits ^= b,
                }
            }
            Running::Moments(n, mean, m2) => {
                let x = conv::to_double(v, cx).unwrap_or(0.0);
                *n += 1;
                let delta = x - *mean;
                *mean += delta / *n as f64;
                *m2 += delta * (x - *mean);
            }
            Running::Concat(_) | Running::Array(_) | Running::Object(_) => {}
        }
        Ok(())
    }

    fn add_text(
        &mut self,
        spec: &AggSpec,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<(), SqlError> {
        let mut text = Vec::new();
        let mut key = Vec::new();
        for a in &spec.args {
            let v = a.eval(cx, row)?;
            if v.is_null() {
                return Ok(());
            }
            if let Val::Bytes(b) = &v {
                // The text, as it grows, and the key.
                cx.hold((GROWTH + 1) * b.len())?;
            }
            conv::write_text(&v, &a.ty, &mut text);
            if self.seen.is_some() {
                write_group_key(&v, &a.ty, &mut key);
            }
        }
        if !self.is_new(|out| out.extend_from_slice(&key), cx)? {
            return Ok(());
        }
        let keys = spec
            .order_by
            .iter()
            .map(|(e, _)| Ok(e.eval(cx, row)?.into_owned()))
            .collect::<Result<Vec<_>, SqlError>>()?;
        if let Running::Concat(c) = &self.state
            && !c.is_full()
        {
            let size = |v: &Val<'_>| match v {
                Val::Bytes(b) => EACH + b.len(),
                _ => EACH,
            };
            let ordered = keys.iter().map(size).sum::<usize>();
            // A text that grows has its old room and its new one, which is twice as large.
            self.hold(GROWTH * (spec.separator.len() + text.len()) + ordered, cx)?;
        }
        if let Running::Concat(c) = &mut self.state {
            c.add(spec, &text, keys, cx);
        }
        Ok(())
    }

    fn add_json(
        &mut self,
        spec: &AggSpec,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<(), SqlError> {
        let values = spec
            .args
            .iter()
            .map(|a| Ok((a.eval(cx, row)?, &a.ty)))
            .collect::<Result<Vec<_>, SqlError>>()?;
        let size = |(v, ty): &(Val<'_>, &ExprType)| match v {
            Val::Bytes(b) if ty.shape == Shape::Json => json::PART + json::weight(b),
            Val::Bytes(b) => json::PART + EACH + 2 * b.len(),
            _ => json::PART,
        };
        // A group of one has a list too, and there may be millions of them.
        let list = match &self.state {
            Running::Array(None) | Running::Object(None) => json::LIST,
            _ => 0,
        };
        self.hold(list + values.iter().map(size).sum::<usize>(), cx)?;
        match (&mut self.state, values.as_slice()) {
            (Running::Array(items), [(v, ty), ..]) => {
                items.get_or_insert_default().push(json::scalar(v, ty));
            }
            (Running::Object(members), [(k, kt), (v, vt), ..]) => {
                if k.is_null() {
                    return Err(SqlError::new(
                        codes::ER_JSON_DOCUMENT_NULL_KEY,
                        "JSON documents may not contain NULL member names.",
                    ));
                }
                let key = json::in_utf8(&conv::text_of(k, kt), kt).into_owned();
                members
                    .get_or_insert_default()
                    .push((key, json::scalar(v, vt)));
            }
            _ => {}
        }
        Ok(())
    }

    /// The value for the group.
    ///
    /// # Errors
    /// 1690 where a sum of doubles is not finite.
    pub fn finish(self, spec: &AggSpec, cx: &EvalCtx<'_>) -> Result<Val<'static>, SqlError> {
        let average = spec.func == AggregateFunc::Avg;
        let increment = cx.vars.hot().div_precision_increment;
        Ok(match self.state {
            Running::Count(n) => Val::Int(i64::try_from(n).unwrap_or(i64::MAX)),
            Running::Whole(_, 0) | Running::Exact(_, 0) | Running::Double(_, 0) => Val::Null,
            Running::Whole(sum, n) => exact(Decimal::from_i128(sum, 0), n, average, increment),
            Running::Exact(sum, n) => exact(sum, n, average, increment),
            Running::Double(sum, n) => {
                let r = if average { sum / n as f64 } else { sum };
                if !r.is_finite() {
                    return Err(SqlError::expr_out_of_range("DOUBLE", "sum()"));
                }
                Val::Double(r)
            }
            Running::Extreme(best) => best.unwrap_or(Val::Null),
            Running::Bits(b) => Val::Uint(b),
            Running::Moments(n, _, m2) => {
                let sample = matches!(spec.func, AggregateFunc::StdSamp | AggregateFunc::VarSamp);
                if n == 0 || (sample && n == 1) {
                    return Ok(Val::Null);
                }
                let variance = m2 / (n - u64::from(sample)) as f64;
                match spec.func {
                    AggregateFunc::StdPop | AggregateFunc::StdSamp => Val::Double(variance.sqrt()),
                    _ => Val::Double(variance),
                }
            }
            Running::Concat(c) => {
                let joined = c.finish(spec, cx);
                if let Val::Bytes(b) = &joined {
                    cx.hold(b.len())?;
                }
                joined
            }
            Running::Array(None) | Running::Object(None) => Val::Null,
            Running::Array(Some(items)) => {
                return document(&Json::Array(items), "json_arrayagg", cx);
            }
            Running::Object(Some(members)) => {
                return document(&Json::object(members), "json_objectagg", cx);
            }
        })
    }
}

fn exact(sum: Decimal, n: u64, average: bool, increment: u8) -> Val<'static> {
    if average {
        sum.checked_div(&Decimal::from_u64(n), increment)
            .map_or(Val::Null, Val::Decimal)
    } else {
        Val::Decimal(sum)
    }
}

fn document(j: &Json, function: &str, cx: &EvalCtx<'_>) -> Result<Val<'static>, SqlError> {
    j.check_depth()?;
    let mut out = Limited::new(cx);
    let written = j.write(&mut out).map(|()| out.value());
    limited::settle(written, function, cx)
}
