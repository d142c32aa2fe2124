//! The one way in which rows of a table change: INSERT, REPLACE, UPDATE, DELETE and LOAD DATA go through it, and the rows of
//! `mysql.*` that account statements write.
//!
//! A change has three parts, and each stands here once:
//!
//! - *before* it, with the old and the new row at hand: whether there is anything to change, and what changes of itself;
//! - the change, which the engine makes whole or not at all;
//! - *after* it: what the answer means for the statement. A row that is refused is the statement's error, or a warning under
//!   IGNORE ([`TableWriter::refuse`]); [`tally`] counts.
//!
//! Before and after see every change, whichever way its row was found. What is to hold of rows belongs there: foreign keys
//! are [`foreign_keys`], and what they lead to is [`cascade`].
//!
//! Never here: how rows are found, and what values they are given.

// Here rows change, and nowhere else (clippy.toml).
#![allow(clippy::disallowed_methods)]

mod cascade;
pub(crate) mod foreign_keys;
mod logged;
pub(crate) mod tally;

use std::sync::Arc;

use engine::{
    IndexKind, Inserted, Isolation, RowRef, RowRequest, RowVersion, Session, Table, Updated,
    Written,
};
use types::{SqlError, Value};

use super::row_rules::{CheckRow as _, generated_value, key_text};
use super::values::{convert_mode, now_value, same_value};
use crate::change_log::{BinlogContext, Row};
use crate::sub::SubValues;
use foreign_keys::Related;
use sql_expr::EvalCtx;
use sql_plan::bind::row_rules::RowRules;
use sql_plan::plan::Assign;

/// Changes the rows of one table for one statement.
#[derive(Clone, Copy)]
pub struct TableWriter<'p> {
    table: &'p Arc<Table>,
    /// IGNORE.
    ignore: bool,
    /// What is assigned to rows that are there.
    assigns: &'p [Assign],
    /// Columns that take the statement's time when such a row changes.
    touch: &'p [u16],
    /// What is to hold of the rows.
    rules: Option<&'p RowRules>,
    /// The subqueries of those of views.
    asked: Option<&'p SubValues>,
    /// The foreign keys that the changes meet, while `foreign_key_checks` is on.
    related: Option<Related<'p>>,
    /// Who is told of the changes.
    binlog: Option<BinlogContext<'p>>,
}

/// What came of a row that was to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// There is no such row, or it is not wanted any more.
    Absent,
    /// It has the new values already.
    Same,
    /// It is changed.
    Done,
    /// It was refused, and IGNORE goes on with the next one.
    Refused,
}

