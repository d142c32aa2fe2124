//! Functional key parts, `INDEX ((expr))`: each is a virtual generated column that its index alone knows. Here they come to be, get their
//! types and names, and go with their index.
//!
//! Never here: a name that a statement could give to such a column.

use engine::{ColumnDef, GeneratedDef, IndexDef, TableDef};
use types::error::codes;
use types::{DataType, LobSize, SqlError, Warning};

use super::expression::{self, Kept, Owner};
use super::keys;
use sql_expr::func::json_list;
use sql_expr::{EvalCtx, Shape};
use sql_parser::ast::{self, Expr, IndexKind, KeyPart, KeyPartKind};
use sql_plan::bind::row_rules;

/// Bytes of the longest value that is no BLOB.
const LONGEST_BYTES: u64 = 65_535;

/// Characters of a name, at most.
const LONGEST_NAME: usize = 64;

/// One index as its definition says; the columns of its functional parts come to the others. `table` is the schema and the name.
///
/// # Errors
/// As [`keys::build`]; 1054, 1221, 1235, 3753, 3754, 3756 to 3762, 3800.
pub(super) fn build(
    columns: &mut Vec<ColumnDef>,
    def: &ast::IndexDef,
    table: (&str, &str),
    longest: keys::KeyLimits,
    cx: &EvalCtx<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<IndexDef, SqlError> {
    let mut made = Vec::new();
    let mut lists = 0;
    for p in &def.parts {
        if let KeyPartKind::Expr(e) = &p.what {
            let column = part(columns, def, e, table, cx)?;
            if column.is_list() {
                lists += 1;
                refuse_list(p, lists)?;
            }
            made.push(columns.len() as u16);
            columns.push(column);
        }
    }
    keys::build(columns, def, &made, longest, warnings)
}

/// Refuses a multi-valued part that has an order, or that is not the only one.
///
/// # Errors
/// 1221, 1235.
fn refuse_list(p: &KeyPart, lists: usize) -> Result<(), SqlError> {
    if p.asc || p.desc {
        return Err(SqlError::new(
            codes::ER_WRONG_USAGE,
            "Incorrect usage of multi-valued index and explicit index order",
        ));
    }
    match lists {
        1 => Ok(()),
        _ => Err(SqlError::not_supported(
            "more than one multi-valued key part per index",
        )),
    }
}

fn part(
    columns: &[ColumnDef],
    def: &ast::IndexDef,
    written: &Expr,
    table: (&str, &str),
    cx: &EvalCtx<'_>,
) -> Result<ColumnDef, SqlError> {
    let refused = match def.kind {
        IndexKind::Primary => Some(codes::ER_FUNCTIONAL_INDEX_PRIMARY_KEY),
        IndexKind::Fulltext => Some(codes::ER_FULLTEXT_FUNCTIONAL_INDEX),
        IndexKind::Spatial => Some(codes::ER_SPATIAL_FUNCTIONAL_INDEX),
        _ if matches!(written, Expr::Column(_)) => Some(codes::ER_FUNCTIONAL_INDEX_ON_FIELD),
        _ => None,
    };
    if let Some(code) = refused {
        return Err(SqlError::fixed(code));
    }
    let name = def.name.as_deref().or(def.constraint.as_deref());
    let owner = Owner::Index(name.unwrap_or(keys::UNNAMED_FUNCTIONAL));
    let kept = expression::keep(written, owner, columns, table)?;
    refuse_numbered(&kept, owner, columns)?;
    let mut column = ColumnDef {
        invisible: true,
        generated: Some(GeneratedDef {
            expr: kept.text,
            stored: false,
            hidden: true,
            elements: None,
        }),
        ..ColumnDef::new("", DataType::Null)
    };
    give_type(&mut column, columns, cx)?;
    Ok(column)
}

/// Refuses a part that reads the AUTO_INCREMENT column.
///
/// # Errors
/// 3754.
pub(super) fn refuse_numbered(
    kept: &Kept,
    owner: Owner<'_>,
    columns: &[ColumnDef],
) -> Result<(), SqlError> {
    match kept.columns.iter().any(|&c| columns[c].auto_increment) {
        true => Err(owner.refers_to_number()),
        false => Ok(()),
    }
}

/// Gives the column of a part the type that its expression has over these columns: one that keeps each value as it is.
fn give_type(
    column: &mut ColumnDef,
    columns: &[ColumnDef],
    cx: &EvalCtx<'_>,
) -> Result<(), SqlError> {
    let Some(text) = column.key_expression() else {
        return Ok(());
    };
    let e = row_rules::bound(text, columns, cx)?;
    if let Some(elements) = json_list::elements_of(&e) {
        column.ty = DataType::Blob(LobSize::Long);
        column.nullable = true;
        if let Some(g) = &mut column.generated {
            g.elements = Some(elements);
        }
        return Ok(());
    }
    if e.ty.shape == Shape::Json {
        let code = codes::ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION;
        return Err(SqlError::fixed(code));
    }
    let Some(ty) = row_rules::stored_type(&e.ty) else {
        return Err(cannot_index(text));
    };
    if ty.is_lob() || ty.max_bytes() > LONGEST_BYTES {
        return Err(SqlError::fixed(codes::ER_FUNCTIONAL_INDEX_ON_LOB));
    }
    if ty.max_bytes() == 0 {
        return Err(cannot_index(text));
    }
    column.ty = ty;
    column.nullable = e.ty.nullable;
    Ok(())
}

fn cannot_index(expression: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_KEY_COLUMN_FUNCTIONAL_INDEX,
        format!("The used storage engine cannot index the expression '{expression}'."),
    )
}

/// Gives parts that stay new types where columns that they read have others. `was` says for each column which one it was.
///
/// # Errors
/// As [`build`].
pub(super) fn give_types_again(
    old: &TableDef,
    columns: &mut [ColumnDef],
    was: &[Option<usize>],
    cx: &EvalCtx<'_>,
) -> Result<(), SqlError> {
    for at in 0..columns.len() {
        let (Some(text), Some(_)) = (columns[at].key_expression(), was[at]) else {
            continue;
        };
        let read = expression::names_in(text);
        let other = columns.iter().zip(was).any(|(c, was)| {
            let same = was.map(|n| &old.columns[n]);
            let same = same.is_some_and(|o| o.ty == c.ty && o.nullable == c.nullable);
            !same && !c.is_hidden() && read.contains(&c.name.to_lowercase())
        });
        if other {
            let mut column = columns[at].clone();
            give_type(&mut column, columns, cx)?;
            columns[at] = column;
        }
    }
    Ok(())
}

/// Gives the columns of new parts their names, once the indexes have theirs.
pub(super) fn name_columns(columns: &mut [ColumnDef], indexes: &[IndexDef]) {
    for i in indexes {
        for (n, p) in i.parts.iter().enumerate() {
            let at = usize::from(p.column);
            if columns[at].is_hidden() && columns[at].name.is_empty() {
                columns[at].name = free_name(columns, &i.name, n);
            }
        }
    }
}

fn free_name(columns: &[ColumnDef], index: &str, part: usize) -> String {
    let taken = |n: &str| {
        columns
            .iter()
            .any(|c| c.name.to_lowercase() == n.to_lowercase())
    };
    let named = |count: u32| {
        let rest = format!("!{part}!{count}");
        let room = LONGEST_NAME - "!hidden!".len() - rest.len();
        let index: String = index.chars().take(room).collect();
        format!("!hidden!{index}{rest}")
    };
    (0..).map(named).find(|n| !taken(n)).unwrap_or_default()
}
