//! CHECK TABLE: reads every page and every entry of a table; checks checksums (by reading), order and structure (by the
//! trees' own verification), rows against the table's layout and their keys, secondary entries against rows both ways, overflow chains,
//! and the map of used pages against what was reached.
//!
//! Nobody is kept from writing meanwhile, nor purge from taking pages out of the trees: what one pass finds may have been a
//! change on its way. So a page counts as damaged when every pass says so, and an entry when a closer look at it and its
//! row says so too: see [`confirm`]. The memory taken does not grow with the rows: see [`tally`].

mod confirm;
mod tally;

use crate::record::{External, HEADER, RowVersion, SecValue};
use crate::schema::Table;
use crate::session::{RowEntries, Session};
use base::PageNo;
use btree::{OverflowCursor, VerifyCursor};
use confirm::Mismatch;
use pager::OpError;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tally::{Suspects, Tally};
use types::SqlError;
use types::keyenc::encode_key;

/// Problems listed at most; more are counted.
const LISTED: usize = 20;
/// Problems of a pass that are remembered, for the next one to confirm.
const REMEMBERED: usize = 10_000;
/// Bytes of a key that a message shows.
const KEY_SHOWN: usize = 32;

/// What one pass found.
#[derive(Default)]
struct Findings(BTreeSet<String>);

impl Findings {
    fn add(&mut self, s: String) {
        if self.0.len() < REMEMBERED {
            self.0.insert(s);
        }
    }

    fn list(self) -> Vec<String> {
        let more = self.0.len().saturating_sub(LISTED);
        let mut list: Vec<String> = self.0.into_iter().take(LISTED).collect();
        if more > 0 {
            list.push(format!("and {more} more"));
        }
        list
    }
}

/// A key in a message: its first bytes in hexadecimal.
fn shown(key: &[u8]) -> String {
    let mut s = String::from("0x");
    for b in key.iter().take(KEY_SHOWN) {
        // Writing to a String does not fail.
        let _ = write!(s, "{b:02x}");
    }
    if key.len() > KEY_SHOWN {
        s.push_str("..");
    }
    s
}

/// One reading of the whole table.
struct Pass {
    found: Findings,
    /// Pages reached.
    pages: BTreeSet<PageNo>,
    /// By index; the clustered one's stays empty.
    tallies: Vec<Tally>,
}

impl Session {
    /// Checks a table that this session holds. No problems: an empty list. Others may write meanwhile.
    ///
    /// # Errors
    /// The statement was interrupted. What cannot be read is a finding.
    pub async fn check_table(&mut self, t: &Arc<Table>) -> Result<Vec<String>, SqlError> {
        // What is moved meanwhile would be met twice, or nowhere.
        let _still = self.keep_pages_still().await?;
        let first = self.pass(t, None).await?;
        let suspects: Vec<Suspects> = first.tallies.iter().map(Tally::suspects).collect();
        if first.found.0.is_empty() && suspects.iter().all(BTreeSet::is_empty) {
            return Ok(Vec::new());
        }
        let second = self.pass(t, Some(&suspects)).await?;
        let mut found = first.found.0;
        found.retain(|f| second.found.0.contains(f));
        if !found.is_empty() {
            let third = self.pass(t, Some(&suspects)).await?;
            found.retain(|f| third.found.0.contains(f));
        }
        let mut found = Findings(found);
        for (i, tally) in second.tallies.iter().enumerate().skip(1) {
            let name = &t.def.indexes[i].name;
            for (entry, split) in tally.different() {
                self.interrupt.check()?;
                match self.confirm(t, i, entry, split).await {
                    // What cannot be read is a finding of the walk.
                    None => {}
                    Some(Mismatch::NoRow) => {
                        found.add(format!("index {name}: entry {} has no row", shown(entry)))
                    }
                    Some(Mismatch::NoEntry) => {
                        found.add(format!("index {name}: a row has no entry {}", shown(entry)))
                    }
                }
            }
        }
        Ok(found.list())
    }

