//! What metadata says of columns and indexes beyond their definitions.

use engine::{ColumnDefault, IndexDef, IndexKind, Table, TableDef};

use super::create_table::{default_text, now_text};
use super::keys;
use sql_access::SecurityContext;
use sql_access::privilege::COLUMN_SET;
use types::temporal::Zone;

/// What metadata says of a column beyond its definition.
pub(crate) struct ColumnFacts {
    /// `PRI`, `UNI`, `MUL` or nothing.
    pub key: &'static str,
    /// The default as text.
    pub default: Option<String>,
    /// `auto_increment`, `DEFAULT_GENERATED on update CURRENT_TIMESTAMP` …
    pub extra: String,
}

/// `PRI`, `UNI`, `MUL` or nothing, as SHOW COLUMNS has it.
pub(crate) fn key_of(def: &TableDef, column: usize) -> &'static str {
    let shown = keys::shown(&def.columns, &def.indexes);
    let has = |i: &IndexDef| i.parts.iter().any(|p| usize::from(p.column) == column);
    let leads = |i: &IndexDef| {
        i.parts
            .first()
            .is_some_and(|p| usize::from(p.column) == column)
    };
    let primary = shown.iter().find(|i| i.kind == IndexKind::Primary).copied();
    // Without a primary key the first unique one without NULL is shown as if it were one.
    let stand_in = || {
        shown
            .iter()
            .find(|i| i.kind == IndexKind::Unique && keys::rank(&def.columns, i) == 1)
            .copied()
    };
    if primary.or_else(stand_in).is_some_and(has) {
        return "PRI";
    }
    let unique = |i: &&IndexDef| i.kind == IndexKind::Unique && i.parts.len() == 1 && leads(i);
    if shown.iter().any(unique) {
        "UNI"
    } else if shown.iter().any(|i| leads(i)) {
        "MUL"
    } else {
        ""
    }
}

/// The facts of a column; `zone` is the session's.
pub(crate) fn column_facts(def: &TableDef, column: usize, zone: Zone) -> ColumnFacts {
    let c = &def.columns[column];
    let mut extra = Vec::new();
    if c.auto_increment {
        extra.push("auto_increment".to_owned());
    }
    if matches!(c.default, ColumnDefault::Now | ColumnDefault::Expr(_)) {
        extra.push("DEFAULT_GENERATED".to_owned());
    }
    if c.on_update_now {
        extra.push(format!("on update {}", now_text(&c.ty)));
    }
    if let Some(g) = &c.generated {
        let kind = if g.stored { "STORED" } else { "VIRTUAL" };
        extra.push(format!("{kind} GENERATED"));
    }
    if c.invisible {
        extra.push("INVISIBLE".to_owned());
    }
    ColumnFacts {
        key: key_of(def, column),
        default: default_text(c, zone),
        extra: extra.join(" "),
    }
}

/// What the session may do with a column, as SHOW FULL COLUMNS says it.
pub(crate) fn column_privileges(
    security: &SecurityContext,
    schema: &str,
    table: &str,
    column: &str,
) -> String {
    let has = security.on_column(schema, table, column).both(COLUMN_SET);
    let names: Vec<String> = has.iter().map(|p| p.name().to_lowercase()).collect();
    names.join(",")
}

/// How many different keys an index prefix has, by the table's statistics; until there are any, all rows for a unique key and a tenth otherwise.
pub(crate) fn cardinality(t: &Table, index: &IndexDef, part: usize) -> u64 {
    let stats = t.stats();
    let at = t.def.indexes.iter().position(|x| x.id == index.id);
    let known = stats.as_ref().zip(at).and_then(|(s, i)| s.indexes.get(i));
    if let Some(distinct) = known.and_then(|x| x.distinct.get(part)) {
        return distinct.round() as u64;
    }
    let rows = t.row_count_estimate();
    let whole = part + 1 == index.parts.len();
    match index.kind {
        IndexKind::Plain => (rows / 10).max(rows.min(1)),
        _ if whole => rows,
        _ => (rows / 10).max(rows.min(1)),
    }
}

/// An expression that a definition keeps, as MySQL has them here: once more with the escapes of a literal.
pub(crate) fn escaped(expr: &str) -> String {
    let mut out = String::with_capacity(expr.len());
    for c in expr.chars() {
        if matches!(c, '\'' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
