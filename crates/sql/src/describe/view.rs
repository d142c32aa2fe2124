//! CREATE VIEW as text that makes the same view again, in MySQL 8.0's form; and a view as metadata describes tables.

use engine::{ColumnDef, IndexDef, IndexKind, ObjectDef, TableDef, TableOptions};
use types::CollationId;

use super::create_table::Quoting;
use sql_parser::ast::{CheckOption, ViewAlgorithm};
use sql_plan::bind::view_def::ViewDef;

/// The word of an algorithm.
fn algorithm(a: ViewAlgorithm) -> &'static str {
    match a {
        ViewAlgorithm::Undefined => "UNDEFINED",
        ViewAlgorithm::Merge => "MERGE",
        ViewAlgorithm::Temptable => "TEMPTABLE",
    }
}

/// The word of a CHECK OPTION.
pub(crate) fn check_option(c: Option<CheckOption>) -> &'static str {
    match c {
        None => "NONE",
        Some(CheckOption::Local) => "LOCAL",
        Some(CheckOption::Cascaded) => "CASCADED",
    }
}

/// With whose rights it reads.
pub(crate) fn security(invoker: bool) -> &'static str {
    if invoker { "INVOKER" } else { "DEFINER" }
}

/// `CREATE VIEW` of a definition. Names of schemas are left out where the view reads its own alone, and that is the session's.
pub(crate) fn create_view_text(
    view: &ObjectDef,
    def: &ViewDef,
    current: Option<&str>,
    q: Quoting,
) -> String {
    let (query, compact) = def.shown_in(current, &view.schema);
    let name = match compact {
        true => q.name(&view.name),
        false => format!("{}.{}", q.name(&view.schema), q.name(&view.name)),
    };
    let mut t = format!(
        "CREATE ALGORITHM={} DEFINER={} SQL SECURITY {} VIEW {name} ",
        algorithm(def.algorithm),
        def.definer.ticked(),
        security(def.invoker),
    );
    if !def.columns.is_empty() {
        let names: Vec<String> = def.columns.iter().map(|c| q.name(c)).collect();
        t.push_str(&format!("({}) ", names.join(",")));
    }
    t.push_str("AS ");
    t.push_str(&query);
    if def.check.is_some() {
        t.push_str(&format!(" WITH {} CHECK OPTION", check_option(def.check)));
    }
    t
}

/// A view as if it were a table of these columns.
pub(crate) fn as_table(view: &ObjectDef, columns: Vec<ColumnDef>) -> TableDef {
    TableDef {
        id: 0,
        schema: view.schema.clone(),
        name: view.name.clone(),
        columns,
        indexes: vec![IndexDef {
            id: 0,
            name: String::new(),
            kind: IndexKind::Hidden,
            parts: Vec::new(),
            comment: String::new(),
            root: Default::default(),
            invisible: false,
            asked: Default::default(),
        }],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: CollationId::DEFAULT,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: Vec::new(),
            created_us: 0,
            discarded: false,
        },
    }
}
