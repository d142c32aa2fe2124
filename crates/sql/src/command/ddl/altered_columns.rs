//! The columns that all actions of an `ALTER TABLE` together make.
//!
//! What an action changes, renames or drops it names as the table has it before the statement, whatever other actions do; each column is named by one
//! action at most. What it adds, and the column that it puts another one behind, are names of the table as it comes to be. So the order of actions
//! matters only to the places of columns, and names can be exchanged.

use std::collections::HashSet;

use engine::{ColumnDef, ColumnDefault, TableDef};
use types::error::codes;
use types::{CollationId, SqlError};

use sql_parser::ast::{self, AlterAction, ColumnPosition};

use super::altered::Origin;
use super::columns::{self, DefCtx};
use super::identifier::check_identifier;
use super::recoded::recoded;
use super::{default, generated, table};

/// A column of the table that comes to be.
pub(super) struct Column {
    /// What it is known by while others come, go and move: its position in the old definition, or a number behind those.
    pub number: u16,
    pub def: ColumnDef,
    pub origin: Origin,
    pub explicit_null: bool,
    /// The expression of a generated column, where the statement has one.
    pub expression: Option<ast::Expr>,
}

impl Column {
    /// Which column of the table it was.
    pub(super) fn was(&self) -> Option<usize> {
        match self.origin {
            Origin::Kept(n) | Origin::Converted(n) => Some(usize::from(n)),
            Origin::New => None,
        }
    }
}

/// A column that the statement defines.
struct Moved<'a> {
    number: u16,
    /// The column, where it is not among the others.
    new: Option<Column>,
    /// Where it is wanted.
    to: Option<&'a ColumnPosition>,
}

/// All columns of the table that comes to be.
pub(super) struct Columns {
    pub list: Vec<Column>,
    /// Keys that new columns ask for.
    pub own_keys: Vec<ast::IndexDef>,
    /// The number of the next column.
    pub next: u16,
}

impl Columns {
    /// Those of a table as it is.
    fn of(old: &TableDef) -> Columns {
        let column = |(n, c): (usize, &ColumnDef)| Column {
            number: n as u16,
            def: ColumnDef {
                fill: None,
                ..c.clone()
            },
            origin: Origin::Kept(n as u16),
            explicit_null: false,
            expression: None,
        };
        Columns {
            list: old.columns.iter().enumerate().map(column).collect(),
            own_keys: Vec::new(),
            next: old.columns.len() as u16,
        }
    }

