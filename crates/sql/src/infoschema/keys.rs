//! STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS; what is known of tables' rows: COLUMN_STATISTICS, `mysql.innodb_table_stats`,
//! `mysql.innodb_index_stats`.

use engine::{ColumnDef, IndexDef, IndexKind, Table, TableDef};
use types::Value;

use super::foreign_keys;
use super::spec::{Spec, View, int, moment, name, text, text_or_null, uint};
use crate::describe::columns::{cardinality, escaped};
use crate::describe::keys;
use sql_access::Priv;
use sql_plan::bind::row_rules::columns_read;

fn shown(t: &Table) -> Vec<&IndexDef> {
    keys::shown(&t.def.columns, &t.def.indexes)
}

/// Whether the session may know of a column: as COLUMNS has it, and of a functional key part where it may of all that it reads.
fn sees(v: &View<'_>, def: &TableDef, c: &ColumnDef) -> bool {
    let sees = |c: &ColumnDef| v.security().sees_column(&def.schema, &def.name, &c.name);
    match c.key_expression() {
        None => sees(c),
        Some(e) => {
            let mut read = columns_read(e, def).into_iter();
            read.all(|c| sees(&def.columns[usize::from(c)]))
        }
    }
}

fn statistics(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for i in shown(t) {
            for (seq, p) in i.parts.iter().enumerate() {
                let c = &t.def.columns[usize::from(p.column)];
                if !sees(v, &t.def, c) {
                    continue;
                }
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
                    text_or_null((!c.is_hidden()).then_some(&*c.name)),
                    text(if p.descending { "D" } else { "A" }),
                    int(cardinality(t, i, seq) as i64),
                    prefix,
                    Value::Null,
                    text(if c.nullable { "YES" } else { "" }),
                    text("BTREE"),
                    text(""),
                    text(&i.comment),
                    text(if i.invisible { "NO" } else { "YES" }),
                    text_or_null(c.key_expression().map(escaped).as_deref()),
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
                if c.is_hidden() || !sees(v, &t.def, c) {
                    continue;
                }
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
        out.extend(foreign_keys::columns_used(t, |c| sees(v, &t.def, c)));
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
        out.extend(super::constraints::in_table_constraints(t));
        out.extend(foreign_keys::constraints(t));
    }
    out
}

fn column_statistics(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for h in t.histograms().iter() {
            // It shows values: whoever may not read the column does not see it. (MySQL asks for any privilege on the table.)
            let security = v.security();
            let on = security.on_column(&t.def.schema, &t.def.name, &h.column);
            if !security.is_server() && !on.has(Priv::Select) {
                continue;
            }
            out.push(vec![
                name(&t.def.schema),
                name(&t.def.name),
                text(&h.column),
                text(&h.json),
            ]);
        }
    }
    out
}

fn table_stats(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        let Some(stats) = t.stats() else { continue };
        let mut pages = stats.indexes.iter().map(|x| x.pages);
        out.push(vec![
            name(&t.def.schema),
            name(&t.def.name),
            moment(stats.made_us, v.zone()),
            uint(stats.rows),
            uint(pages.next().unwrap_or(0)),
            uint(pages.sum()),
        ]);
    }
    out
}

fn index_stats(v: &View<'_>) -> Vec<Vec<Value>> {
    v.tables()
        .into_iter()
        .flat_map(|t| of_indexes(t, v))
        .collect()
}

/// The figures of a table's indexes, each under its name.
fn of_indexes(t: &Table, v: &View<'_>) -> Vec<Vec<Value>> {
    let Some(stats) = t.stats() else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (def, x) in t.def.indexes.iter().zip(stats.indexes.iter()) {
        let index = match def.kind {
            IndexKind::Hidden => "GEN_CLUST_INDEX",
            _ => &def.name,
        };
        let column = |i: usize| -> &str {
            let c = def.parts.get(i).map(|p| usize::from(p.column));
            c.and_then(|c| t.def.columns.get(c))
                .map_or("DB_ROW_ID", |c| &c.name)
        };
        let mut row = |stat: &str, n: u64, sampled: Option<u64>, description: &str| {
            out.push(vec![
                name(&t.def.schema),
                name(&t.def.name),
                name(index),
                moment(stats.made_us, v.zone()),
                name(stat),
                uint(n),
                sampled.map_or(Value::Null, uint),
                name(description),
            ]);
        };
        if x.distinct.is_empty() {
            row("n_diff_pfx01", stats.rows, Some(x.sampled), column(0));
        }
        let mut columns = String::new();
        for (i, n) in x.distinct.iter().enumerate() {
            if i > 0 {
                columns.push(',');
            }
            columns.push_str(column(i));
            let stat = format!("n_diff_pfx{:02}", i + 1);
            row(&stat, n.round() as u64, Some(x.sampled), &columns);
        }
        let leaves = "Number of leaf pages in the index";
        row("n_leaf_pages", x.leaf_pages, None, leaves);
        row("size", x.pages, None, "Number of pages in the index");
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
    Spec {
        name: "COLUMN_STATISTICS",
        columns: "SCHEMA_NAME n64, TABLE_NAME n64, COLUMN_NAME v64, HISTOGRAM x",
        rows: column_statistics,
    },
];

/// Those of `mysql`.
pub(super) const MYSQL_SPECS: &[Spec] = &[
    Spec {
        name: "innodb_table_stats",
        columns: "database_name n64, table_name n199, last_update t, n_rows U, clustered_index_size U, \
            sum_of_other_index_sizes U",
        rows: table_stats,
    },
    Spec {
        name: "innodb_index_stats",
        columns: "database_name n64, table_name n199, index_name n64, last_update t, stat_name n64, stat_value U, \
            sample_size U?, stat_description n1024",
        rows: index_stats,
    },
];
