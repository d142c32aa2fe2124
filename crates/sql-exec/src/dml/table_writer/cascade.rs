//! What becomes of the children of a row that is gone or has another key. They are found by their index and locked. They
//! are changed as rows of any statement are: they lock, they are undone with the statement, and their own children follow. They are not counted.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::{
    ColumnDef, IndexKind, KeyBound, ReadMode, ReferenceAction, RowBatch, RowRef, ScanSpec, Session,
    Table, Updated, filled_up,
};
use types::convert::to_text;
use types::{DataType, SqlError, Value};

use super::foreign_keys::{Related, Wanted, encode};
use crate::dml::row_rules::{CheckRow as _, generated_value};
use crate::dml::values::{convert_mode, same_value};
use sql_expr::EvalCtx;
use sql_plan::plan::ChildKey;

/// Steps of a cascade, at most, the statement's own included.
const DEPTH: usize = 15;

/// Children that are read before any of them is changed.
const BATCH: usize = 64;

/// What a change of one row leads to.
pub(super) struct Cascade<'a> {
    pub related: Related<'a>,
    pub cx: &'a EvalCtx<'a>,
    /// The table that the statement changes.
    pub root: &'a Arc<Table>,
    /// Its row, for messages.
    pub row: &'a [Value],
}

/// A table on the way down from the statement's own.
pub(super) struct Step<'a> {
    node: u16,
    /// Its row is changed, and not deleted.
    updates: bool,
    above: Option<Above<'a>>,
}

/// Where a step comes from.
#[derive(Clone, Copy)]
struct Above<'a> {
    step: &'a Step<'a>,
    /// The row of that step as it was.
    old: &'a [Value],
    /// The index whose turn it is with that row: InnoDB has its entries in those behind as they were.
    turn: Option<usize>,
}

impl Related<'_> {
    /// What a change of this row of the table leads to.
    fn cascade<'a>(&'a self, row: &'a [Value], cx: &'a EvalCtx<'a>) -> Cascade<'a> {
        Cascade {
            related: *self,
            cx,
            root: &self.at(self.node).table,
            row,
        }
    }

    /// A row of the table has changed.
    ///
    /// # Errors
    /// 1451, 1452, 1216, 1217, 1761, 3008; what the engine fails with.
    pub(super) async fn updated(
        &self,
        s: &mut Session,
        old: &[Value],
        new: &[Value],
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        let cascade = self.cascade(new, cx);
        let step = Step::first(self.node, true);
        cascade.updated(s, &step, None, (old, new), None).await
    }

    /// A row of the table was to change, and is a duplicate in this index: what would have been told before that. Nothing stays of what it has led to.
    ///
    /// # Errors
    /// As [`updated`](Self::updated).
    pub(super) async fn before_duplicate(
        &self,
        s: &mut Session,
        (old, new): (&[Value], &[Value]),
        index: usize,
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        let cascade = self.cascade(new, cx);
        let step = Step::first(self.node, true);
        cascade.before(s, &step, None, (old, new), index).await
    }

    /// A row of the table is gone.
    ///
    /// # Errors
    /// As [`updated`](Self::updated).
    pub(super) async fn deleted(
        &self,
        s: &mut Session,
        old: &[Value],
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        let cascade = self.cascade(old, cx);
        let step = Step::first(self.node, false);
        cascade.children(s, &step, old, None, None).await
    }
}

type Done<'a> = Pin<Box<dyn Future<Output = Result<(), SqlError>> + Send + 'a>>;

impl<'a> Step<'a> {
    /// The statement's own.
    pub fn first(node: u16, updates: bool) -> Step<'static> {
        Step {
            node,
            updates,
            above: None,
        }
    }

    fn chain(&self) -> impl Iterator<Item = &Step<'a>> {
        std::iter::successors(Some(self), |s| s.above.map(|a| a.step))
    }

    /// Whether a row above in the cascade is still a child by this key to InnoDB, which looks at entries of the child's index: its own has its turn later.
    fn left_behind(&self, child: &Table, c: &ChildKey, key: &[u8]) -> bool {
        let columns = &child.def.foreign_keys[c.key].columns;
        let mut own = Vec::new();
        let mut above = std::iter::successors(self.above, |a| a.step.above);
        above.any(|a| {
            a.step.node == c.node
                && a.turn.is_some_and(|turn| turn < c.index)
                && encode(child, c.index, (child, &columns[..]), a.old, &mut own)
                && own == key
        })
    }
}

