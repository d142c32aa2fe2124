//! What foreign keys mean for changes of definitions: what is refused, which other tables' definitions follow, and who has to see the change.
//!
//! Everything here is decided while the DDL mutex is held. A table that gets a child is shown anew, as one that has changed: who made a plan
//! before must make another. All tables that a change is about are closed together, so that nobody uses one of them with an old view of another.

use super::catalog::table_row;
use super::row_change::{RowChange, TableName};
use crate::engine::Engine;
use crate::schema::{
    Catalog, ColumnDef, ForeignKeyDef, ReferenceAction, Table, TableDef, go_together, stays,
};
use crate::session::Session;
use std::sync::Arc;
use types::SqlError;

/// "Foreign key '%s' uses virtual column '%s' which is not supported."
const USES_VIRTUAL_COLUMN: u16 = 3733;
/// Characters of a name, at most.
const LONGEST_NAME: usize = 64;

/// What a change of one table's definition has to do with others.
#[derive(Default)]
pub(super) struct Ties {
    /// Tables whose definitions follow: as they are, and as they come to be.
    follow: Vec<(Arc<Table>, TableDef)>,
    /// Parents that get a child.
    see: Vec<Arc<Table>>,
    /// Foreign keys of the definition for which the rows there are have to be looked at.
    pub(super) verify: Vec<usize>,
}

/// A column's name before and after; no name for one that goes, though another may come under its name.
pub(super) type Renamed = (String, Option<String>);

