//! Shares of rows from the figures of a column.
