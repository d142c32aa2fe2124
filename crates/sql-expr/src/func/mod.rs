//! The built-in functions: what they are called, what they take, what they yield. Each module holds one family and a
//! table of its functions; [`find`] looks one up. A function is two plain `fn`s: one infers the result's type when
//! the statement is bound, one computes it for a row.
//!
//! Functions with a syntax of their own (CAST, EXTRACT, TRIM …) come here only where an ordinary call says the same.

mod args;
mod bits;
mod compressed;
mod control;
mod datetime;
mod datetime_parts;
mod def;
mod digest;
mod digits;
mod format;
mod gtid;
mod infer;
mod info;
mod json;
mod json_assigned;
mod json_edit;
pub mod json_list;
mod json_schema;
mod json_search;
pub(crate) mod json_value;
mod net;
mod numeric;
mod padded;
mod string;
mod string_edit;
mod uuid;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

pub(crate) use super::node::Args;
pub use super::node::{FuncDef, InferCx, InferFn};
pub use def::MANY;
pub(crate) use def::{def, some};
pub(crate) use digits::Digits;
pub(crate) use infer::json_type;
pub use info::last_id_as_null_call;
pub use json_assigned::assigned_to;
pub use json_schema::why_not_valid;
pub use padded::padded;
pub(crate) use string::substring_of;

/// FNV-1a of 32 bits (Fowler, Noll, Vo), for short names of ours: what a client sends is looked up and never kept.
struct NameHasher(u32);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0x811C_9DC5)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u32::from(*b)).wrapping_mul(0x0100_0193);
        }
    }

    fn finish(&self) -> u64 {
        // The map takes its place from the low bits, and a tag from the high ones.
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

type Functions = HashMap<&'static str, &'static FuncDef, BuildHasherDefault<NameHasher>>;

static TABLE: LazyLock<Functions> = LazyLock::new(|| {
    [
        bits::TABLE,
        compressed::TABLE,
        control::TABLE,
        uuid::TABLE,
        datetime::TABLE,
        datetime_parts::TABLE,
        digest::TABLE,
        format::TABLE,
        gtid::TABLE,
        info::TABLE,
        json::TABLE,
        json_edit::TABLE,
        json_schema::TABLE,
        json_search::TABLE,
        json_value::TABLE,
        net::TABLE,
        numeric::TABLE,
        string::TABLE,
        string_edit::TABLE,
    ]
    .into_iter()
    .flatten()
    .map(|f| (f.name, f))
    .collect()
});

/// The function of that name, in any case.
pub fn find(name: &str) -> Option<&'static FuncDef> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        TABLE.get(name.to_ascii_lowercase().as_str()).copied()
    } else {
        TABLE.get(name).copied()
    }
}

/// The names of all functions, for completion and documentation.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}
