//! States of groups that leave memory and come back, and states of one part of the rows that join those of another. What is fed row
//! by row (DISTINCT, GROUP_CONCAT, the JSON aggregates, variances) can do neither: it needs its rows in one place and in order.
//!
//! A sum of doubles depends on the order in which it is made, and so on what was merged.

use types::SqlError;
use types::decimal::Decimal;
use types::temporal::{Date, DateTime, Time};

use super::state::{GroupStates, States, better, too_large};
use crate::agg::AggSpec;
use crate::ctx::EvalCtx;
use crate::val::Val;
use sql_parser::ast::AggregateFunc;

/// Digits that a written decimal has room for.
const DIGITS: u8 = 65;

/// The state of one group.
enum Part {
    Number(u64),
    Whole(i128, u64),
    Exact(Decimal, u64),
    Double(f64, u64),
    Extreme(Val<'static>),
}

/// Bytes that are read from the front.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn front(&mut self, n: usize) -> Option<&'b [u8]> {
        let (front, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.front(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn decimal(&mut self) -> Option<Decimal> {
        let [scale] = self.array()?;
        let packed = self.front(Decimal::packed_len(DIGITS))?;
        Some(Decimal::unpack_le(packed, scale))
    }

    fn val(&mut self) -> Option<Val<'static>> {
        let [kind] = self.array()?;
        Some(match kind {
            0 => Val::Null,
            1 => Val::Int(self.u64()? as i64),
            2 => Val::Uint(self.u64()?),
            3 => Val::Double(f64::from_bits(self.u64()?)),
            4 => Val::Decimal(self.decimal()?),
            5 => {
                let len = usize::try_from(self.u64()?).ok()?;
                Val::owned(self.front(len)?)
            }
            6 => Val::Date(Date::from_packed(self.u64()? as u32)),
            7 => {
                let [fsp] = self.array()?;
                Val::Time(Time::from_micros(self.u64()? as i64, fsp))
            }
            8 => {
                let [fsp] = self.array()?;
                Val::DateTime(DateTime::from_packed(self.u64()?, fsp))
            }
            9 => {
                let [n] = self.array()?;
                Val::Bit(self.u64()?, n)
            }
            _ => return None,
        })
    }
}

fn write_decimal(d: &Decimal, out: &mut Vec<u8>) {
    out.push(d.scale());
    d.pack_le(DIGITS, d.scale(), out);
}

fn write_val(v: &Val<'_>, out: &mut Vec<u8>) {
    let mut number = |kind: &[u8], n: u64| {
        out.extend_from_slice(kind);
        out.extend_from_slice(&n.to_le_bytes());
    };
    match v {
        // No extreme is a word of a list: it was made text.
        Val::Null | Val::Enum(..) | Val::Set(..) => out.push(0),
        Val::Int(i) => number(&[1], *i as u64),
        Val::Uint(u) => number(&[2], *u),
        Val::Double(d) => number(&[3], d.to_bits()),
        Val::Decimal(d) => {
            out.push(4);
            write_decimal(d, out);
        }
        Val::Bytes(b) => {
            number(&[5], b.len() as u64);
            out.extend_from_slice(b);
        }
        Val::Date(d) => number(&[6], u64::from(d.packed())),
        Val::Time(t) => number(&[7, t.fsp()], t.micros_total() as u64),
        Val::DateTime(d) => number(&[8, d.fsp()], d.packed()),
        Val::Bit(b, n) => number(&[9, *n], *b),
    }
}

impl GroupStates {
    /// Appends the state of a group; `false` for an aggregate that is fed row by row.
    pub fn write_state(&self, group: usize, out: &mut Vec<u8>) -> bool {
        match self.part(group) {
            None => return false,
            Some(Part::Number(n)) => out.extend_from_slice(&n.to_le_bytes()),
            Some(Part::Whole(sum, n)) => {
                out.extend_from_slice(&sum.to_le_bytes());
                out.extend_from_slice(&n.to_le_bytes());
            }
            Some(Part::Exact(sum, n)) => {
                write_decimal(&sum, out);
                out.extend_from_slice(&n.to_le_bytes());
            }
            Some(Part::Double(sum, n)) => {
                out.extend_from_slice(&sum.to_bits().to_le_bytes());
                out.extend_from_slice(&n.to_le_bytes());
            }
            Some(Part::Extreme(v)) => write_val(&v, out),
        }
        true
    }