fn same_name(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

fn name_now<'n>(renamed: &'n [Renamed], was: &'n str) -> Option<&'n str> {
    let now = renamed.iter().find(|(a, _)| same_name(a, was));
    now.map_or(Some(was), |(_, b)| b.as_deref())
}

/// The columns that have another name under a definition that leaves them where they are.
pub(super) fn renamed_in_place(old: &TableDef, def: &TableDef) -> Vec<Renamed> {
    let pairs = old.columns.iter().zip(&def.columns);
    let differs = pairs.filter(|(a, b)| a.name != b.name);
    differs
        .map(|(a, b)| (a.name.clone(), Some(b.name.clone())))
        .collect()
}

impl Ties {
    /// Of a definition that takes the place of `old`, under the same name, or is new. `checks`: `foreign_key_checks`.
    ///
    /// # Errors
    /// 1553, 1821, 1822, 1824, 1826, 1829, 1830, 1832, 1833, 3734, 3780.
    pub(super) fn of(
        catalog: &Catalog,
        old: Option<&TableDef>,
        def: &TableDef,
        renamed: &[Renamed],
        checks: bool,
    ) -> Result<Ties, SqlError> {
        let mut ties = Ties::default();
        for (i, k) in def.foreign_keys.iter().enumerate() {
            // Of two of one name none is the one that was there.
            refuse_twice(def, i)?;
            let was = old.and_then(|o| key_before(o, def, k, renamed).map(|w| (o, w)));
            if was.is_none() {
                name_is_free(catalog, def, i)?;
                refuse_virtual(def, &k.columns, k)?;
            }
            child_serves(old, def, k)?;
            let own = k.refers_to(&def.schema, &def.name);
            let there = catalog.table(&k.parent_schema, &k.parent);
            let parent = match (own, &there) {
                (true, _) => def,
                (false, Some(t)) => &t.def,
                (false, None) if was.is_none() && checks => {
                    return Err(SqlError::fk_cannot_open_parent(&k.parent));
                }
                (false, None) => continue,
            };
            // What was let pass with checks off stays as it is.
            let same = was.is_some_and(|(o, w)| same_types(o, &w.columns, def, &k.columns));
            let columns = fits(def, k, parent, checks && !same)?;
            if let Some((old, was)) = was {
                if checks {
                    unchanged(old, &was.columns, def, &k.columns, |c| {
                        SqlError::fk_column_cannot_change(c, &k.name)
                    })?;
                }
                if own {
                    parent_serves(Some(old), def, k, &columns, checks)?;
                }
                continue;
            }
            refuse_virtual(parent, &columns, k)?;
            parent_serves(None, parent, k, &columns, checks)?;
            if checks {
                ties.verify.push(i);
            }
            if let (false, Some(t)) = (own, there)
                && !ties.see.iter().any(|o| Arc::ptr_eq(o, &t))
            {
                ties.see.push(t);
            }
        }
        for child in catalog.children_of(&def.schema, &def.name) {
            if (&child.def.schema, &child.def.name) != (&def.schema, &def.name) {
                ties.add_child(&child, old, def, renamed, checks)?;
            }
        }
        Ok(ties)
    }

    /// A child of the table whose definition changes, or that comes to be.
    fn add_child(
        &mut self,
        child: &Arc<Table>,
        old: Option<&TableDef>,
        def: &TableDef,
        renamed: &[Renamed],
        checks: bool,
    ) -> Result<(), SqlError> {
        let mut next = child.def.clone();
        for n in 0..next.foreign_keys.len() {
            let k = &mut next.foreign_keys[n];
            if !k.refers_to(&def.schema, &def.name) {
                continue;
            }
            let was = old.and_then(|o| k.columns_in(o).map(|c| (o, c)));
            for c in &mut k.parent_columns {
                let there = |n: &&str| old.is_none() || def.column(n).is_some();
                let Some(now) = name_now(renamed, c).filter(there) else {
                    let child = &child.def.name;
                    return Err(SqlError::fk_column_cannot_drop_child(c, &k.name, child));
                };
                *c = now.to_owned();
            }
            let k = &next.foreign_keys[n];
            let is = k.columns_in(def).unwrap_or_default();
            let same = (was.as_ref()).is_some_and(|(o, w)| same_types(o, w, def, &is));
            let columns = fits(&child.def, k, def, checks && !same)?;
            if let Some((old, was)) = was
                && checks
            {
                unchanged(old, &was, def, &columns, |c| {
                    let child = format!("{}.{}", child.def.schema, child.def.name);
                    SqlError::fk_column_cannot_change_child(c, &k.name, &child)
                })?;
            }
            parent_serves(old, def, k, &columns, checks)?;
        }
        if next.foreign_keys != child.def.foreign_keys {
            self.follow.push((child.clone(), next));
        }
        Ok(())
    }

    /// Whether other tables have to do with it, or rows.
    pub(super) fn is_none(&self) -> bool {
        self.follow.is_empty() && self.see.is_empty() && self.verify.is_empty()
    }

    /// The other tables.
    pub(super) fn tables(&self) -> Vec<Arc<Table>> {
        let mut all = self.see.clone();
        for (t, _) in &self.follow {
            if !all.iter().any(|o| Arc::ptr_eq(o, t)) {
                all.push(t.clone());
            }
        }
        all
    }

    /// The catalog's rows of definitions that follow.
    pub(super) fn rows(&self) -> Vec<RowChange> {
        let both = |(t, def): &(Arc<Table>, TableDef)| {
            [
                RowChange::Remove(table_row(&t.def)),
                RowChange::Put(table_row(def)),
            ]
        };
        self.follow.iter().flat_map(both).collect()
    }

    /// Shows the other tables anew. Nobody uses them.
    pub(super) fn show(&self, engine: &Engine) {
        let pager = engine.pager();
        for (t, def) in &self.follow {
            let next = Table::open(pager, def.clone(), t.space.clone(), Some(t));
            engine.show_instead(t, next);
        }
        for t in &self.see {
            if !self.follow.iter().any(|(o, _)| Arc::ptr_eq(o, t)) {
                let next = Table::open(pager, t.def.clone(), t.space.clone(), Some(t));
                engine.show_instead(t, next);
            }
        }
    }

    /// Of tables that get other names, given as they are and as they come to be, whose own foreign keys find their parents here.
    ///
    /// # Errors
    /// 1822, 3734 and 3780, where a child waits for a table of the new name that this one cannot be.
    pub(super) fn of_rename(
        catalog: &Catalog,
        renamed: &mut [(Arc<Table>, TableDef)],
        checks: bool,
    ) -> Result<Ties, SqlError> {
        let names: Vec<(TableName, TableName)> = renamed
            .iter()
            .map(|(t, d)| (full_name(&t.def), full_name(d)))
            .collect();
        let follow = |def: &mut TableDef| {
            for k in &mut def.foreign_keys {
                let parent = (k.parent_schema.clone(), k.parent.clone());
                if let Some((_, to)) = names.iter().find(|(from, _)| *from == parent) {
                    (k.parent_schema, k.parent) = to.clone();
                }
            }
        };
        let mut ties = Ties::default();
        for (_, def) in renamed.iter_mut() {
            follow(def);
        }
        for (from, _) in &names {
            for child in catalog.children_of(&from.0, &from.1) {
                let at = full_name(&child.def);
                let known = names.iter().any(|(n, _)| *n == at)
                    || ties.follow.iter().any(|(o, _)| Arc::ptr_eq(o, &child));
                if !known {
                    let mut def = child.def.clone();
                    follow(&mut def);
                    ties.follow.push((child, def));
                }
            }
        }
        for (_, def) in renamed.iter() {
            // Those that have waited for a table of this name.
            let to = full_name(def);
            for child in catalog.children_of(&to.0, &to.1) {
                let was_there = names.iter().any(|(n, _)| *n == to);
                if was_there || catalog.table(&to.0, &to.1).is_some() {
                    continue;
                }
                for k in &child.def.foreign_keys {
                    if k.refers_to(&to.0, &to.1) {
                        let columns = fits(&child.def, k, def, checks)?;
                        parent_serves(None, def, k, &columns, checks)?;
                    }
                }
                // One that gets another name itself is shown with that.
                let at = full_name(&child.def);
                if !ties.see.iter().any(|o| Arc::ptr_eq(o, &child))
                    && !names.iter().any(|(n, _)| *n == at)
                {
                    ties.see.push(child);
                }
            }
        }
        Ok(ties)
    }
}

fn full_name(def: &TableDef) -> TableName {
    (def.schema.clone(), def.name.clone())
}

/// The foreign key of the old definition that one of the new is.
fn key_before<'o>(
    old: &'o TableDef,
    def: &TableDef,
    k: &ForeignKeyDef,
    renamed: &[Renamed],
) -> Option<&'o ForeignKeyDef> {
    let own = k.refers_to(&def.schema, &def.name);
    let same = |w: &&ForeignKeyDef| {
        let columns = w.columns.iter().map(|c| &old.columns[usize::from(*c)].name);
        let mut columns = columns.zip(&k.columns);
        let mut parents = w.parent_columns.iter().zip(&k.parent_columns);
        let named = |a: &str, b: &str| name_now(renamed, a).is_some_and(|a| same_name(a, b));
        let theirs = |(a, b): (&String, &String)| match own {
            true => named(a, b),
            false => same_name(a, b),
        };
        w.name == k.name
            && (w.on_delete, w.on_update) == (k.on_delete, k.on_update)
            && w.refers_to(&k.parent_schema, &k.parent)
            && w.columns.len() == k.columns.len()
            && columns.all(|(a, b)| named(a, &def.columns[usize::from(*b)].name))
            && parents.all(theirs)
    };
    old.foreign_keys.iter().find(same)
}