impl<'a> Cascade<'a> {
    /// A row has changed: at the turn of each index, up to that of `last`, its children; then its parents, where it has others, but by the foreign key
    /// `but`. In this order a row and its parent that refer to each other change together.
    ///
    /// # Errors
    /// 1451, 1452, 1216, 1217, 1761, 3008; what the engine fails with.
    pub async fn updated(
        &self,
        s: &mut Session,
        step: &Step<'_>,
        but: Option<usize>,
        (old, new): (&[Value], &[Value]),
        last: Option<usize>,
    ) -> Result<(), SqlError> {
        let related = &self.related;
        let here = related.at(step.node);
        let mut done: Option<Option<usize>> = None;
        loop {
            // Both are in the order of their turns.
            let after = |turn: &Option<usize>| done.is_none_or(|d| *turn > d);
            let children = here.children.iter().map(|c| c.turn).find(after);
            let parents = here.parents.iter().map(|p| p.turn).find(after);
            let Some(turn) = children.into_iter().chain(parents).min() else {
                return Ok(());
            };
            if last.is_some() && turn > last {
                return Ok(());
            }
            done = Some(turn);
            self.children(s, step, old, Some(new), done).await?;
            let is_there = last.is_none();
            let wanted = Wanted::AtTurn {
                turn,
                but,
                is_there,
            };
            let missing = related.missing_parent(s, step.node, new, Some(old), wanted);
            if let Some(key) = missing.await? {
                let child = &here.table;
                return Err(related.no_parent(child, &child.def.foreign_keys[key]));
            }
        }
    }

    /// As [`Related::before_duplicate`].
    async fn before(
        &self,
        s: &mut Session,
        step: &Step<'_>,
        but: Option<usize>,
        rows: (&[Value], &[Value]),
        index: usize,
    ) -> Result<(), SqlError> {
        let mark = s.mark();
        let first = self.updated(s, step, but, rows, Some(index)).await;
        s.undo_since(mark).await?;
        first
    }

