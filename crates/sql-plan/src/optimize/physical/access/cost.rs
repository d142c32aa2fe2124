//! What reading costs, in rows read in the order of an index. The ratios are rough.

use crate::optimize::statistics::Statistics;

/// The work of reading and checking one row in the order of an index, which all costs are measured in.
pub(super) const ROW: f64 = 1.0;
/// The work of finding a place in an index.
pub(super) const SEEK: f64 = 4.0;
/// The work of going on in an index from one of many ranges to the next.
pub(super) const NEXT_RANGE: f64 = 1.0;
/// The work of looking up in the clustered index a row that another index led to.
pub(crate) const LOOK_UP: f64 = 6.0;
/// The work of making what is read of a row from an entry that holds it.
pub(super) const COVERED: f64 = 0.5;
/// As [`LOOK_UP`] where the rows are guessed, or are changed: an index that reads too much does less harm than reading and locking
/// everything.
pub(super) const LOOK_UP_GUESSED: f64 = 2.0;
/// The work of looking for a row among those that came by another index.
pub(super) const SEEN: f64 = 0.5;
/// What reading everything costs more where a hint forbids it.
pub(super) const FORBIDDEN: f64 = 1e9;

/// The work of reading a page from the disk that no read before has announced: some 40 µs beside rows of 0.2.
const PAGE: f64 = 200.0;
/// As [`PAGE`] in the order of an index, where pages are read ahead.
const NEXT_PAGE: f64 = 30.0;
/// How steeply reads grow where what is read again and again has no room: pages that are used in turn push out each other just before
/// they are wanted.
const THRASHING: i32 = 8;

/// Where the pages of a table are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages {
    /// Those of its clustered index; 0 where the table stays in memory whatever is read beside it.
    pub all: f64,
    /// The share of them that is on the disk before anything is read.
    cold: f64,
    /// Pages that memory has room for.
    room: f64,
}

impl Pages {
    /// Those of a table that is in memory, or is taken to be.
    pub const IN_MEMORY: Pages = Pages {
        all: 0.0,
        cold: 0.0,
        room: 0.0,
    };

    /// Those of a table of a block.
    pub fn of(table: &Statistics<'_>) -> Pages {
        let (cold, room) = (table.cold, table.room);
        Pages {
            all: if cold > 0.0 { table.pages() } else { 0.0 },
            cold,
            room,
        }
    }

    /// How many different pages so many look-ups at random come to (Cardenas, "Analysis and performance of inverted data base structures",
    /// CACM 1975, in its limit).
    pub fn touched(&self, look_ups: f64) -> f64 {
        match self.all > 0.0 {
            true => self.all * (1.0 - (-look_ups / self.all).exp()),
            false => 0.0,
        }
    }

    /// The work of reading so many different pages in no order, when so many others are used beside them.
    pub fn at_random(&self, touched: f64, others: f64) -> f64 {
        let used = (touched + others).max(1.0);
        let lost = 1.0 - (self.room / used).min(1.0).powi(THRASHING);
        touched * self.cold.max(lost) * PAGE
    }

    /// The work of reading all of them in order.
    pub fn in_order(&self) -> f64 {
        self.all * self.cold * NEXT_PAGE
    }
}

/// What it costs to read rows by an index: what is not in the clustered one is looked up there.
pub(super) fn reading(index: usize, rows: f64, look_up: f64) -> f64 {
    if index == 0 {
        rows * ROW
    } else {
        rows * (ROW + look_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGHT: Pages = Pages {
        all: 1000.0,
        cold: 0.1,
        room: 900.0,
    };

    #[test]
    fn look_ups_come_to_each_page_once() {
        assert!((TIGHT.touched(10.0) - 10.0).abs() < 0.1);
        assert!((600.0..700.0).contains(&TIGHT.touched(1000.0)));
        assert!((999.0..=1000.0).contains(&TIGHT.touched(100_000.0)));
        assert_eq!(Pages::IN_MEMORY.touched(10.0), 0.0);
    }

    #[test]
    fn pages_without_room_push_out_each_other() {
        // What fits is as cold as the table beside memory.
        assert_eq!(TIGHT.at_random(800.0, 0.0), 800.0 * 0.1 * PAGE);
        assert_eq!(TIGHT.at_random(500.0, 400.0), 500.0 * 0.1 * PAGE);
        // A tenth too many are more than half of them.
        assert!(TIGHT.at_random(1000.0, 0.0) > 1000.0 * 0.5 * PAGE);
        assert!(TIGHT.at_random(500.0, 500.0) > 500.0 * 0.5 * PAGE);
        assert!(TIGHT.at_random(1000.0, 9000.0) <= 1000.0 * PAGE);
        assert_eq!(Pages::IN_MEMORY.at_random(0.0, 1e9), 0.0);
    }
}