impl<'p> TableWriter<'p> {
    /// For rows that are inserted or deleted. The changes are told to whoever keeps them for the binary log, but of tables that end with their
    /// session and of those of `mysql`, which change with statements about accounts, and of databases of which nothing is kept.
    pub fn new(
        table: &'p Arc<Table>,
        ignore: bool,
        binlog: Option<BinlogContext<'p>>,
    ) -> TableWriter<'p> {
        let is_kept = |binlog: &BinlogContext<'_>| {
            let def = &table.def;
            !def.is_temporary() && def.schema != "mysql" && binlog.log().keeps(&def.schema)
        };
        TableWriter {
            table,
            ignore,
            assigns: &[],
            touch: &[],
            rules: None,
            asked: None,
            related: None,
            binlog: binlog.filter(is_kept),
        }
    }

    /// For rows of which this is to hold.
    pub fn under(self, rules: &'p RowRules) -> TableWriter<'p> {
        TableWriter {
            rules: Some(rules),
            ..self
        }
    }

    /// With the values of the subqueries that CHECK OPTION asks.
    pub fn asking(self, subs: &'p SubValues) -> TableWriter<'p> {
        TableWriter {
            asked: Some(subs),
            ..self
        }
    }

    /// For changes that meet these foreign keys.
    pub(crate) fn related(self, related: Option<Related<'p>>) -> TableWriter<'p> {
        TableWriter { related, ..self }
    }

    /// For rows that get these assignments, and where they change the statement's time in the columns `touch`.
    pub fn assigning(self, assigns: &'p [Assign], touch: &'p [u16]) -> TableWriter<'p> {
        TableWriter {
            assigns,
            touch,
            ..self
        }
    }

    /// The table.
    #[inline]
    pub fn table(&self) -> &'p Arc<Table> {
        self.table
    }

    /// What is assigned to rows that are there, in order.
    #[inline]
    pub fn assigns(&self) -> &'p [Assign] {
        self.assigns
    }

    /// Before a row is inserted, which is complete but for its AUTO_INCREMENT value: whether it is to be. A row that violates a CHECK
    /// constraint or the CHECK OPTION of a view is not, also where it would have been one that changes another.
    ///
    /// # Errors
    /// 3819, 1369; what evaluation fails with.
    #[inline]
    pub fn admits(&self, row: &[Value], cx: &EvalCtx<'_>) -> Result<bool, SqlError> {
        let Some(rules) = self.rules.filter(|r| !r.is_open()) else {
            return Ok(true);
        };
        match rules.violated(row, self.asked, cx)? {
            None => Ok(true),
            Some(which) => self.refuse(rules.violation(which), cx).map(|()| false),
        }
    }

    /// Inserts a row, which is complete, into a table without foreign keys. After `Duplicate` nothing was changed.
    ///
    /// # Errors
    /// What the engine fails with.
    #[inline]
    pub async fn insert(&self, s: &mut Session, row: &[Value]) -> Result<Inserted, SqlError> {
        let inserted = s.insert(self.table, row).await?;
        self.log_insert(s, &inserted, row).await?;
        Ok(inserted)
    }

    /// Inserts a row, which is complete. After `Duplicate` nothing was changed. `None` where it has no parent, and IGNORE goes on. `was` is a row in
    /// whose place it comes: a parent that that one had, or lacked, is not looked for again.
    ///
    /// # Errors
    /// 1452; what the engine fails with.
    #[inline]
    pub async fn insert_row(
        &self,
        s: &mut Session,
        row: &[Value],
        was: Option<&[Value]>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Inserted>, SqlError> {
        let Some(related) = self.related else {
            return self.insert(s, row).await.map(Some);
        };
        // In a box, as most tables have none.
        Box::pin(async move {
            let mark = s.mark();
            let inserted = related.insert(self.table, s, row, was).await;
            let inserted = self.unless_refused(s, mark, inserted, cx).await?;
            if let Some(inserted) = &inserted {
                self.log_insert(s, inserted, row).await?;
            }
            Ok(inserted)
        })
        .await
    }

    /// Whether the row that an insert met is there still; it stays then until the transaction has ended.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn keep_duplicate(
        &self,
        s: &mut Session,
        index: usize,
        key: &[u8],
        values: &[Value],
    ) -> Result<bool, SqlError> {
        // Snapshot isolation goes by what it saw, not by locks.
        if s.isolation() == Isolation::Snapshot {
            return Ok(true);
        }
        s.lock_duplicate(self.table, index, key, values).await
    }

    /// Before a row changes: the row that is to come, as the assignments have left it, with what changes of itself. `None` where nothing
    /// changes, and where it violates a CHECK constraint, which `violated` then says.
    #[inline]
    fn before_update(
        &self,
        old: RowRef<'_>,
        mut new: Vec<Value>,
        line: u64,
        cx: &EvalCtx<'_>,
        violated: &mut Option<usize>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let differs = |a: &Assign| {
            let c = usize::from(a.column);
            !same_value(new[c].as_ref(), old.column(c))
        };
        if !self.assigns.iter().any(differs) {
            return Ok(None);
        }
        for &c in self.touch {
            let c = usize::from(c);
            new[c] = now_value(&self.table.def.columns[c].ty, cx);
        }
        let Some(rules) = self.rules else {
            return Ok(Some(new));
        };
        self.generate(rules, &mut new, line, cx)?;
        *violated = rules.violated(&new, self.asked, cx)?;
        Ok(violated.is_none().then_some(new))
    }

    /// Computes the generated columns that change with the assignments.
    #[inline]
    fn generate(
        &self,
        rules: &RowRules,
        row: &mut [Value],
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        if rules.generated.is_empty() || base::mutant!("generated-column-not-computed-again") {
            return Ok(());
        }
        let mode = convert_mode(cx, self.ignore);
        for (c, e) in &rules.generated {
            row[usize::from(*c)] = generated_value(e, self.table, *c, row, line, &mode, cx)?;
        }
        Ok(())
    }

    /// After a row was to be changed.
    fn after_update(
        &self,
        outcome: Updated,
        matched: bool,
        new: &[Value],
        cx: &EvalCtx<'_>,
    ) -> Result<Change, SqlError> {
        Ok(match outcome {
            Updated::NotFound => Change::Absent,
            Updated::Unchanged if matched => Change::Same,
            Updated::Unchanged => Change::Absent,
            Updated::Done => Change::Done,
            Updated::Duplicate { index, .. } => {
                self.refuse(self.duplicate(index, new), cx)?;
                Change::Refused
            }
        })
    }

    /// Changes the row with this full clustered key. `new` gives it as the assignments leave it, `None` where it is not wanted; it is
    /// called under the page's latch, for each version of the row that is met.
    ///
    /// # Errors
    /// 1062; 1451, 1452 and others of foreign keys; what `new` and the engine fail with.
    pub(crate) async fn update_key(
        &self,
        s: &mut Session,
        key: &[u8],
        line: u64,
        cx: &EvalCtx<'_>,
        mut new: impl FnMut(RowRef<'_>) -> Result<Option<Vec<Value>>, SqlError> + Send,
    ) -> Result<Change, SqlError> {
        let mut matched = false;
        // For the message, and for foreign keys.
        let (mut before, mut after): (Vec<Value>, Vec<Value>) = Default::default();
        let related = self.related.is_some();
        let rows_wanted = related || self.binlog.is_some();
        let can_collide = rows_wanted || self.can_collide();
        let mut violated = None;
        let mark = s.mark();
        let outcome = loop {
            let mut request = |old: RowRef<'_>| {
                let wanted = new(old)?;
                matched = wanted.is_some();
                violated = None;
                let Some(row) = wanted else {
                    return Ok(RowRequest::Skip);
                };
                let made = self.before_update(old, row, line, cx, &mut violated)?;
                if can_collide {
                    after.clear();
                    after.extend(made.iter().flatten().cloned());
                }
                if rows_wanted {
                    before = old.to_values();
                }
                Ok(made.map_or(RowRequest::Keep, RowRequest::Change))
            };
            let outcome = s.change_key(self.table, key, &mut request).await?;
            if self.is_in_the_way(s, &outcome, &after).await? {
                break outcome;
            }
        };
        if let Some(refused) = self.refuse_violation(violated, cx)? {
            return Ok(refused);
        }
        if related && matches!(outcome, Updated::Duplicate { .. }) {
            let rows = (&before[..], &after[..]);
            let first = self.refused_before(s, &outcome, rows, cx);
            if let Some(refused) = Box::pin(first).await? {
                return Ok(refused);
            }
        }
        match self.after_update(outcome, matched, &after, cx)? {
            Change::Done if rows_wanted => {
                let rows = (&before[..], &after[..]);
                Box::pin(self.after_change(s, mark, rows, cx)).await
            }
            change => Ok(change),
        }
    }

    /// Where a change has met a row that has the same value in a unique index: whether that is there still. It stays then, as for an insert; else
    /// the change is tried again.
    async fn is_in_the_way(
        &self,
        s: &mut Session,
        outcome: &Updated,
        new: &[Value],
    ) -> Result<bool, SqlError> {
        match outcome {
            // Values that cannot collide were not kept.
            Updated::Duplicate { index, key } if !new.is_empty() => {
                Box::pin(self.keep_duplicate(s, *index, key, new)).await
            }
            _ => Ok(true),
        }
    }

    /// A row is not changed because of what it would violate: that is refused as other things are.
    fn refuse_violation(
        &self,
        violated: Option<usize>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Change>, SqlError> {
        let (Some(which), Some(rules)) = (violated, self.rules) else {
            return Ok(None);
        };
        self.refuse(rules.violation(which), cx)?;
        Ok(Some(Change::Refused))
    }

    /// As [`update_key`](Self::update_key), where nothing has to be waited for and no index but the clustered one has a column that
    /// is assigned. `None` where that is not so and where it would fail: nothing was changed, and `new` will be called again.
    #[inline]
    pub(crate) fn update_key_now(
        &self,
        s: &mut Session,
        key: &[u8],
        cx: &EvalCtx<'_>,
        mut new: impl FnMut(RowRef<'_>) -> Result<Option<Vec<Value>>, SqlError> + Send,
    ) -> Option<Change> {
        // What cannot be told would have to be undone, which waits.
        if self.binlog.is_some_and(|t| !t.log().admits(self.table)) {
            return None;
        }
        let mut matched = false;
        let mut violated = None;
        let mut make = |old: RowRef<'_>| {
            let wanted = new(old)?;
            matched = wanted.is_some();
            let Some(row) = wanted else {
                return Ok(RowRequest::Skip);
            };
            let made = self.before_update(old, row, 1, cx, &mut violated)?;
            Ok(made.map_or(RowRequest::Keep, RowRequest::Change))
        };
        let outcome = match &self.binlog {
            None => s.update_key_now(self.table, key, &mut make)?,
            Some(binlog) => {
                // The rows are told as the engine has stored them, which costs no copies of their values.
                let mut changed = s.changed_row();
                let outcome = s.update_key_now_keeping(self.table, key, &mut make, &mut changed);
                if matches!(outcome, Some(Updated::Done)) {
                    let before = Row::Stored(changed.before(self.table));
                    let after = Row::Stored(changed.after(self.table));
                    let kept = binlog
                        .log()
                        .row(s, binlog, self.table, Some(before), Some(after));
                    debug_assert!(kept.is_ok(), "a row of a table that is admitted: {kept:?}");
                }
                s.keep_changed_row(changed);
                outcome?
            }
        };
        match outcome {
            Updated::Duplicate { .. } => None,
            _ if violated.is_some() => None,
            outcome => self.after_update(outcome, matched, &[], cx).ok(),
        }
    }

    /// Changes a row that was read as `old`, in that version, to what `new` says. `None` where it has another one by now.
    ///
    /// # Errors
    /// 1062; 1451, 1452 and others of foreign keys; what `new` and the engine fail with.
    pub(crate) async fn update_seen(
        &self,
        s: &mut Session,
        (key, version): (&[u8], RowVersion),
        old: RowRef<'_>,
        (new, line): (Result<Vec<Value>, SqlError>, u64),
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Change>, SqlError> {
        let mut violated = None;
        let made = new.and_then(|row| self.before_update(old, row, line, cx, &mut violated));
        if !matches!(made, Ok(Some(_))) && !s.lock_seen(self.table, key, version).await? {
            return Ok(None);
        }
        let Some(new) = made? else {
            let refused = self.refuse_violation(violated, cx)?;
            return Ok(Some(refused.unwrap_or(Change::Same)));
        };
        let mark = s.mark();
        let outcome = match s.update(self.table, key, version, &new).await? {
            Written::Moved => return Ok(None),
            Written::Done => Updated::Done,
            Written::Gone => Updated::NotFound,
            Written::Duplicate { index, key } => Updated::Duplicate { index, key },
        };
        if !self.is_in_the_way(s, &outcome, &new).await? {
            return Ok(None);
        }
        if self.related.is_some() && matches!(outcome, Updated::Duplicate { .. }) {
            let before = old.to_values();
            let first = self.refused_before(s, &outcome, (&before, &new), cx);
            if let Some(refused) = Box::pin(first).await? {
                return Ok(Some(refused));
            }
        }
        match self.after_update(outcome, true, &new, cx)? {
            Change::Done if self.related.is_some() || self.binlog.is_some() => {
                let before = old.to_values();
                let rows = (&before[..], &new[..]);
                let change = Box::pin(self.after_change(s, mark, rows, cx)).await;
                change.map(Some)
            }
            change => Ok(Some(change)),
        }
    }

    /// Locks the row with this full clustered key and gives it as it is, where there is one.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn lock(&self, s: &mut Session, key: &[u8]) -> Result<Option<Vec<Value>>, SqlError> {
        let mut there = Vec::new();
        let mut look = |row: RowRef<'_>| {
            there = row.to_values();
            Ok(None)
        };
        let looked = s.update_key(self.table, key, &mut look).await?;
        Ok((looked != Updated::NotFound).then_some(there))
    }

    /// Deletes the row with this full clustered key of a table without foreign keys, as [`delete_row`](Self::delete_row) does.
    ///
    /// # Errors
    /// What `wanted` and the engine fail with.
    pub async fn delete_key(
        &self,
        s: &mut Session,
        key: &[u8],
        mut wanted: impl FnMut(RowRef<'_>) -> Result<bool, SqlError> + Send,
    ) -> Result<bool, SqlError> {
        debug_assert!(self.binlog.is_none(), "nobody is binlog of it");
        s.delete_key(self.table, key, &mut wanted).await
    }

    /// Deletes the row with this full clustered key, if there is one and it is to [change](RowRequest::Change); whether it did. `wanted` is called under the
    /// page's latch, for each version of the row that is met.
    ///
    /// # Errors
    /// 1451 and others of foreign keys; what `wanted` and the engine fail with.
    pub async fn delete_row(
        &self,
        s: &mut Session,
        key: &[u8],
        cx: &EvalCtx<'_>,
        mut wanted: impl FnMut(RowRef<'_>) -> Result<RowRequest<()>, SqlError> + Send,
    ) -> Result<bool, SqlError> {
        if self.related.is_none() && self.binlog.is_none() {
            return s.remove_key(self.table, key, &mut wanted).await;
        }
        let mark = s.mark();
        let mut before = Vec::new();
        let gone = s
            .remove_key(self.table, key, &mut |row| {
                before = row.to_values();
                wanted(row)
            })
            .await?;
        Ok(gone && Box::pin(self.after_delete(s, mark, &before, cx)).await?)
    }

    /// Deletes a row that was read as `old`, in that version; whether it was there. `None` where it has another one by now.
    ///
    /// # Errors
    /// 1451 and others of foreign keys; what the engine fails with.
    pub async fn delete_seen(
        &self,
        s: &mut Session,
        (key, version): (&[u8], RowVersion),
        old: RowRef<'_>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let mark = s.mark();
        Ok(match s.delete(self.table, key, version).await? {
            Written::Done if self.related.is_some() || self.binlog.is_some() => {
                let before = old.to_values();
                Some(Box::pin(self.after_delete(s, mark, &before, cx)).await?)
            }
            Written::Done => Some(true),
            Written::Gone | Written::Duplicate { .. } => Some(false),
            Written::Moved => None,
        })
    }

    /// A row is refused: that is the statement's error, or under IGNORE a warning.
    ///
    /// # Errors
    /// `e`, without IGNORE.
    pub fn refuse(&self, e: SqlError, cx: &EvalCtx<'_>) -> Result<(), SqlError> {
        if !self.ignore {
            return Err(e);
        }
        cx.warn_error(e);
        Ok(())
    }

    /// Whether the assignments can meet a duplicate, so that the new row is needed for the message.
    fn can_collide(&self) -> bool {
        let assigned = |c: u16| {
            self.touch.contains(&c)
                || self.assigns.iter().any(|a| a.column == c)
                || self.rules.is_some_and(|r| r.generates(c))
        };
        self.table.def.indexes.iter().any(|i| {
            matches!(i.kind, IndexKind::Primary | IndexKind::Unique)
                && i.parts.iter().any(|p| assigned(p.column))
        })
    }

    /// Error 1062 for a row that is in a unique index already.
    pub fn duplicate(&self, index: usize, row: &[Value]) -> SqlError {
        let def = &self.table.def.indexes[index];
        let mut entry = String::new();
        for (i, p) in def.parts.iter().enumerate() {
            if i > 0 {
                entry.push('-');
            }
            let column = usize::from(p.column);
            let text = match row.get(column) {
                None | Some(Value::Null) => "NULL".to_owned(),
                Some(v) => key_text(&self.table.def.columns[column], v),
            };
            match p.prefix {
                0 => entry.push_str(&text),
                n => entry.extend(text.chars().take(n as usize)),
            }
        }
        SqlError::dup_entry(&entry, &format!("{}.{}", self.table.def.name, def.name))
    }
}
