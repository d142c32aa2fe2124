//! The definition that all actions of an `ALTER TABLE` together make.
//!
//! Columns are known by a number that stays with them while others come, go and move; positions are counted at the end. As with columns
//! ([`super::altered_columns`]), an index or a constraint that is dropped or changed is one that the table has already. The catalog and the rows are
//! not touched here.

use engine::{ColumnDef, ForeignKeyDef, IndexDef, IndexKind, TableDef, TableOptions};
use types::error::codes;
use types::{SqlError, Warning};

use sql_parser::ast::{self, AlterAction, KeyDef, TableOption};

use super::altered::{AlteredTable, Origin, recomputed};
use super::altered_columns::{Column, Columns};
use super::columns::DefCtx;
use super::datatype::fits;
use super::row_format::{self, FormatUse};
use super::table;
use super::{checks, default, foreign_keys, functional, generated, keys};
use crate::describe::keys::rank;

struct Draft<'a> {
    old: &'a TableDef,
    columns: Vec<Column>,
    /// Their parts name columns by number.
    indexes: Vec<IndexDef>,
    /// Their columns are numbers, too.
    foreign_keys: Vec<ForeignKeyDef>,
    /// How many of them the table has already; the others follow.
    kept_keys: usize,
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
    let options = new_options(old, actions, ctx)?;
    ctx.collation = options.collation;
    let longest = keys::KeyLimits::of(&options, ctx.cx);
    let columns = Columns::altered(old, actions, ctx)?;
    let mut draft = Draft::new(old, columns.list, columns.next);
    for a in actions {
        draft.drop_keys(a)?;
    }
    draft.kept_keys = draft.foreign_keys.len();
    draft.leave_columns()?;
    draft.adjust_indexes(actions)?;
    for k in &columns.own_keys {
        draft.add_key(k, longest, ctx)?;
    }
    for a in actions {
        draft.add_keys(a, longest, ctx)?;
    }
    draft.finish(options, longest, actions, ctx)
}

