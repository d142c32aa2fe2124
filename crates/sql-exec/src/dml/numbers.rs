//! AUTO_INCREMENT: which rows of an INSERT get a number, which numbers they are, and how many are reserved at once.

use engine::Session;
use types::{DataType, SqlError, Value, ValueRef};

use super::new_row::NewRows;
use sql_expr::EvalCtx;
use sql_expr::vars::SqlMode;
use sql_plan::plan::{InsertPlan, InsertRows};

/// Most numbers that are reserved at once.
const AT_ONCE: u64 = 65_536;

/// What a row has in its AUTO_INCREMENT column.
pub(super) enum Number {
    /// There is no such column.
    None,
    /// What came with the row is not above zero: nothing goes on from there. As the client is told it.
    Outside(u64),
    /// It came with the row.
    Given(u64),
    /// It was made.
    Generated(u64),
}

/// The numbers of a statement.
pub(super) struct Numbers<'p> {
    plan: &'p InsertPlan,
    /// NO_AUTO_VALUE_ON_ZERO.
    zero_is_a_value: bool,
    /// Reserved values: the next one and how many there are.
    reserved: (u64, u64),
    /// How many are reserved first; 0: as many as there are rows to come.
    first: u64,
    /// Distance of values and their remainder.
    step: (u64, u64),
    /// SET insert_id said where they begin.
    given: bool,
}