    /// Those that the actions make of a table's.
    ///
    /// # Errors
    /// Those of definitions; 1054, 1060, 1090, 1091, 1117.
    pub(super) fn altered(
        old: &TableDef,
        actions: &[AlterAction],
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<Columns, SqlError> {
        let meant = meant(old, actions)?;
        let mut all = Columns::of(old);
        let collation = all.recode(actions, ctx.collation)?;
        let mut moves = Vec::new();
        for (a, number) in actions.iter().zip(&meant) {
            let mut moved = match *number {
                Some(n) => all.change(n, a, ctx)?,
                None => all.add(a, ctx)?,
            };
            if let (Some(m), Some(to)) = (&mut moved, collation) {
                let c = match &mut m.new {
                    Some(c) => c,
                    None => all.column(m.number)?,
                };
                c.def.ty = recoded(&c.def.ty, to);
            }
            moves.extend(moved);
        }
        for m in moves {
            all.place(m, &old.name)?;
        }
        // Functional key parts may read what has come behind them.
        all.list.sort_by_key(|c| c.def.is_hidden());
        all.check()?;
        Ok(all)
    }

    fn position(&self, number: u16) -> Result<usize, SqlError> {
        let at = self.list.iter().position(|c| c.number == number);
        at.ok_or_else(|| SqlError::internal("a column that has gone"))
    }

    fn column(&mut self, number: u16) -> Result<&mut Column, SqlError> {
        let at = self.position(number)?;
        Ok(&mut self.list[at])
    }

    /// CONVERT TO CHARACTER SET: each column of characters. Gives what those of the statement get, too, whatever they say.
    fn recode(
        &mut self,
        actions: &[AlterAction],
        default: CollationId,
    ) -> Result<Option<CollationId>, SqlError> {
        let mut last = None;
        for a in actions {
            let AlterAction::ConvertTo { charset, collation } = a else {
                continue;
            };
            let wanted = table::table_collation(charset.as_deref(), collation.as_deref())?;
            let to = wanted.unwrap_or(default);
            // Functional key parts have the types of their expressions.
            for c in self.list.iter_mut().filter(|c| !c.def.is_hidden()) {
                c.def.ty = recoded(&c.def.ty, to);
            }
            last = Some(to);
        }
        Ok(last)
    }

    /// Does what an action says of a column that is there. Gives one that is defined anew.
    fn change<'a>(
        &mut self,
        number: u16,
        a: &'a AlterAction,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<Option<Moved<'a>>, SqlError> {
        let at = self.position(number)?;
        let c = &mut self.list[at];
        match a {
            AlterAction::DropColumn(_) => drop(self.list.remove(at)),
            AlterAction::ModifyColumn { column, position }
            | AlterAction::ChangeColumn {
                column, position, ..
            } => {
                let built = columns::column(column, ctx.collation, ctx)?;
                generated::check_kind(&c.def, &built.def)?;
                c.explicit_null = built.explicit_null;
                c.expression = built.expression;
                c.def = built.def;
                self.own_keys.extend(built.keys);
                return Ok(Some(Moved {
                    number,
                    new: None,
                    to: position.as_ref(),
                }));
            }
            AlterAction::SetDefault {
                expr,
                parenthesised,
                ..
            } => {
                refuse_default(&c.def)?;
                let (name, ty, nullable) = (&c.def.name, &c.def.ty, c.def.nullable);
                c.def.default = default::resolve(name, ty, nullable, expr, *parenthesised, ctx.cx)?;
            }
            AlterAction::DropDefault(_) => {
                refuse_default(&c.def)?;
                c.def.default = ColumnDefault::None;
            }
            AlterAction::ColumnVisibility(_, visible) => c.def.invisible = !visible,
            AlterAction::RenameColumn(_, to) => {
                check_identifier(to, "column")?;
                c.def.name = to.to_string();
            }
            _ => {}
        }
        Ok(None)
    }

    /// Makes the column of an action that adds one.
    fn add<'a>(
        &mut self,
        a: &'a AlterAction,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<Option<Moved<'a>>, SqlError> {
        let AlterAction::AddColumn { column, position } = a else {
            return Ok(None);
        };
        let built = columns::column(column, ctx.collation, ctx)?;
        self.own_keys.extend(built.keys);
        let number = self.next;
        self.next += 1;
        Ok(Some(Moved {
            number,
            new: Some(Column {
                number,
                def: built.def,
                origin: Origin::New,
                explicit_null: built.explicit_null,
                expression: built.expression,
            }),
            to: position.as_ref(),
        }))
    }

    /// Puts a column where it is wanted. What the statement has not put anywhere yet is not there.
    fn place(&mut self, moved: Moved<'_>, table: &str) -> Result<(), SqlError> {
        let column = match (moved.new, moved.to) {
            (Some(c), None) => {
                self.list.push(c);
                return Ok(());
            }
            (None, None) => return Ok(()),
            (Some(c), Some(_)) => c,
            (None, Some(_)) => {
                let at = self.position(moved.number)?;
                self.list.remove(at)
            }
        };
        let at = match moved.to {
            Some(ColumnPosition::After(name)) => {
                let before = self.list.iter().position(|c| c.def.is_named(name));
                before.ok_or_else(|| SqlError::unknown_column(name, table))? + 1
            }
            _ => 0,
        };
        self.list.insert(at, column);
        Ok(())
    }

    /// Looks at names and at how many there are.
    fn check(&self) -> Result<(), SqlError> {
        let mut names = HashSet::with_capacity(self.list.len());
        for c in &self.list {
            if !names.insert(c.def.name.to_lowercase()) {
                return Err(SqlError::dup_column(&c.def.name));
            }
        }
        if self.list.iter().all(|c| c.def.is_hidden()) {
            return Err(SqlError::fixed(codes::ER_CANT_REMOVE_ALL_FIELDS));
        }
        match self.list.len() > table::MAX_COLUMNS {
            true => Err(SqlError::new(codes::ER_TOO_MANY_FIELDS, "Too many columns")),
            false => Ok(()),
        }
    }
}

/// A generated column has no default.
fn refuse_default(c: &ColumnDef) -> Result<(), SqlError> {
    match c.generated {
        None => Ok(()),
        Some(_) => Err(generated::no_usage("DEFAULT")),
    }
}

/// For each action the column of the old definition that it is about.
///
/// # Errors
/// 1091; 1054, also where another action is about that column.
fn meant(old: &TableDef, actions: &[AlterAction]) -> Result<Vec<Option<u16>>, SqlError> {
    let mut meant = vec![None; actions.len()];
    let mut taken = vec![false; old.columns.len()];
    let mut missing = None;
    // A column that is dropped is dropped before another action finds it, and so on.
    for turn in [Turn::Drop, Turn::Define, Turn::Adjust] {
        for (a, meant) in actions.iter().zip(&mut meant) {
            let Some((_, name)) = about(a).filter(|(t, _)| *t == turn) else {
                continue;
            };
            let mut columns = old.columns.iter().zip(&taken);
            let at = columns.position(|(c, taken)| !taken && c.is_named(name));
            match (at, turn) {
                (Some(at), _) => {
                    taken[at] = true;
                    *meant = Some(at as u16);
                }
                (None, Turn::Drop) => missing = missing.or(Some(name)),
                (None, _) => return Err(SqlError::unknown_column(name, &old.name)),
            }
        }
    }
    match missing {
        None => Ok(meant),
        Some(name) => Err(SqlError::cant_drop(name)),
    }
}

/// What an action does to a column that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Drop,
    Define,
    Adjust,
}

/// What an action does to which column that is there.
fn about(a: &AlterAction) -> Option<(Turn, &str)> {
    match a {
        AlterAction::DropColumn(name) => Some((Turn::Drop, name)),
        AlterAction::ModifyColumn { column, .. } => Some((Turn::Define, &column.name)),
        AlterAction::ChangeColumn { old, .. } => Some((Turn::Define, old)),
        AlterAction::SetDefault { column, .. }
        | AlterAction::DropDefault(column)
        | AlterAction::ColumnVisibility(column, _)
        | AlterAction::RenameColumn(column, _) => Some((Turn::Adjust, column)),
        _ => None,
    }
}
