//! The figures of a column from a sample of its values.