impl<'a> Draft<'a> {
    fn new(old: &'a TableDef, columns: Vec<Column>, next: u16) -> Draft<'a> {
        let shown = old.indexes.iter().filter(|i| i.kind != IndexKind::Hidden);
        Draft {
            old,
            columns,
            indexes: shown.cloned().collect(),
            foreign_keys: old.foreign_keys.clone(),
            kept_keys: old.foreign_keys.len(),
            next,
        }
    }

    fn defs(&self) -> Vec<ColumnDef> {
        self.columns.iter().map(|c| c.def.clone()).collect()
    }

    /// Indexes do without the columns that go, but a new column of the same name takes the place of one.
    ///
    /// # Errors
    /// 1089, 1170, 3152.
    fn leave_columns(&mut self) -> Result<(), SqlError> {
        for i in &mut self.indexes {
            let before = std::mem::take(&mut i.parts);
            for mut p in before {
                if !self.columns.iter().any(|c| c.number == p.column) {
                    let gone = &self.old.columns[usize::from(p.column)];
                    let new = |c: &&Column| c.origin == Origin::New && c.def.is_named(&gone.name);
                    let Some(new) = self.columns.iter().find(new) else {
                        continue;
                    };
                    p.column = new.number;
                    p.prefix = keys::prefix_instead(gone, p.prefix, &new.def)?;
                }
                i.parts.push(p);
            }
        }
        Ok(())
    }

    /// Renames indexes of the table, and shows and hides them: by the names that they have before the statement.
    ///
    /// # Errors
    /// 1176, also for one that is dropped or gets two names; 1280.
    fn adjust_indexes(&mut self, actions: &[AlterAction]) -> Result<(), SqlError> {
        let before = self.indexes.clone();
        let mut renamed: Vec<usize> = Vec::new();
        for a in actions {
            match a {
                AlterAction::IndexVisibility(name, visible) => {
                    let at = keys::position_of(&before, &self.old.name, name)?;
                    self.indexes[at].invisible = !visible;
                }
                AlterAction::RenameIndex(from, to) => {
                    keys::check_name(to)?;
                    let at = keys::position_of(&before, &self.old.name, from)?;
                    if before[at].kind == IndexKind::Primary {
                        return Err(keys::wrong_name(from));
                    }
                    if renamed.contains(&at) {
                        return Err(keys::unknown(&self.old.name, from));
                    }
                    renamed.push(at);
                    self.indexes[at].name = to.to_string();
                }
                _ => {}
            }
        }
        // Nothing is left of those whose columns have all gone.
        self.indexes.retain(|i| !i.parts.is_empty());
        Ok(())
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

    fn add_keys(
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
            _ => Ok(()),
        }
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
        for (i, k) in self.foreign_keys.iter_mut().enumerate() {
            for c in &mut k.columns {
                let at = position(*c).ok_or_else(|| {
                    let name = &self.old.columns[usize::from(*c)].name;
                    SqlError::fk_column_cannot_drop(name, &k.name)
                })?;
                *c = at as u16;
            }
            // What is new names columns as they come to be.
            if i < self.kept_keys && k.refers_to(&self.old.schema, &self.old.name) {
                for c in &mut k.parent_columns {
                    let same = |was: &str| was.to_lowercase() == c.to_lowercase();
                    match renamed.iter().find(|(was, _)| same(was)) {
                        Some((_, Some(is))) => c.clone_from(is),
                        Some((_, None)) => {
                            let table = &self.old.name;
                            return Err(SqlError::fk_column_cannot_drop_child(c, &k.name, table));
                        }
                        None => {}
                    }
                }
            }
        }
        foreign_keys::drop_needless(&mut self.indexes, are_lists(&self.columns));
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
        table::require_visible(&columns)?;
        let explicit_null: Vec<bool> = self.columns.iter().map(|c| c.explicit_null).collect();
        keys::name_all(&columns, &mut indexes)?;
        functional::name_columns(&mut columns, &indexes);
        table::require_primary_not_null(&mut columns, &explicit_null, &indexes)?;
        keys::check_auto_increment(&columns, &indexes)?;
        keys::check_visible(&columns, &indexes)?;
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
        default::check(&columns, Some((self.old, &was)), ctx.cx)?;
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

    /// Columns that get other names, or go.
    fn renamed(&self) -> Vec<(String, Option<String>)> {
        let old = self.old.columns.iter().enumerate();
        let shown = old.filter(|(_, was)| !was.is_hidden());
        let pair = |(n, was): (usize, &ColumnDef)| {
            let now = self.columns.iter().find(|c| c.was() == Some(n));
            let now = now.map(|c| c.def.name.clone());
            (now.as_ref() != Some(&was.name)).then(|| (was.name.clone(), now))
        };
        shown.filter_map(pair).collect()
    }
}

/// The table's options with those that the actions name.
fn new_options(
    old: &TableDef,
    actions: &[AlterAction],
    ctx: &mut DefCtx<'_, '_>,
) -> Result<TableOptions, SqlError> {
    let mut options = old.options.clone();
    // The next value is carried over; what a definition began with long ago is not a wish.
    options.auto_increment = 0;
    let mut charset = (None, None);
    table::one_charset(actions.iter().filter_map(|a| match a {
        AlterAction::Option(o) => Some(o),
        _ => None,
    }))?;
    for a in actions {
        match a {
            AlterAction::Option(o) => {
                match o {
                    TableOption::Charset(c) => charset.0 = Some(c.as_ref()),
                    TableOption::Collate(c) => charset.1 = Some(c.as_ref()),
                    _ => {}
                }
                let substitute = ctx.substitute_engines;
                table::option(&old.name, &mut options, o, substitute, &mut ctx.warnings)?;
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
        row_format::check(&old.name, &options, FormatUse::Alter, ctx.cx.vars, warnings)?;
    }
    Ok(options)
}

/// Which columns are multi-valued key parts, by their numbers.
fn are_lists(columns: &[Column]) -> impl Fn(u16) -> bool + '_ {
    |n| columns.iter().any(|c| c.number == n && c.def.is_list())
}
