//! What EXPLAIN ANALYZE counts while a plan runs: for each place in it how often it began, how many rows came, and how long that took.
//! Places are named by the nodes of the plan.

use std::collections::HashMap;
use std::sync::Arc;

use base::environment::Clock;

use super::NodeId;
use super::block::Block;

/// A place in a block that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// What the block yields.
    Block,
    /// Its groups.
    Groups,
    /// Its rows behind the window functions.
    Windows,
    /// The rows of a step that pass its own conditions.
    Step(u16),
    /// The rows that a step looks at.
    Looked(u16),
    /// The rows of a step that are kept.
    Kept(u16),
    /// The combinations that come out of a step.
    Out(u16),
}

/// What has been counted in a place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    /// How often it began.
    pub loops: u64,
    /// Rows, of all loops.
    pub rows: u64,
    /// Microseconds to the first row, of all loops.
    pub first: u64,
    /// Microseconds to the last, of all loops.
    pub total: u64,
    /// A loop has begun that has no row so far.
    waits: bool,
}

impl Count {
    /// Adds what has come in some time.
    pub fn add(&mut self, loops: u64, rows: u64, time: u64) {
        self.loops += loops;
        self.rows += rows;
        self.total += time;
        self.waits |= loops > 0;
        if self.waits {
            self.first += time;
            self.waits = rows == 0;
        }
    }
}

/// What has been counted.
pub struct Tally {
    clock: Arc<dyn Clock>,
    counts: HashMap<(NodeId, Place), Count>,
}

impl Tally {
    /// Nothing so far.
    pub fn new(clock: &Arc<dyn Clock>) -> Tally {
        Tally {
            clock: Arc::clone(clock),
            counts: HashMap::new(),
        }
    }

    /// Microseconds, since some time.
    pub fn now(&self) -> u64 {
        self.clock.now_us()
    }

    /// The count of a place.
    pub fn at(&mut self, block: &Block, place: Place) -> &mut Count {
        self.counts.entry((block.id, place)).or_default()
    }

    /// What was counted in a place; `None` where it never began.
    pub fn get(&self, block: &Block, place: Place) -> Option<Count> {
        self.counts.get(&(block.id, place)).copied()
    }
}
