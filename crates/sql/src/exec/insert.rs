//! INSERT and REPLACE: rows are completed with defaults and AUTO_INCREMENT values, converted, and written one by one; what happens to
//! a row that is there already is IGNORE's, REPLACE's or ON DUPLICATE KEY UPDATE's to say.

use engine::{Inserted, Updated};
use types::convert::ConvertMode;
use types::{DataType, SqlError, Value, ValueRef};

mod ask;

use ask::{Asked, Selected};

use super::Env;
use super::query::run_query;
use super::row::{Built, OnlySubs};
use super::rowedit::{convert, convert_mode, default_value, duplicate, missing, same_value};
use super::store::RowStore;
use super::sub::SubValues;
use crate::plan::{DefaultPlan, InsertPlan, InsertRows, InsertValue};
use crate::sink::Done;
use sql_expr::vars::SqlMode;
use sql_expr::{NoRow, RowSource};

/// An INSERT in progress.
struct Work<'p> {
    plan: &'p InsertPlan,
    mode: ConvertMode,
    /// The AUTO_INCREMENT column.
    auto: Option<u16>,
    /// NO_AUTO_VALUE_ON_ZERO.
    zero_is_a_value: bool,
    /// Reserved AUTO_INCREMENT values: the next one and how many there are.
    reserved: (u64, u64),
    /// Distance of AUTO_INCREMENT values and their remainder.
    step: (u64, u64),
    /// Rows that may still need one, where that is known.
    rows_left: u64,
    only_row: bool,
    affected: u64,
    /// Rows inserted or replaced.
    copied: u64,
    /// Rows that were there already.
    duplicates: u64,
    /// The first generated AUTO_INCREMENT value of a row that was inserted.
    first_id: Option<u64>,
    /// The last row's AUTO_INCREMENT value where it was given.
    given_id: u64,
    line: u64,
}

/// Runs an INSERT or REPLACE.
pub(crate) async fn run(
    plan: &InsertPlan,
    env: &mut Env<'_>,
    found_rows: bool,
) -> Result<Done, SqlError> {
    let cx = env.cx;
    let hot = cx.vars.hot();
    let mut subs = SubValues::new(&plan.subqueries, env, &NoRow).await?;
    let auto = plan.table.def.auto_increment_column();
    let mut w = Work {
        plan,
        mode: convert_mode(cx, plan.ignore),
        auto: auto.map(|c| c as u16),
        zero_is_a_value: cx.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO),
        // What SET insert_id says is as good as reserved.
        reserved: match cx.facts.insert_id {
            0 => (0, 0),
            first => (first, u64::MAX),
        },
        step: (
            hot.auto_increment_increment.max(1),
            hot.auto_increment_offset,
        ),
        rows_left: 1,
        only_row: false,
        affected: 0,
        copied: 0,
        duplicates: 0,
        first_id: None,
        given_id: 0,
        line: 0,
    };
    let total = match &plan.source {
        InsertRows::Values(rows) => {
            w.only_row = rows.len() == 1;
            for (i, row) in rows.iter().enumerate() {
                w.line = env.cx.rows_before + i as u64 + 1;
                w.rows_left = (rows.len() - i) as u64;
                let built = w.build(row, env, &subs)?;
                w.put(built, env, &mut subs, None, found_rows).await?;
                if env.due() {
                    env.pause().await?;
                }
            }
            rows.len() as u64
        }
        InsertRows::Query(q) => {
            let mut rows = RowStore::new(q.types.len(), cx.memory());
            run_query(q, env, &NoRow, &mut rows, u64::MAX).await?;
            env.check()?;
            for i in 0..rows.len() {
                if env.due() {
                    env.pause().await?;
                }
                w.line = env.cx.rows_before + i as u64 + 1;
                w.rows_left = (rows.len() - i) as u64;
                let built = w.build_selected(&rows, i, env, &subs)?;
                w.put(built, env, &mut subs, Some((&rows, i)), found_rows)
                    .await?;
            }
            rows.len() as u64
        }
    };
    Ok(w.done(total, env))
}

