//! Figures in the catalog: a row for each table that has some, written without being waited for. A crash keeps it or loses it whole.

use super::catalog::{row_key, stats_row};
use crate::engine::Engine;
use crate::schema::Table;
use crate::session::{Isolation, Session};
use crate::stats::encode;
use base::PageNo;
use std::sync::Arc;
use types::SqlError;

impl Engine {
    /// Keeps what is known of a table that somebody holds. What cannot be kept is made again at the next start.
    pub(crate) async fn save_stats(self: &Arc<Self>, t: &Table) {
        let map = || {
            Ok(pager::alloc::high_water(
                &*self.pager().shared(&t.space, PageNo(0))?,
            ))
        };
        let pages = self.pager().run(map).await.unwrap_or(0);
        if let Some(saved) = t.saved_stats(u64::from(pages)) {
            // A full disk or a closed log: others say so.
            let _ = self.put_stats(t.def.id, encode(&saved)).await;
        }
    }

    async fn put_stats(self: &Arc<Self>, table: u32, bytes: Vec<u8>) -> Result<(), SqlError> {
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
            // Nobody waits until it is durable.
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
