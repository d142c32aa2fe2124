//! CHECK_CONSTRAINTS, and CHECK constraints as rows of TABLE_CONSTRAINTS.

use engine::Table;
use types::Value;

use super::spec::{Spec, View, name, text};
use crate::describe::columns::escaped;

fn check_constraints(v: &View<'_>) -> Vec<Vec<Value>> {
    let all = v.tables().into_iter().flat_map(|t| {
        t.def.checks.iter().map(|c| {
            vec![
                name("def"),
                name(&t.def.schema),
                text(&c.name),
                text(&escaped(&c.clause)),
            ]
        })
    });
    all.collect()
}

/// The rows of a table's CHECK constraints in TABLE_CONSTRAINTS.
pub(super) fn in_table_constraints(t: &Table) -> impl Iterator<Item = Vec<Value>> {
    t.def.checks.iter().map(|c| {
        vec![
            name("def"),
            name(&t.def.schema),
            text(&c.name),
            name(&t.def.schema),
            name(&t.def.name),
            text("CHECK"),
            text(if c.enforced { "YES" } else { "NO" }),
        ]
    })
}

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[Spec {
    name: "CHECK_CONSTRAINTS",
    columns: "CONSTRAINT_CATALOG n64, CONSTRAINT_SCHEMA n64, CONSTRAINT_NAME v64, CHECK_CLAUSE x",
    rows: check_constraints,
}];