impl Work<'_> {
    fn done(self, total: u64, env: &Env<'_>) -> Done {
        let info = if total == 1 && matches!(self.plan.source, InsertRows::Values(_)) {
            String::new()
        } else {
            let warnings = env.cx.warning_count();
            let skipped = if self.plan.ignore {
                total - self.copied.min(total)
            } else {
                self.duplicates
            };
            format!("Records: {total}  Duplicates: {skipped}  Warnings: {warnings}")
        };
        Done {
            affected: self.affected,
            last_insert_id: self.first_id.unwrap_or(self.given_id),
            generated_id: self.first_id,
            info,
            ..Done::default()
        }
    }

    /// A row of defaults, with NULL where AUTO_INCREMENT or nothing stands; and which columns have nothing.
    fn defaults(&self) -> Vec<Value> {
        self.plan
            .defaults
            .iter()
            .map(|d| match d {
                DefaultPlan::Value(v) => v.clone(),
                _ => Value::Null,
            })
            .collect()
    }

    /// Completes columns that got no value.
    fn complete(
        &self,
        row: &mut [Value],
        given: impl Fn(u16) -> bool,
        env: &Env<'_>,
        rest: &dyn RowSource,
    ) -> Result<(), SqlError> {
        // An expression may refer to any column whose default is none, and to those before its own.
        for computed in [false, true] {
            for (c, d) in self.plan.defaults.iter().enumerate() {
                let there = matches!(d, DefaultPlan::Value(_) | DefaultPlan::Auto);
                let now = matches!(d, DefaultPlan::Expr(_)) == computed;
                if now && !there && !given(c as u16) {
                    row[c] = self.default_of(c as u16, row, env, rest)?;
                }
            }
        }
        Ok(())
    }

    fn default_of(
        &self,
        column: u16,
        row: &[Value],
        env: &Env<'_>,
        rest: &dyn RowSource,
    ) -> Result<Value, SqlError> {
        let plan = self.plan;
        let d = &plan.defaults[usize::from(column)];
        let built = Built {
            slot: plan.slot,
            values: row,
            inserted: &[],
            rest,
        };
        match d {
            DefaultPlan::Auto => Ok(Value::Null),
            DefaultPlan::Missing => missing(&plan.table, column, &self.mode, env.cx),
            d => default_value(
                d,
                &plan.table,
                column,
                &built,
                self.line,
                &self.mode,
                env.cx,
            ),
        }
    }

    /// Converts a value for its column; NULL for AUTO_INCREMENT stays NULL.
    fn store(&self, v: ValueRef<'_>, column: u16, env: &Env<'_>) -> Result<Value, SqlError> {
        if v.is_null() {
            if Some(column) == self.auto {
                return Ok(Value::Null);
            }
            let def = &self.plan.table.def.columns[usize::from(column)];
            if self.only_row && !def.nullable && !self.plan.ignore {
                return Err(SqlError::bad_null(&def.name));
            }
        }
        convert(v, &self.plan.table, column, self.line, &self.mode, env.cx)
    }

    /// The row of one list of values. A value may read the columns before it.
    fn build(
        &self,
        values: &[InsertValue],
        env: &Env<'_>,
        subs: &SubValues,
    ) -> Result<Vec<Value>, SqlError> {
        let plan = self.plan;
        let rest = OnlySubs {
            subs,
            outer: &NoRow,
        };
        let mut row = self.defaults();
        // DEFAULT of a column whose default is an expression waits for the other values, as if the column had not been named.
        let waits = |c: u16, v: &InsertValue| {
            let computed = matches!(plan.defaults[usize::from(c)], DefaultPlan::Expr(_));
            computed && matches!(v, InsertValue::Default)
        };
        for (&c, v) in plan.columns.iter().zip(values) {
            if waits(c, v) {
                continue;
            }
            row[usize::from(c)] = match v {
                InsertValue::Default => self.default_of(c, &row, env, &rest)?,
                InsertValue::Expr(e) => {
                    let built = Built {
                        slot: plan.slot,
                        values: &row,
                        inserted: &[],
                        rest: &rest,
                    };
                    let v = e.eval(env.cx, &built)?;
                    let ty = &plan.table.def.columns[usize::from(c)].ty;
                    self.store(v.as_assigned_ref(&e.ty, ty), c, env)?
                }
            };
        }
        let given = |c| {
            let mut named = plan.columns.iter().zip(values);
            named.any(|(&k, v)| k == c && !waits(c, v))
        };
        self.complete(&mut row, given, env, &rest)?;
        Ok(row)
    }

    /// The row of one selected row.
    fn build_selected(
        &self,
        rows: &RowStore,
        i: usize,
        env: &Env<'_>,
        subs: &SubValues,
    ) -> Result<Vec<Value>, SqlError> {
        let plan = self.plan;
        let rest = OnlySubs {
            subs,
            outer: &NoRow,
        };
        let mut row = self.defaults();
        for (n, &c) in plan.columns.iter().enumerate() {
            row[usize::from(c)] = self.store(rows.column(i, n), c, env)?;
        }
        self.complete(&mut row, |c| plan.columns.contains(&c), env, &rest)?;
        Ok(row)
    }

    /// Fills in the AUTO_INCREMENT column; yields the value where it was generated.
    fn fill_auto(&mut self, row: &mut [Value], env: &mut Env<'_>) -> Result<Option<u64>, SqlError> {
        let Some(c) = self.auto.map(usize::from) else {
            return Ok(None);
        };
        let given = match &row[c] {
            Value::Null => None,
            Value::Int(0) | Value::UInt(0) if !self.zero_is_a_value => None,
            Value::Float(0.0) if !self.zero_is_a_value => None,
            Value::Double(0.0) if !self.zero_is_a_value => None,
            v => Some(whole(v)),
        };
        if let Some(v) = given {
            if let Some(v) = v.filter(|v| *v > 0) {
                env.session.observe_auto_increment(&self.plan.table, v);
                self.given_id = v;
                self.pass(v);
            }
            return Ok(None);
        }
        let v = self.next_auto(env)?;
        if env.cx.facts.insert_id != 0 {
            row[c] = self.store(ValueRef::UInt(v), c as u16, env)?;
            env.session.observe_auto_increment(&self.plan.table, v);
            return Ok(Some(v));
        }
        row[c] = match &self.plan.table.def.columns[c].ty {
            DataType::Int { unsigned: true, .. } => Value::UInt(v),
            DataType::Float { .. } => Value::Float(v as f32),
            DataType::Double { .. } => Value::Double(v as f64),
            _ => Value::Int(v as i64),
        };
        Ok(Some(v))
    }

    /// A value was given: what is reserved goes on above it, as in MySQL.
    fn pass(&mut self, given: u64) {
        let (next, left) = self.reserved;
        if left == 0 || given < next {
            return;
        }
        let below = (given - next) / self.step.0;
        match left.checked_sub(below) {
            // The last of them that is not above it, and one further.
            Some(left) if left > 0 => self.go_on(next + below * self.step.0, left),
            _ => self.reserved = (0, 0),
        }
    }

    /// `v` is used, the first of the `left` values that are reserved.
    fn go_on(&mut self, v: u64, left: u64) {
        self.reserved = (v.saturating_add(self.step.0), left - 1);
    }

    fn next_auto(&mut self, env: &mut Env<'_>) -> Result<u64, SqlError> {
        let (step, offset) = self.step;
        if self.reserved.1 == 0 {
            let mut rows = self.rows_left.clamp(1, 65_536);
            let mut reserve = |rows: u64| {
                let count = rows.saturating_mul(step);
                env.session.auto_increment(&self.plan.table, count)
            };
            // Not every row may need one, and the column's type may have fewer left.
            let first = match reserve(rows) {
                Err(_) if rows > 1 => {
                    rows = 1;
                    reserve(rows)?
                }
                first => first?,
            };
            let first = if step == 1 {
                first
            } else {
                // The next value that leaves the offset as remainder.
                let offset = if offset > step { 0 } else { offset };
                first + (offset % step + step - first % step) % step
            };
            self.reserved = (first, rows);
        }
        let (v, left) = self.reserved;
        if v == u64::MAX {
            // As in MySQL, the greatest number of 64 bits may be given and is never made.
            return Err(SqlError::autoinc_exhausted());
        }
        self.go_on(v, left);
        Ok(v)
    }

    /// Writes a row.
    async fn put(
        &mut self,
        mut row: Vec<Value>,
        env: &mut Env<'_>,
        subs: &mut SubValues,
        selected: Option<(&RowStore, usize)>,
        found_rows: bool,
    ) -> Result<(), SqlError> {
        let plan = self.plan;
        let generated = self.fill_auto(&mut row, env)?;
        let mut replaced = 0;
        loop {
            match env.session.insert(&plan.table, &row).await? {
                Inserted::Done => {
                    self.affected += 1 + replaced;
                    self.copied += 1;
                    if self.first_id.is_none() {
                        self.first_id = generated;
                    }
                    return Ok(());
                }
                Inserted::Duplicate { index, key } => {
                    if plan.replace {
                        let Some(n) = self.take_place(index, &key, &row, env).await? else {
                            self.affected += 1 + replaced;
                            self.copied += 1;
                            return Ok(());
                        };
                        replaced += n;
                        continue;
                    }
                    if !plan.on_duplicate.is_empty() {
                        let selected = Selected {
                            row: selected,
                            values: plan.columns.len(),
                            columns: &plan.beside,
                        };
                        let there = match self.ask_of_row(&key, &row, env, subs, &selected).await? {
                            Asked::Gone => continue,
                            Asked::Row(there) => Some(there),
                            Asked::Nothing => None,
                        };
                        let rest = OnlySubs {
                            subs,
                            outer: &selected,
                        };
                        let there = there.as_deref();
                        let updated = self
                            .update_there(&key, &row, there, env, &rest, found_rows)
                            .await?;
                        if updated {
                            return Ok(());
                        }
                        // The row that was in the way is gone, or another.
                        continue;
                    }
                    let e = duplicate(&plan.table, index, &row);
                    if !plan.ignore {
                        return Err(e);
                    }
                    self.duplicates += 1;
                    env.cx.warn_error(e);
                    return Ok(());
                }
            }
        }
    }

    /// Makes place for REPLACE: deletes the row in the way. `None` where that row is the very same.
    async fn take_place(
        &mut self,
        index: usize,
        key: &[u8],
        row: &[Value],
        env: &mut Env<'_>,
    ) -> Result<Option<u64>, SqlError> {
        let table = &self.plan.table;
        let last_unique = (0..table.def.indexes.len())
            .rev()
            .find(|&i| table.is_unique(i));
        let mut same = false;
        let deleted = env
            .session
            .delete_key(table, key, &mut |old| {
                same = last_unique == Some(index)
                    && row
                        .iter()
                        .enumerate()
                        .all(|(c, v)| same_value(v.as_ref(), old.column(c)));
                Ok(!same)
            })
            .await?;
        if same && !deleted {
            return Ok(None);
        }
        self.duplicates += u64::from(deleted);
        Ok(Some(u64::from(deleted)))
    }

    /// ON DUPLICATE KEY UPDATE; `false` where the row in the way is gone, or no longer the one that subqueries were asked for.
    async fn update_there(
        &mut self,
        key: &[u8],
        row: &[Value],
        there: Option<&[Value]>,
        env: &mut Env<'_>,
        rest: &dyn RowSource,
        found_rows: bool,
    ) -> Result<bool, SqlError> {
        let plan = self.plan;
        let cx = env.cx;
        let defaults = |c: u16| plan.defaults.get(usize::from(c));
        let edit = self.edit(&defaults);
        let line = self.line;
        let auto = self.auto;
        let mut new_row: Vec<Value> = Vec::new();
        let mut id = 0;
        let mut another = false;
        let outcome = env
            .session
            .update_key(&plan.table, key, &mut |old| {
                let same = |(c, v): (usize, &Value)| same_value(v.as_ref(), old.column(c));
                another = there.is_some_and(|t| !t.iter().enumerate().all(same));
                if another {
                    return Ok(None);
                }
                let new = edit.apply(old, row, rest, line, cx)?;
                new_row.clear();
                new_row.extend(new.iter().flatten().cloned());
                if let Some(c) = auto.map(usize::from) {
                    let v = old.column(c).to_owned();
                    id = whole(new_row.get(c).unwrap_or(&v)).unwrap_or(0);
                }
                Ok(new)
            })
            .await?;
        match outcome {
            Updated::NotFound => return Ok(false),
            Updated::Unchanged if another => return Ok(false),
            Updated::Unchanged => self.affected += u64::from(found_rows),
            Updated::Done => {
                self.affected += 2;
                self.duplicates += 1;
                self.copied += 1;
                self.given_id = id;
            }
            Updated::Duplicate { index, .. } => {
                let e = duplicate(&plan.table, index, &new_row);
                if !plan.ignore {
                    return Err(e);
                }
                cx.warn_error(e);
            }
        }
        Ok(true)
    }
}

/// A value of an AUTO_INCREMENT column as a number; `None` below zero.
pub(crate) fn whole(v: &Value) -> Option<u64> {
    match v {
        Value::Int(i) => u64::try_from(*i).ok(),
        Value::UInt(u) => Some(*u),
        Value::Float(f) if *f > 0.0 => Some(*f as u64),
        Value::Double(f) if *f > 0.0 => Some(*f as u64),
        _ => None,
    }
}
