//! INSERT and REPLACE, and the runs of rows of a LOAD DATA: rows are made, numbered and written one by one. What happens to a row that
//! is there already is [`on_duplicate`](super::on_duplicate)'s.

use engine::Inserted;
use types::{SqlError, Value};

use super::new_row::NewRows;
use super::numbers::{Number, Numbers};
use super::on_duplicate::{InTheWay, NewRow, OnDuplicate, Selected};
use super::table_writer::TableWriter;
use super::table_writer::foreign_keys::Related;
use super::table_writer::tally::Tally;
use crate::Env;
use crate::store::RowStore;
use crate::sub::SubValues;
use sql_expr::NoRow;
use sql_plan::plan::{InsertPlan, InsertRows};
use sql_plan::sink::Done;

/// An INSERT in progress.
struct Insert<'p> {
    plan: &'p InsertPlan,
    writer: TableWriter<'p>,
    rows: NewRows<'p>,
    numbers: Numbers<'p>,
    on_duplicate: OnDuplicate<'p>,
    tally: Tally,
    /// The row at hand, as messages count it.
    line: u64,
}

/// Runs an INSERT or REPLACE.
pub(crate) async fn run(
    plan: &InsertPlan,
    env: &mut Env<'_>,
    found_rows: bool,
) -> Result<Done, SqlError> {
    let mut auto_locked = false;
    let done = insert(plan, env, found_rows, &mut auto_locked).await;
    if auto_locked {
        env.session.unlock_auto_increment(&plan.table);
    }
    done
}

/// The same. `auto_locked`: the table's AUTO-INC lock is to be given back.
async fn insert(
    plan: &InsertPlan,
    env: &mut Env<'_>,
    found_rows: bool,
    auto_locked: &mut bool,
) -> Result<Done, SqlError> {
    let cx = env.cx;
    let mut subs = SubValues::new(&plan.subqueries, env, &NoRow).await?;
    let checks = SubValues::new(&plan.checks, env, &NoRow).await?;
    let related = Related::of(&plan.relations, 0, cx, env.security);
    let writer = TableWriter::new(&plan.table, plan.ignore, env.binlog)
        .related(related)
        .asking(&checks);
    let changing = writer.assigning(&plan.on_duplicate, &plan.touch);
    let changing = match base::mutant!("check-skipped-on-duplicate-key") {
        true => changing,
        false => changing.under(&plan.rules_of_changes),
    };
    let writer = writer.under(&plan.rules);
    let rows = NewRows::of(plan, cx);
    let mut w = Insert {
        plan,
        writer,
        numbers: Numbers::of(plan, cx),
        on_duplicate: OnDuplicate {
            plan,
            writer: changing,
            mode: rows.mode,
            auto: rows.auto,
            found_rows,
        },
        rows,
        tally: Tally::default(),
        line: cx.rows_before,
    };
    let total = match &plan.source {
        InsertRows::Values(rows) => {
            *auto_locked = env.session.lock_auto_increment(&plan.table, false).await?;
            for (i, row) in rows.iter().enumerate() {
                w.line += 1;
                let waits = NewRows::waits(row);
                if waits {
                    env.ahead(|| w.rows.of_values(row, w.line, cx, &subs))
                        .await?;
                }
                let made = loop {
                    let made = w.rows.of_values(row, w.line, cx, &subs);
                    if !waits {
                        break made?;
                    }
                    if let Some(made) = env.settle(made).await? {
                        break made;
                    }
                };
                let left = (rows.len() - i) as u64;
                w.put(made, left, env, &mut subs, None).await?;
                if env.due() {
                    env.pause().await?;
                }
            }
            rows.len() as u64
        }
        InsertRows::Query(q) => {
            let mut rows = RowStore::new(q.types.len(), cx.memory());
            env.query(q, &NoRow, &mut rows, u64::MAX).await?;
            env.check()?;
            // How many rows there are is known by now. What counts is that MySQL does not know.
            *auto_locked = env.session.lock_auto_increment(&plan.table, true).await?;
            for i in 0..rows.len() {
                if env.due() {
                    env.pause().await?;
                }
                w.line += 1;
                let made = w.rows.of_selected(&rows, i, w.line, cx, &subs)?;
                let left = (rows.len() - i) as u64;
                w.put(made, left, env, &mut subs, Some((&rows, i))).await?;
            }
            rows.len() as u64
        }
    };
    if total == 1 && matches!(plan.source, InsertRows::Values(_)) {
        return Ok(w.tally.of_one_row());
    }
    Ok(w.tally.of_insert(total, plan.ignore, cx.warning_count()))
}

impl Insert<'_> {
    /// Writes a row. `left` is how many are still to come, this one included.
    async fn put(
        &mut self,
        mut row: Vec<Value>,
        left: u64,
        env: &mut Env<'_>,
        subs: &mut SubValues,
        selected: Option<(&RowStore, usize)>,
    ) -> Result<(), SqlError> {
        if !self.writer.admits(&row, env.cx)? {
            self.tally.not_admitted();
            return Ok(());
        }
        let place = (self.line, left);
        let before = self.numbers.place();
        let number = self
            .numbers
            .fill(&mut row, &self.rows, place, env.session, env.cx)?;
        let generated = match number {
            Number::None => None,
            Number::Generated(id) => {
                self.tally.has_id(id);
                Some(id)
            }
            Number::Given(id) | Number::Outside(id) => {
                self.tally.has_id(id);
                None
            }
        };
        let row = NewRow {
            values: &row,
            line: self.line,
            selected: Selected {
                row: selected,
                values: self.plan.columns.len(),
                columns: &self.plan.source_columns,
            },
        };
        let mut replaced = 0;
        let mut was = None;
        loop {
            let inserted = self
                .writer
                .insert_row(env.session, row.values, was.as_deref(), env.cx);
            let (index, key) = match inserted.await? {
                None => {
                    self.numbers.take_back(before, &number);
                    return Ok(());
                }
                Some(Inserted::Done) => {
                    self.numbers.written(&number, env.session);
                    self.tally.inserted(replaced, generated);
                    return Ok(());
                }
                Some(Inserted::Duplicate { index, key }) => (index, key),
            };
            let met = (index, &key[..]);
            let tally = &mut self.tally;
            match self
                .on_duplicate
                .in_the_way(met, &row, env, subs, tally)
                .await?
            {
                InTheWay::Removed(row) => {
                    replaced += 1;
                    was = row;
                }
                InTheWay::Gone => {}
                InTheWay::TheSame => {
                    self.tally.inserted(replaced, None);
                    return Ok(());
                }
                InTheWay::Stays => {
                    self.numbers.take_back(before, &number);
                    return Ok(());
                }
            }
        }
    }
}
