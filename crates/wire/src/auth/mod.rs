//! Who a client is: the exchange behind mysql_native_password and caching_sha2_password.
//!
//! [`Authenticator`] is a state machine over packets; [`AuthContext`] is what a server keeps for all connections (the
//! RSA key, made when first asked for, and the cache behind fast caching_sha2 authentication). Where accounts are stored,
//! and which hosts they may come from, is not known here. Authorisation is not either.

mod credential;
mod machine;
mod rsa_keys;
mod scramble;
mod sha256_crypt;

pub use credential::{Credential, native_hash};
pub use machine::{Authenticator, Plugin, Step};
pub use rsa_keys::{RsaKeys, encrypt_password};
pub use scramble::{native_scramble, sha2_scramble};
pub use sha256_crypt::sha256_crypt;

use base::lock::RwLock;
use std::collections::HashMap;

/// What all connections of a server share for authentication.
#[derive(Debug, Default)]
pub struct AuthContext {
    /// The key pair for passwords on open transports.
    pub rsa: RsaKeys,
    /// Proofs remembered after a full authentication.
    pub cache: FastAuthCache,
}

/// The cache that gives caching_sha2_password its name: SHA256(SHA256(password)) by stored credential. A changed
/// password is another credential, so an entry never needs to be thrown out for being wrong.
#[derive(Debug, Default)]
pub struct FastAuthCache {
    entries: RwLock<HashMap<Box<[u8]>, [u8; 32]>>,
}

/// Entries kept at most; beyond, the cache starts anew (each costs one full authentication).
const CACHE_ENTRIES: usize = 10_000;

impl FastAuthCache {
    fn get(&self, stored: &[u8]) -> Option<[u8; 32]> {
        let entries = self.entries.read();
        entries.get(stored).copied()
    }

    fn insert(&self, stored: &[u8], digest: [u8; 32]) {
        let mut entries = self.entries.write();
        if entries.len() >= CACHE_ENTRIES {
            entries.clear();
        }
        entries.insert(stored.into(), digest);
    }

    /// Forgets everything (FLUSH PRIVILEGES).
    pub fn clear(&self) {
        let mut entries = self.entries.write();
        entries.clear();
    }
}
