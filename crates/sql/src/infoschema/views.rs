//! VIEWS and what views read.

use engine::ObjectDef;
use types::Value;

use super::spec::{Spec, View, moment, name, no_rows, text};
use crate::describe::view::{check_option, security};
use sql_access::Priv;
use sql_access::context::is_virtual;
use sql_plan::bind::view_def::ViewDef;
use types::temporal::Zone;

fn views(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for view in v.views() {
        let Ok(def) = ViewDef::of(view) else { continue };
        let has = v.security().on_table(&view.schema, &view.name);
        let shown = has.has(Priv::ShowView) || v.security().is_server();
        out.push(vec![
            name("def"),
            name(&view.schema),
            name(&view.name),
            text(if shown { &def.query } else { "" }),
            text(check_option(def.check)),
            text(if def.updatable { "YES" } else { "NO" }),
            text(&def.definer.plain()),
            text(security(def.invoker)),
            text(&def.charset),
            text(&def.collation),
        ]);
    }
    out
}

fn usage(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for view in v.views() {
        let Ok(def) = ViewDef::of(view) else { continue };
        for (schema, table) in def.tables() {
            if is_virtual(&schema) || !v.security().sees_table(&schema, &table) {
                continue;
            }
            out.push(vec![
                name("def"),
                name(&view.schema),
                name(&view.name),
                name("def"),
                name(&schema),
                name(&table),
            ]);
        }
    }
    out
}

/// The row of TABLES of a view.
pub(super) fn table_row(view: &ObjectDef, zone: Zone) -> Vec<Value> {
    let created = ViewDef::of(view).map_or(0, |d| d.created_us);
    let mut row = vec![
        name("def"),
        name(&view.schema),
        name(&view.name),
        text("VIEW"),
    ];
    row.extend(status_values(created, zone));
    row
}

/// From engine to comment, as TABLES and SHOW TABLE STATUS have them.
fn status_values(created_us: i64, zone: Zone) -> Vec<Value> {
    let mut row = vec![Value::Null; 10];
    row.push(moment(created_us, zone));
    row.extend(std::iter::repeat_n(Value::Null, 5));
    row.push(text("VIEW"));
    row
}

/// The row of SHOW TABLE STATUS of a view.
pub(crate) fn status_row(view: &ObjectDef, zone: Zone) -> Vec<Value> {
    let created = ViewDef::of(view).map_or(0, |d| d.created_us);
    let mut row = vec![text(&view.name)];
    row.extend(status_values(created, zone));
    row
}

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "VIEWS",
        columns: "TABLE_CATALOG n64, TABLE_SCHEMA n64, TABLE_NAME n64, VIEW_DEFINITION x?, CHECK_OPTION v8?, IS_UPDATABLE v3?, \
         DEFINER v288?, SECURITY_TYPE v7?, CHARACTER_SET_CLIENT v64, COLLATION_CONNECTION v64",
        rows: views,
    },
    Spec {
        name: "VIEW_TABLE_USAGE",
        columns: "VIEW_CATALOG n64?, VIEW_SCHEMA n64?, VIEW_NAME n64?, TABLE_CATALOG n64?, TABLE_SCHEMA n64?, TABLE_NAME n64?",
        rows: usage,
    },
    Spec {
        name: "VIEW_ROUTINE_USAGE",
        columns: "TABLE_CATALOG n64?, TABLE_SCHEMA n64?, TABLE_NAME n64?, SPECIFIC_CATALOG n64?, SPECIFIC_SCHEMA n64?, SPECIFIC_NAME n64?",
        rows: no_rows,
    },
];
