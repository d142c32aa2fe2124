//! What a transaction has changed and gone by, as hashes of keys: two transactions without a hash in common may be applied beside each other.
//!
//! A key is a primary or unique key of a row as it was or as it is, without NULLs; and the key of a row's parent, which a child goes by. Where it
//! is not known what a transaction has changed (a table without keys, a table that is a parent, as rows of others may have changed
//! with its own), it goes beside nothing. As MySQL's WRITESET (`sql/rpl_write_set_handler.cc`); hashes are our own and leave no server.

use super::mapped::Mapped;
use engine::{Session, Table};
use std::hash::Hasher;
use types::Value;
use types::keyenc::KeyPart;

/// More than this are not kept: whoever goes by them keeps no more either (`binlog_transaction_dependency_history_size`).
const MOST: usize = 25_000;

/// The hashes of a transaction.
#[derive(Default)]
pub(super) struct Keys {
    hashes: Vec<u64>,
    unknown: bool,
}

/// FNV-1a (Fowler, Noll, Vo), with the bits mixed at the end (Stafford's variant 13): the same in every process.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for Hash {
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    fn finish(&self) -> u64 {
        let mut h = self.0;
        h = (h ^ h >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        h = (h ^ h >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        h ^ h >> 31
    }
}

impl Keys {
    /// A row was inserted, changed or deleted.
    pub fn row(
        &mut self,
        s: &mut Session,
        mapped: &Mapped,
        table: &Table,
        before: Option<&[Value]>,
        after: Option<&[Value]>,
    ) {
        if self.unknown {
            return;
        }
        if mapped.is_parent(s, table) {
            self.forget();
            return;
        }
        let seen = self.hashes.len();
        let before = before.filter(|_| !base::mutant!("dependency-by-new-values-alone"));
        for row in [before, after].into_iter().flatten() {
            let known = self.add(mapped, table, row);
            if !known {
                self.forget();
                return;
            }
        }
        // Of an update most keys are there twice.
        let mut new = self.hashes.split_off(seen);
        new.sort_unstable();
        new.dedup();
        self.hashes.append(&mut new);
        if self.hashes.len() > MOST {
            self.hashes.sort_unstable();
            self.hashes.dedup();
            if self.hashes.len() > MOST {
                self.forget();
            }
        }
    }

    /// It is not known what the transaction changes.
    pub fn forget(&mut self) {
        *self = Keys {
            unknown: true,
            ..Keys::default()
        };
    }

    /// Adds the keys of a row; false where it has none.
    fn add(&mut self, mapped: &Mapped, table: &Table, row: &[Value]) -> bool {
        let def = &table.def;
        let mut encoded = Vec::new();
        let mut any = false;
        for columns in &mapped.keys {
            if any && base::mutant!("dependency-by-primary-keys-alone") {
                continue;
            }
            let names = columns.iter().map(|(c, _)| &*def.columns[*c].name);
            let of = (&*def.schema, &*def.name);
            any |= self.key(of, names, (table, row), columns, &mut encoded);
        }
        for k in &def.foreign_keys {
            let columns: Vec<(usize, u32)> =
                k.columns.iter().map(|c| (usize::from(*c), 0)).collect();
            let names = k.parent_columns.iter().map(|n| &**n);
            let of = (&*k.parent_schema, &*k.parent);
            self.key(of, names, (table, row), &columns, &mut encoded);
        }
        any
    }

    /// Adds one key: those columns of the row, as a key of that table and those columns; false where one of them is NULL.
    fn key<'n>(
        &mut self,
        (schema, name): (&str, &str),
        names: impl Iterator<Item = &'n str>,
        (table, row): (&Table, &[Value]),
        columns: &[(usize, u32)],
        encoded: &mut Vec<u8>,
    ) -> bool {
        encoded.clear();
        for part in [schema, name] {
            encoded.extend_from_slice(part.as_bytes());
            encoded.push(0);
        }
        // In the order of the names: a foreign key may name its parent's columns in another order than the index has them.
        let mut parts: Vec<(String, (usize, u32))> = names
            .map(str::to_lowercase)
            .zip(columns.iter().copied())
            .collect();
        parts.sort_unstable();
        for (name, (c, prefix)) in &parts {
            let Some(v) = row.get(*c).filter(|v| !v.is_null()) else {
                return false;
            };
            encoded.extend_from_slice(name.as_bytes());
            encoded.push(0);
            let part = KeyPart {
                ty: table.def.columns[*c].ty.clone(),
                nullable: false,
                prefix: *prefix,
                descending: false,
            };
            part.encode(v.as_ref(), encoded);
        }
        let mut hash = Hash::new();
        hash.write(encoded);
        self.hashes.push(hash.finish());
        true
    }

    /// All of them, each once; `None`: not known.
    pub fn into_hashes(mut self) -> Option<Vec<u64>> {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        (!self.unknown).then_some(self.hashes)
    }
}
