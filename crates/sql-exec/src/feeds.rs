//! Rows that are made once for several readers: what the recursive queries of a statement are to read next, and what common table expressions have
//! given.
//!
//! Never here: how it was made.

use std::collections::HashMap;
use std::sync::Arc;

use super::spill::gather::Gathered;

/// The rows that are to be read, by the number of each query, as they came together.
#[derive(Default)]
pub(crate) struct Feeds {
    pub(super) of: HashMap<u16, Vec<Arc<Gathered>>>,
    /// The rows of common table expressions that several names stand for, by their numbers.
    pub(super) shared: HashMap<u32, Arc<Gathered>>,
}
