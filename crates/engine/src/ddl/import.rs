//! ALTER TABLE .. DISCARD TABLESPACE and IMPORT TABLESPACE.
//!
//! A discarded table has an empty file and says so in its definition. An import makes no part of a foreign file its own: pages have positions of another
//! log, rows have transactions of another database, and anybody may have made both. Its rows are read, looked at, and put into a new file, as by a
//! rebuild; that file takes the empty one's place in the transaction that changes the definition. A crash leaves the table discarded, or imported.
//!
//! Must never do: write to the foreign file, or believe it.

use super::export::{DESCRIPTION, Exported, LONGEST};
use super::foreign_rows::{ForeignRows, cannot_read, damaged, refusal};
use super::rewrite::Sound;
use super::statements::RowChange;
use super::{catalog::table_row, table_path};
use crate::engine::Engine;
use crate::schema::{Catalog, ColumnDef, IndexDef, IndexKind, IndexPart, Table, TableDef};
use crate::session::{Patience, Session};
use crate::table_lock::FailedRollbacks;
use base::OpenMode;
use pager::ForeignError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use types::SqlError;
use types::error::codes;

/// The ending of the name of a file that is to be imported. A start removes files with the ending of tablespaces that no definition names.
const IMPORT: &str = "import";

impl Session {
    /// Gives a table's rows up. Says whether that had been done before.
    ///
    /// # Errors
    /// 1146; 1451: another table refers to it, and foreign keys are looked at. 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn discard_table(&mut self, schema: &str, name: &str) -> Result<bool, SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        loop {
            if let Some(again) = self.discard_once(schema, name, &mut patience).await? {
                return Ok(again);
            }
        }
    }

    async fn discard_once(
        &mut self,
        schema: &str,
        name: &str,
        patience: &mut Patience,
    ) -> Result<Option<bool>, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let old = base_table(&engine, schema, name)?;
        if self.foreign_key_checks {
            refuse_parent(&engine.catalog(), &old.def)?;
        }
        let (tables, failed) = ([old.clone()], FailedRollbacks::Count);
        let closed = self.close_first(ddl, &tables, failed, patience).await?;
        let Some(_closed) = closed else {
            return Ok(None);
        };
        let mut def = old.def.clone();
        def.options.discarded = true;
        self.put_empty(&old, def).await?;
        Ok(Some(old.def.options.discarded))
    }

    /// Gives a discarded table the rows of an exported file; gives their number. `sound` is given the values of each, and gives back what is kept.
    ///
    /// # Errors
    /// 1146; 1813: it was not discarded; 1812: there is no file; 1808: it is of a table of another definition; 1810: a file cannot be read; 1815: it is
    /// damaged; what `sound` says; 1062: rows are equal. 1205 and 1317 while it waits for others; what the storage fails with. After an error the
    /// table is as it was.
    pub async fn import_table(
        &mut self,
        schema: &str,
        name: &str,
        sound: &mut Sound<'_>,
    ) -> Result<u64, SqlError> {
        let _shown = self.show_progress();
        self.commit().await?;
        let mut patience = self.patience();
        loop {
            let tried = self.import_once((schema, name), sound, &mut patience);
            if let Some(rows) = Box::pin(tried).await? {
                return Ok(rows);
            }
        }
    }

    async fn import_once(
        &mut self,
        (schema, name): (&str, &str),
        sound: &mut Sound<'_>,
        patience: &mut Patience,
    ) -> Result<Option<u64>, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let old = base_table(&engine, schema, name)?;
        if !old.def.options.discarded {
            return Err(SqlError::new(
                codes::ER_TABLESPACE_EXISTS,
                format!("Tablespace '{schema}/{name}' exists."),
            ));
        }
        let (tables, failed) = ([old.clone()], FailedRollbacks::Count);
        let closed = self.close_first(ddl, &tables, failed, patience).await?;
        let Some((_ddl, _closed)) = closed else {
            return Ok(None);
        };
        let path = engine.data_dir().join(table_path(schema, name));
        let from = path.with_extension(IMPORT);
        let (mut rows, exported) = self.open_exported(&old, &from).await?;
        let mut def = old.def.clone();
        def.options.discarded = false;
        def.options.auto_increment = match def.auto_increment_column() {
            Some(_) => exported.next,
            None => 0,
        };
        def.columns.iter_mut().for_each(|c| c.fill = None);
        let others = def.indexes.split_off(1);
        let aside = path.with_extension(format!("new.{}", pager::SPACE_EXTENSION));
        let space = engine.make_space(&mut def, aside, false).await?;
        let made = async {
            let new = Arc::new(Table::open(
                engine.pager(),
                def.clone(),
                space.clone(),
                None,
            ));
            let count = self.copy_foreign(&mut rows, &new, sound).await?;
            let threads = self.threads_for(&new);
            self.add_indexes((&mut def, others), &space, &new, threads)
                .await?;
            let changes = vec![
                RowChange::Remove(table_row(&old.def)),
                RowChange::Put(table_row(&def)),
            ];
            let event = self.take_definition_event();
            engine.change_rows_and_tell(changes, event).await?;
            Ok((count, new))
        };
        let (count, filled) = match made.await {
            Ok(made) => made,
            Err(e) => {
                engine.abandon_file(space.id());
                return Err(e);
            }
        };
        let new = Table::open(engine.pager(), def, space.clone(), Some(&filled));
        engine.want_stats(&engine.show_new_file(Some(&old), new));
        engine.drop_file(old.space_id());
        // If this fails the next start does it: files follow the catalog.
        let _ = engine.pager().rename_space(space.id(), &path);
        // The copy has served, as in MySQL, where it becomes the table's file.
        let _ = engine.environment().disk.remove_file(&from);
        Ok(Some(count))
    }

    /// Opens what is to be imported into a table, and compares the definitions.
    async fn open_exported(
        &self,
        t: &Table,
        from: &Path,
    ) -> Result<(ForeignRows, Exported), SqlError> {
        let pager = self.engine.pager();
        let space = match pager.open_foreign(from).await {
            Err(ForeignError::Io(e)) if e.kind() == io::ErrorKind::NotFound => {
                return Err(SqlError::new(
                    codes::ER_TABLESPACE_MISSING,
                    format!(
                        "Tablespace is missing for table `{}`.`{}`.",
                        t.def.schema, t.def.name
                    ),
                ));
            }
            r => r.map_err(|e| refusal(&t.full_name, e))?,
        };
        let described = from.with_extension(DESCRIPTION);
        let bytes = self.read_description(t, &described)?;
        let exported = Exported::decode(&bytes);
        let exported = exported.ok_or_else(|| {
            damaged(
                &t.full_name,
                "the description is damaged, or of another version",
            )
        })?;
        let places = places(&t.def, &exported.def);
        let places = places.map_err(|why| SqlError::table_schema_mismatch(&why))?;
        let rows = ForeignRows::new(space, &exported, places, &t.full_name)?;
        Ok((rows, exported))
    }

    fn read_description(&self, t: &Table, path: &Path) -> Result<Vec<u8>, SqlError> {
        let fail = |e: io::Error| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let dir = &t.def.schema;
            cannot_read(&e, &format!("Error opening './{dir}/{file}'"))
        };
        let disk = &self.engine.environment().disk;
        let file = disk.open(path, OpenMode::Buffered, false).map_err(fail)?;
        let len = file.len().map_err(fail)?;
        if len > LONGEST {
            return Err(damaged(&t.full_name, "the description is damaged"));
        }
        let mut bytes = vec![0; len as usize];
        let n = file.read_now(&mut bytes, 0).map_err(fail)?;
        bytes.truncate(n);
        Ok(bytes)
    }
}

