//! What binding FROM fills in: its tables, what their queries are, and how they are joined.

use types::SqlError;
use types::error::codes;

use super::guard::Usage;
use super::names::Names;
use super::nests::Joins;
use super::scope::FromTable;
use super::tree::{BoundQuery, BoundSub};

/// What binding FROM fills in.
pub(crate) struct FromState<'a, 's> {
    /// The names.
    pub names: &'a mut Names<'s>,
    /// Plans of derived tables.
    pub derived: &'a mut Vec<BoundQuery>,
    /// Subqueries of ON conditions.
    pub subqueries: &'a mut Vec<BoundSub>,
    /// The joins.
    pub joins: &'a mut Joins,
    /// First slot of the block.
    pub base: u16,
    /// What the statement does with the tables.
    pub usage: Usage,
    /// The place in the block of the first table of `names`: not 0 in a view that becomes part of the block.
    pub first: usize,
    /// Some join has USING or is NATURAL, so that lists of columns are kept.
    pub by_name: bool,
    /// Views that can be written through become part of the block.
    pub expands: bool,
    /// A view around has a CASCADED CHECK OPTION.
    pub cascaded: bool,
}

impl FromState<'_, '_> {
    /// The slot of the table that comes next.
    pub fn slot(&self) -> u16 {
        self.base + (self.first + self.names.tables.len()) as u16
    }
}

/// Most tables of a block: their sets are words.
pub(super) const MAX_TABLES: usize = 61;

pub(super) fn too_many() -> SqlError {
    SqlError::new(
        codes::ER_TOO_MANY_TABLES,
        format!("Too many tables; MySQL can only use {MAX_TABLES} tables in a join"),
    )
}

/// Adds a table.
///
/// # Errors
/// 1066 for a second one of a name, 1116 for too many.
pub(super) fn add(t: FromTable, nest: u16, st: &mut FromState<'_, '_>) -> Result<(), SqlError> {
    if st.names.has_table(&t.schema, &t.alias) {
        return Err(SqlError::new(
            codes::ER_NONUNIQ_TABLE,
            format!("Not unique table/alias: '{}'", t.alias),
        ));
    }
    if st.first + st.names.tables.len() >= MAX_TABLES {
        return Err(too_many());
    }
    st.names.tables.push(t);
    st.joins.add_table(nest);
    Ok(())
}
