//! The columns of a view as metadata describes them.

use engine::{ColumnDef, ColumnDefault, ObjectDef};
use types::{DataType, SqlError};

use super::source::TableSource;
use super::tree::{Body, BoundQuery};
use super::view_def::ViewDef;
use super::{BindCtx, StatementBinder};
use sql_access::SecurityContext;

/// The columns of a view, whoever may read what is below it.
///
/// # Errors
/// 1356: the view is invalid.
pub fn view_columns(ctx: &BindCtx<'_>, view: &ObjectDef) -> Result<Vec<ColumnDef>, SqlError> {
    let everything = SecurityContext::of_the_server(0, ctx.security.account().clone());
    let ctx = BindCtx {
        security: &everything,
        ..*ctx
    };
    let binder = StatementBinder::new(&ctx);
    let def = ViewDef::of(view)?;
    let (query, columns) = binder.view_query(view, &def)?;
    let columns = columns.into_iter().enumerate();
    Ok(columns
        .map(|(i, c)| {
            let ty = c.column_type();
            ColumnDef {
                default: match origin(&query, i) {
                    Some(base) if base.auto_increment => zero(&ty),
                    Some(base) if base.generated.is_some() => ColumnDefault::None,
                    Some(base) => base.default.clone(),
                    None if c.nullable || ty.is_lob() => ColumnDefault::Null,
                    None => zero(&ty),
                },
                nullable: c.nullable,
                name: def.columns.get(i).cloned().unwrap_or(c.name),
                ty,
                fill: None,
                on_update_now: false,
                auto_increment: false,
                comment: origin(&query, i).map_or_else(String::new, |b| b.comment.clone()),
                generated: None,
                invisible: false,
            }
        })
        .collect())
}

fn zero(ty: &DataType) -> ColumnDefault {
    ColumnDefault::Literal(types::convert::zero_value(ty))
}

/// The stored column that a column of a query is.
fn origin(q: &BoundQuery, i: usize) -> Option<&ColumnDef> {
    let Body::Block(b) = &q.body else { return None };
    let column = b.output.get(i)?.as_column()?;
    let table = b.tables.iter().find(|t| t.slot == column.slot)?;
    let at = usize::from(column.ordinal);
    match &table.source {
        TableSource::Engine(t) => t.def.columns.get(at),
        TableSource::Derived(n) => origin(b.derived.get(*n as usize)?, at),
        TableSource::Virtual(_) => None,
    }
}
