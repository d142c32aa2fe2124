//! From foreign keys as written to definitions: their columns, their names, and the indexes that are made for them.
//!
//! Works on the child's definition alone. Whether the parent is there and fits is the engine's to say, which knows all tables at the moment
//! that counts.

use engine::{CheckDef, ColumnDef, ForeignKeyDef, IndexDef, ReferenceAction, TableDef};
use types::SqlError;
use types::Warning;
use types::error::codes;

use super::expression;
use super::identifier::check_identifier;
use super::keys::{self, KeyLimits};
use sql_parser::ast::{self, KeyPart, KeyPartKind};

/// The foreign key of a clause, without a name where none was written.
///
/// # Errors
/// 1059, 1060, 1072, 1103, 1215, 1239.
pub(super) fn build(
    columns: &[ColumnDef],
    schema: &str,
    written: &ast::ForeignKey,
) -> Result<ForeignKeyDef, SqlError> {
    let name = written.constraint.as_deref().unwrap_or_default();
    check_identifier(name, "")?;
    let to = &written.references;
    check_identifier(&to.table.name, "table")?;
    if written.columns.len() != to.columns.len() {
        let shown = match name {
            "" => "foreign key without name",
            name => name,
        };
        return Err(SqlError::new(
            codes::ER_WRONG_FK_DEF,
            format!(
                "Incorrect foreign key definition for '{shown}': Key reference and table reference don't match"
            ),
        ));
    }
    let mut own: Vec<u16> = Vec::with_capacity(written.columns.len());
    for n in &written.columns {
        let at = keys::column_index(columns, n).ok_or_else(|| SqlError::key_column_missing(n))?;
        if own.contains(&(at as u16)) {
            return Err(SqlError::dup_column(n));
        }
        own.push(at as u16);
    }
    Ok(ForeignKeyDef {
        name: name.to_owned(),
        columns: own,
        parent_schema: to.table.schema.as_deref().unwrap_or(schema).to_owned(),
        parent: to.table.name.to_string(),
        parent_columns: to.columns.iter().map(ToString::to_string).collect(),
        on_delete: action(to.on_delete)?,
        on_update: action(to.on_update)?,
    })
}

fn action(written: Option<ast::ReferenceAction>) -> Result<ReferenceAction, SqlError> {
    Ok(match written {
        None | Some(ast::ReferenceAction::NoAction) => ReferenceAction::NoAction,
        Some(ast::ReferenceAction::Restrict) => ReferenceAction::Restrict,
        Some(ast::ReferenceAction::Cascade) => ReferenceAction::Cascade,
        Some(ast::ReferenceAction::SetNull) => ReferenceAction::SetNull,
        // As InnoDB has it.
        Some(ast::ReferenceAction::SetDefault) => {
            return Err(SqlError::fixed(codes::ER_CANNOT_ADD_FOREIGN));
        }
    })
}

/// Gives those without a name MySQL's: `t_ibfk_1` and so on, behind those that `old` has.
///
/// # Errors
/// 1059.
pub(super) fn name_all(
    table: &str,
    old: &[ForeignKeyDef],
    made: &mut [ForeignKeyDef],
) -> Result<(), SqlError> {
    let prefix = format!("{table}_ibfk_");
    let number = |k: &ForeignKeyDef| k.name.strip_prefix(&prefix)?.parse::<u32>().ok();
    let mut last = old.iter().filter_map(number).max().unwrap_or(0);
    for k in made.iter_mut().filter(|k| k.name.is_empty()) {
        last += 1;
        k.name = format!("{prefix}{last}");
        check_identifier(&k.name, "")?;
    }
    Ok(())
}

/// "Cannot define foreign key with %s clause on a generated column."
const WRONG_OPTION_FOR_GENERATED: u16 = 3104;
/// "Column '%s' cannot be used in a check constraint '%s': needed in a foreign key constraint '%s' referential action."
const CHECKED_COLUMN_CHANGES: u16 = 3823;

