//! Rebuilding a table: its rows, in another form where that is asked for, go into a new file, which then takes the old one's
//! place ([`super::copy`] copies them). Until then nobody sees the new file, and a crash leaves the table as it was. Others go on writing where a row's new key
//! follows from the row: rows are copied as of a snapshot, and those that have changed since are brought up to date ([`super::change_replay`]).
//!
//! Must never do: change a byte of the old file.

use super::catalog::table_row;
use super::change_replay::TableCopy;
use super::check_names::refuse_taken;
use super::foreign_keys::{Renamed, Ties};
use super::objects::is_taken;
use super::rewrite::{Keys, Rewrite};
use super::statements::{Closed, RowChange, arrange_clustered};
use super::table_path;
use crate::error;
use crate::schema::{Index, IndexDef, Table, TableDef, key_parts};
use crate::session::{Patience, Session};
use crate::table_lock::FailedRollbacks;
use btree::Tree;
use pager::Space;
use std::sync::Arc;
use types::SqlError;

/// A definition, without the indexes that are still to be built, and the file for it.
pub(super) struct Draft {
    pub(super) def: TableDef,
    pub(super) others: Vec<IndexDef>,
    pub(super) space: Arc<Space>,
    pub(super) keys: Keys,
    /// Threads to fill it, at most.
    pub(super) threads: usize,
    /// What its foreign keys have to do with other tables, and with its rows.
    pub(super) ties: Ties,
}

/// A definition that names the new file, and a table that nobody sees yet.
struct Made {
    rows: u64,
    old: Arc<Table>,
    filled: Arc<Table>,
    _closed: Closed,
}

impl Draft {
    /// The table and those that its foreign keys have to do with.
    fn with_ties(&self, t: &Arc<Table>) -> Vec<Arc<Table>> {
        let mut all = vec![t.clone()];
        all.extend(self.ties.tables());
        all
    }
}

impl Session {
    /// Gives a table the definition `def`, under whatever name that has, and its rows the form that `rewrite` gives them.
    /// Ids, roots and a hidden clustered index are filled in, and the AUTO_INCREMENT counter's next value where it is 0. Gives the number of rows; `None` where the table was dropped or
    /// has another definition by now, and nothing was done. `same_key`: the clustered key is made of the same columns as before, whose values
    /// `rewrite` leaves as they are. `online`: others may write meanwhile, for which `rewrite` must make the same clustered key of the same row each
    /// time. The table is closed for the moment that it takes
    /// its transactions to end, at the beginning and at the end; where `online` is not asked for or cannot be ([`Keys::Numbered`]), all the time.
    ///
    /// # Errors
    /// 1050: there is a table of the new name; 1049; 1062: rows that are equal under the new definition; what `rewrite` says.
    /// After an error the table is as it was.
    pub async fn rebuild_table(
        &mut self,
        old: &Arc<Table>,
        def: TableDef,
        rewrite: Rewrite<'_>,
        same_key: bool,
        online: bool,
    ) -> Result<Option<u64>, SqlError> {
        self.rebuild_renaming(old, def, rewrite, (same_key, online), &[])
            .await
    }

    /// The same where columns get other names, given before and after, or go: foreign keys of other tables follow. A table that has to do with foreign
    /// keys keeps its own name.
    ///
    /// # Errors
    /// As [`Session::rebuild_table`]; of foreign keys as [`Session::alter_table`].
    pub async fn rebuild_renaming(
        &mut self,
        old: &Arc<Table>,
        def: TableDef,
        mut rewrite: Rewrite<'_>,
        how: (bool, bool),
        renamed: &[Renamed],
    ) -> Result<Option<u64>, SqlError> {
        let _shown = self.show_progress();
        self.commit().await?;
        if old.def.is_temporary() {
            return self.rebuild_temporary(old, def, &mut rewrite, how.0).await;
        }
        let mut patience = self.patience();
        loop {
            let asked = (def.clone(), renamed);
            let tried = self.rebuild_once(old, asked, &mut rewrite, how, &mut patience);
            if let Some(done) = Box::pin(tried).await? {
                return Ok(done);
            }
        }
    }

