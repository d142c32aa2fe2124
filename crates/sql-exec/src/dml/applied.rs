//! Rows that another server has changed, changed here: they come as images, before and after, and no statement says which they are. They
//! are found by the primary key, by a unique index without NULL, else by a scan that looks for all of them at once.
//!
//! The changes themselves are the table writer's: generated columns are computed here, CHECK constraints evaluated, and foreign keys followed.
//!
//! Never here: what the bytes of an image mean, and how a type of the other server becomes one of this.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use engine::{
    IndexKind, Inserted, KeyBound, ReadMode, RowBatch, RowRef, RowRequest, ScanSpec, Table,
};
use types::convert::{ConvertMode, to_text};
use types::error::codes;
use types::keyenc::encode_key;
use types::{SqlError, Value, ValueRef};

use super::row_rules::generated_value;
use super::table_writer::foreign_keys::Related;
use super::table_writer::{Change, TableWriter};
use super::values::{convert_mode, default_value, same_value};
use crate::change_log::BinlogContext;
use crate::row::Built;
use sql_access::SecurityContext;
use sql_expr::json::diff::{self, Diff};
use sql_expr::{EvalCtx, NoRow};
use sql_plan::bind::row_rules::RowRules;
use sql_plan::plan::{DefaultPlan, DeletePlan, InsertPlan, UpdatePlan};

/// Rows that are read before any of them is changed.
const BATCH: usize = 128;

/// A row of the other server, by the columns of the table here; `None`: it does not say.
pub type Image = Vec<Option<Value>>;

/// A document of which the other server says only what has changed in it.
#[derive(Debug, Clone)]
pub struct Part {
    /// The column.
    pub column: usize,
    /// The changes.
    pub diffs: Vec<Diff>,
}

/// What was done with a row.
#[derive(Debug, Clone)]
pub enum RowChange {
    /// It was inserted.
    Insert(Image),
    /// It was changed: before, and after, which does not say what has changed in parts.
    Update(Image, Image, Vec<Part>),
    /// It was deleted.
    Delete(Image),
}

impl RowChange {
    /// The row before.
    fn before(&self) -> Option<&Image> {
        match self {
            RowChange::Insert(_) => None,
            RowChange::Update(old, ..) | RowChange::Delete(old) => Some(old),
        }
    }
}

/// What changes of a table's rows need.
#[derive(Clone, Copy)]
pub struct Target<'p> {
    /// How a row comes in.
    pub insert: &'p InsertPlan,
    /// How one is changed.
    pub update: &'p UpdatePlan,
    /// How one goes.
    pub delete: &'p DeletePlan,
    /// All that is to hold of its rows.
    pub rules: &'p RowRules,
    /// A row that is in the way goes, one that is missing is passed over: `replica_exec_mode` is IDEMPOTENT.
    pub idempotent: bool,
}

/// How rows are found.
enum Way {
    /// By the whole clustered key.
    Key,
    /// By this unique index.
    Unique(usize),
    /// By looking at all.
    Scan,
}

/// Applies changes of one table's rows, in order.
pub struct Applying<'p> {
    target: Target<'p>,
    session: &'p mut engine::Session,
    cx: &'p EvalCtx<'p>,
    security: &'p SecurityContext,
    binlog: Option<BinlogContext<'p>>,
    mode: ConvertMode,
}