/// Refuses foreign keys that would assign a value to a generated column, or change what a CHECK constraint reads behind its back. `old` is the
/// definition before: what it has together stays.
///
/// # Errors
/// 3104, 3823.
pub(super) fn check_actions(
    columns: &[ColumnDef],
    made: &[ForeignKeyDef],
    checks: &[CheckDef],
    old: Option<&TableDef>,
) -> Result<(), SqlError> {
    use ReferenceAction::{Cascade, SetNull};
    for k in made {
        let clause = match (k.on_delete, k.on_update) {
            (SetNull, _) => "ON DELETE SET NULL",
            (_, SetNull) => "ON UPDATE SET NULL",
            (_, Cascade) => "ON UPDATE CASCADE",
            _ => continue,
        };
        let was = old.filter(|o| o.foreign_keys.iter().any(|w| w.name == k.name));
        let own = k.columns.iter().map(|c| &columns[usize::from(*c)]);
        for c in own {
            let computed = |o: &TableDef| {
                o.columns
                    .iter()
                    .any(|w| w.is_named(&c.name) && w.generated.is_some())
            };
            if c.generated.is_some() && !was.is_some_and(computed) {
                return Err(SqlError::new(
                    WRONG_OPTION_FOR_GENERATED,
                    format!(
                        "Cannot define foreign key with {clause} clause on a generated column."
                    ),
                ));
            }
            let reads = |x: &&CheckDef| {
                let there = was.is_some_and(|o| o.check(&x.name).is_some());
                !there && expression::names_in(&x.clause).contains(&c.name.to_lowercase())
            };
            if let Some(check) = checks.iter().find(reads) {
                return Err(SqlError::new(
                    CHECKED_COLUMN_CHANGES,
                    format!(
                        "Column '{}' cannot be used in a check constraint '{}': needed in a foreign key constraint '{}' referential action.",
                        c.name, check.name, k.name
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// An index for a foreign key, named as its constraint, or else as the clause names it, or else as any index is.
///
/// # Errors
/// As [`keys::build`].
pub(super) fn index_for(
    columns: &[ColumnDef],
    written: &ast::ForeignKey,
    longest: KeyLimits,
    warnings: &mut Vec<Warning>,
) -> Result<IndexDef, SqlError> {
    let part = |name: &ast::Name| KeyPart {
        what: KeyPartKind::Column {
            name: name.clone(),
            length: None,
        },
        desc: false,
        asc: false,
    };
    let name = written.constraint.as_ref().or(written.name.as_ref());
    let index = ast::IndexDef {
        kind: ast::IndexKind::Plain,
        constraint: None,
        name: name.cloned(),
        parts: written.columns.iter().map(part).collect(),
        options: ast::IndexOptions::default(),
    };
    let mut index = keys::build(columns, &index, &[], longest, warnings)?;
    index.asked.for_foreign_key = true;
    Ok(index)
}

/// Takes out indexes that were made for foreign keys where another serves as well. `is_list`: whether a column is a multi-valued key part, whose
/// index has not each row.
pub(super) fn drop_needless(indexes: &mut Vec<IndexDef>, is_list: impl Fn(u16) -> bool) {
    let serves = |other: &IndexDef, x: &IndexDef| {
        let mut parts = other.parts.iter().zip(&x.parts);
        other.parts.len() >= x.parts.len()
            && !other.parts.iter().any(|p| is_list(p.column))
            && parts.all(|(a, b)| {
                // One in the other direction is another index, as in MySQL.
                (a.column, a.descending) == (b.column, b.descending) && a.prefix == 0
            })
    };
    let mut i = 0;
    while i < indexes.len() {
        let x = &indexes[i];
        let needless = x.asked.for_foreign_key
            && indexes.iter().enumerate().any(|(j, other)| {
                let same = other.asked.for_foreign_key && other.parts.len() == x.parts.len();
                // Of two that are the same the first stays.
                j != i && serves(other, x) && !(same && j > i)
            });
        match needless {
            true => drop(indexes.remove(i)),
            false => i += 1,
        }
    }
}
