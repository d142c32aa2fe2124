//! What a rebuild makes of a table's rows and of their keys.

use crate::record::RowRef;
use crate::schema::{IndexKind, TableDef, key_parts};
use types::{SqlError, Value, ValueRef};

/// What a row of the old definition is under the new one: values of its columns' types.
pub type Reshape<'f> = dyn FnMut(RowRef<'_>) -> Result<Vec<Value>, SqlError> + Send + 'f;

/// What becomes of the values of a row that somebody else has written, in the order of the table's columns: they are its columns' values, or an error.
pub type Sound<'f> = dyn FnMut(&[ValueRef<'_>]) -> Result<Vec<Value>, SqlError> + Send + 'f;

/// What a rebuild makes of a table's rows.
pub enum Rewrite<'f> {
    /// They stay as they are: both definitions have the same columns.
    Same,
    /// Each becomes another.
    Each(&'f mut Reshape<'f>),
}

impl Rewrite<'_> {
    /// A row under the new definition.
    pub(super) fn row(&mut self, row: RowRef<'_>) -> Result<Vec<Value>, SqlError> {
        match self {
            Rewrite::Same => Ok(row.to_values()),
            Rewrite::Each(reshape) => reshape(row),
        }
    }
}

/// What becomes of the clustered keys of a table's rows when it is rebuilt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Each row keeps its own: the same values, or the number that it has in a table without a key.
    Kept,
    /// Each gets another, made of the row.
    Made,
    /// Each gets a number, in the order of the old keys: the table loses its key.
    Numbered,
}

impl Keys {
    /// What becomes of them between the definition of a table and another, whose clustered index need not be the first yet.
    /// `same_columns`: both keys are made of the same columns, whose values stay.
    pub fn between(old: &TableDef, def: &TableDef, same_columns: bool) -> Keys {
        // An index that could be the clustered one need not be: it may have been added without writing the rows again.
        let was = old.indexes.first().filter(|x| x.kind != IndexKind::Hidden);
        let was = was.map(|x| key_parts(old, x));
        let is = def.clustered_choice();
        let is = is.map(|i| key_parts(def, &def.indexes[i]));
        match (was, is) {
            (None, None) => Keys::Kept,
            (Some(_), None) => Keys::Numbered,
            (Some(was), Some(is)) if same_columns && was == is => Keys::Kept,
            _ => Keys::Made,
        }
    }
}
