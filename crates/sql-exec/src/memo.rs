//! Results of correlated subqueries that are kept within a statement, by the values of the rows around that they read: where few values
//! come again and again, the subquery runs once for each.
//!
//! As MariaDB's subquery cache and PostgreSQL's Memoize node. What does not pay is given up: after a while with few hits, and when the
//! results take too much room.

use std::collections::HashMap;
use std::sync::Arc;

use types::{SqlError, ValueRef};

use super::keymap::KeyMap;
use super::store::RowStore;
use sql_expr::RowSource;
use sql_expr::memory::Account;
use sql_plan::plan::{NodeId, SubPlan};

/// Bytes of results that are kept at most for one subquery.
const BYTES_MAX: usize = 16 << 20;
/// Look-ups after which it has to have paid.
const TRIAL: u64 = 2000;
/// Bytes that an entry takes beside its rows.
const ENTRY: usize = 256;

/// The results of one subquery.
struct Memo {
    keys: KeyMap,
    results: Vec<Arc<RowStore>>,
    asked: u64,
    bytes: usize,
}

/// The results of a statement's subqueries; `None` where it does not pay.
#[derive(Default)]
pub(crate) struct Memos {
    of: HashMap<NodeId, Option<Memo>>,
}

/// What is known of the rows of a subquery, for the values that it reads.
pub(crate) enum Known {
    /// Its rows.
    Rows(Arc<RowStore>),
    /// They are to be kept by this key once they are there.
    New(Vec<u8>),
    /// It does not pay to keep them.
    Never,
}

impl Memos {
    /// The rows of a subquery for the rows around it, where they are known.
    pub fn get(&mut self, p: &SubPlan, memory: &Arc<Account>, outer: &dyn RowSource) -> Known {
        let new = || {
            Some(Memo {
                keys: KeyMap::new(memory),
                results: Vec::new(),
                asked: 0,
                bytes: 0,
            })
        };
        let Some(memo) = self.of.entry(p.id).or_insert_with(new) else {
            return Known::Never;
        };
        let mut key = Vec::new();
        for &(slot, ordinal) in &p.outer {
            write_exactly(outer.column(slot, ordinal), &mut key);
        }
        memo.asked += 1;
        match memo.keys.get(&key) {
            Some(n) => Known::Rows(Arc::clone(&memo.results[n])),
            None => Known::New(key),
        }
    }

    /// Keeps the rows of a key, where that pays.
    ///
    /// # Errors
    /// The session may hold no more.
    pub fn keep(&mut self, id: NodeId, key: &[u8], rows: &Arc<RowStore>) -> Result<(), SqlError> {
        let Some(Some(memo)) = self.of.get_mut(&id) else {
            return Ok(());
        };
        memo.bytes += rows.bytes() + key.len() + ENTRY;
        let hits = memo.asked - memo.results.len() as u64;
        if memo.bytes > BYTES_MAX || memo.asked > TRIAL && hits * 4 < memo.asked {
            self.of.insert(id, None);
            return Ok(());
        }
        if memo.keys.insert(key)?.1 {
            memo.results.push(Arc::clone(rows));
        }
        Ok(())
    }
}

/// Writes a value so that only the same value has the same bytes: what a collation takes for equal may still differ in a result.
pub(super) fn write_exactly(v: ValueRef<'_>, out: &mut Vec<u8>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match v {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Int(i) => tagged(1, &i.to_le_bytes()),
        ValueRef::UInt(u) => tagged(2, &u.to_le_bytes()),
        ValueRef::Float(f) => tagged(3, &f.to_bits().to_le_bytes()),
        ValueRef::Double(f) => tagged(4, &f.to_bits().to_le_bytes()),
        ValueRef::Decimal(d) => {
            let text = d.to_string();
            tagged(5, &(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        ValueRef::Str(b, _) => {
            tagged(6, &(b.len() as u32).to_le_bytes());
            out.extend_from_slice(b);
        }
        ValueRef::Bytes(b) => {
            tagged(7, &(b.len() as u32).to_le_bytes());
            out.extend_from_slice(b);
        }
        ValueRef::Date(x) => tagged(8, &x.packed().to_le_bytes()),
        ValueRef::Time(x) => {
            tagged(9, &x.micros_total().to_le_bytes());
            out.push(x.fsp());
        }
        ValueRef::DateTime(x) => {
            tagged(10, &x.packed().to_le_bytes());
            out.push(x.fsp());
        }
        ValueRef::Bit(b, n) => {
            tagged(11, &b.to_le_bytes());
            out.push(n);
        }
        ValueRef::Enum(n, _) => tagged(12, &n.to_le_bytes()),
        ValueRef::Set(n, _) => tagged(13, &n.to_le_bytes()),
    }
}