    async fn rebuild_once(
        &mut self,
        old: &Arc<Table>,
        (mut def, renamed): (TableDef, &[Renamed]),
        rewrite: &mut Rewrite<'_>,
        (same_key, online): (bool, bool),
        patience: &mut Patience,
    ) -> Result<Option<Option<u64>>, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let catalog = engine.catalog();
        let (schema, name) = (&old.def.schema[..], &old.def.name[..]);
        // A change of a table's definition makes a new one: the same one is one that nobody has changed.
        if !catalog
            .table(schema, name)
            .is_some_and(|t| Arc::ptr_eq(&t, old))
        {
            return Ok(Some(None));
        }
        if (&def.schema[..], &def.name[..]) != (schema, name) {
            if catalog.schema(&def.schema).is_none() {
                return Err(SqlError::unknown_db(&def.schema));
            }
            if is_taken(&catalog, &def.schema, &def.name) {
                return Err(SqlError::table_exists(&def.name));
            }
        }
        refuse_taken(&catalog, &def, Some(old.def.id))?;
        arrange_clustered(&mut def);
        let checks = self.foreign_key_checks;
        let ties = Ties::of(&catalog, Some(&old.def), &def, renamed, checks)?;
        let keys = Keys::between(&old.def, &def, same_key);
        let online = online && keys != Keys::Numbered;
        let threads = self.threads_for(old);
        let mut tables = vec![old.clone()];
        tables.extend(ties.tables());
        let failed = FailedRollbacks::Count;
        let closed = self.close_first(ddl, &tables, failed, patience).await?;
        let Some((_ddl, closed)) = closed else {
            return Ok(None);
        };
        // Nobody uses it for long now. What comes next closes it itself, as long as it has to.
        drop(closed);
        let path = engine.data_dir().join(table_path(&def.schema, &def.name));
        let aside = path.with_extension(format!("new.{}", pager::SPACE_EXTENSION));
        // The other indexes are built when the rows are there.
        let others = def.indexes.split_off(1);
        let space = engine.make_space(&mut def, aside, false).await?;
        let mut draft = Draft {
            def,
            others,
            space,
            keys,
            threads,
            ties,
        };
        let made = match online {
            true => self.rebuild_online(old, &mut draft, rewrite).await,
            false => self.rebuild_closed(old, &mut draft, rewrite).await,
        };
        let Draft {
            def, space, ties, ..
        } = draft;
        let Made {
            rows,
            old,
            filled,
            _closed,
        } = match made {
            Ok(made) => made,
            Err(e) => {
                engine.abandon_file(space.id());
                return Err(e);
            }
        };
        // With what is known of the rows: their number, the next row id.
        let mut new = Table::open(engine.pager(), def, space.clone(), Some(&filled));
        new.know_as(&old, renamed);
        engine.want_stats(&engine.show_new_file(Some(&old), new));
        ties.show(&engine);
        engine.ddl.set_pending_table(None);
        engine.drop_file(old.space_id());
        // If this fails the next start does it: files follow the catalog.
        let _ = engine.pager().rename_space(space.id(), &path);
        Ok(Some(Some(rows)))
    }

    /// Fills the new file while nobody uses the table, and makes the definition name it.
    async fn rebuild_closed(
        &mut self,
        old: &Arc<Table>,
        draft: &mut Draft,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Made, SqlError> {
        let closed = self.close_tables(&draft.with_ties(old)).await?;
        let (rows, filled, _) = self.fill_draft(old, draft, rewrite, None).await?;
        self.verify_rows(&filled, &draft.def, &draft.ties).await?;
        self.swap_in(old, draft).await?;
        Ok(Made {
            rows,
            old: old.clone(),
            filled,
            _closed: closed,
        })
    }

    /// The same while others use the table.
    async fn rebuild_online(
        &mut self,
        old: &Arc<Table>,
        draft: &mut Draft,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Made, SqlError> {
        let engine = self.engine.clone();
        let captured = {
            // Whoever changes rows without saying so must have ended before the snapshot.
            let _closed = self.close_tables(std::slice::from_ref(old)).await?;
            engine.show_instead(old, Table::with_change_capture(engine.pager(), old))
        };
        let made = async {
            let reader = self.reader_of_all().await?;
            let filled = self.fill_draft(&captured, draft, rewrite, Some(reader));
            let (_, filled, reader) = filled.await?;
            engine.ddl.set_pending_table(Some(filled.clone()));
            let mut copy = TableCopy::new(captured.clone(), filled.clone(), draft.keys, reader);
            for flushed in [false, true] {
                match rewrite {
                    Rewrite::Same => copy = self.replay_changes_on_a_thread(copy).await?,
                    _ => self.replay_changes(&mut copy, rewrite).await?,
                }
                if !flushed {
                    self.flush_device_cache().await?;
                }
            }
            let tables = draft.with_ties(&captured);
            let closed = match draft.ties.verify.is_empty() {
                true => {
                    let closed = self.close_tables(&tables).await?;
                    self.replay_last_changes(copy, rewrite).await?;
                    closed
                }
                // Who only reads goes on while the rows are looked at.
                false => {
                    let quiet = self.quiet_tables(&tables).await?;
                    self.replay_last_changes(copy, rewrite).await?;
                    self.verify_rows(&filled, &draft.def, &draft.ties).await?;
                    self.close_to_readers(quiet).await?
                }
            };
            self.swap_in(&captured, draft).await?;
            Ok((filled, closed))
        }
        .await;
        match made {
            Ok((filled, closed)) => Ok(Made {
                rows: filled.row_count_estimate(),
                old: captured,
                filled,
                _closed: closed,
            }),
            Err(e) => {
                engine.ddl.set_pending_table(None);
                self.withdraw(&captured).await;
                Err(e)
            }
        }
    }

    /// Puts the rows, those that `reader` sees where there is one, into the new file and builds its other indexes; gives their number, the table that the file is,
    /// and the reader where it is still needed: the old keys of rows that get other ones are found by what it sees.
    pub(super) async fn fill_draft(
        &mut self,
        old: &Arc<Table>,
        draft: &mut Draft,
        rewrite: &mut Rewrite<'_>,
        mut reader: Option<Session>,
    ) -> Result<(u64, Arc<Table>, Option<Session>), SqlError> {
        let engine = self.engine.clone();
        let Draft {
            def,
            others,
            space,
            keys,
            threads,
            ..
        } = draft;
        let open = |def: &TableDef, old: Option<&Table>| {
            Arc::new(Table::open(engine.pager(), def.clone(), space.clone(), old))
        };
        let new = open(def, None);
        let snapshot = reader.as_mut().map(Session::snapshot);
        let rows = self
            .copy_rows(old, &new, (rewrite, *keys), snapshot, *threads)
            .await?;
        if *keys == Keys::Kept
            && let Some(mut reader) = reader.take()
        {
            // Purge need not wait for what follows.
            reader.commit().await?;
        }
        let others = std::mem::take(others);
        self.add_indexes((def, others), space, &new, *threads)
            .await?;
        Ok((rows, open(def, Some(&new)), reader))
    }

    /// Builds the other indexes of a new file, in which the rows are, and adds them to its definition.
    pub(super) async fn add_indexes(
        &mut self,
        (def, others): (&mut TableDef, Vec<IndexDef>),
        space: &Arc<Space>,
        new: &Arc<Table>,
        threads: usize,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        for mut index in others {
            index.id = engine.new_index_id(def);
            let make = || Tree::create(engine.pager(), space, index.id);
            let fail = |e| error::storage(e, &new.full_name);
            index.root = engine.pager().run(make).await.map_err(fail)?;
            let tree = Tree::open(engine.pager().clone(), space.clone(), index.root, index.id);
            let list = def.list_part(&index);
            let into = Arc::new(Index::new(key_parts(def, &index), list, tree));
            self.fill_index(new, &index, into, None, threads).await?;
            def.indexes.push(index);
        }
        Ok(())
    }

    /// Makes the definition name the new file, durably. Nobody uses the table.
    async fn swap_in(&mut self, old: &Table, draft: &mut Draft) -> Result<(), SqlError> {
        let def = &mut draft.def;
        if old.def.auto_increment_column().is_some() && def.auto_increment_column().is_some() {
            // What is asked for counts even where it is lower: the new file holds the rows above which the counter must be.
            if def.options.auto_increment == 0 {
                def.options.auto_increment = old.counter();
            }
        }
        let mut changes = vec![
            RowChange::Remove(table_row(&old.def)),
            RowChange::Put(table_row(def)),
        ];
        changes.extend(draft.ties.rows());
        if base::mutant!("old-file-dropped-before-the-swap") {
            self.engine.drop_file(old.space_id());
        }
        let event = self.take_definition_event();
        self.engine.change_rows_and_tell(changes, event).await
    }
}
