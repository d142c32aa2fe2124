//! The bytes of rows, of secondary entries and of the before-images in the log. Pure functions on byte strings: no page,
//! no transaction status.

mod delta;
mod header;
mod row;
mod undo;

pub use delta::Delta;
pub use header::{DELETED, EXTERNAL, HEADER, RowVersion, SEC_VALUE, SecValue};
pub use row::{External, RowBuilder, RowLayout, RowRef};
pub use undo::{Undo, UndoOp};
