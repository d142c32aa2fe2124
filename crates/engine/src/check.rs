//! CHECK TABLE: reads every page and every entry of a table; checks checksums (by reading), order and structure (by the
//! trees' own verification), rows against the table's layout, secondary entries against rows both ways, overflow chains,
//! and the map of used pages against what was reached.

use crate::record::{HEADER, RowVersion, SecValue};
use crate::schema::Table;
use crate::session::{Session, entry_key_of};
use base::PageNo;
use btree::{OverflowCursor, VerifyCursor};
use pager::OpError;
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use types::SqlError;

/// Problems listed at most; more are counted.
const LISTED: usize = 20;

struct Findings {
    list: Vec<String>,
    more: u64,
}

impl Findings {
    fn add(&mut self, s: String) {
        if self.list.len() < LISTED {
            self.list.push(s)
        } else {
            self.more += 1
        }
    }
}

fn hash(entry: &[u8]) -> u64 {
    let mut h = DefaultHasher::new();
    entry.hash(&mut h);
    h.finish()
}

impl Session {
    /// Checks a table that this session holds. No problems: an empty list. Concurrent changes make the cross-checks
    /// impossible; the caller sees that nobody else is writing (or reads the answer with that in mind).
    pub async fn check_table(&mut self, t: &Arc<Table>) -> Result<Vec<String>, SqlError> {
        let mut found = Findings {
            list: Vec::new(),
            more: 0,
        };
        let mut pages: BTreeSet<PageNo> = BTreeSet::from([PageNo(0)]);
        let mut rows: Vec<(Vec<u8>, RowVersion, Vec<u8>)> = Vec::new();
        let clustered =
            self.walk(
                t,
                0,
                &mut pages,
                &mut found,
                |key, value, found| match RowVersion::read(value) {
                    Some(v) if t.layout.fits(&value[HEADER..]) => {
                        rows.push((key.to_vec(), v, value[HEADER..].to_vec()))
                    }
                    _ => found.add("a row does not fit the table's definition".to_string()),
                },
            );
        let whole = clustered.await?;
        // Expected live entries of each secondary index.
        let mut expected: Vec<HashSet<u64>> = vec![HashSet::new(); t.indexes.len()];
        for (key, v, row) in &rows {
            self.interrupt.check()?;
            self.breathe().await;
            let mut outside = Vec::new();
            if v.external() {
                for x in t.layout.externals(row) {
                    match self.chain(t, x.first, &mut pages).await {
                        Ok(bytes) if bytes.len() as u64 == x.len => outside.push((x.column, bytes)),
                        Ok(b) => found.add(format!(
                            "a long column has {} bytes instead of {}",
                            b.len(),
                            x.len
                        )),
                        Err(e) => found.add(e.to_string()),
                    }
                }
                if outside.len() < t.layout.externals(row).len() {
                    continue;
                }
            }
            if v.deleted() {
                continue;
            }
            for (i, set) in expected.iter_mut().enumerate().skip(1) {
                let mut entry = Vec::new();
                entry_key_of(
                    t,
                    i,
                    t.layout.row(row).with_outside(&outside),
                    key,
                    &mut entry,
                );
                set.insert(hash(&entry));
            }
        }
        let mut all_whole = whole;
        for (i, set) in expected.iter_mut().enumerate().skip(1) {
            let name = t.def.indexes[i].name.clone();
            let ok = self
                .walk(
                    t,
                    i,
                    &mut pages,
                    &mut found,
                    |key, value, found| match SecValue::read(value) {
                        Some(v) if v.deleted() => {}
                        Some(_) if whole && !set.remove(&hash(key)) => {
                            found.add(format!("index {name}: an entry has no row"));
                        }
                        Some(_) => {}
                        None => found.add(format!("index {name}: an entry of a wrong length")),
                    },
                )
                .await?;
            all_whole &= ok;
            if ok && whole && !set.is_empty() {
                found.add(format!("index {name}: {} rows have no entry", set.len()));
            }
        }
        if all_whole {
            self.check_map(t, &pages, &mut found).await?;
        }
        if found.more > 0 {
            let more = found.more;
            found.list.push(format!("and {more} more"));
        }
        Ok(found.list)
    }