/// No other foreign key of the definition has the name of this one.
fn refuse_twice(def: &TableDef, key: usize) -> Result<(), SqlError> {
    let name = &def.foreign_keys[key].name;
    let mut before = def.foreign_keys[..key].iter();
    match before.any(|k| same_name(&k.name, name)) {
        true => Err(SqlError::fk_dup_name(name)),
        false => Ok(()),
    }
}

/// No foreign key of another table of the schema has the name of this one.
fn name_is_free(catalog: &Catalog, def: &TableDef, key: usize) -> Result<(), SqlError> {
    let name = &def.foreign_keys[key].name;
    let others = catalog.schema(&def.schema).into_iter();
    let others = others.flat_map(|s| s.tables.values());
    let mut others = others.filter(|t| t.def.name != def.name);
    match others.any(|t| has_key(&t.def, name)) {
        true => Err(SqlError::fk_dup_name(name)),
        false => Ok(()),
    }
}

/// Foreign keys with a name made of their table's get another with it. All of them must be free among the tables of its new schema, of which it is none
/// yet.
///
/// # Errors
/// 1059, 1826.
pub(super) fn rename_keys(
    catalog: &Catalog,
    old: &TableDef,
    def: &mut TableDef,
) -> Result<(), SqlError> {
    let generated = format!("{}_ibfk_", old.name);
    for k in &mut def.foreign_keys {
        if let Some(rest) = k.name.strip_prefix(&generated) {
            k.name = format!("{}_ibfk_{rest}", def.name);
            if k.name.chars().count() > LONGEST_NAME {
                return Err(SqlError::new(
                    types::error::codes::ER_TOO_LONG_IDENT,
                    format!("Identifier name '{}' is too long", k.name),
                ));
            }
        }
    }
    for key in 0..def.foreign_keys.len() {
        refuse_twice(def, key)?;
        name_is_free(catalog, def, key)?;
    }
    Ok(())
}

