//! What is to become of a row, and what came of it where that is not an error.

use crate::record::RowRef;
use types::{SqlError, Value};

/// What is to become of a row that was found by its key, as the statement says that looks at it. Whatever it is, and also where looking fails, a
/// transaction keeps the row locked as InnoDB does: others could else change what it goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowRequest<T> {
    /// It is not one of those that are meant. Below REPEATABLE READ it is free again.
    Skip,
    /// It is one of them, and stays as it is: it is locked as if it changed.
    Keep,
    /// It changes.
    Change(T),
}

/// Gives the new values of a row, or `None` to leave it, locked. Called under the page latch: must only look.
pub type NewValues<'f> = dyn FnMut(RowRef<'_>) -> Result<Option<Vec<Value>>, SqlError> + Send + 'f;

/// The same for who says more of rows that are left.
pub type UpdateRequests<'f> =
    dyn FnMut(RowRef<'_>) -> Result<RowRequest<Vec<Value>>, SqlError> + Send + 'f;

/// Outcome of an insert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The row is there.
    Done,
    /// Another row has the same value in a unique index; nothing was changed.
    Duplicate {
        /// Which index.
        index: usize,
        /// The other row's clustered key.
        key: Vec<u8>,
    },
}

/// Outcome of an update or delete of a row seen before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Written {
    /// Done.
    Done,
    /// The row changed since it was seen; read it again.
    Moved,
    /// The row is no longer there.
    Gone,
    /// See [`Inserted::Duplicate`].
    Duplicate {
        /// Which index.
        index: usize,
        /// The other row's clustered key.
        key: Vec<u8>,
    },
}

/// Outcome of an update by key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Updated {
    /// No such row.
    NotFound,
    /// The row is there and stays as it is.
    Unchanged,
    /// Changed.
    Done,
    /// See [`Inserted::Duplicate`].
    Duplicate {
        /// Which index.
        index: usize,
        /// The other row's clustered key.
        key: Vec<u8>,
    },
}
