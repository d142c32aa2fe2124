//! STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS.

use engine::{IndexDef, IndexKind, Table};
use types::Value;

use super::spec::{Spec, View, int, name, text, uint};
use crate::ddl::keys;
use crate::show::cardinality;

fn shown(t: &Table) -> Vec<&IndexDef> {
    keys::shown(&t.def.columns, &t.def.indexes)
}

fn statistics(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for i in shown(t) {
            for (seq, p) in i.parts.iter().enumerate() {
                let c = &t.def.columns[usize::from(p.column)];
                let prefix = match p.prefix {
                    0 => Value::Null,
                    n => int(i64::from(n)),
                };
                out.push(vec![
                    name("def"),
                    name(&t.def.schema),
                    name(&t.def.name),
                    int(i64::from(i.kind == IndexKind::Plain)),
                    name(&t.def.schema),
                    text(&i.name),
                    uint(seq as u64 + 1),
                    text(&c.name),
                    text(if p.descending { "D" } else { "A" }),
                    int(cardinality(t, i, seq) as i64),
                    prefix,
                    Value::Null,
                    text(if c.nullable { "YES" } else { "" }),
                    text("BTREE"),
                    text(""),
                    text(&i.comment),
                    text(if i.invisible { "NO" } else { "YES" }),
                    Value::Null,
                ]);
            }
        }
    }
    out
}

fn is_constraint(i: &IndexDef) -> bool {
    matches!(i.kind, IndexKind::Primary | IndexKind::Unique)
}

fn key_column_usage(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for i in shown(t).into_iter().filter(|i| is_constraint(i)) {
            for (seq, p) in i.parts.iter().enumerate() {
                let c = &t.def.columns[usize::from(p.column)];
                out.push(vec![
                    name("def"),
                    name(&t.def.schema),
                    text(&i.name),
                    name("def"),
                    name(&t.def.schema),
                    name(&t.def.name),
                    text(&c.name),
                    uint(seq as u64 + 1),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
    }
    out
}

fn table_constraints(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for i in shown(t).into_iter().filter(|i| is_constraint(i)) {
            let kind = match i.kind {
                IndexKind::Primary => "PRIMARY KEY",
                _ => "UNIQUE",
            };
            out.push(vec![
                name("def"),
                name(&t.def.schema),
                text(&i.name),
                name(&t.def.schema),
                name(&t.def.name),
                text(kind),
                text("YES"),
            ]);
        }
    }
    out
}

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "STATISTICS",
        columns: "TABLE_CATALOG n64, TABLE_SCHEMA n64, TABLE_NAME n64, NON_UNIQUE i, INDEX_SCHEMA n64, INDEX_NAME v64?, \
            SEQ_IN_INDEX u, COLUMN_NAME v64?, COLLATION v1?, CARDINALITY I?, SUB_PART I?, PACKED v1?, NULLABLE v3, \
            INDEX_TYPE v11, COMMENT v8, INDEX_COMMENT v2048, IS_VISIBLE v3, EXPRESSION x?",
        rows: statistics,
    },
    Spec {
        name: "KEY_COLUMN_USAGE",
        columns: "CONSTRAINT_CATALOG n64, CONSTRAINT_SCHEMA n64, CONSTRAINT_NAME v64?, TABLE_CATALOG n64, TABLE_SCHEMA n64, \
            TABLE_NAME n64, COLUMN_NAME v64?, ORDINAL_POSITION u, POSITION_IN_UNIQUE_CONSTRAINT u?, \
            REFERENCED_TABLE_SCHEMA n64?, REFERENCED_TABLE_NAME n64?, REFERENCED_COLUMN_NAME v64?",
        rows: key_column_usage,
    },
    Spec {
        name: "TABLE_CONSTRAINTS",
        columns: "CONSTRAINT_CATALOG n64, CONSTRAINT_SCHEMA n64, CONSTRAINT_NAME v64?, TABLE_SCHEMA n64, TABLE_NAME n64, \
            CONSTRAINT_TYPE v11, ENFORCED v3",
        rows: table_constraints,
    },
];