fn has_key(def: &TableDef, name: &str) -> bool {
    def.foreign_keys.iter().any(|k| same_name(&k.name, name))
}

/// No column of a new foreign key, on either side, is a virtual one.
fn refuse_virtual(def: &TableDef, columns: &[u16], k: &ForeignKeyDef) -> Result<(), SqlError> {
    let columns = columns.iter().map(|c| &def.columns[usize::from(*c)]);
    let is_virtual = |c: &&ColumnDef| c.generated.as_ref().is_some_and(|g| !g.stored);
    match columns.into_iter().find(is_virtual) {
        None => Ok(()),
        Some(c) => Err(SqlError::new(
            USES_VIRTUAL_COLUMN,
            format!(
                "Foreign key '{}' uses virtual column '{}' which is not supported.",
                k.name, c.name
            ),
        )),
    }
}

/// The child has an index for the foreign key, and its columns can do what its rules say.
fn child_serves(old: Option<&TableDef>, def: &TableDef, k: &ForeignKeyDef) -> Result<(), SqlError> {
    let sets_null = [k.on_delete, k.on_update].contains(&ReferenceAction::SetNull);
    for c in &k.columns {
        let c = &def.columns[usize::from(*c)];
        if sets_null && !c.nullable {
            return Err(SqlError::fk_column_not_null(&c.name, &k.name));
        }
    }
    if def.index_of(&k.columns).is_some() {
        return Ok(());
    }
    let was = old.and_then(|o| {
        let w = o.foreign_keys.iter().find(|w| w.name == k.name)?;
        Some(&o.indexes[o.index_of(&w.columns)?].name)
    });
    Err(match was {
        Some(index) => SqlError::drop_index_fk(index),
        None => SqlError::new(
            types::error::codes::ER_FK_NO_INDEX_CHILD,
            format!(
                "Failed to add the foreign key constraint. Missing index for constraint '{}' in the foreign table '{}'",
                k.name, def.name
            ),
        ),
    })
}

/// The parent has the columns, and they go together with the child's; gives them.
fn fits(
    child: &TableDef,
    k: &ForeignKeyDef,
    parent: &TableDef,
    checks: bool,
) -> Result<Vec<u16>, SqlError> {
    let mut columns = Vec::with_capacity(k.columns.len());
    for n in &k.parent_columns {
        let at = parent.column(n);
        let missing = || SqlError::fk_no_column_parent(n, &k.name, &k.parent);
        columns.push(at.ok_or_else(missing)? as u16);
    }
    for (a, b) in k.columns.iter().zip(&columns) {
        let (a, b) = (
            &child.columns[usize::from(*a)],
            &parent.columns[usize::from(*b)],
        );
        if !go_together(a, b, checks) {
            return Err(SqlError::fk_incompatible_columns(&a.name, &b.name, &k.name));
        }
    }
    Ok(columns)
}

