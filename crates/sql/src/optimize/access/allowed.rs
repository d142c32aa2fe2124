//! Which indexes of a table the hints of FROM leave.

use types::SqlError;
use types::error::codes;

use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use sql_parser::ast;

/// Which indexes of a table a statement may use.
pub(super) struct Allowed {
    usable: Vec<bool>,
    /// A hint forbids reading everything where an index can be used.
    pub forced: bool,
}

impl Allowed {
    /// What the hints of FROM leave.
    ///
    /// # Errors
    /// 1176 for an index that is not there.
    pub fn new(t: &FromTable) -> Result<Allowed, SqlError> {
        let TableSource::Engine(table) = &t.source else {
            return Ok(Allowed {
                usable: Vec::new(),
                forced: false,
            });
        };
        let mut usable: Vec<bool> = table.def.indexes.iter().map(|i| !i.invisible).collect();
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
            if h.scope != ast::IndexHintScope::All && h.scope != ast::IndexHintScope::Join {
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
        Ok(Allowed { usable, forced })
    }

    /// Whether an index may be used.
    pub fn index(&self, i: usize) -> bool {
        self.usable.get(i).copied().unwrap_or(false)
    }
}
