//! The keys whose rows have been made, and where these are.

use std::sync::Arc;

use types::SqlError;

use crate::keymap::KeyMap;
use sql_expr::memory::{Account, Charge};

/// The keys that have come.
pub(crate) struct MadeKeys {
    keys: KeyMap,
    /// The first and the end of the rows of each.
    spans: Vec<(u32, u32)>,
    charge: Charge,
    account: Arc<Account>,
}

impl MadeKeys {
    /// None yet.
    pub fn new(account: &Arc<Account>) -> MadeKeys {
        MadeKeys {
            keys: KeyMap::new(account),
            spans: Vec::new(),
            charge: Charge::to(account),
            account: Arc::clone(account),
        }
    }

    /// Bytes that they take.
    pub fn used(&self) -> usize {
        self.keys.used()
    }

    /// The first and the end of the rows of a key.
    pub fn get(&self, key: &[u8]) -> Option<(usize, usize)> {
        let (first, end) = self.spans[self.keys.get(key)?];
        Some((first as usize, end as usize))
    }

    /// One more.
    ///
    /// # Errors
    /// The session may hold no more.
    pub fn add(&mut self, key: &[u8], first: usize, end: usize) -> Result<(), SqlError> {
        if !self.charge.reserve(&mut self.spans, 1) {
            self.account.check()?;
        }
        self.keys.insert(key)?;
        self.spans.push((first as u32, end as u32));
        Ok(())
    }
}
