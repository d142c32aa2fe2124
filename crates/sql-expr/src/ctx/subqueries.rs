//! What an expression asks of its subqueries.

use crate::val::Val;
use types::SqlError;

/// Whether a row has a key, by which it is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKey {
    /// It was written: bytes that are the same for rows that are equal, and others for others.
    Written,
    /// A value is NULL, or compares as if it were: the row equals nothing.
    Null,
    /// Some values can be compared only one with the other.
    Unknown,
}

/// Appends the key of a row.
pub type WriteKey<'f> = dyn Fn(&[Val<'_>], &mut Vec<u8>) -> RowKey + 'f;

/// What was found by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListLookup {
    /// A row that is equal.
    Equal,
    /// None is equal.
    Not {
        /// There are rows whose key is [`RowKey::Null`].
        nulls: bool,
    },
}

/// The values of an expression's subqueries for the present row. The executor has evaluated them before: an
/// scope hands out their indexes when the expression is bound.
pub trait SubquerySource: Sync {
    /// The value of a scalar subquery: NULL for no row.
    ///
    /// # Errors
    /// 1242 for more than one row, and whatever the subquery failed with.
    fn scalar(&self, index: u32) -> Result<Val<'_>, SqlError>;

    /// The single row of a row subquery; `None` for no row.
    ///
    /// # Errors
    /// As [`scalar`](Self::scalar).
    fn row(&self, index: u32) -> Result<Option<Vec<Val<'_>>>, SqlError>;

    /// Whether there is any row.
    ///
    /// # Errors
    /// Whatever the subquery failed with.
    fn exists(&self, index: u32) -> Result<bool, SqlError>;

    /// The rows for `IN`, `ANY` and `ALL`: calls `each` with every row until it returns `false`.
    ///
    /// # Errors
    /// Whatever the subquery or `each` failed with.
    fn rows(
        &self,
        index: u32,
        each: &mut dyn FnMut(&[Val<'_>]) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError>;

    /// Looks for a row with this key, for `IN` and `NOT IN`, which ask the same rows again and again. `key_of` writes the key of a row.
    /// `None`: nothing is known by keys, and the rows are to be [compared](Self::rows).
    fn find(&self, _index: u32, _key: &[u8], _key_of: &WriteKey<'_>) -> Option<ListLookup> {
        None
    }
}
