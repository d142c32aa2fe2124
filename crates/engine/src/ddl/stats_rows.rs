//! Figures in the catalog: a row for each table that has some. Of those that nobody asked for, nobody waits until they are durable: a crash keeps
//! the row or loses it whole.

use super::catalog::{row_key, stats_row};
use crate::engine::Engine;
use crate::schema::Table;
use crate::session::{Isolation, Session};
use crate::stats::encode;
use base::PageNo;
use std::sync::Arc;
use types::SqlError;

impl Engine {
    /// Keeps what is known of a table that somebody holds. `asked`: a statement did, which has its effect when it has been answered.
    ///
    /// # Errors
    /// A full disk, a closed log. What cannot be kept is made again at the next start.
    pub(crate) async fn save_stats(
        self: &Arc<Self>,
        t: &Table,
        asked: bool,
    ) -> Result<(), SqlError> {
        if self.unnamed.get(t.def.id).is_some() {
            // There is no definition that they would belong to.
            return Ok(());
        }
        let map = || {
            Ok(pager::alloc::high_water(
                &*self.pager().shared(&t.space, PageNo(0))?,
            ))
        };
        let pages = self.pager().run(map).await.unwrap_or(0);
        match t.saved_stats(u64::from(pages)) {
            Some(saved) => self.put_stats(t.def.id, encode(&saved), asked).await,
            None => Ok(()),
        }
    }

    async fn put_stats(
        self: &Arc<Self>,
        table: u32,
        bytes: Vec<u8>,
        asked: bool,
    ) -> Result<(), SqlError> {
        let Some(catalog) = self.ddl.catalog_table() else {
            return Ok(());
        };
        let mut s = Session::new(self.clone());
        s.begin(Isolation::ReadCommitted, false);
        let row = stats_row(table, bytes);
        let key = row_key(&catalog, &row);
        let put = match s.delete_key(&catalog, &key, &mut |_| Ok(true)).await {
            Ok(_) => s.insert(&catalog, &row).await.map(|_| ()),
            Err(e) => Err(e),
        };
        match put {
            Ok(()) if asked => s.commit().await,
            Ok(()) => match s.commit_now() {
                Some(_) => Ok(()),
                None => s.commit().await,
            },
            Err(e) => {
                s.rollback().await?;
                Err(e)
            }
        }
    }
}