    /// Walks one index; false if it could not be walked to its end.
    async fn walk(
        &mut self,
        t: &Table,
        index: usize,
        pages: &mut BTreeSet<PageNo>,
        found: &mut Findings,
        mut visit: impl FnMut(&[u8], &[u8], &mut Findings),
    ) -> Result<bool, SqlError> {
        let tree = &t.indexes[index].tree;
        let name = t.def.indexes[index].name.clone();
        let mut cursor = VerifyCursor::new();
        let pager = self.engine.pager().clone();
        let mut pins = pager::Pins::new();
        loop {
            self.interrupt.check()?;
            self.breathe().await;
            match tree.verify(&mut cursor, |k, v| visit(k, v, found)) {
                Ok(true) => pins.clear(),
                Ok(false) => break,
                Err(OpError::Wait(w)) => {
                    if let Err(e) = pager.resolve_into(w, &mut pins).await {
                        found.add(format!("index {name}: {e}"));
                        return Ok(false);
                    }
                }
                Err(e) => {
                    found.add(format!("index {name}: {e}"));
                    return Ok(false);
                }
            }
        }
        if let Some(p) = cursor.reached_twice() {
            found.add(format!("index {name}: page {} is reached twice", p.0));
        }
        for (p, _) in &cursor.pages {
            if !pages.insert(*p) {
                found.add(format!(
                    "index {name}: page {} belongs to something else too",
                    p.0
                ));
            }
        }
        Ok(true)
    }

    async fn chain(
        &self,
        t: &Table,
        first: PageNo,
        pages: &mut BTreeSet<PageNo>,
    ) -> Result<Vec<u8>, OpError> {
        let mut cursor = OverflowCursor::new(first);
        let mut bytes = Vec::new();
        let pager = self.engine.pager();
        let mut page = first;
        loop {
            pages.insert(page);
            let more = pager
                .run(|| {
                    t.indexes[0]
                        .tree
                        .read_overflow_page(&mut cursor, &mut bytes)
                })
                .await?;
            page = cursor.next();
            if !more || page == PageNo(0) {
                return Ok(bytes);
            }
        }
    }

    async fn check_map(
        &self,
        t: &Table,
        pages: &BTreeSet<PageNo>,
        found: &mut Findings,
    ) -> Result<(), SqlError> {
        let pager = self.engine.pager();
        let mut used: BTreeSet<PageNo> = BTreeSet::new();
        let mut maps = BTreeSet::new();
        let mut group = 0;
        while group < t.space.room() {
            match pager
                .run(|| {
                    Ok(pager::alloc::used_pages(
                        &*pager.shared(&t.space, PageNo(group))?,
                    ))
                })
                .await
            {
                Ok(v) => used.extend(v),
                // A group that was never begun has no map yet.
                Err(OpError::Corrupt {
                    why: pager::page::NEVER_WRITTEN,
                    ..
                }) if group > 0 => break,
                Err(e) => {
                    found.add(format!("space map: {e}"));
                    return Ok(());
                }
            }
            maps.insert(PageNo(group));
            group += pager::alloc::GROUP;
        }
        for p in pages.difference(&used) {
            if !maps.contains(p) {
                found.add(format!(
                    "page {} is in use but the space map calls it free",
                    p.0
                ));
            }
        }
        // Pages that wait for purge, or for a rollback, are in use without being reached: only a quiet table says more.
        let leaked = used.difference(pages).filter(|p| !maps.contains(p)).count();
        if leaked > 0
            && self.engine.counters().purge_queue == 0
            && self.engine.txns.active().is_empty()
        {
            found.add(format!(
                "{leaked} pages are marked as used but nothing refers to them"
            ));
        }
        Ok(())
    }
}
