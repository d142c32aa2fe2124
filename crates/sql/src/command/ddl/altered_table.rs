//! The definition that all actions of an `ALTER TABLE` together make.
//!
//! Columns are known by a number that stays with them while others come, go and move; positions are counted at the end. The
//! catalog and the rows are not touched here.

use engine::{ColumnDef, ForeignKeyDef, IndexDef, IndexKind, TableDef, TableOptions};
use types::error::codes;
use types::{CollationId, SqlError, Warning};

use sql_parser::ast::{self, AlterAction, ColumnPosition, KeyDef, TableOption};

use super::altered::{AlteredTable, Origin, recomputed};
use super::columns::{self, DefCtx};
use super::datatype::fits;
use super::identifier::check_identifier;
use super::recoded::recoded;
use super::row_format::{self, FormatUse};
use super::table;
use super::{checks, default, foreign_keys, functional, generated, keys};
use crate::describe::keys::rank;

struct Column {
    number: u16,
    def: ColumnDef,
    origin: Origin,
    explicit_null: bool,
    /// The expression of a generated column, where the statement has one.
    expression: Option<ast::Expr>,
}

struct Draft<'a> {
    old: &'a TableDef,
    columns: Vec<Column>,
    /// Their parts name columns by number.
    indexes: Vec<IndexDef>,
    /// Their columns are numbers, too; those without a name are new.
    foreign_keys: Vec<ForeignKeyDef>,
    /// Keys that new columns ask for.
    own_keys: Vec<ast::IndexDef>,
    next: u16,
}

/// What the actions make of the table.
///
/// # Errors
/// Those of definitions; 1054, 1060, 1061, 1090, 1091, 1176.
pub(super) fn apply(
    old: &TableDef,
    actions: &[AlterAction],
    ctx: &mut DefCtx<'_, '_>,
) -> Result<AlteredTable, SqlError> {
    let mut draft = Draft::new(old);
    let options = draft.options(actions, ctx)?;
    ctx.collation = options.collation;
    let longest = keys::KeyLimits::of(&options, ctx.cx);
    for a in actions {
        draft.change_columns(a, ctx)?;
    }
    for a in actions {
        draft.drop_keys(a)?;
    }
    let own: Vec<ast::IndexDef> = std::mem::take(&mut draft.own_keys);
    for k in &own {
        draft.add_key(k, longest, ctx)?;
    }
    for a in actions {
        draft.change_keys(a, longest, ctx)?;
    }
    draft.finish(options, longest, actions, ctx)
}