    /// Adds a written state to that of a group, and takes it from the front of `bytes`.
    ///
    /// # Errors
    /// An internal error for bytes that nobody wrote so; 1690 for a sum of more than 65 digits.
    pub fn read_state(
        &mut self,
        spec: &AggSpec,
        group: usize,
        bytes: &mut &[u8],
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        let mut b = Bytes(bytes);
        let part = match &self.states {
            States::Count(_) | States::Bits(_) => b.u64().map(Part::Number),
            States::Whole(..) => b
                .array()
                .map(i128::from_le_bytes)
                .and_then(|s| Some(Part::Whole(s, b.u64()?))),
            States::Fixed(..) | States::Exact(..) => {
                b.decimal().and_then(|s| Some(Part::Exact(s, b.u64()?)))
            }
            States::Double(..) => b
                .u64()
                .and_then(|s| Some(Part::Double(f64::from_bits(s), b.u64()?))),
            States::Extreme(..) => b.val().map(Part::Extreme),
            States::Rows(_) => None,
        };
        let part = part.ok_or_else(|| SqlError::internal("no state of an aggregate"))?;
        *bytes = b.0;
        self.join(spec, group, part, cx)
    }

    /// Adds the states of another part of the rows: its group `g` is group `map[g]` here. `false` where that cannot be done, and then nothing has been.
    ///
    /// # Errors
    /// 1690 for a sum of more than 65 digits.
    pub fn merge(
        &mut self,
        spec: &AggSpec,
        other: &GroupStates,
        map: &[u32],
        cx: &EvalCtx<'_>,
    ) -> Result<bool, SqlError> {
        if self.is_by_rows() {
            return Ok(false);
        }
        for (g, to) in map.iter().enumerate() {
            if let Some(part) = other.part(g) {
                self.join(spec, *to as usize, part, cx)?;
            }
        }
        Ok(true)
    }

    fn part(&self, g: usize) -> Option<Part> {
        Some(match &self.states {
            States::Count(n) | States::Bits(n) => Part::Number(n[g]),
            States::Whole(sums, n) => Part::Whole(sums[g], n[g]),
            States::Fixed(_, _, n) if n[g] == 0 => Part::Exact(Decimal::ZERO, 0),
            States::Fixed(scale, sums, n) => {
                Part::Exact(Decimal::from_i128(sums[g], scale.unwrap_or(0)), n[g])
            }
            States::Exact(sums, n) => Part::Exact(sums[g], n[g]),
            States::Double(sums, n) => Part::Double(sums[g], n[g]),
            States::Extreme(v, _) => Part::Extreme(v[g].clone()),
            States::Rows(_) => return None,
        })
    }

    fn join(
        &mut self,
        spec: &AggSpec,
        g: usize,
        part: Part,
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        if let (States::Fixed(scale, sums, n), Part::Exact(sum, more)) = (&mut self.states, &part) {
            if *more == 0 {
                return Ok(());
            }
            if (scale.is_none() || *scale == Some(sum.scale()))
                && let Some(m) = sum.mantissa_i128().and_then(|m| sums[g].checked_add(m))
                && m.unsigned_abs() <= i128::MAX as u128 / 4
            {
                *scale = Some(sum.scale());
                sums[g] = m;
                n[g] += more;
                return Ok(());
            }
            self.widen();
        }
        match (&mut self.states, part) {
            (States::Count(n), Part::Number(more)) => n[g] += more,
            (States::Bits(n), Part::Number(b)) => match spec.func {
                AggregateFunc::BitAnd => n[g] &= b,
                AggregateFunc::BitOr => n[g] |= b,
                _ => n[g] ^= b,
            },
            (States::Whole(sums, n), Part::Whole(sum, more)) => {
                sums[g] += sum;
                n[g] += more;
            }
            (States::Exact(sums, n), Part::Exact(sum, more)) => {
                sums[g] = sums[g].checked_add(&sum).ok_or_else(too_large)?;
                n[g] += more;
            }
            (States::Double(sums, n), Part::Double(sum, more)) => {
                sums[g] += sum;
                n[g] += more;
            }
            (States::Extreme(best, texts), Part::Extreme(v)) if !v.is_null() => {
                if let Some(v) = better(spec, &v, &best[g], cx) {
                    if let Val::Bytes(b) = &v {
                        *texts += b.len();
                    }
                    best[g] = v;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