impl<'p> Applying<'p> {
    /// Nothing is changed yet. `security`: whose rights foreign keys' errors go by.
    pub fn new(
        target: Target<'p>,
        session: &'p mut engine::Session,
        cx: &'p EvalCtx<'p>,
        security: &'p SecurityContext,
        binlog: Option<BinlogContext<'p>>,
    ) -> Applying<'p> {
        Applying {
            target,
            session,
            cx,
            security,
            binlog,
            mode: convert_mode(cx, false),
        }
    }

    fn table(&self) -> &'p Arc<Table> {
        &self.target.insert.table
    }

    /// Applies them, which are all of one kind and have the same columns.
    ///
    /// # Errors
    /// 1032: a row is not there; 1062, and what else the writer of rows refuses.
    pub async fn apply(&mut self, changes: &[RowChange]) -> Result<(), SqlError> {
        let Some(first) = changes.first() else {
            return Ok(());
        };
        let Some(image) = first.before() else {
            for c in changes {
                if let RowChange::Insert(row) = c {
                    self.insert(row).await?;
                }
            }
            return Ok(());
        };
        match way(self.table(), image) {
            Way::Scan => self.by_scan(changes).await,
            Way::Key => {
                for c in changes {
                    let key = c.before().and_then(|row| key_of(self.table(), 0, row));
                    self.at(c, key).await?;
                }
                Ok(())
            }
            Way::Unique(index) => {
                for c in changes {
                    let key = match c.before() {
                        Some(row) => self.look_up(index, row).await?,
                        None => None,
                    };
                    self.at(c, key).await?;
                }
                Ok(())
            }
        }
    }

    async fn insert(&mut self, image: &Image) -> Result<(), SqlError> {
        let row = self.complete(image)?;
        let writer = TableWriter::new(self.table(), false, self.binlog)
            .under(self.target.rules)
            .related(Related::of(
                &self.target.insert.relations,
                0,
                self.cx,
                self.security,
            ));
        writer.admits(&row, self.cx)?;
        loop {
            let inserted = writer.insert_row(self.session, &row, None, self.cx).await?;
            match inserted {
                None | Some(Inserted::Done) => return Ok(()),
                Some(Inserted::Duplicate { key, .. }) if self.target.idempotent => {
                    self.delete_at(&key, None).await?;
                }
                Some(Inserted::Duplicate { index, .. }) => {
                    return Err(writer.duplicate(index, &row));
                }
            }
        }
    }

    /// A row that is to be inserted, with what its image does not say.
    fn complete(&mut self, image: &Image) -> Result<Vec<Value>, SqlError> {
        let table = self.table();
        let mut row: Vec<Value> = image
            .iter()
            .cloned()
            .map(Option::unwrap_or_default)
            .collect();
        row.resize(table.def.columns.len(), Value::Null);
        for (c, default) in self.target.insert.defaults.iter().enumerate() {
            if image.get(c).is_some_and(Option::is_some) {
                continue;
            }
            row[c] = match default {
                DefaultPlan::Generated(_) => continue,
                DefaultPlan::Auto => Value::UInt(self.session.auto_increment(table, 1)?),
                default => {
                    let built = Built {
                        slot: self.target.insert.slot,
                        values: &row,
                        inserted: &[],
                        rest: &NoRow,
                    };
                    default_value(default, table, c as u16, &built, 1, &self.mode, self.cx)?
                }
            };
        }
        if let Some(c) = table.def.auto_increment_column()
            && let Some(v) = super::numbers::whole(&row[c])
        {
            self.session.observe_auto_increment(table, v);
        }
        for (c, e) in &self.target.rules.generated {
            let v = generated_value(e, table, *c, &row, 1, &self.mode, self.cx)?;
            row[usize::from(*c)] = v;
        }
        Ok(row)
    }

    /// Changes the row with this clustered key.
    async fn at(&mut self, change: &RowChange, key: Option<Vec<u8>>) -> Result<(), SqlError> {
        let done = match (change, key) {
            (_, None) => false,
            (RowChange::Update(_, after, parts), Some(key)) => {
                self.update_at(&key, (after, parts), None).await?
            }
            (_, Some(key)) => self.delete_at(&key, None).await?,
        };
        match done || self.target.idempotent {
            true => Ok(()),
            false => Err(missing(self.table())),
        }
    }

    /// Gives the row with this clustered key the values of `after`, if it is still the one of `before`; whether it was.
    async fn update_at(
        &mut self,
        key: &[u8],
        (after, parts): (&Image, &[Part]),
        before: Option<&Image>,
    ) -> Result<bool, SqlError> {
        let update = &self.target.update;
        let Some(target) = update.targets.first() else {
            return Err(SqlError::internal("an UPDATE that changes nothing"));
        };
        let table = self.table();
        let writer = TableWriter::new(table, false, self.binlog)
            .under(self.target.rules)
            .related(Related::of(&update.relations, 0, self.cx, self.security))
            .assigning(&target.assigns, &[]);
        let change = writer
            .update_key(self.session, key, 1, self.cx, |old| {
                if before.is_some_and(|b| !is_row(table, b, old)) {
                    return Ok(None);
                }
                let mut new = old.to_values();
                for (v, a) in new.iter_mut().zip(after) {
                    if let Some(a) = a {
                        v.clone_from(a);
                    }
                }
                for p in parts {
                    change_in_part(table, p, &mut new)?;
                }
                Ok(Some(new))
            })
            .await?;
        Ok(change != Change::Absent)
    }

    /// Deletes the row with this clustered key, if it is still the one of `before`; whether it was.
    async fn delete_at(&mut self, key: &[u8], before: Option<&Image>) -> Result<bool, SqlError> {
        let table = self.table();
        let relations = &self.target.delete.relations;
        TableWriter::new(table, false, self.binlog)
            .related(Related::of(relations, 0, self.cx, self.security))
            .delete_row(self.session, key, self.cx, |old| {
                Ok(match before.is_none_or(|b| is_row(table, b, old)) {
                    true => RowRequest::Change(()),
                    false => RowRequest::Skip,
                })
            })
            .await
    }

    /// The clustered key of the row with these values of a unique index.
    async fn look_up(&mut self, index: usize, image: &Image) -> Result<Option<Vec<u8>>, SqlError> {
        let Some(key) = key_of(self.table(), index, image) else {
            return Ok(None);
        };
        let spec = ScanSpec {
            index,
            lower: KeyBound::Included(key.clone()),
            upper: KeyBound::Included(key),
            backward: false,
            mode: ReadMode::Current,
        };
        let mut scan = self.session.scan(self.table(), spec);
        let mut batch = RowBatch::new();
        loop {
            batch.clear();
            let more = self
                .session
                .next_batch(&mut scan, &mut batch, 1, &mut |_| Ok(true))
                .await?;
            if !batch.is_empty() {
                return Ok(Some(batch.key(0).to_vec()));
            }
            if !more {
                return Ok(None);
            }
        }
    }

    /// Looks at all rows of the table, and changes those that are meant as they come. What one change makes may be what another is to
    /// change, so it is looked for again as long as any is found.
    async fn by_scan(&mut self, changes: &[RowChange]) -> Result<(), SqlError> {
        let table = self.table();
        let mut wanted: HashMap<u64, Vec<usize>> = HashMap::new();
        // The last first: they are taken from the end.
        for (n, c) in changes.iter().enumerate().rev() {
            if let Some(image) = c.before() {
                let value = |at: usize| image[at].as_ref().map(Value::as_ref);
                wanted.entry(hash_of(table, &value)).or_default().push(n);
            }
        }
        let Some(columns) = changes.first().and_then(RowChange::before) else {
            return Ok(());
        };
        let hash_row = |row: RowRef<'_>| {
            let value = |at: usize| columns[at].as_ref().map(|_| row.column(at));
            hash_of(table, &value)
        };
        let mut left = changes.len();
        while left > 0 {
            let before = left;
            let spec = ScanSpec {
                index: 0,
                lower: KeyBound::None,
                upper: KeyBound::None,
                backward: false,
                mode: ReadMode::Current,
            };
            let mut scan = self.session.scan(table, spec);
            let mut batch = RowBatch::new();
            let mut more = true;
            while more && left > 0 {
                self.session.check_interrupt()?;
                batch.clear();
                more = self
                    .session
                    .next_batch(&mut scan, &mut batch, BATCH, &mut |row| {
                        Ok(wanted.contains_key(&hash_row(row)))
                    })
                    .await?;
                for i in 0..batch.len() {
                    let hash = hash_row(batch.row(i));
                    let Some(list) = wanted.get_mut(&hash) else {
                        continue;
                    };
                    let is = |n: &usize| {
                        let image = changes[*n].before();
                        image.is_some_and(|b| is_row(table, b, batch.row(i)))
                    };
                    let Some(at) = list.iter().rposition(is) else {
                        continue;
                    };
                    let n = list[at];
                    if !self.if_still(&changes[n], batch.key(i)).await? {
                        continue;
                    }
                    list.remove(at);
                    if list.is_empty() {
                        wanted.remove(&hash);
                    }
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
        match left == 0 || self.target.idempotent {
            true => Ok(()),
            false => Err(missing(table)),
        }
    }

    async fn if_still(&mut self, change: &RowChange, key: &[u8]) -> Result<bool, SqlError> {
        match change {
            RowChange::Insert(_) => Ok(false),
            RowChange::Update(before, after, parts) => {
                self.update_at(key, (after, parts), Some(before)).await
            }
            RowChange::Delete(before) => self.delete_at(key, Some(before)).await,
        }
    }
}

/// Makes of a document here what it is at the other server.
fn change_in_part(table: &Table, part: &Part, row: &mut [Value]) -> Result<(), SqlError> {
    let changed = match row.get(part.column) {
        Some(Value::Str(document, collation)) => {
            let text = diff::changed(document, &part.diffs)?;
            text.map(|t| Value::Str(t, *collation))
        }
        _ => None,
    };
    let Some(changed) = changed else {
        return Err(SqlError::new(
            codes::ER_COULD_NOT_APPLY_JSON_DIFF,
            format!(
                "Could not apply JSON diff in table {}, column {}.",
                table.def.name, table.def.columns[part.column].name
            ),
        ));
    };
    row[part.column] = changed;
    Ok(())
}

/// Error 1032.
fn missing(table: &Table) -> SqlError {
    SqlError::new(
        codes::ER_KEY_NOT_FOUND,
        format!("Can't find record in '{}'", table.def.name),
    )
}

/// How rows are found of which the images say what this one says.
fn way(table: &Table, image: &Image) -> Way {
    let says = |c: usize| image.get(c).is_some_and(Option::is_some);
    let serves = |index: usize| {
        let def = &table.def.indexes[index];
        matches!(def.kind, IndexKind::Primary | IndexKind::Unique)
            && def.parts.iter().all(|p| {
                let c = usize::from(p.column);
                let column = &table.def.columns[c];
                p.prefix == 0 && !column.nullable && column.generated.is_none() && says(c)
            })
    };
    match serves(0) {
        true => Way::Key,
        false => match (1..table.def.indexes.len()).find(|i| serves(*i)) {
            Some(index) => Way::Unique(index),
            None => Way::Scan,
        },
    }
}

/// The key of a row in an index; `None`: a column of it is NULL, or not said.
fn key_of(table: &Table, index: usize, image: &Image) -> Option<Vec<u8>> {
    let mut values = Vec::new();
    for c in table.index_columns(index) {
        match image.get(c)? {
            Some(Value::Null) | None => return None,
            Some(v) => values.push(v.as_ref()),
        }
    }
    let mut key = Vec::new();
    encode_key(table.key_parts(index), values, &mut key);
    Some(key)
}

/// Whether a column tells rows apart: what is computed from others does not.
fn tells(table: &Table, column: usize) -> bool {
    table.def.columns[column].generated.is_none()
}

/// Whether it is the row of this image, to the byte.
fn is_row(table: &Table, image: &Image, row: RowRef<'_>) -> bool {
    image.iter().enumerate().all(|(c, v)| match v {
        Some(v) if tells(table, c) => same_value(v.as_ref(), row.column(c)),
        _ => true,
    })
}

/// Rows that [`is_row`] takes for the same have the same.
fn hash_of<'v>(table: &Table, value: &dyn Fn(usize) -> Option<ValueRef<'v>>) -> u64 {
    let mut h = DefaultHasher::new();
    for c in (0..table.def.columns.len()).filter(|c| tells(table, *c)) {
        match value(c) {
            None => {}
            Some(ValueRef::Null) => 0u8.hash(&mut h),
            Some(ValueRef::Int(n)) => i128::from(n).hash(&mut h),
            Some(ValueRef::UInt(n)) => i128::from(n).hash(&mut h),
            Some(ValueRef::Bit(n, _) | ValueRef::Set(n, _)) => n.hash(&mut h),
            Some(ValueRef::Enum(n, _)) => n.hash(&mut h),
            Some(ValueRef::Float(f)) => f.to_bits().hash(&mut h),
            Some(ValueRef::Double(f)) => f.to_bits().hash(&mut h),
            Some(ValueRef::Str(b, _) | ValueRef::Bytes(b)) => b.hash(&mut h),
            // In the column's own type already, and so with as many digits.
            Some(v) => to_text(v).hash(&mut h),
        }
    }
    h.finish()
}