/// A table that everybody knows.
fn base_table(engine: &Engine, schema: &str, name: &str) -> Result<Arc<Table>, SqlError> {
    let found = engine.catalog().base_table(schema, name);
    found.ok_or_else(|| SqlError::no_such_table(schema, name))
}

/// Refuses where another table refers to this one.
fn refuse_parent(catalog: &Catalog, def: &TableDef) -> Result<(), SqlError> {
    for child in catalog.children_of(&def.schema, &def.name) {
        if (&child.def.schema, &child.def.name) == (&def.schema, &def.name) {
            continue;
        }
        let mut keys = child.def.foreign_keys.iter();
        if let Some(k) = keys.find(|k| k.refers_to(&def.schema, &def.name)) {
            let (schema, name) = (&child.def.schema, &child.def.name);
            let key = format!("`{schema}`.`{name}`, CONSTRAINT `{}`", k.name);
            return Err(SqlError::table_is_referenced(&key));
        }
    }
    Ok(())
}

/// Where each column of a table is in the table of a file. What is made for functional key parts is nobody's to place: such columns stand where they
/// came to be.
///
/// # Errors
/// How the definitions differ, in InnoDB's words.
fn places(def: &TableDef, file: &TableDef) -> Result<Vec<usize>, String> {
    let (here, there) = (def.columns.len(), file.columns.len());
    if here != there {
        return Err(format!(
            "Number of columns don't match, table has {here} columns but the tablespace meta-data file has {there} columns"
        ));
    }
    let mut taken = vec![false; there];
    let mut places = Vec::with_capacity(here);
    for c in &def.columns {
        let serves = |(at, o): &(usize, &ColumnDef)| {
            let same = match (c.key_expression(), o.key_expression()) {
                (None, None) => o.name.to_lowercase() == c.name.to_lowercase(),
                (a, b) => a == b && o.ty == c.ty && o.key_type() == c.key_type(),
            };
            same && !taken[*at]
        };
        let Some((at, o)) = file.columns.iter().enumerate().find(serves) else {
            return Err(format!("Column {} not found in tablespace.", c.name));
        };
        let generated = |c: &ColumnDef| c.generated.as_ref().map(|g| (g.expr.clone(), g.stored));
        if o.ty != c.ty
            || o.nullable != c.nullable
            || o.auto_increment != c.auto_increment
            || generated(o) != generated(c)
        {
            return Err(format!("Column {} precise type mismatch.", c.name));
        }
        taken[at] = true;
        places.push(at);
    }
    let visible = def.columns.iter().zip(&places);
    let mut visible = visible.filter(|(c, _)| !c.is_hidden()).map(|(_, at)| *at);
    let mut order = (0..there).filter(|at| !file.columns[*at].is_hidden());
    let moved = visible.find_map(|at| order.next().filter(|o| *o != at).map(|o| (at, o)));
    if let Some((at, o)) = moved {
        return Err(format!(
            "Column {} ordinal value mismatch, it's at {o} in the table and {at} in the tablespace meta-data file",
            file.columns[at].name
        ));
    }
    let (here, there) = (def.indexes.len(), file.indexes.len());
    if here != there {
        return Err(format!(
            "Number of indexes don't match, table has {here} indexes but the tablespace meta-data file has {there} indexes"
        ));
    }
    let differs = |x| index_difference(x, file, &places);
    match def.indexes.iter().find_map(differs) {
        Some(why) => Err(why),
        None => Ok(places),
    }
}

fn index_difference(x: &IndexDef, file: &TableDef, places: &[usize]) -> Option<String> {
    let named = |o: &&IndexDef| o.name.to_lowercase() == x.name.to_lowercase();
    let Some(o) = file.indexes.iter().find(named) else {
        return Some(format!(
            "Index {} not found in tablespace meta-data file.",
            x.name
        ));
    };
    if o.parts.len() != x.parts.len() {
        return Some(format!(
            "Index field count {} doesn't match tablespace metadata file value {}",
            x.parts.len(),
            o.parts.len()
        ));
    }
    let same = |(p, q): (&IndexPart, &IndexPart)| {
        let at = places.get(usize::from(p.column));
        at == Some(&usize::from(q.column)) && (p.prefix, p.descending) == (q.prefix, q.descending)
    };
    let hidden = |x: &IndexDef| x.kind == IndexKind::Hidden;
    let equal = x.parts.iter().zip(&o.parts).all(same) && hidden(o) == hidden(x);
    (!equal).then(|| {
        format!(
            "Index {} has other fields in the tablespace meta-data file",
            x.name
        )
    })
}