impl<'a> Draft<'a> {
    fn new(old: &'a TableDef) -> Draft<'a> {
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
        let shown = old.indexes.iter().filter(|i| i.kind != IndexKind::Hidden);
        Draft {
            old,
            columns: old.columns.iter().enumerate().map(column).collect(),
            indexes: shown.cloned().collect(),
            foreign_keys: old.foreign_keys.clone(),
            own_keys: Vec::new(),
            next: old.columns.len() as u16,
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.def.is_named(name))
    }

    /// Refuses a name that a column other than that one has.
    fn check_free(&self, name: &str, own: Option<usize>) -> Result<(), SqlError> {
        let same = |c: &Column| c.def.name.to_lowercase() == name.to_lowercase();
        let mut others = self.columns.iter().enumerate();
        match others.any(|(i, c)| Some(i) != own && same(c)) {
            true => Err(SqlError::dup_column(name)),
            false => Ok(()),
        }
    }

    fn known(&self, name: &str) -> Result<usize, SqlError> {
        let unknown = || SqlError::unknown_column(name, &self.old.name);
        self.find(name).ok_or_else(unknown)
    }

    fn defs(&self) -> Vec<ColumnDef> {
        self.columns.iter().map(|c| c.def.clone()).collect()
    }

    fn change_columns(
        &mut self,
        a: &AlterAction,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<(), SqlError> {
        match a {
            AlterAction::AddColumn { column, position } => self.add(column, position, ctx),
            AlterAction::DropColumn(name) => self.remove(name),
            AlterAction::ModifyColumn { column, position } => {
                self.redefine(&column.name, column, position, ctx)
            }
            AlterAction::ChangeColumn {
                old,
                column,
                position,
            } => self.redefine(old, column, position, ctx),
            AlterAction::SetDefault {
                column,
                expr,
                parenthesised,
            } => {
                let at = self.known(column)?;
                let c = &mut self.columns[at].def;
                refuse_default(c)?;
                c.default =
                    default::resolve(&c.name, &c.ty, c.nullable, expr, *parenthesised, ctx.cx)?;
                Ok(())
            }
            AlterAction::DropDefault(column) => {
                let at = self.known(column)?;
                refuse_default(&self.columns[at].def)?;
                self.columns[at].def.default = engine::ColumnDefault::None;
                Ok(())
            }
            AlterAction::ColumnVisibility(column, visible) => {
                let at = self.known(column)?;
                self.columns[at].def.invisible = !visible;
                Ok(())
            }
            AlterAction::RenameColumn(from, to) => {
                check_identifier(to, "column")?;
                let at = self.known(from)?;
                self.check_free(to, Some(at))?;
                self.columns[at].def.name = to.to_string();
                Ok(())
            }
            AlterAction::ConvertTo { charset, collation } => {
                let wanted = table::table_collation(charset.as_deref(), collation.as_deref())?;
                self.recode(wanted.unwrap_or(ctx.collation));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add(
        &mut self,
        written: &ast::ColumnDef,
        position: &Option<ColumnPosition>,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<(), SqlError> {
        let built = columns::column(written, ctx.collation, ctx)?;
        self.check_free(&built.def.name, None)?;
        let number = self.next;
        self.next += 1;
        if self.columns.len() == table::MAX_COLUMNS {
            return Err(SqlError::new(codes::ER_TOO_MANY_FIELDS, "Too many columns"));
        }
        self.own_keys.extend(built.keys);
        self.columns.push(Column {
            number,
            def: built.def,
            origin: Origin::New,
            explicit_null: built.explicit_null,
            expression: built.expression,
        });
        self.place(self.columns.len() - 1, position)
    }

    fn remove(&mut self, name: &str) -> Result<(), SqlError> {
        // What the same statement adds is not there yet.
        let at = self
            .find(name)
            .filter(|&i| self.columns[i].origin != Origin::New);
        let at = at.ok_or_else(|| SqlError::cant_drop(name))?;
        if self.columns.len() == 1 {
            return Err(SqlError::fixed(codes::ER_CANT_REMOVE_ALL_FIELDS));
        }
        let gone = self.columns.remove(at);
        for i in &mut self.indexes {
            i.parts.retain(|p| p.column != gone.number);
        }
        self.indexes.retain(|i| !i.parts.is_empty());
        Ok(())
    }

    fn redefine(
        &mut self,
        name: &str,
        written: &ast::ColumnDef,
        position: &Option<ColumnPosition>,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<(), SqlError> {
        let at = self.known(name)?;
        let built = columns::column(written, ctx.collation, ctx)?;
        self.check_free(&built.def.name, Some(at))?;
        self.own_keys.extend(built.keys);
        let c = &mut self.columns[at];
        generated::check_kind(&c.def, &built.def)?;
        c.explicit_null = built.explicit_null;
        c.expression = built.expression;
        c.def = built.def;
        self.place(at, position)
    }

    /// Moves a column to where it is wanted.
    fn place(&mut self, at: usize, position: &Option<ColumnPosition>) -> Result<(), SqlError> {
        let Some(position) = position else {
            return Ok(());
        };
        let column = self.columns.remove(at);
        let to = match position {
            ColumnPosition::First => 0,
            ColumnPosition::After(name) => self.known(name)? + 1,
        };
        self.columns.insert(to, column);
        // Functional key parts may read what has come behind them.
        self.columns.sort_by_key(|c| c.def.is_hidden());
        Ok(())
    }

    /// CONVERT TO CHARACTER SET: each column of characters.
    fn recode(&mut self, to: CollationId) {
        // Functional key parts have the types of their expressions.
        for c in self.columns.iter_mut().filter(|c| !c.def.is_hidden()) {
            c.def.ty = recoded(&c.def.ty, to);
        }
    }

    fn drop_keys(&mut self, a: &AlterAction) -> Result<(), SqlError> {
        let name = match a {
            AlterAction::DropPrimaryKey => "PRIMARY",
            AlterAction::DropIndex(name) | AlterAction::DropConstraint(name) => name,
            AlterAction::DropForeignKey(name) => {
                let at = self
                    .foreign_key(name)
                    .ok_or_else(|| SqlError::cant_drop(name))?;
                self.foreign_keys.remove(at);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let at = keys::index_position(&self.indexes, name);
        if let AlterAction::DropConstraint(_) = a {
            let key = self.foreign_key(name);
            let unique = at.is_some_and(|at| self.indexes[at].kind != IndexKind::Plain);
            let check = self.old.check(name).is_some();
            match (key, unique, check) {
                (None, true, false) => {}
                // What becomes of checks is seen to with all of them.
                (None, false, true) => return Ok(()),
                (Some(key), false, false) => {
                    self.foreign_keys.remove(key);
                    return Ok(());
                }
                (None, false, false) => {
                    let text = format!("Constraint '{name}' does not exist.");
                    return Err(SqlError::new(codes::ER_CONSTRAINT_NOT_FOUND, text));
                }
                _ => {
                    let text = format!(
                        "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause."
                    );
                    let code = codes::ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME;
                    return Err(SqlError::new(code, text));
                }
            }
        }
        self.indexes
            .remove(at.ok_or_else(|| SqlError::cant_drop(name))?);
        Ok(())
    }

    fn foreign_key(&self, name: &str) -> Option<usize> {
        let name = name.to_lowercase();
        let mut keys = self.foreign_keys.iter();
        keys.position(|k| k.name.to_lowercase() == name)
    }

    /// A new foreign key, and an index for it, which goes again where it turns out to be needless.
    fn add_foreign_key(
        &mut self,
        written: &ast::ForeignKey,
        longest: keys::KeyLimits,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), SqlError> {
        let columns = self.defs();
        let mut key = foreign_keys::build(&columns, &self.old.schema, written)?;
        let mut index = foreign_keys::index_for(&columns, written, longest, warnings)?;
        for c in &mut key.columns {
            *c = self.columns[usize::from(*c)].number;
        }
        for p in &mut index.parts {
            p.column = self.columns[usize::from(p.column)].number;
        }
        self.foreign_keys.push(key);
        self.indexes.push(index);
        Ok(())
    }

    fn add_key(
        &mut self,
        written: &ast::IndexDef,
        longest: keys::KeyLimits,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<(), SqlError> {
        let mut columns = self.defs();
        let named = (&self.old.schema[..], &self.old.name[..]);
        let (cx, warnings) = (ctx.cx, &mut ctx.warnings);
        let mut index = functional::build(&mut columns, written, named, longest, cx, warnings)?;
        for def in columns.drain(self.columns.len()..) {
            self.columns.push(Column {
                number: self.next,
                def,
                origin: Origin::New,
                explicit_null: false,
                expression: None,
            });
            self.next += 1;
        }
        if self.columns.len() > table::MAX_COLUMNS {
            return Err(SqlError::new(codes::ER_TOO_MANY_FIELDS, "Too many columns"));
        }
        for p in &mut index.parts {
            p.column = self.columns[usize::from(p.column)].number;
        }
        self.indexes.push(index);
        Ok(())
    }

    fn change_keys(
        &mut self,
        a: &AlterAction,
        longest: keys::KeyLimits,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<(), SqlError> {
        match a {
            AlterAction::AddKey(KeyDef::Index(i)) => self.add_key(i, longest, ctx),
            AlterAction::AddKey(KeyDef::Foreign(f)) => {
                self.add_foreign_key(f, longest, &mut ctx.warnings)
            }
            AlterAction::IndexVisibility(name, visible) => {
                let at = keys::position_of(&self.indexes, &self.old.name, name)?;
                self.indexes[at].invisible = !visible;
                Ok(())
            }
            AlterAction::RenameIndex(from, to) => {
                check_identifier(to, "")?;
                let at = keys::position_of(&self.indexes, &self.old.name, from)?;
                self.indexes[at].name = to.to_string();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The table's options with those that the actions name.
    fn options(
        &self,
        actions: &[AlterAction],
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<TableOptions, SqlError> {
        let mut options = self.old.options.clone();
        // The next value is carried over; what a definition began with long ago is not a wish.
        options.auto_increment = 0;
        let mut charset = (None, None);
        for a in actions {
            match a {
                AlterAction::Option(o) => {
                    match o {
                        TableOption::Charset(c) => charset.0 = Some(c.as_ref()),
                        TableOption::Collate(c) => charset.1 = Some(c.as_ref()),
                        _ => {}
                    }
                    let substitute = ctx.substitute_engines;
                    table::option(
                        &self.old.name,
                        &mut options,
                        o,
                        substitute,
                        &mut ctx.warnings,
                    )?;
                }
                AlterAction::ConvertTo { charset, collation } => {
                    let wanted = table::table_collation(charset.as_deref(), collation.as_deref())?;
                    options.collation = wanted.unwrap_or(ctx.collation);
                }
                _ => {}
            }
        }
        if let Some(c) = table::table_collation(charset.0, charset.1)? {
            options.collation = c;
        }
        let format = |a: &AlterAction| matches!(a, AlterAction::Option(TableOption::RowFormat(_)));
        if actions.iter().any(format) {
            row_format::complete(&mut options, ctx.cx.vars);
        }
        if actions.iter().any(|a| matches!(a, AlterAction::Option(_))) {
            let warnings = &mut ctx.warnings;
            row_format::check(
                &self.old.name,
                &options,
                FormatUse::Alter,
                ctx.cx.vars,
                warnings,
            )?;
        }
        Ok(options)
    }

    fn finish(
        mut self,
        options: TableOptions,
        longest: keys::KeyLimits,
        actions: &[AlterAction],
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<AlteredTable, SqlError> {
        self.drop_unused_parts();
        let position = |number: u16| self.columns.iter().position(|c| c.number == number);
        let renamed = self.renamed();
        for k in &mut self.foreign_keys {
            for c in &mut k.columns {
                let at = position(*c).ok_or_else(|| {
                    let name = &self.old.columns[usize::from(*c)].name;
                    SqlError::fk_column_cannot_drop(name, &k.name)
                })?;
                *c = at as u16;
            }
            // What is new names columns as they come to be.
            if !k.name.is_empty() && k.refers_to(&self.old.schema, &self.old.name) {
                let known = self.old.foreign_keys.iter().any(|o| o.name == k.name);
                for c in k.parent_columns.iter_mut().filter(|_| known) {
                    let now = renamed.iter().find(|(was, _)| was == c);
                    *c = now.map_or_else(|| c.clone(), |(_, is)| is.clone());
                }
            }
        }
        foreign_keys::drop_needless(&mut self.indexes);
        foreign_keys::name_all(
            &self.old.name,
            &self.old.foreign_keys,
            &mut self.foreign_keys,
        )?;
        for p in self.indexes.iter_mut().flat_map(|i| &mut i.parts) {
            let at = position(p.column);
            p.column = at.ok_or_else(|| SqlError::internal("an index of no column"))? as u16;
        }
        let mut columns = self.defs();
        let mut indexes = self.indexes;
        let explicit_null: Vec<bool> = self.columns.iter().map(|c| c.explicit_null).collect();
        keys::name_all(&columns, &mut indexes)?;
        functional::name_columns(&mut columns, &indexes);
        table::require_primary_not_null(&mut columns, &explicit_null, &indexes)?;
        keys::check_auto_increment(&columns, &indexes)?;
        let was: Vec<Option<usize>> = self.columns.iter().map(Column::was).collect();
        let written: Vec<Option<ast::Expr>> = self
            .columns
            .iter_mut()
            .map(|c| c.expression.take())
            .collect();
        generated::check_gone(self.old, &columns, &was, &written)?;
        let named = (&self.old.schema[..], &self.old.name[..]);
        generated::define(&mut columns, &written, &indexes, named, ctx.cx)?;
        functional::give_types_again(self.old, &mut columns, &was, ctx.cx)?;
        generated::check_keys(&columns, &indexes)?;
        default::check(&columns, Some(self.old), ctx.cx)?;
        table::check_row_size(&columns, &options, ctx)?;
        for i in &mut indexes {
            keys::check_again(&columns, i, longest)?;
        }
        keys::warn_twice(named, &indexes, |x| x.id == 0, &mut ctx.warnings);
        indexes.sort_by_key(|i| rank(&columns, i));
        let origins = self.columns.iter().zip(&columns).map(|(c, def)| {
            let same = |n: u16| {
                let was = &self.old.columns[usize::from(n)];
                fits(&was.ty, &def.ty)
                    && (def.nullable || !was.nullable)
                    && (was.auto_increment || !def.auto_increment)
            };
            match c.origin {
                Origin::Kept(n) if !same(n) => Origin::Converted(n),
                origin => origin,
            }
        });
        let origins: Vec<Origin> = origins.collect();
        let recomputed = recomputed(self.old, &columns, &origins);
        let same = |at: usize| match origins[at] {
            Origin::Kept(n) => {
                self.old.columns[usize::from(n)].ty == columns[at].ty && !recomputed[at]
            }
            _ => false,
        };
        let checks = checks::of_alter(self.old, actions, &columns, &was, &same, ctx.cx)?;
        let made = &self.foreign_keys;
        foreign_keys::check_actions(&columns, made, &checks.list, Some(self.old))?;
        Ok(AlteredTable {
            def: TableDef {
                id: 0,
                schema: self.old.schema.clone(),
                name: self.old.name.clone(),
                columns,
                indexes,
                foreign_keys: self.foreign_keys,
                checks: checks.list,
                options,
            },
            origins,
            verify: checks.verify,
            renamed,
        })
    }

    /// Functional key parts go with their indexes.
    fn drop_unused_parts(&mut self) {
        let parts = self.indexes.iter().flat_map(|i| &i.parts);
        let used: Vec<u16> = parts.map(|p| p.column).collect();
        self.columns
            .retain(|c| !c.def.is_hidden() || used.contains(&c.number));
    }

    /// Columns that get other names.
    fn renamed(&self) -> Vec<(String, String)> {
        let pair = |c: &Column| match c.origin {
            Origin::Kept(n) | Origin::Converted(n) => {
                let was = &self.old.columns[usize::from(n)].name;
                (*was != c.def.name).then(|| (was.clone(), c.def.name.clone()))
            }
            Origin::New => None,
        };
        self.columns.iter().filter_map(pair).collect()
    }
}

impl Column {
    /// Which column of the table it was.
    fn was(&self) -> Option<usize> {
        match self.origin {
            Origin::Kept(n) | Origin::Converted(n) => Some(usize::from(n)),
            Origin::New => None,
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
