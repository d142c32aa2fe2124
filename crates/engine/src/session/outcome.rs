//! What came of a change, where that is not an error.

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
