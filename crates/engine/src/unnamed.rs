//! Tables that no definition of the catalog names: temporary tables of sessions, and tables that are being made from a query. Purge, samples
//! and checkpoints find them here by their ids.
//!
//! Ids of temporary tables and of their indexes are of a range of their own and are given out again after two thousand million others. What the
//! log still says of a former table of an id is told from the one of now by its place: it lies before that one was made.
//!
//! Must never do: keep a table whose session is gone.

use crate::lock::is_reserved;
use crate::schema::Table;
use base::lock::Mutex;
use base::{Lsn, SpaceId};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Unnamed {
    table: Arc<Table>,
    /// Where the log ended when it was made.
    made: Lsn,
}

#[derive(Default)]
struct State {
    tables: BTreeMap<u32, Unnamed>,
    /// Ids of temporary tables and of their indexes.
    used: HashSet<u32>,
    /// How many ids were given out.
    given: u32,
}

/// The tables without a name, by their ids.
#[derive(Default)]
pub(crate) struct UnnamedTables {
    state: Mutex<State>,
    /// How many versions were given out.
    versions: AtomicU64,
}

fn ids(t: &Table) -> impl Iterator<Item = u32> {
    let indexes = t.def.indexes.iter().map(|x| x.id);
    indexes.chain([t.def.id])
}

impl UnnamedTables {
    /// A version for what a session with tables of its own sees of the catalog: above all versions of the catalog itself.
    pub(crate) fn new_version(&self) -> u64 {
        (1 << 63) + self.versions.fetch_add(1, Ordering::Relaxed)
    }

    /// An id for a temporary table or one of its indexes.
    pub(crate) fn new_id(&self) -> u32 {
        let mut s = self.state.lock();
        loop {
            let id = SpaceId::FIRST_TEMPORARY.0 | s.given;
            s.given = (s.given + 1) & !SpaceId::FIRST_TEMPORARY.0;
            if !is_reserved(id) && !s.used.contains(&id) {
                return id;
            }
        }
    }

    /// A table is there, of which the log up to `made` says nothing; or another object for one that was.
    pub(crate) fn put(&self, table: &Arc<Table>, made: Lsn) {
        let mut s = self.state.lock();
        if table.def.is_temporary() {
            s.used.extend(ids(table));
        }
        let new = Unnamed {
            table: table.clone(),
            made,
        };
        if let Some(was) = s.tables.insert(table.def.id, new)
            && let Some(now) = s.tables.get_mut(&table.def.id)
        {
            now.made = was.made;
        }
    }

    /// A table is gone, or has a name.
    pub(crate) fn remove(&self, table: &Table) {
        let mut s = self.state.lock();
        s.tables.remove(&table.def.id);
        ids(table).for_each(|id| {
            s.used.remove(&id);
        });
    }

    /// The table with this id.
    pub(crate) fn get(&self, id: u32) -> Option<Arc<Table>> {
        let s = self.state.lock();
        s.tables.get(&id).map(|u| u.table.clone())
    }

    /// The table that a record at `at` is about.
    pub(crate) fn changed_at(&self, id: u32, at: Lsn) -> Option<Arc<Table>> {
        let s = self.state.lock();
        let u = s.tables.get(&id).filter(|u| u.made <= at)?;
        Some(u.table.clone())
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<Table>> {
        let s = self.state.lock();
        s.tables.values().map(|u| u.table.clone()).collect()
    }
}
