//! What the recursive queries of a statement are to read next.
//!
//! Never here: how it was made.

use std::collections::HashMap;
use std::sync::Arc;

use super::spill::gather::Gathered;

/// The rows that are to be read, by the number of each query, as they came together.
#[derive(Default)]
pub(crate) struct Feeds {
    pub(super) of: HashMap<u16, Vec<Arc<Gathered>>>,
}