    /// A row is gone, or has become another: its children, by one index or all.
    ///
    /// # Errors
    /// As [`updated`](Self::updated).
    pub fn children<'f>(
        &'f self,
        s: &'f mut Session,
        step: &'f Step<'f>,
        old: &'f [Value],
        new: Option<&'f [Value]>,
        turn: Option<Option<usize>>,
    ) -> Done<'f> {
        Box::pin(async move {
            let children = &self.related.at(step.node).children;
            for c in children.iter().filter(|c| turn.is_none_or(|t| c.turn == t)) {
                let of = |row: &'f [Value], c: &u16| row[usize::from(*c)].as_ref();
                let stays = |c: &u16| new.is_some_and(|n| same_value(of(old, c), of(n, c)));
                if c.columns.iter().all(stays) || c.columns.iter().any(|c| of(old, c).is_null()) {
                    continue;
                }
                self.by_key(s, step, c, old, new).await?;
            }
            Ok(())
        })
    }

    /// The children by one foreign key.
    async fn by_key(
        &self,
        s: &mut Session,
        step: &Step<'_>,
        c: &ChildKey,
        old: &[Value],
        new: Option<&[Value]>,
    ) -> Result<(), SqlError> {
        let child = &self.related.at(c.node).table;
        let k = &child.def.foreign_keys[c.key];
        let action = match new {
            None => k.on_delete,
            Some(_) => k.on_update,
        };
        let mut key = Vec::new();
        let parent = (&*self.related.at(step.node).table, &c.columns[..]);
        if !encode(child, c.index, parent, old, &mut key) {
            return Ok(());
        }
        let deletes = new.is_none() && action == ReferenceAction::Cascade;
        let below = Step {
            node: c.node,
            updates: !deletes,
            above: Some(Above {
                step,
                old,
                turn: c.turn,
            }),
        };
        if below.left_behind(child, c, &key) {
            // It is in the way, or would be a step. (A row that is gone by then is left out after that.)
            if action.refuses() {
                return Err(self.related.has_child(child, k));
            }
            self.may_go_on(&below, c)?;
        }
        let mut itself = match c.node == step.node {
            true => new.and_then(|row| Itself::of(child, c, row, &key)),
            false => None,
        };
        if action.refuses() && itself.is_none() {
            return match s.has_child(child, c.index, &key).await? {
                true => Err(self.related.has_child(child, k)),
                false => Ok(()),
            };
        }
        if s.savepoints() > 0 && base::mutant!("cascade-skipped-at-a-savepoint") {
            return Ok(());
        }
        let spec = ScanSpec {
            index: c.index,
            lower: KeyBound::Included(key.clone()),
            upper: KeyBound::Included(key.clone()),
            backward: false,
            mode: ReadMode::Children {
                exclusive: !action.refuses(),
            },
        };
        let mut scan = s.scan(child, spec);
        let mut batch = RowBatch::new();
        let mut more = true;
        while more {
            batch.clear();
            more = s
                .next_batch(&mut scan, &mut batch, BATCH, &mut |_| Ok(true))
                .await?;
            for i in 0..batch.len() {
                if itself
                    .take_if(|row| row.is(batch.row(i), batch.key(i)))
                    .is_some()
                {
                    continue;
                }
                if action.refuses() {
                    return Err(self.related.has_child(child, k));
                }
                self.may_go_on(&below, c)?;
                let place = (batch.key(i), &key[..]);
                match deletes {
                    true => self.delete(s, &below, c, place).await?,
                    false => {
                        let to = new.filter(|_| action == ReferenceAction::Cascade);
                        self.change(s, &below, c, place, to).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Before a child's row goes or changes.
    fn may_go_on(&self, below: &Step<'_>, c: &ChildKey) -> Result<(), SqlError> {
        let child = &self.related.at(c.node).table;
        let mut above = below.chain().skip(1);
        // A table that is changed by the same cascade is not changed again: there would be no end.
        if below.updates && above.any(|s| s.updates && s.node == below.node) {
            let k = &child.def.foreign_keys[c.key];
            return Err(self.related.has_child(child, k));
        }
        match below.chain().count() > DEPTH {
            true => Err(SqlError::fk_depth_exceeded(DEPTH)),
            false => Ok(()),
        }
    }

    /// ON DELETE CASCADE, for a row that has this clustered key and still refers to the one that is gone.
    async fn delete(
        &self,
        s: &mut Session,
        below: &Step<'_>,
        c: &ChildKey,
        (place, key): (&[u8], &[u8]),
    ) -> Result<(), SqlError> {
        let child = &self.related.at(c.node).table;
        let mut old = Vec::new();
        let gone = s
            .delete_key(child, place, &mut |row| {
                old = row.to_values();
                Ok(refers(child, c, row, key))
            })
            .await?;
        match gone {
            true => self.children(s, below, &old, None, None).await,
            false => Ok(()),
        }
    }

    /// ON UPDATE CASCADE: the row gets the parent's new key. Without one NULL, for SET NULL.
    async fn change(
        &self,
        s: &mut Session,
        below: &Step<'_>,
        c: &ChildKey,
        (place, key): (&[u8], &[u8]),
        to: Option<&[Value]>,
    ) -> Result<(), SqlError> {
        let child = &self.related.at(c.node).table;
        let k = &child.def.foreign_keys[c.key];
        let mut values = Vec::with_capacity(k.columns.len());
        for (own, theirs) in k.columns.iter().zip(&c.columns) {
            let column = &child.def.columns[usize::from(*own)];
            let theirs = usize::from(*theirs);
            let value = to.map_or(&Value::Null, |row| &row[theirs]);
            let parent = below.above.map(|a| &self.related.at(a.step.node).table.def);
            let full = parent.and_then(|p| filled_up(&p.columns[theirs].ty, value.as_ref()));
            match fitted(&full.map_or_else(|| value.clone(), Value::Bytes), column) {
                Some(v) => values.push((usize::from(*own), v)),
                None => return Err(self.related.has_child(child, k)),
            }
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let rules = &self.related.at(c.node).rules;
        let mut violated = None;
        let changed = s
            .update_key(child, place, &mut |row| {
                violated = None;
                if !refers(child, c, row, key) {
                    return Ok(None);
                }
                old = row.to_values();
                new.clone_from(&old);
                for (at, v) in &values {
                    new[*at] = v.clone();
                }
                let mode = convert_mode(self.cx, false);
                for (g, e) in &rules.generated {
                    let v = generated_value(e, child, *g, &new, 1, &mode, self.cx)?;
                    new[usize::from(*g)] = v;
                }
                violated = rules.violated(&new, None, self.cx)?;
                Ok(violated.is_none().then(|| new.clone()))
            })
            .await?;
        if let Some(which) = violated {
            return Err(rules.violation(which));
        }
        match changed {
            Updated::Done => {
                let next = self.updated(s, below, Some(c.key), (&old, &new), None);
                Box::pin(next).await
            }
            Updated::NotFound | Updated::Unchanged => Ok(()),
            Updated::Duplicate { index, .. } => {
                let first = self.before(s, below, Some(c.key), (&old, &new), index);
                Box::pin(first).await?;
                Err(SqlError::foreign_duplicate_key(
                    &self.root.def.name,
                    &self.row_in_words(),
                    &child.def.name,
                    &child.def.indexes[index].name,
                ))
            }
        }
    }

    /// The values of the statement's row in the first index of its table.
    fn row_in_words(&self) -> String {
        let parts = self.root.def.indexes[0].parts.iter();
        let texts = parts.map(|p| match &self.row[usize::from(p.column)] {
            Value::Null => "NULL".to_owned(),
            v => to_text(v.as_ref()),
        });
        texts.collect::<Vec<_>>().join("-")
    }
}

/// A changed row that refers by now to the key that it had itself. InnoDB does not see it among the children: it looks for them as it comes to the index
/// that they refer to, and makes the row's entry in an index behind later. What is missing then is its parent.
enum Itself<'a> {
    /// Its clustered key.
    Key(Vec<u8>),
    /// It has none of its values: any row like it will do.
    Values(&'a [Value]),
}

impl<'a> Itself<'a> {
    fn of(t: &Table, c: &ChildKey, new: &'a [Value], key: &[u8]) -> Option<Itself<'a>> {
        let columns = &t.def.foreign_keys[c.key].columns;
        let mut own = Vec::with_capacity(key.len());
        encode(t, c.index, (t, &columns[..]), new, &mut own);
        if own != key || t.def.parent_index_of(&c.columns) >= Some(c.index) {
            return None;
        }
        let clustered = &t.def.indexes[0];
        if clustered.kind == IndexKind::Hidden {
            return Some(Itself::Values(new));
        }
        let columns: Vec<u16> = clustered.parts.iter().map(|p| p.column).collect();
        encode(t, 0, (t, &columns[..]), new, &mut own);
        Some(Itself::Key(own))
    }

    fn is(&self, row: RowRef<'_>, key: &[u8]) -> bool {
        match self {
            Itself::Key(own) => own == key,
            Itself::Values(new) => {
                let mut values = new.iter().enumerate();
                values.all(|(at, v)| same_value(row.column(at), v.as_ref()))
            }
        }
    }
}

/// Whether a row of the child has the key that was looked for.
fn refers(child: &Table, c: &ChildKey, row: RowRef<'_>, key: &[u8]) -> bool {
    let columns = &child.def.foreign_keys[c.key].columns;
    let mut own = Vec::with_capacity(key.len());
    for (p, c) in child.key_parts(c.index).iter().zip(columns) {
        p.encode(row.column(usize::from(*c)), &mut own);
    }
    own == key
}

/// A parent's value as the child's column has it; `None` where that has no room for it.
fn fitted(v: &Value, column: &ColumnDef) -> Option<Value> {
    Some(match (v, &column.ty) {
        (Value::Null, _) => match column.nullable {
            true => Value::Null,
            false => return None,
        },
        (Value::Str(text, _), DataType::Char { chars, collation }) => {
            let end = text.iter().rposition(|b| *b != b' ').map_or(0, |n| n + 1);
            let text = &text[..end];
            (collation.charset().char_count(text) <= *chars as usize)
                .then(|| Value::Str(text.to_vec(), *collation))?
        }
        (Value::Str(text, _), DataType::VarChar { chars, collation }) => {
            (collation.charset().char_count(text) <= *chars as usize)
                .then(|| Value::Str(text.clone(), *collation))?
        }
        // Filled up it would not be the parent's any more.
        (Value::Bytes(b), DataType::Binary(n)) if b.len() == *n as usize => v.clone(),
        (Value::Bytes(b), DataType::VarBinary(n)) if b.len() <= *n as usize => v.clone(),
        (Value::Bytes(_), DataType::Binary(_) | DataType::VarBinary(_)) => return None,
        (Value::Enum(n, _), DataType::Enum(own)) => {
            (usize::from(*n) <= own.names.len()).then(|| Value::Enum(*n, Arc::clone(own)))?
        }
        (Value::Set(bits, _), DataType::Set(own)) => {
            (bits & !own.all_bits() == 0).then(|| Value::Set(*bits, Arc::clone(own)))?
        }
        _ => v.clone(),
    })
}
