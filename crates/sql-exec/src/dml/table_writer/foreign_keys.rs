//! Foreign keys of the rows that a statement changes: a new row needs its parents, a row that goes or gets another key has a word with its
//! children. Checked row by row, at once, as InnoDB does; with `foreign_key_checks` off, not at all.
//!
//! - A row's parents are locked for sharing before it is inserted: a row that waits for its parent is not there yet, and is in nobody's way.
//!   One that has none is inserted all the same, to see whether it is a duplicate first, and taken back. It is one first where the equal entry
//!   is in an index before that of the foreign key.
//! - A row that is changed is changed first. Its parents are looked for after that, and its children are [`cascade`](super::cascade)'s. Which of
//!   them is told is as if its entries were made in one index after the other: at the turn of each its children by that index come first, then its
//!   parents, then whether it is a duplicate there.

use std::sync::Arc;

use engine::{ForeignKeyDef, Inserted, Session, Table};
use types::error::codes;
use types::{SqlError, Value};

use crate::dml::values::same_value;
use sql_access::{Priv, PrivSet, SecurityContext};
use sql_expr::EvalCtx;
use sql_plan::plan::{Node, ParentKey, Relations};

/// The foreign keys that changes of one table meet.
#[derive(Clone, Copy)]
pub(crate) struct Related<'p> {
    pub(super) relations: &'p Relations,
    /// The table.
    pub(super) node: u16,
    security: &'p SecurityContext,
}

/// Which parents are looked for.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    All,
    /// Those by this index of the child, and not by one foreign key.
    AtTurn {
        turn: Option<usize>,
        but: Option<usize>,
        /// The row has been changed, and is found by its new values.
        is_there: bool,
    },
}

/// Whether it is what IGNORE makes a warning of.
pub(super) fn is_refusal(e: &SqlError) -> bool {
    matches!(
        e.code,
        codes::ER_ROW_IS_REFERENCED_2
            | codes::ER_NO_REFERENCED_ROW_2
            | codes::ER_ROW_IS_REFERENCED
            | codes::ER_NO_REFERENCED_ROW
    )
}