/// Whether columns have the types that they had.
fn same_types(old: &TableDef, was: &[u16], def: &TableDef, is: &[u16]) -> bool {
    let ty = |d: &TableDef, c: u16| d.columns[usize::from(c)].ty.clone();
    let mut pairs = was.iter().zip(is);
    was.len() == is.len() && pairs.all(|(a, b)| ty(old, *a) == ty(def, *b))
}

/// The parent has an index for the foreign key. With checks off it may do without, but not lose one.
fn parent_serves(
    old: Option<&TableDef>,
    parent: &TableDef,
    k: &ForeignKeyDef,
    columns: &[u16],
    checks: bool,
) -> Result<(), SqlError> {
    if parent.parent_index_of(columns).is_some() {
        return Ok(());
    }
    let had = old.and_then(|o| {
        // Columns of the old definition that are those of the new by another name are where an index was.
        let was = k.columns_in(o).and_then(|c| o.parent_index_of(&c));
        let was = was.or_else(|| lost_index(o, parent));
        was.map(|i| &o.indexes[i].name)
    });
    match had {
        Some(index) => Err(SqlError::drop_index_fk(index)),
        None if checks && old.is_none() => Err(SqlError::fk_no_index_parent(&k.name, &k.parent)),
        None => Ok(()),
    }
}

/// The first index of a definition that another has not got any more.
fn lost_index(old: &TableDef, def: &TableDef) -> Option<usize> {
    let there = |x: u32| def.indexes.iter().any(|y| y.id == x);
    (0..old.indexes.len()).find(|i| !there(old.indexes[*i].id))
}

/// Values of the columns stay what they are.
fn unchanged(
    old: &TableDef,
    was: &[u16],
    def: &TableDef,
    is: &[u16],
    refused: impl Fn(&str) -> SqlError,
) -> Result<(), SqlError> {
    for (a, b) in was.iter().zip(is) {
        let (a, b) = (&old.columns[usize::from(*a)], &def.columns[usize::from(*b)]);
        if !stays(a, b) {
            return Err(refused(&a.name));
        }
    }
    Ok(())
}

/// Tables that are dropped must not be parents of tables that stay.
///
/// # Errors
/// 3730.
pub(super) fn may_drop(
    catalog: &Catalog,
    gone: &[TableName],
    checks: bool,
) -> Result<(), SqlError> {
    if !checks {
        return Ok(());
    }
    for (schema, name) in gone {
        for child in catalog.children_of(schema, name) {
            if gone.contains(&full_name(&child.def)) {
                continue;
            }
            let mut keys = child.def.foreign_keys.iter();
            if let Some(k) = keys.find(|k| k.refers_to(schema, name)) {
                return Err(SqlError::fk_cannot_drop_parent(
                    name,
                    &k.name,
                    &child.def.name,
                ));
            }
        }
    }
    Ok(())
}

/// A table that is emptied must not be the parent of another.
///
/// # Errors
/// 1701.
pub(super) fn may_truncate(catalog: &Catalog, t: &Table, checks: bool) -> Result<(), SqlError> {
    let (schema, name) = (&t.def.schema, &t.def.name);
    for child in catalog.children_of(schema, name) {
        if !checks || full_name(&child.def) == full_name(&t.def) {
            continue;
        }
        let mut keys = child.def.foreign_keys.iter();
        if let Some(k) = keys.find(|k| k.refers_to(schema, name)) {
            return Err(SqlError::truncate_illegal_fk(&format!(
                "`{}`.`{}`, CONSTRAINT `{}`",
                child.def.schema, child.def.name, k.name
            )));
        }
    }
    Ok(())
}

impl Session {
    /// `foreign_key_checks` for the definition changes that follow.
    pub fn set_foreign_key_checks(&mut self, on: bool) {
        self.foreign_key_checks = on;
    }
}
