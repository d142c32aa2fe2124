//! Tables made from a query: filled while their session alone knows them, and given a definition when all rows are there. A crash before that
//! leaves a file that no definition names, which the start removes; an error takes it away at once.
//!
//! Must never do: hold the mutex of definition changes while rows are put in. A query may take its time, or wait for others.

use super::catalog::table_row;
use super::check_names::refuse_taken;
use super::foreign_keys::Ties;
use super::statements::{RowChange, arrange_clustered};
use super::table_path;
use crate::schema::{Catalog, Table, TableDef};
use crate::session::Session;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// The name by which a session knows the table that it is making; no statement can say it.
pub const UNFINISHED: &str = "\0unfinished";

fn refuse(catalog: &Catalog, def: &TableDef) -> Result<(), SqlError> {
    if catalog.schema(&def.schema).is_none() {
        return Err(SqlError::unknown_db(&def.schema));
    }
    if catalog.defines(&def.schema, &def.name) {
        return Err(SqlError::table_exists(&def.name));
    }
    refuse_taken(catalog, def, None)
}

impl Session {
    /// Makes a table that the session alone knows, by this name of its schema ([`UNFINISHED`], or its own): to be filled, and then to be
    /// [finished](Self::finish_table) or [given up](Self::give_up_making). What it and its rows leave for readers of the log is one group.
    ///
    /// # Errors
    /// As [`Session::create_table`].
    pub async fn begin_table(&mut self, mut def: TableDef, known_as: &str) -> Result<(), SqlError> {
        self.commit().await?;
        // One whose statement was broken off.
        self.give_up_making().await?;
        let engine = self.engine.clone();
        let catalog = engine.catalog();
        refuse(&catalog, &def)?;
        Ties::of(&catalog, None, &def, &[], self.foreign_key_checks)?;
        if def.options.created_us == 0 {
            def.options.created_us = engine.environment().clock.wall_us();
        }
        arrange_clustered(&mut def);
        let path = engine.data_dir().join(table_path(&def.schema, &def.name));
        let space = engine.make_space_beside_others(&mut def, &path).await?;
        let t = Arc::new(Table::open(engine.pager(), def, space, None));
        engine.unnamed.put(&t, base::Lsn::NONE);
        self.begin_making(t, known_as);
        Ok(())
    }

    /// Ends the transaction of the rows of the table that the session is making.
    ///
    /// # Errors
    /// As [`Session::commit`]; the table is given up then.
    pub async fn commit_made_rows(&mut self) -> Result<(), SqlError> {
        let committed = self.commit_in_memory().await;
        // The definition's commit is behind it in the log: once that is durable, it is.
        match committed {
            Ok(_) => Ok(()),
            Err(e) => {
                self.rollback().await?;
                self.give_up_making().await?;
                Err(e)
            }
        }
    }

    /// Gives the table that the session is making its definition, and shows it to everybody. Its rows have been committed.
    ///
    /// # Errors
    /// As [`Session::create_table`]; the table is given up then.
    pub async fn finish_table(&mut self) -> Result<(), SqlError> {
        self.leave_definition();
        let committed = match self.definition_leaves_events() {
            true => self.wait_intake().await,
            false => Ok(()),
        };
        let committed = match committed {
            Ok(()) => self.commit().await,
            Err(e) => Err(e),
        };
        if let Err(e) = committed {
            // The rows go with their file.
            let undone = self.rollback().await;
            self.give_up_making().await?;
            undone?;
            return Err(e);
        }
        let (old, known_as, mut definition) = self.take_making()?;
        let shown = self.show_finished(&old, &known_as, &mut definition).await;
        if let Err(e) = shown {
            let undone = definition.rollback().await;
            self.drop_temporary_table(&old.def.schema, &known_as);
            return Err(undone.err().unwrap_or(e));
        }
        self.group_end = definition.take_group_end();
        Ok(())
    }

    async fn show_finished(
        &mut self,
        old: &Arc<Table>,
        known_as: &str,
        definition: &mut Session,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let _ddl = self.lock_ddl(&engine).await?;
        let catalog = engine.catalog();
        let def = old.def.clone();
        refuse(&catalog, &def)?;
        let ties = Ties::of(&catalog, None, &def, &[], self.foreign_key_checks)?;
        let quiet = self.quiet_tables(&ties.tables()).await?;
        // Since the rows were committed somebody may have taken their parents away.
        self.verify_rows(old, &def, &ties).await?;
        let _closed = self.close_to_readers(quiet).await?;
        let mut rows = vec![RowChange::Put(table_row(&def))];
        rows.extend(ties.rows());
        // Not the session's any more: should it be given up from here on, the file is the start's to keep or to remove, as the definitions say.
        self.set_own(&def.schema, known_as, None);
        if let Err(e) = engine.change_rows_in(definition, rows, None).await {
            engine.drop_unnamed(old);
            return Err(e);
        }
        old.retired.store(true, Ordering::SeqCst);
        let path = engine.data_dir().join(table_path(&def.schema, &def.name));
        let (pager, space) = (engine.pager(), old.space.clone());
        // The name that it had so far is the session's own, and not in the catalog.
        engine.show_new_file(None, Table::open(pager, def, space, Some(old)));
        ties.show(&engine);
        engine.unnamed.remove(old);
        // If this fails the next start does it: files follow the catalog.
        let _ = pager.rename_space(old.space_id(), &path);
        Ok(())
    }
}
