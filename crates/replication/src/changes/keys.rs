//! What a transaction has changed and gone by, as hashes of keys: two transactions without a hash in common may be applied beside each other.
//!
//! A key is a primary or unique key of a row as it was or as it is, without NULLs; and the key of a row's parent, which a child goes by. Where it
//! is not known what a transaction has changed (a table without keys, a table that is a parent, as rows of others may have changed
//! with its own), it goes beside nothing. As MySQL's WRITESET (`sql/rpl_write_set_handler.cc`); hashes are our own and leave no server.

use engine::TableDef;
use sql::context::change_log::Row;
use types::keyenc::KeyPart;

/// More than this are not kept: whoever goes by them keeps no more either (`binlog_transaction_dependency_history_size`).
const MOST: usize = 25_000;
/// Room for more hashes than this is not kept for the next transaction.
const KEPT_MAX: usize = 256;

/// The hashes of a transaction.
#[derive(Default)]
pub(super) struct Keys {
    hashes: Vec<u64>,
    unknown: bool,
    /// A value of a key as it is hashed.
    encoded: Vec<u8>,
}

/// FNV-1a (Fowler, Noll, Vo), with the bits mixed at the end (Stafford's variant 13): the same in every process.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    const NEW: Hash = Hash(0xCBF2_9CE4_8422_2325);

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    fn finish(self) -> u64 {
        let mut h = self.0;
        h = (h ^ h >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        h = (h ^ h >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        h ^ h >> 31
    }
}

/// A key of a table, or of one that its rows go by. What does not depend on the row is hashed once for each definition.
pub(super) struct Key {
    /// Of the table's names and the first column's.
    start: Hash,
    /// In the order of the names: a foreign key may name its parent's columns in another order than the index has them.
    parts: Vec<Part>,
}

/// A column of a key.
struct Part {
    /// Its name as it is hashed in front of the value; of the first column that is done.
    name: Vec<u8>,
    /// Where it stands in a row.
    column: usize,
    part: KeyPart,
}

/// The keys of a table.
pub(super) struct TableKeys {
    /// The primary key and the unique keys.
    own: Vec<Key>,
    /// The keys of parents.
    parents: Vec<Key>,
}

impl TableKeys {
    /// Those of a table. `unique`: of its primary key and its unique keys, where in a row each column stands, and how many characters of it (0: all).
    pub fn new(def: &TableDef, unique: &[Vec<(usize, u32)>]) -> TableKeys {
        let part = |c: usize, prefix: u32| {
            let part = KeyPart {
                ty: def.columns[c].ty.clone(),
                nullable: false,
                prefix,
                descending: false,
            };
            (c, part)
        };
        let own = unique.iter().map(|columns| {
            let parts = columns.iter().map(|(c, prefix)| {
                let name = &*def.columns[*c].name;
                (name, part(*c, *prefix))
            });
            Key::new((&def.schema, &def.name), parts)
        });
        let parents = def.foreign_keys.iter().map(|k| {
            let columns = k.columns.iter().map(|c| part(usize::from(*c), 0));
            let parts = k.parent_columns.iter().map(|n| &**n).zip(columns);
            Key::new((&k.parent_schema, &k.parent), parts)
        });
        TableKeys {
            own: own.collect(),
            parents: parents.collect(),
        }
    }
}

impl Key {
    /// The key of a table of these columns: the name of each there, where it stands in the rows that are told, and what it is.
    fn new<'n>(
        (schema, table): (&str, &str),
        columns: impl Iterator<Item = (&'n str, (usize, KeyPart))>,
    ) -> Key {
        let named = |(name, (column, part)): (&str, _)| Part {
            name: [name.to_lowercase().as_bytes(), &[0]].concat(),
            column,
            part,
        };
        let mut parts: Vec<Part> = columns.map(named).collect();
        parts.sort_by(|a, b| (&a.name, a.column).cmp(&(&b.name, b.column)));
        let mut start = Hash::NEW;
        for name in [schema, table] {
            start.write(name.as_bytes());
            start.write(&[0]);
        }
        if let Some(first) = parts.first_mut() {
            start.write(&std::mem::take(&mut first.name));
        }
        Key { start, parts }
    }

    /// Of a row; `None` where one of the columns is NULL.
    fn hash(&self, row: Row<'_>, encoded: &mut Vec<u8>) -> Option<u64> {
        let mut hash = self.start;
        for p in &self.parts {
            let v = row.value(p.column);
            if v.is_null() {
                return None;
            }
            encoded.clear();
            p.part.encode(v, encoded);
            hash.write(&p.name);
            hash.write(encoded);
        }
        Some(hash.finish())
    }
}

impl Keys {
    /// A row of a table with these keys was inserted, changed or deleted. `is_parent`: rows of others may have changed with it.
    pub fn row(
        &mut self,
        keys: &TableKeys,
        is_parent: bool,
        before: Option<Row<'_>>,
        after: Option<Row<'_>>,
    ) {
        if self.unknown {
            return;
        }
        if is_parent {
            self.forget();
            return;
        }
        let seen = self.hashes.len();
        let before = before.filter(|_| !base::mutant!("dependency-by-new-values-alone"));
        for row in [before, after].into_iter().flatten() {
            let known = self.add(keys, row, seen);
            if !known {
                self.forget();
                return;
            }
        }
        if self.hashes.len() > MOST {
            self.hashes.sort_unstable();
            self.hashes.dedup();
            if self.hashes.len() > MOST {
                self.forget();
            }
        }
    }

    /// It is not known what the transaction has changed.
    pub fn forget(&mut self) {
        *self = Keys {
            unknown: true,
            ..Keys::default()
        };
    }

    /// There is another transaction, of which nothing is known yet.
    pub fn clear(&mut self) {
        self.unknown = false;
        self.hashes.clear();
        self.hashes.shrink_to(KEPT_MAX);
    }

    /// Adds the keys of a row, but for those that are there from `seen` on; false where it has none.
    fn add(&mut self, keys: &TableKeys, row: Row<'_>, seen: usize) -> bool {
        let mut any = false;
        for key in &keys.own {
            if any && base::mutant!("dependency-by-primary-keys-alone") {
                continue;
            }
            any |= self.key(key, row, seen);
        }
        for key in &keys.parents {
            self.key(key, row, seen);
        }
        any
    }

    /// Adds one key; false where one of its columns is NULL.
    fn key(&mut self, key: &Key, row: Row<'_>, seen: usize) -> bool {
        let Some(hash) = key.hash(row, &mut self.encoded) else {
            return false;
        };
        // Of an update most keys are there twice.
        if !self.hashes[seen..].contains(&hash) {
            self.hashes.push(hash);
        }
        true
    }

    /// All of them, each once; `None`: not known.
    pub fn hashes(&mut self) -> Option<&[u64]> {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        (!self.unknown).then_some(&self.hashes[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;
    use types::datatype::DataType;

    /// As all of a key in one piece: they stand in logs and states, and are not to be others with another version.
    #[test]
    fn hashes_are_of_the_whole_key() {
        let int = || KeyPart::new(DataType::INT, false);
        let columns = [("B", (2, int())), ("a", (0, int()))];
        let key = Key::new(("s", "t"), columns.into_iter());
        let row = [Value::Int(7), Value::Null, Value::Int(-1)];
        let mut whole = b"s\0t\0a\0".to_vec();
        int().encode(row[0].as_ref(), &mut whole);
        whole.extend(b"b\0");
        int().encode(row[2].as_ref(), &mut whole);
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        for b in &whole {
            hash = (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01B3);
        }
        let mut encoded = Vec::new();
        let found = key.hash(Row::Values(&row), &mut encoded);
        assert_eq!(found, Some(Hash(hash).finish()));
        assert_eq!(found, Some(PINNED));
        let with_null = [Value::Null, Value::Null, Value::Int(-1)];
        assert_eq!(key.hash(Row::Values(&with_null), &mut encoded), None);
    }

    /// Found by the version that hashed each key as a whole.
    const PINNED: u64 = 0xF0AA_52ED_5A5D_E437;
}
