//! REFERENTIAL_CONSTRAINTS, INNODB_FOREIGN and INNODB_FOREIGN_COLS, and the rows of foreign keys in KEY_COLUMN_USAGE and TABLE_CONSTRAINTS.

use engine::{ColumnDef, ForeignKeyDef, IndexKind, ReferenceAction, Table};
use types::Value;

use super::spec::{Spec, View, int, name, text, text_or_null, uint};

/// A table's foreign keys in the order of their names.
fn sorted(t: &Table) -> Vec<&ForeignKeyDef> {
    let mut keys: Vec<&ForeignKeyDef> = t.def.foreign_keys.iter().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    keys
}

fn column_name(t: &Table, column: u16) -> &str {
    &t.def.columns[usize::from(column)].name
}

/// A table's rows of KEY_COLUMN_USAGE, of those columns that the session sees.
pub(super) fn columns_used(t: &Table, sees: impl Fn(&ColumnDef) -> bool) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for k in sorted(t) {
        for (n, (own, theirs)) in k.columns.iter().zip(&k.parent_columns).enumerate() {
            if !sees(&t.def.columns[usize::from(*own)]) {
                continue;
            }
            out.push(vec![
                name("def"),
                name(&t.def.schema),
                text(&k.name),
                name("def"),
                name(&t.def.schema),
                name(&t.def.name),
                text(column_name(t, *own)),
                uint(n as u64 + 1),
                uint(n as u64 + 1),
                name(&k.parent_schema),
                name(&k.parent),
                text(theirs),
            ]);
        }
    }
    out
}

/// A table's rows of TABLE_CONSTRAINTS.
pub(super) fn constraints(t: &Table) -> Vec<Vec<Value>> {
    let row = |k: &ForeignKeyDef| {
        vec![
            name("def"),
            name(&t.def.schema),
            text(&k.name),
            name(&t.def.schema),
            name(&t.def.name),
            text("FOREIGN KEY"),
            text("YES"),
        ]
    };
    sorted(t).into_iter().map(row).collect()
}

fn referential_constraints(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for k in sorted(t) {
            let parent = v.catalog().base_table(&k.parent_schema, &k.parent);
            out.push(vec![
                name("def"),
                name(&t.def.schema),
                text(&k.name),
                name("def"),
                name(&k.parent_schema),
                text_or_null(parent.as_ref().and_then(|p| unique_index(p, k))),
                text("NONE"),
                text(k.on_update.words()),
                text(k.on_delete.words()),
                name(&t.def.name),
                name(&k.parent),
            ]);
        }
    }
    out
}

/// The name of the parent's unique index of the columns that are referred to.
fn unique_index<'t>(parent: &'t Table, k: &ForeignKeyDef) -> Option<&'t str> {
    let columns = k.columns_in(&parent.def)?;
    let unique = parent.def.indexes.iter().find(|x| {
        matches!(x.kind, IndexKind::Primary | IndexKind::Unique)
            && x.parts.len() == columns.len()
            && (x.parts.iter().zip(&columns)).all(|(p, c)| p.column == *c && p.prefix == 0)
    });
    unique.map(|x| x.name.as_str())
}

/// A foreign key as InnoDB names it.
fn id(t: &Table, k: &ForeignKeyDef) -> Value {
    text(&format!("{}/{}", t.def.schema, k.name))
}

fn innodb_foreign(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for k in sorted(t) {
            let bits = |a: ReferenceAction, cascade: i64, no_action: i64| match a {
                ReferenceAction::Cascade => cascade,
                ReferenceAction::SetNull => 2 * cascade,
                ReferenceAction::NoAction => no_action,
                ReferenceAction::Restrict => 0,
            };
            out.push(vec![
                id(t, k),
                text(&format!("{}/{}", t.def.schema, t.def.name)),
                text(&format!("{}/{}", k.parent_schema, k.parent)),
                int(k.columns.len() as i64),
                uint((bits(k.on_delete, 1, 16) | bits(k.on_update, 4, 32)) as u64),
            ]);
        }
    }
    out
}

fn innodb_foreign_cols(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for k in sorted(t) {
            for (n, (own, theirs)) in k.columns.iter().zip(&k.parent_columns).enumerate() {
                out.push(vec![
                    id(t, k),
                    text(column_name(t, *own)),
                    text(theirs),
                    uint(n as u64 + 1),
                ]);
            }
        }
    }
    out
}

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "REFERENTIAL_CONSTRAINTS",
        columns: "CONSTRAINT_CATALOG n64, CONSTRAINT_SCHEMA n64, CONSTRAINT_NAME v64?, UNIQUE_CONSTRAINT_CATALOG n64, \
            UNIQUE_CONSTRAINT_SCHEMA n64, UNIQUE_CONSTRAINT_NAME v64?, MATCH_OPTION v7, UPDATE_RULE v11, DELETE_RULE v11, \
            TABLE_NAME n64, REFERENCED_TABLE_NAME n64",
        rows: referential_constraints,
    },
    Spec {
        name: "INNODB_FOREIGN",
        columns: "ID v129?, FOR_NAME v129?, REF_NAME v129?, N_COLS I, TYPE U",
        rows: innodb_foreign,
    },
    Spec {
        name: "INNODB_FOREIGN_COLS",
        columns: "ID v129?, FOR_COL_NAME v64, REF_COL_NAME v64, POS u",
        rows: innodb_foreign_cols,
    },
];