impl<'p> Related<'p> {
    /// Those of a statement's target, while they are to be checked.
    pub fn of(
        relations: &'p Option<Arc<Relations>>,
        target: usize,
        cx: &EvalCtx<'_>,
        security: &'p SecurityContext,
    ) -> Option<Related<'p>> {
        let relations = relations.as_deref()?;
        cx.vars.hot().foreign_key_checks.then_some(Related {
            relations,
            node: relations.roots[target],
            security,
        })
    }

    pub(super) fn at(&self, node: u16) -> &'p Node {
        &self.relations.nodes[usize::from(node)]
    }

    /// Inserts a row; in the place of `was`, where that has the same parents.
    ///
    /// # Errors
    /// 1452, 1216; what the engine fails with.
    pub(super) async fn insert(
        &self,
        table: &Arc<Table>,
        s: &mut Session,
        row: &[Value],
        was: Option<&[Value]>,
    ) -> Result<Inserted, SqlError> {
        let missing = self.missing_parent(s, self.node, row, was, Wanted::All);
        let Some(key) = missing.await? else {
            return s.insert(table, row).await;
        };
        let mark = s.mark();
        let k = &table.def.foreign_keys[key];
        let by = table.def.index_of(&k.columns);
        let inserted = s.insert(table, row).await?;
        match &inserted {
            // A row's entries are made in one index after the other, and before each its parent by that index is looked for.
            Inserted::Duplicate { index, .. } if by > Some(*index) => return Ok(inserted),
            Inserted::Duplicate { .. } => {}
            Inserted::Done => s.undo_since(mark).await?,
        }
        Err(self.no_parent(table, k))
    }

    /// Locks the parents of a row, of those foreign keys alone whose columns differ from `old`; the first foreign key by which there is none, in the
    /// order of the child's indexes.
    ///
    /// # Errors
    /// What the engine fails with.
    pub(super) async fn missing_parent(
        &self,
        s: &mut Session,
        node: u16,
        row: &[Value],
        old: Option<&[Value]>,
        wanted: Wanted,
    ) -> Result<Option<usize>, SqlError> {
        let here = self.at(node);
        let mut key = Vec::new();
        let is_there = matches!(wanted, Wanted::AtTurn { is_there: true, .. });
        let wanted = |p: &&ParentKey| match wanted {
            Wanted::All => true,
            Wanted::AtTurn { turn, but, .. } => p.turn == turn && Some(p.key) != but,
        };
        for p in here.parents.iter().filter(wanted) {
            let k = &here.table.def.foreign_keys[p.key];
            let value = |c: &u16| &row[usize::from(*c)];
            let stays = |c: &u16| {
                old.is_some_and(|o| same_value(o[usize::from(*c)].as_ref(), value(c).as_ref()))
            };
            if k.columns.iter().any(|c| value(c).is_null()) || k.columns.iter().all(stays) {
                continue;
            }
            let Some(at) = &p.parent else {
                return Ok(Some(p.key));
            };
            let parent = &self.at(at.node).table;
            let child = (&*here.table, &k.columns[..]);
            if !encode(parent, at.index, child, row, &mut key) {
                return Ok(Some(p.key));
            }
            let mut its_own = false;
            if Arc::ptr_eq(parent, &here.table) {
                let mut own = Vec::new();
                encode(
                    parent,
                    at.index,
                    (&**parent, &at.columns[..]),
                    row,
                    &mut own,
                );
                its_own = own == key;
            }
            // It may be its own, if its entry in the parent's index is made first.
            if its_own && here.table.def.index_of(&k.columns) > Some(at.index) {
                continue;
            }
            // A changed row is there already, with an entry that has not had its turn.
            let early = its_own && is_there && !at.columns.iter().all(stays);
            let there = match early && at.index > 0 {
                true => s.lock_other_parent(parent, at.index, &key).await?,
                false => {
                    s.lock_parent(parent, at.index, k.columns.len(), &key)
                        .await?
                }
            };
            if !there {
                return Ok(Some(p.key));
            }
        }
        Ok(None)
    }

    /// A row without a parent.
    pub(super) fn no_parent(&self, child: &Table, k: &ForeignKeyDef) -> SqlError {
        match self.may_know(&k.parent_schema, &k.parent) {
            true => SqlError::no_referenced_row(&k.in_message(&child.def)),
            false => SqlError::fixed(codes::ER_NO_REFERENCED_ROW),
        }
    }

    /// A change that a child refuses.
    pub(super) fn has_child(&self, child: &Table, k: &ForeignKeyDef) -> SqlError {
        match self.may_know(&child.def.schema, &child.def.name) {
            true => SqlError::row_is_referenced(&k.in_message(&child.def)),
            false => SqlError::fixed(codes::ER_ROW_IS_REFERENCED),
        }
    }

    /// Whether the session may be told of a table: it can do something with its rows.
    fn may_know(&self, schema: &str, table: &str) -> bool {
        let rows = PrivSet::of(Priv::Select)
            .with(Priv::Insert)
            .with(Priv::Update)
            .with(Priv::Delete);
        let all = self.security.on_table(schema, table);
        all.has_any(rows) || self.security.on_some_column(schema, table).has_any(rows)
    }
}

/// The key with which an index begins for a row's values in columns of a table: those of the index, or those that refer to them or are referred to by
/// them. False where no row of the index has it.
pub(super) fn encode(
    t: &Table,
    index: usize,
    (of, columns): (&Table, &[u16]),
    row: &[Value],
    key: &mut Vec<u8>,
) -> bool {
    let value = |n: usize| {
        let c = usize::from(columns[n]);
        (&of.def.columns[c].ty, row[c].as_ref())
    };
    t.key_of_related(index, columns.len(), value, key)
}