    /// Reads everything once: for sums, or for the entries of the buckets in `suspects`.
    async fn pass(
        &mut self,
        t: &Arc<Table>,
        suspects: Option<&[Suspects]>,
    ) -> Result<Pass, SqlError> {
        let indexes = 0..t.def.indexes.len();
        let mut pass = Pass {
            found: Findings::default(),
            pages: BTreeSet::from([PageNo(0)]),
            tallies: match suspects {
                None => indexes.map(|_| Tally::sums()).collect(),
                Some(s) => s.iter().map(Tally::entries).collect(),
            },
        };
        let quiet = self.nothing_waits();
        let whole = self.check_rows(t, &mut pass).await?;
        let mut all_whole = whole;
        for i in 1..t.def.indexes.len() {
            all_whole &= self.check_index(t, i, whole, &mut pass).await?;
        }
        if all_whole {
            self.check_map(t, quiet, &mut pass).await?;
        }
        Ok(pass)
    }

    /// No rollback, no purge and no removal of a tree is under way: what the trees do not reach is used by nobody.
    fn nothing_waits(&self) -> bool {
        let e = &self.engine;
        e.counters().purge_queue == 0
            && e.txns.active().is_empty()
            && e.orphaned_trees.load(Ordering::SeqCst) == 0
    }

    /// The clustered index and what hangs on its rows; false if it could not be walked to its end.
    async fn check_rows(&mut self, t: &Arc<Table>, pass: &mut Pass) -> Result<bool, SqlError> {
        let mut walk = Walk::new(t, 0);
        let mut rows: Vec<(Vec<u8>, RowVersion, Vec<u8>)> = Vec::new();
        loop {
            rows.clear();
            let found = &mut pass.found;
            let step = self.step(
                t,
                &mut walk,
                found,
                |key, value, found| match RowVersion::read(value) {
                    Some(v) if t.layout.fits(&value[HEADER..], v.external()) => {
                        rows.push((key.to_vec(), v, value[HEADER..].to_vec()))
                    }
                    _ => found.add(format!(
                        "row {} does not fit the table's definition",
                        shown(key)
                    )),
                },
            );
            let step = step.await?;
            for (key, v, row) in &rows {
                self.check_row(t, key, v, row, pass).await?;
            }
            match step {
                Step::More => {}
                Step::End => break,
                Step::Broken => return Ok(false),
            }
        }
        walk.end(pass);
        Ok(true)
    }

    /// One row: its long columns, and what its entries must be.
    async fn check_row(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        v: &RowVersion,
        row: &[u8],
        pass: &mut Pass,
    ) -> Result<(), SqlError> {
        let mut outside = Vec::new();
        if v.external() {
            for x in t.layout.externals(row) {
                match self.chain(t, &x, &mut pass.pages).await {
                    Ok(bytes) if bytes.len() as u64 == x.len => outside.push((x.column, bytes)),
                    // Purge may be taking it away, from its end.
                    Ok(_) if v.deleted() => {}
                    Ok(b) => pass.found.add(format!(
                        "row {}: a long column has {} bytes instead of {}",
                        shown(key),
                        b.len(),
                        x.len
                    )),
                    Err(e) => pass.found.add(format!("row {}: {e}", shown(key))),
                }
            }
            if outside.len() < t.layout.externals(row).len() {
                return Ok(());
            }
        }
        if v.deleted() {
            return Ok(());
        }
        let mut entry = Vec::new();
        if !t.has_hidden_key() {
            let values = t.layout.row(row).with_outside(&outside);
            let values = t.index_columns(0).map(|c| values.column(c));
            encode_key(t.key_parts(0), values, &mut entry);
            if entry != key {
                let (key, is) = (shown(key), shown(&entry));
                pass.found
                    .add(format!("row {key}: its values make the key {is}"));
            }
        }
        let mut entries = RowEntries::default();
        for i in 1..t.def.indexes.len() {
            let row = t.layout.row(row).with_outside(&outside);
            entries.of_row(t, i, row, key);
            for e in entries.iter() {
                pass.tallies[i].row(e.key, e.split);
            }
        }
        Ok(())
    }

