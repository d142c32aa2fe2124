//! Building an index from the rows of a table that nobody is using: its entries are collected, sorted, and put into the tree a
//! leaf at a time.

use super::entries::Entries;
use super::leftovers::Leftover;
use crate::engine::Engine;
use crate::error;
use crate::record::{HEADER, RowRef, RowVersion};
use crate::schema::{IndexDef, IndexKind, Table};
use crate::session::{Session, entry_key_of};
use base::Event;
use btree::{Direction, ScanPos, ScanState, Tree, Visit};
use std::sync::{Arc, Mutex, PoisonError};
use types::{SqlError, ValueRef};

/// Bytes left free in each leaf of a new index, a sixteenth: the next rows come in any order.
const SPARE: usize = pager::PAGE_SIZE / 16;

/// Leaves filled, some tens of microseconds each, until others of the thread have their turn.
const LEAVES: u32 = 4;

impl Session {
    /// Makes the tree of `index`, which is noted as `left`, and fills it. After an error the tree is to be taken out.
    pub(super) async fn build_index(
        &mut self,
        t: &Arc<Table>,
        index: &mut IndexDef,
        left: &mut Leftover,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let fail = |e| error::storage(e, &t.full_name);
        index.root = engine
            .pager()
            .run(|| Tree::create(engine.pager(), &t.space, index.id))
            .await
            .map_err(fail)?;
        engine.locate_leftover(left, index.root).await?;
        let tree = Tree::open(
            engine.pager().clone(),
            t.space.clone(),
            index.root,
            index.id,
        );
        self.fill_index(t, index, &tree).await
    }

    async fn fill_index(
        &mut self,
        t: &Arc<Table>,
        index: &IndexDef,
        tree: &Tree,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let fail = |e| error::storage(e, &t.full_name);
        let mut def = t.def.clone();
        def.indexes.push(index.clone());
        let view = Table::open(engine.pager(), def, t.space.clone(), Some(t));
        let entries = self.collect_entries(t, &view).await?;
        let entries = sorted(&engine, entries).await;
        if index.kind == IndexKind::Unique
            && let Some(key) = entries.repeated()
        {
            return Err(SqlError::dup_entry(
                &describe(&view, view.indexes.len() - 1, key),
                &format!("{}.{}", t.def.name, index.name),
            ));
        }
        let mut at = 0;
        let mut leaves = 0u32;
        while entries.get(at).is_some() {
            self.interrupt.check()?;
            leaves += 1;
            if leaves.is_multiple_of(LEAVES) {
                self.give_way().await;
            }
            at += engine
                .pager()
                .run(|| tree.insert_run(|n| entries.get(at + n), SPARE))
                .await
                .map_err(fail)?;
        }
        Ok(())
    }

    /// The entries of the last index of `view`, for the rows of `t` as they are.
    async fn collect_entries(&mut self, t: &Table, view: &Table) -> Result<Entries, SqlError> {
        let engine = self.engine.clone();
        let fail = |e| error::storage(e, &t.full_name);
        let n = view.indexes.len() - 1;
        let mut entries = Entries::default();
        let mut entry = Vec::new();
        let mut pos = ScanPos::start();
        loop {
            self.interrupt.check()?;
            self.breathe().await;
            let begun = entries.mark();
            // Rows that are not all in the leaf, and are completed when it is free again.
            let mut longer: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            let mut damaged = false;
            let mut add = |key: &[u8], row: RowRef<'_>, entries: &mut Entries| {
                entry.clear();
                let (split, null) = entry_key_of(view, n, row, key, &mut entry);
                entries.push(&entry, split, null);
            };
            let state = engine
                .pager()
                .run(|| {
                    entries.back_to(begun);
                    longer.clear();
                    damaged = false;
                    let mut p = pos.clone();
                    let s = t.indexes[0]
                        .tree
                        .scan(&mut p, Direction::Forward, |key, value| {
                            let Some(v) = RowVersion::read(value).filter(|v| !v.deleted()) else {
                                return Visit::Next;
                            };
                            let row = &value[HEADER..];
                            damaged |= !t.layout.fits(row, v.external());
                            if v.external() {
                                longer.push((key.to_vec(), row.to_vec()));
                            } else if !damaged {
                                add(key, t.layout.row(row), &mut entries);
                            }
                            Visit::Next
                        })?;
                    pos = p;
                    Ok(s)
                })
                .await
                .map_err(fail)?;
            if damaged {
                return Err(error::bad_row(&t.full_name));
            }
            for (key, row) in longer {
                let outside = self.read_outside(t, &row).await?;
                add(
                    &key,
                    t.layout.row(&row).with_outside(&outside),
                    &mut entries,
                );
            }
            if state == ScanState::End {
                return Ok(entries);
            }
        }
    }
}

/// Sorts on a thread of its own, since whoever asks shares his with others.
async fn sorted(engine: &Arc<Engine>, mut entries: Entries) -> Entries {
    let done = Arc::new((Mutex::new(None), Event::new()));
    let there = done.clone();
    engine.spawn("index-sort", async move {
        entries.sort();
        *there.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(entries);
        there.1.fire();
    });
    let take = || done.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    done.1.wait_for(take).await
}

/// The values of a key as MySQL shows them in 1062, as far as the key can be read back.
fn describe(t: &Table, index: usize, key: &[u8]) -> String {
    let mut at = 0;
    let mut out: Vec<String> = Vec::new();
    for p in t.key_parts(index) {
        let Some((v, n)) = p.decode(&key[at..]) else {
            break;
        };
        at += n;
        let mut text = Vec::new();
        match v {
            Some(v) => types::convert::write_text(v.as_ref(), &p.ty, &mut text),
            None => types::convert::write_text(ValueRef::Null, &p.ty, &mut text),
        }
        out.push(String::from_utf8_lossy(&text).into_owned());
    }
    out.join("-")
}
