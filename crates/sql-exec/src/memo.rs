//! Results of correlated subqueries that are kept within a statement, by the values of the rows around that they read: where few values
//! come again and again, the subquery runs once for each.
//!
//! As MariaDB's subquery cache and PostgreSQL's Memoize node. What does not pay is given up: after a while with few hits, and when the
//! results take too much room.

use std::collections::HashMap;
use std::sync::Arc;

use types::{SqlError, ValueRef};

use super::Env;
use super::keymap::KeyMap;
use super::store::RowStore;
use super::sub::fetch;
use sql_expr::RowSource;
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

/// The rows of a correlated subquery for the rows around it, kept or fetched.
pub(crate) async fn rows(
    p: &SubPlan,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
) -> Result<Arc<RowStore>, SqlError> {
    if !p.repeats {
        return Ok(Arc::new(fetch(p, env, outer).await?));
    }
    let memory = env.cx.memory();
    let new = || {
        Some(Memo {
            keys: KeyMap::new(memory),
            results: Vec::new(),
            asked: 0,
            bytes: 0,
        })
    };
    let Some(memo) = env.memos.of.entry(p.id).or_insert_with(new) else {
        return Ok(Arc::new(fetch(p, env, outer).await?));
    };
    let mut key = Vec::new();
    for &(slot, ordinal) in &p.outer {
        write_exactly(outer.column(slot, ordinal), &mut key);
    }
    memo.asked += 1;
    if let Some(n) = memo.keys.get(&key) {
        return Ok(Arc::clone(&memo.results[n]));
    }
    let before = env.cx.warning_count();
    let rows = Arc::new(fetch(p, env, outer).await?);
    if env.cx.warning_count() != before {
        // It warns each time.
        return Ok(rows);
    }
    let Some(Some(memo)) = env.memos.of.get_mut(&p.id) else {
        return Ok(rows);
    };
    memo.bytes += rows.bytes() + key.len() + ENTRY;
    let hits = memo.asked - memo.results.len() as u64;
    if memo.bytes > BYTES_MAX || memo.asked > TRIAL && hits * 4 < memo.asked {
        env.memos.of.insert(p.id, None);
        return Ok(rows);
    }
    if memo.keys.insert(&key)?.1 {
        memo.results.push(Arc::clone(&rows));
    }
    Ok(rows)
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