impl<'p> Numbers<'p> {
    /// Of a statement.
    pub fn of(plan: &'p InsertPlan, cx: &EvalCtx<'_>) -> Numbers<'p> {
        let hot = cx.vars.hot();
        let first = cx.facts.insert_id;
        Numbers {
            plan,
            zero_is_a_value: cx.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO),
            // What SET insert_id says is as good as reserved.
            reserved: (first, if first == 0 { 0 } else { u64::MAX }),
            // As MySQL does where it knows how many rows there are, whether they need one or not.
            first: match &plan.source {
                InsertRows::Values(rows) => rows.len() as u64,
                InsertRows::Query(_) => 0,
            },
            step: (
                hot.auto_increment_increment.max(1),
                hot.auto_increment_offset,
            ),
            given: first != 0,
        }
    }

    /// Fills in the column. `rows_left` is how many rows may still need a number, this one included, and `line` the row's place.
    ///
    /// # Errors
    /// 1467; what does not fit the column.
    pub fn fill(
        &mut self,
        row: &mut [Value],
        rows: &NewRows<'_>,
        (line, rows_left): (u64, u64),
        s: &mut Session,
        cx: &EvalCtx<'_>,
    ) -> Result<Number, SqlError> {
        let Some(c) = rows.auto.map(usize::from) else {
            return Ok(Number::None);
        };
        let given = match &row[c] {
            Value::Null => None,
            Value::Int(0) | Value::UInt(0) if !self.zero_is_a_value => None,
            Value::Float(0.0) if !self.zero_is_a_value => None,
            Value::Double(0.0) if !self.zero_is_a_value => None,
            v => Some(whole(v)),
        };
        if let Some(v) = given {
            let Some(v) = v.filter(|v| *v > 0) else {
                return Ok(Number::Outside(as_told(&row[c])));
            };
            if !self.may_stay_out() {
                s.observe_auto_increment(&self.plan.table, v);
            }
            self.pass(v);
            return Ok(Number::Given(v));
        }
        let v = self.next(rows_left, s)?;
        if self.given {
            row[c] = rows.store(ValueRef::UInt(v), c as u16, line, cx)?;
            s.observe_auto_increment(&self.plan.table, v);
            return Ok(Number::Generated(v));
        }
        row[c] = match &self.plan.table.def.columns[c].ty {
            DataType::Int { unsigned: true, .. } => Value::UInt(v),
            DataType::Float { .. } => Value::Float(v as f32),
            DataType::Double { .. } => Value::Double(v as f64),
            _ => Value::Int(v as i64),
        };
        Ok(Number::Generated(v))
    }

    /// Whether a row may be passed over, and the statement goes on.
    fn may_stay_out(&self) -> bool {
        self.plan.ignore || !self.plan.on_duplicate.is_empty()
    }

    /// Where the row before left the numbers, for [`take_back`](Self::take_back).
    pub fn place(&self) -> (u64, u64) {
        self.reserved
    }

    /// The row with this number was inserted. As in InnoDB, the table's counter passes a number that came with it only now: somebody who takes the
    /// next number in between can meet the row.
    pub fn written(&self, number: &Number, s: &Session) {
        if let Number::Given(v) = number
            && self.may_stay_out()
        {
            s.observe_auto_increment(&self.plan.table, *v);
        }
    }

    /// The row with this number was not inserted: its number is the next row's (`handler::restore_auto_increment` in MySQL). A source that logs
    /// statements names only the first number, so a replica has to count as it did.
    pub fn take_back(&mut self, before: (u64, u64), number: &Number) {
        match number {
            Number::None | Number::Outside(_) => {}
            Number::Generated(v) => self.reserved = (*v, self.reserved.1.saturating_add(1)),
            Number::Given(_) if before.1 > 0 => self.reserved = before,
            Number::Given(_) => {}
        }
    }

    /// A value was given: what is reserved goes on above it, as in MySQL.
    fn pass(&mut self, given: u64) {
        let (next, left) = self.reserved;
        if left == 0 || given < next {
            return;
        }
        let above = self.above(given);
        let passed = (above - next).div_ceil(self.step.0);
        self.reserved = match left.checked_sub(passed) {
            Some(left) if left > 0 => (above, left),
            _ => (0, 0),
        };
    }

    /// The first value above `v` that leaves the offset as remainder (`compute_next_insert_id` in MySQL).
    fn above(&self, v: u64) -> u64 {
        let next = v.saturating_add(1);
        next.saturating_add(self.missing(next))
    }

    /// How far `v` is below a value that leaves the offset as remainder.
    fn missing(&self, v: u64) -> u64 {
        let (step, offset) = self.step;
        if step == 1 {
            return 0;
        }
        let offset = if offset > step { 0 } else { offset };
        (offset % step + step - v % step) % step
    }

    fn next(&mut self, rows_left: u64, s: &mut Session) -> Result<u64, SqlError> {
        let step = self.step.0;
        if self.reserved.1 == 0 {
            let rows = rows_left.max(std::mem::take(&mut self.first));
            let mut rows = rows.clamp(1, AT_ONCE);
            let mut reserve = |rows: u64| {
                let count = rows.saturating_mul(step);
                s.auto_increment(&self.plan.table, count)
            };
            // Not every row may need one, and the column's type may have fewer left.
            let first = match reserve(rows) {
                Err(_) if rows > 1 => {
                    rows = 1;
                    reserve(rows)?
                }
                first => first?,
            };
            self.reserved = (first + self.missing(first), rows);
        }
        let (v, left) = self.reserved;
        if v == u64::MAX {
            // As in MySQL, the greatest number of 64 bits may be given and is never made.
            return Err(SqlError::autoinc_exhausted());
        }
        self.reserved = (self.above(v), left - 1);
        Ok(v)
    }
}

/// A value of an AUTO_INCREMENT column as the client is told it: what is below zero in two's complement, as in MySQL.
pub(crate) fn as_told(v: &Value) -> u64 {
    let rounded = |f: f64| f.round_ties_even() as i64;
    whole(v).unwrap_or_else(|| match v {
        Value::Int(i) => i.cast_unsigned(),
        Value::Float(f) => rounded(f64::from(*f)).cast_unsigned(),
        Value::Double(f) => rounded(*f).cast_unsigned(),
        _ => 0,
    })
}

/// A value of an AUTO_INCREMENT column as a number; `None` below zero.
pub fn whole(v: &Value) -> Option<u64> {
    match v {
        Value::Int(i) => u64::try_from(*i).ok(),
        Value::UInt(u) => Some(*u),
        Value::Float(f) if *f > 0.0 => Some(*f as u64),
        Value::Double(f) if *f > 0.0 => Some(*f as u64),
        _ => None,
    }
}
