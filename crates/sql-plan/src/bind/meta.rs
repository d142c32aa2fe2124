//! What clients are told about result columns.

use engine::{ColumnDefault, IndexKind, Table};
use sql_expr::agg::AggSpec;
use sql_expr::{Expr, Node};
use sql_parser::ast::AggregateFunc;
use types::datatype::field_flags as flags;

use super::names::Names;
use super::scope::FromTable;
use super::select::Item;
use super::source::TableSource;
use crate::sink::ColumnMeta;

/// The description of a select item.
pub(crate) fn column(item: &Item<'_>, names: &Names<'_>, aggregates: &[AggSpec]) -> ColumnMeta {
    let origin = item
        .expr
        .as_column()
        .and_then(|c| Some((names.tables.iter().find(|t| t.slot == c.slot)?, c.ordinal)));
    match origin {
        Some((t, i)) => stored(t, usize::from(i), &item.name),
        None => ColumnMeta {
            of_function: !is_of_a_column(&item.expr, aggregates),
            ..ColumnMeta::computed(
                &item.name,
                item.expr.ty.to_data_type(),
                item.expr.ty.nullable,
            )
            .of_expression()
        },
    }
}

/// Whether a table made of it has the column that it reads: MIN and MAX of a column are that.
fn is_of_a_column(e: &Expr, aggregates: &[AggSpec]) -> bool {
    let Node::Aggregate(at) = e.node else {
        return e.as_column().is_some();
    };
    let least = |spec: &&AggSpec| matches!(spec.func, AggregateFunc::Min | AggregateFunc::Max);
    let spec = aggregates.get(at as usize).filter(least);
    spec.and_then(|s| s.args.first())
        .is_some_and(|a| a.as_column().is_some())
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
        of_function: t.derived.get(i).is_some_and(|d| d.of_function),
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
