//! Who shares the rows of a common table expression. Each name of one is bound and planned for itself; where several are not merged into the queries
//! around them, the rows are made once, by whoever reads them first, as in MySQL. So RAND() gives all of them the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What all names of a common table expression have in common.
#[derive(Clone)]
pub struct Shared {
    /// Its number in the statement.
    pub number: u32,
    /// How many names there are.
    names: Arc<AtomicU32>,
}

impl Shared {
    /// One that nobody has named.
    pub(super) fn new(number: u32) -> Shared {
        Shared {
            number,
            names: Arc::default(),
        }
    }

    /// The same, for one name more.
    pub(super) fn for_one_more(&self) -> Shared {
        self.names.fetch_add(1, Ordering::Relaxed);
        self.clone()
    }

    /// Whether there is another name. That is known when the whole statement is bound.
    pub fn is_named_again(&self) -> bool {
        self.names.load(Ordering::Relaxed) > 1
    }
}