    /// A secondary index; false if it could not be walked to its end. `whole`: every row was seen.
    async fn check_index(
        &mut self,
        t: &Arc<Table>,
        i: usize,
        whole: bool,
        pass: &mut Pass,
    ) -> Result<bool, SqlError> {
        let name = t.def.indexes[i].name.clone();
        let mut walk = Walk::new(t, i);
        loop {
            let tally = &mut pass.tallies[i];
            let step =
                self.step(
                    t,
                    &mut walk,
                    &mut pass.found,
                    |key, value, found| match SecValue::read(value) {
                        Some(v) if v.deleted() => {}
                        Some(v) => tally.entry(key, v.split as usize),
                        None => found.add(format!(
                            "index {name}: entry {} has a wrong length",
                            shown(key)
                        )),
                    },
                );
            match step.await? {
                Step::More => {}
                Step::End => break,
                Step::Broken => {
                    pass.tallies[i] = Tally::entries(&Suspects::new());
                    return Ok(false);
                }
            }
        }
        walk.end(pass);
        if !whole {
            pass.tallies[i] = Tally::entries(&Suspects::new());
        }
        Ok(true)
    }

    /// Goes on by a leaf.
    async fn step(
        &mut self,
        t: &Table,
        walk: &mut Walk,
        found: &mut Findings,
        mut visit: impl FnMut(&[u8], &[u8], &mut Findings),
    ) -> Result<Step, SqlError> {
        let tree = &t.indexes[walk.index].tree;
        let pager = self.engine.pager().clone();
        let mut pins = pager::Pins::new();
        self.interrupt.check()?;
        self.yield_if_due().await;
        loop {
            let wait = match tree.verify(&mut walk.cursor, |k, v| visit(k, v, found)) {
                Ok(true) => return Ok(Step::More),
                Ok(false) => return Ok(Step::End),
                Err(OpError::Wait(w)) => pager.resolve_into(w, &mut pins).await.err(),
                Err(e) => Some(e),
            };
            if let Some(e) = wait {
                found.add(format!("index {}: {e}", walk.name));
                return Ok(Step::Broken);
            }
        }
    }

    async fn chain(
        &self,
        t: &Table,
        column: &External,
        pages: &mut BTreeSet<PageNo>,
    ) -> Result<Vec<u8>, OpError> {
        let mut cursor = OverflowCursor::new(column.first, column.len);
        let mut bytes = Vec::new();
        let pager = self.engine.pager();
        let mut page = column.first;
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

    async fn check_map(&self, t: &Table, quiet: bool, pass: &mut Pass) -> Result<(), SqlError> {
        let Pass { found, pages, .. } = pass;
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
        if quiet && self.nothing_waits() {
            for p in used.difference(pages).filter(|p| !maps.contains(p)) {
                let look = || Ok(pager.shared(&t.space, *p)?.kind());
                let kind = match pager.run(look).await {
                    Ok(Some(kind)) => format!("{kind:?}"),
                    _ => "unreadable".to_string(),
                };
                found.add(format!(
                    "page {} ({kind}) is marked as used but nothing refers to it",
                    p.0
                ));
            }
        }
        Ok(())
    }
}

enum Step {
    /// A leaf was visited.
    More,
    End,
    /// The tree cannot be walked further; a finding says why.
    Broken,
}

/// A walk through one index.
struct Walk {
    index: usize,
    name: String,
    cursor: VerifyCursor,
}

impl Walk {
    fn new(t: &Table, index: usize) -> Walk {
        Walk {
            index,
            name: t.def.indexes[index].name.clone(),
            cursor: VerifyCursor::new(),
        }
    }

    /// What the whole walk says of the pages.
    fn end(self, pass: &mut Pass) {
        let name = self.name;
        if let Some(p) = self.cursor.reached_twice() {
            pass.found
                .add(format!("index {name}: page {} is reached twice", p.0));
        }
        for (p, _) in &self.cursor.pages {
            if !pass.pages.insert(*p) {
                let p = p.0;
                pass.found.add(format!(
                    "index {name}: page {p} belongs to something else too"
                ));
            }
        }
    }
}
