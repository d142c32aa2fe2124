//! The rows of a table that gets a foreign key: each must have a parent. Writers are kept off both tables, so that no row slips through;
//! who only reads goes on.

use super::foreign_keys::Ties;
use crate::schema::{ForeignKeyDef, Table, TableDef};
use crate::session::{KeyBound, ReadMode, RowBatch, ScanSpec, Session};
use std::sync::Arc;
use types::SqlError;

impl Session {
    /// Looks whether each row of `child`, to which nobody writes, has a parent by the foreign keys of `def` that are to be verified.
    ///
    /// # Errors
    /// 1452; 1317; what the storage fails with.
    pub(super) async fn verify_rows(
        &mut self,
        child: &Arc<Table>,
        def: &TableDef,
        ties: &Ties,
    ) -> Result<(), SqlError> {
        for n in &ties.verify {
            let k = &def.foreign_keys[*n];
            let parent = match k.refers_to(&def.schema, &def.name) {
                true => Some(child.clone()),
                false => self.engine.catalog().table(&k.parent_schema, &k.parent),
            };
            if let Some(parent) = parent {
                self.verify_key(child, def, k, &parent).await?;
            }
        }
        Ok(())
    }

    async fn verify_key(
        &mut self,
        child: &Arc<Table>,
        def: &TableDef,
        k: &ForeignKeyDef,
        parent: &Arc<Table>,
    ) -> Result<(), SqlError> {
        // A table that refers to itself may not have its columns' new names yet.
        let columns = match Arc::ptr_eq(parent, child) {
            true => k.columns_in(def),
            false => k.columns_in(&parent.def),
        };
        let Some(index) = columns.and_then(|c| parent.def.parent_index_of(&c)) else {
            return Ok(());
        };
        let mut reader = self.reader_of_all().await?;
        reader.interrupt = self.interrupt.clone();
        let all = ScanSpec {
            index: 0,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: false,
            mode: ReadMode::Consistent,
        };
        let mut scan = reader.scan(child, all);
        let mut batch = RowBatch::new();
        let (mut key, mut last) = (Vec::new(), Vec::new());
        let mut more = true;
        while more {
            batch.clear();
            more = reader
                .next_batch(&mut scan, &mut batch, 256, &mut |_| Ok(true))
                .await?;
            for i in 0..batch.len() {
                let row = batch.row(i);
                if k.columns.iter().any(|c| row.is_null(usize::from(*c))) {
                    continue;
                }
                let value = |n: usize| {
                    let c = usize::from(k.columns[n]);
                    (&def.columns[c].ty, row.column(c))
                };
                let may_be = parent.key_of_related(index, k.columns.len(), value, &mut key);
                if may_be && key == last {
                    continue;
                }
                let mode = ReadMode::Consistent;
                if !may_be || !reader.has_key(parent, index, &key, mode).await? {
                    reader.commit().await?;
                    return Err(SqlError::no_referenced_row(&k.in_message(def)));
                }
                std::mem::swap(&mut key, &mut last);
            }
        }
        reader.commit().await
    }
}
