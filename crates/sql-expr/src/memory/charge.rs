//! Memory that one holder has taken of its session's account, given back when the holder is dropped.
//!
//! Must never do: allocate before the account has said yes.

use std::sync::Arc;

use super::Account;

/// Blocks below this are not worth a charge.
pub const SMALL: usize = 32 << 10;

/// Memory that something holds, until it is dropped.
#[derive(Debug, Default)]
pub struct Charge {
    account: Option<Arc<Account>>,
    bytes: u64,
}

impl Charge {
    /// Nothing yet, against an account.
    pub fn to(account: &Arc<Account>) -> Charge {
        Charge {
            account: Some(Arc::clone(account)),
            bytes: 0,
        }
    }

    /// What is charged.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Charges that much in all from now on; `false` where it is more than before and refused: then nothing has changed.
    pub fn set(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        if let Some(account) = &self.account {
            if bytes > self.bytes {
                if !account.grow(bytes - self.bytes) {
                    return false;
                }
            } else if bytes < self.bytes {
                account.shrink(self.bytes - bytes);
            }
        }
        self.bytes = bytes;
        true
    }

    /// Charges so much more.
    pub fn add(&mut self, bytes: usize) -> bool {
        self.set((self.bytes as usize).saturating_add(bytes))
    }

    /// Makes room in a vector for `more` elements, asking first. While it moves, a vector takes its old room and its new one.
    pub fn reserve<T>(&mut self, v: &mut Vec<T>, more: usize) -> bool {
        if v.capacity() - v.len() >= more {
            return true;
        }
        let size = size_of::<T>().max(1);
        // Large ones grow by less, so that less lies idle.
        let spare = match v.capacity() * size {
            0..LARGE => v.capacity(),
            _ => v.capacity() / 2,
        };
        let room = (v.len() + more).max(v.capacity() + spare).max(8);
        let (old, new) = (v.capacity() * size, room * size);
        let others = self.bytes as usize - (self.bytes as usize).min(old);
        if new < SMALL {
            v.reserve_exact(room - v.len());
            return true;
        }
        if !self.set(others + old + new) {
            return false;
        }
        v.reserve_exact(room - v.len());
        // Less than before: never refused.
        self.set(others + new)
    }
}

/// Vectors above this grow by half.
const LARGE: usize = 4 << 20;

impl Clone for Charge {
    /// For a copy of what is charged: nothing yet.
    fn clone(&self) -> Charge {
        Charge {
            account: self.account.clone(),
            bytes: 0,
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0
            && let Some(account) = &self.account
        {
            account.shrink(self.bytes);
        }
    }
}
