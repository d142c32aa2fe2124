//! What reading costs, in rows read in the order of an index. The ratios are rough, for pages in memory.

/// The work of reading and checking one row in the order of an index, which all costs are measured in.
pub(super) const ROW: f64 = 1.0;
/// The work of finding a place in an index.
pub(super) const SEEK: f64 = 4.0;
/// The work of going on in an index from one of many ranges to the next.
pub(super) const NEXT_RANGE: f64 = 1.0;
/// The work of looking up in the clustered index a row that another index led to.
pub(super) const LOOK_UP: f64 = 6.0;
/// The work of making what is read of a row from an entry that holds it.
pub(super) const COVERED: f64 = 0.5;
/// As [`LOOK_UP`] where the rows are guessed, or are changed: an index that reads too much does less harm than reading and locking
/// everything.
pub(super) const LOOK_UP_GUESSED: f64 = 2.0;
/// The work of looking for a row among those that came by another index.
pub(super) const SEEN: f64 = 0.5;
/// What reading everything costs more where a hint forbids it.
pub(super) const FORBIDDEN: f64 = 1e9;

/// What it costs to read rows by an index: what is not in the clustered one is looked up there.
pub(super) fn reading(index: usize, rows: f64, look_up: f64) -> f64 {
    if index == 0 {
        rows * ROW
    } else {
        rows * (ROW + look_up)
    }
}
