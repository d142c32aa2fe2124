//! `information_schema.INNODB_FRAGMENTATION`: how full and how orderly the leaves of each index were when they were looked at last, and what has come
//! back since the start. Nothing is read for it.

use engine::{IndexKind, IndexSpace};
use types::Value;

use super::spec::{Spec, View, name, uint};

/// Bytes of a page.
const PAGE_BYTES: u64 = 16_384;

/// Percent of its bytes that a leaf uses.
fn percent(s: &IndexSpace) -> Value {
    let all = s.met.leaves * PAGE_BYTES;
    (s.met.bytes * 100)
        .checked_div(all)
        .map_or(Value::Null, uint)
}

fn rows(v: &View<'_>) -> Vec<Vec<Value>> {
    let engine = &v.ctx.engine;
    let mut out = Vec::new();
    for t in v.tables() {
        let known = engine.index_space(t);
        let free = engine.table_sizes(t).free;
        let reclaimed = engine.reclaimed_bytes(t);
        for i in &t.def.indexes {
            let shown = match i.kind {
                IndexKind::Hidden => "GEN_CLUST_INDEX",
                _ => &i.name,
            };
            let of = known.iter().find(|(id, _)| *id == i.id);
            let s = of.map(|(_, s)| *s).unwrap_or_default();
            // Before it was looked at nothing is known of it.
            let met = |n: u64| match s.packed {
                0 => Value::Null,
                _ => uint(n),
            };
            out.push(vec![
                name(&t.def.schema),
                name(&t.def.name),
                name(shown),
                met(s.met.leaves),
                percent(&s),
                met(s.met.out_of_order),
                uint(s.packed),
                uint(s.saved),
                uint(s.moved),
                uint(free),
                uint(reclaimed),
            ]);
        }
    }
    out
}

/// The table.
pub(super) const SPECS: &[Spec] = &[Spec {
    name: "INNODB_FRAGMENTATION",
    columns: "TABLE_SCHEMA n192, TABLE_NAME n192, INDEX_NAME n192, LEAF_PAGES U?, FILL_PERCENT U?, OUT_OF_ORDER U?, TIMES_PACKED U, \
        LEAVES_SAVED U, PAGES_MOVED U, FILE_FREE_BYTES U, FILE_RECLAIMED_BYTES U",
    rows,
}];
