//! Which indexes of a table hints leave, and for what.

use types::SqlError;
use types::error::codes;

use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use sql_parser::ast;

/// How the tables of a block may be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Its rows are changed.
    pub changes: bool,
    /// Several indexes may be read together.
    pub unions: bool,
    /// Invisible indexes may be used.
    pub invisible: bool,
}

/// Which indexes of a table a statement may use.
pub(super) struct Allowed {
    join: Scope,
    order: Scope,
    group: Scope,
}

/// Which indexes may be used for something.
struct Scope {
    usable: Vec<bool>,
    /// A hint forbids doing without an index where one can be used.
    forced: bool,
}

impl Scope {
    fn index(&self, i: usize) -> bool {
        self.usable.get(i).copied().unwrap_or(false)
    }
}

impl Allowed {
    /// What the hints of FROM leave, or those of the optimizer that took their place.
    ///
    /// # Errors
    /// 1176 for an index that is not there.
    pub fn new(t: &FromTable, invisible: bool) -> Result<Allowed, SqlError> {
        Ok(Allowed {
            join: scope(t, invisible, ast::IndexHintScope::Join)?,
            order: scope(t, invisible, ast::IndexHintScope::OrderBy)?,
            group: scope(t, invisible, ast::IndexHintScope::GroupBy)?,
        })
    }

    /// Whether an index may be used to find rows.
    pub fn index(&self, i: usize) -> bool {
        self.join.index(i)
    }

    /// Whether a hint forbids reading everything where an index can be used.
    pub fn is_forced(&self) -> bool {
        self.join.forced
    }

    /// Whether an index may be used to group rows.
    pub fn group(&self, i: usize) -> bool {
        self.group.index(i)
    }

    /// Whether an index may be used to have rows in order; `Some(true)` where it is to be.
    pub fn order(&self, i: usize) -> Option<bool> {
        self.order.index(i).then_some(self.order.forced)
    }
}

fn scope(t: &FromTable, invisible: bool, wanted: ast::IndexHintScope) -> Result<Scope, SqlError> {
    let TableSource::Engine(table) = &t.source else {
        return Ok(Scope {
            usable: Vec::new(),
            forced: false,
        });
    };
    let indexes = table.def.indexes.iter();
    // One that has not each row once is for look-ups alone.
    let serves = |i: &engine::IndexDef| {
        wanted == ast::IndexHintScope::Join || table.def.list_part(i).is_none()
    };
    let visible = |i: &engine::IndexDef| invisible || !i.invisible;
    let mut usable: Vec<bool> = indexes.map(|i| visible(i) && serves(i)).collect();
    let mut forced = false;
    let mut only: Option<Vec<bool>> = None;
    for h in &t.hints {
        let mut named = vec![false; usable.len()];
        for name in &h.indexes {
            let i = table.def.index(name).ok_or_else(|| {
                SqlError::new(
                    codes::ER_KEY_DOES_NOT_EXITS,
                    format!("Key '{name}' doesn't exist in table '{}'", t.alias),
                )
            })?;
            named[i] = true;
        }
        if h.scope != ast::IndexHintScope::All && h.scope != wanted {
            continue;
        }
        match h.kind {
            ast::IndexHintKind::Ignore => {
                for (u, n) in usable.iter_mut().zip(&named) {
                    *u &= !n;
                }
            }
            kind => {
                forced |= kind == ast::IndexHintKind::Force;
                let all = only.get_or_insert_with(|| vec![false; named.len()]);
                for (o, n) in all.iter_mut().zip(&named) {
                    *o |= n;
                }
            }
        }
    }
    if let Some(only) = only {
        for (u, o) in usable.iter_mut().zip(&only) {
            *u &= o;
        }
    }
    Ok(Scope { usable, forced })
}
