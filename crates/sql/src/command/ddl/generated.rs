//! Generated columns of CREATE TABLE and ALTER TABLE: what they may refer to, what they cannot be, and which of them rows that are
//! there must be given anew.

use engine::{ColumnDef, IndexDef, IndexKind, TableDef};
use types::SqlError;
use types::error::codes;

use super::expression::{self, Kept, Owner};
use sql_expr::EvalCtx;
use sql_parser::ast::Expr;
use sql_plan::bind::row_rules;

/// Refuses what a generated column cannot have besides.
///
/// # Errors
/// 1221.
pub(super) fn refuse_beside(def: &ColumnDef, has_default: bool) -> Result<(), SqlError> {
    let what = match def {
        _ if has_default => "DEFAULT",
        c if c.auto_increment => "AUTO_INCREMENT",
        c if c.on_update_now => "ON UPDATE",
        _ => return Ok(()),
    };
    Err(no_usage(what))
}

/// Error 1221 for something that generated columns do not have.
pub(super) fn no_usage(what: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_USAGE,
        format!("Incorrect usage of {what} and generated column"),
    )
}

fn unsupported(what: &str) -> SqlError {
    SqlError::new(
        codes::ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN,
        format!("'{what}' is not supported for generated columns."),
    )
}

/// Makes the texts of the generated columns of a definition whose columns are all known. `written` gives the expression of a column where
/// the statement has one; others have their text already. `table` is the schema and the name.
///
/// # Errors
/// 1054, 3102, 3107, 3109, 3763 to 3765; what binding says of an expression.
pub(super) fn define(
    columns: &mut [ColumnDef],
    written: &[Option<Expr>],
    indexes: &[IndexDef],
    table: (&str, &str),
    cx: &EvalCtx<'_>,
) -> Result<(), SqlError> {
    for at in 0..columns.len() {
        let Some(g) = &columns[at].generated else {
            continue;
        };
        let owner = Owner::of(columns, at, indexes);
        let kept = match written.get(at) {
            Some(Some(e)) => expression::keep(e, owner, columns, table)?,
            _ => expression::keep_again(&g.expr, owner, columns)?,
        };
        check(columns, at, &kept, owner)?;
        row_rules::bound(&kept.text, columns, cx)?;
        if let Some(g) = &mut columns[at].generated {
            g.expr = kept.text;
        }
    }
    Ok(())
}

fn check(columns: &[ColumnDef], at: usize, kept: &Kept, owner: Owner<'_>) -> Result<(), SqlError> {
    for &c in &kept.columns {
        if columns[c].generated.is_some() && c >= at {
            return Err(SqlError::new(
                codes::ER_GENERATED_COLUMN_NON_PRIOR,
                "Generated column can refer only to generated columns defined prior to it.",
            ));
        }
        if columns[c].auto_increment {
            return Err(owner.refers_to_number());
        }
    }
    Ok(())
}

/// Refuses a primary key with a virtual column.
///
/// # Errors
/// 3106.
pub(super) fn check_keys(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<(), SqlError> {
    let primary = indexes.iter().filter(|i| i.kind == IndexKind::Primary);
    let mut parts = primary.flat_map(|i| &i.parts);
    match parts.any(|p| is_virtual(&columns[usize::from(p.column)])) {
        true => Err(unsupported(
            "Defining a virtual generated column as primary key",
        )),
        false => Ok(()),
    }
}

fn is_virtual(c: &ColumnDef) -> bool {
    c.generated.as_ref().is_some_and(|g| !g.stored)
}

/// Refuses to make a virtual column of one that is not, or the other way round.
///
/// # Errors
/// 3106.
pub(super) fn check_kind(was: &ColumnDef, is: &ColumnDef) -> Result<(), SqlError> {
    match is_virtual(was) == is_virtual(is) {
        true => Ok(()),
        false => Err(unsupported("Changing the STORED status")),
    }
}

/// Refuses to let a column go, or have another name, that a generated column reads whose expression stays. `columns` and `was` are as in
/// [`checks::of_alter`](super::checks::of_alter).
///
/// # Errors
/// 3108, 3837.
pub(super) fn check_gone(
    old: &TableDef,
    columns: &[ColumnDef],
    was: &[Option<usize>],
    written: &[Option<Expr>],
) -> Result<(), SqlError> {
    let (mut read, mut keyed) = (Vec::new(), Vec::new());
    for ((c, written), was) in columns.iter().zip(written).zip(was) {
        // A new key part reads columns as they come to be.
        if let (Some(g), None, Some(_)) = (&c.generated, written, was) {
            let names = expression::names_in(&g.expr);
            if g.hidden { &mut keyed } else { &mut read }.extend(names);
        }
    }
    for (at, c) in old.columns.iter().enumerate() {
        let name = c.name.to_lowercase();
        let now = was.iter().position(|w| *w == Some(at));
        let stays = now.is_some_and(|n| columns[n].name.to_lowercase() == name);
        if !stays && !c.is_hidden() && keyed.contains(&name) {
            return Err(SqlError::new(
                codes::ER_DEPENDENT_BY_FUNCTIONAL_INDEX,
                format!(
                    "Column '{}' has a functional index dependency and cannot be dropped or renamed.",
                    c.name
                ),
            ));
        }
        if !stays && !c.is_hidden() && read.contains(&name) {
            return Err(SqlError::new(
                codes::ER_DEPENDENT_BY_GENERATED_COLUMN,
                format!("Column '{}' has a generated column dependency.", c.name),
            ));
        }
    }
    Ok(())
}

/// For each column of a new definition whether it is a generated one that rows which are there have to be given anew: it is new, says
/// something else, or reads a column that has other values or another type. `was` says which column it was, and whether its values stay.
pub(super) fn recomputed(
    old: &TableDef,
    new: &[ColumnDef],
    was: &[Option<(usize, bool)>],
) -> Vec<bool> {
    let same = |(c, was): (&ColumnDef, &Option<(usize, bool)>)| match was {
        Some((n, stays)) => *stays && old.columns[*n].ty == c.ty,
        None => false,
    };
    let mut moved: Vec<bool> = new.iter().zip(was).map(|x| !same(x)).collect();
    for (at, c) in new.iter().enumerate() {
        let Some(g) = &c.generated else { continue };
        let before = was[at].and_then(|(n, _)| old.columns[n].generated.as_ref());
        let read = expression::names_in(&g.expr);
        let reads = |(n, c): (usize, &ColumnDef)| moved[n] && read.contains(&c.name.to_lowercase());
        let other = new.iter().enumerate().any(reads);
        moved[at] |= other || before.is_none_or(|b| b.expr != g.expr);
    }
    let computed = new.iter().zip(&moved);
    computed.map(|(c, m)| c.generated.is_some() && *m).collect()
}
