//! What clients are told about result columns.

use engine::{ColumnDefault, IndexKind, Table};
use types::datatype::field_flags as flags;

use super::names::Names;
use super::scope::FromTable;
use super::select::Item;
use super::source::TableSource;
use crate::sink::ColumnMeta;

/// The description of a select item.
pub(crate) fn column(item: &Item<'_>, names: &Names<'_>) -> ColumnMeta {
    let origin = item
        .expr
        .as_column()
        .and_then(|c| Some((names.tables.iter().find(|t| t.slot == c.slot)?, c.ordinal)));
    match origin {
        Some((t, i)) => stored(t, usize::from(i), &item.name),
        None => ColumnMeta::computed(
            &item.name,
            item.expr.ty.to_data_type(),
            item.expr.ty.nullable,
        ),
    }
}

fn stored(t: &FromTable, i: usize, name: &str) -> ColumnMeta {
    let ty = t.data_type(i).clone();
    let nullable = t.expr_type(i).nullable;
    let mut all = ty.type_flags();
    if !nullable {
        all |= flags::NOT_NULL;
    }
    if let TableSource::Engine(table) = &t.source {
        all |= table_flags(table, i);
    }
    ColumnMeta {
        schema: t.schema.to_string(),
        table: t.alias.to_string(),
        org_table: t.name.to_string(),
        name: name.to_owned(),
        org_name: t.column_name(i).to_owned(),
        nullable,
        flags: all,
        decimals: ty.decimals(),
        collation: ty.collation(),
        ty,
    }
}

fn table_flags(t: &Table, i: usize) -> u16 {
    let def = &t.def.columns[i];
    let mut all = 0;
    for x in &t.def.indexes {
        let Some(at) = x.parts.iter().position(|p| usize::from(p.column) == i) else {
            continue;
        };
        all |= match x.kind {
            IndexKind::Primary => flags::PRI_KEY,
            IndexKind::Unique if x.parts.len() == 1 => flags::UNIQUE_KEY,
            _ if at == 0 => flags::MULTIPLE_KEY,
            _ => 0,
        };
    }
    if def.auto_increment {
        all |= flags::AUTO_INCREMENT;
    } else if !def.nullable && matches!(def.default, ColumnDefault::None) {
        all |= flags::NO_DEFAULT_VALUE;
    }
    if def.on_update_now {
        all |= flags::ON_UPDATE_NOW;
    }
    all
}
