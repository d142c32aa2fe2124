//! What operators do when their rows are more than the memory they may use: the rows go to a temporary file of the engine's
//! (`engine::TempSpace`), in blocks with a checksum, and come back in order or a part at a time. `docs/decisions/0029` says how much memory that is.
//!
//! - `room` says when an operator has enough.
//! - `record` is a row as bytes, `file` blocks of them in a file.
//! - `merge`: sorted runs, merged (Knuth, The Art of Computer Programming 3, 5.4.1; Graefe, "Implementing Sorting in Database Systems", 2006).
//! - `partition`: rows by the hashes of their keys, a part of which has room where all have not (DeWitt et al., "Implementation Techniques for Main
//!   Memory Database Systems", 1984; Graefe, "Query Evaluation Techniques for Large Databases", 1993, sections 4 and 5).
//! - `gather`: rows of derived tables and set operations, in their order.
//! - `group`: rows of groups for which there was no room; `join`: both sides of a hash join.
//!
//! Rows are added where nothing can wait, under the latch of a page. They gather in buffers, which are written between rows.

pub(super) mod file;
pub(super) mod gather;
pub(super) mod group;
pub(super) mod host;
pub(super) mod join;
pub(super) mod merge;
pub(super) mod partition;
pub(super) mod record;
pub(super) mod room;

pub(super) use host::Host;
pub(super) use room::Room;
