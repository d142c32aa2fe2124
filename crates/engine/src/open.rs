//! Opening a directory: the log is read once for what was open at the crash, pages are redone (by the pager), the losers
//! that changed definitions are rolled back, the definitions are read, the rest of the losers are rolled back in the
//! background while their rows stay locked, and files that no definition names are removed.

use crate::analysis::Analysis;
use crate::counters::Counters;
use crate::ddl::{OrphanedTree, catalog_def, catalog_path, load, remove_left_runs, table_path};
use crate::engine::{Engine, EngineOptions};
use crate::lock::LockTable;
use crate::losers::{adopt, finish_loser, hold_tables, take_prepared, touches_only_catalog};
use crate::purge_queue::PurgeQueue;
use crate::schema::CATALOG_ID;
use crate::schema::{Catalog, Table, TableDef};
use crate::stats::{Saved, decode};
use crate::temp::TempFiles;
use crate::txn::TxnSystem;
use base::lock::Mutex;
use base::{Environment, Lsn, PageNo, SpaceId, TxnId};
use btree::Tree;
use pager::{
    CheckpointSource, OpError, OpenError, PageKind, Pager, Record, RecordKind, RedoTable, Report,
};
use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Transaction numbers end here; no server lives long enough to come so far.
const TXID_MAX: u64 = 1 << 60;

/// What start-up found and did.
#[derive(Clone, Debug, Default)]
pub struct OpenReport {
    /// The storage's part.
    pub pages: Report,
    /// Transactions that had not committed and are rolled back.
    pub losers: usize,
    /// Transactions that were prepared, and still are.
    pub prepared: usize,
    /// Tables whose file is missing or unreadable: they are listed, and give an error when used.
    pub missing: Vec<String>,
    /// Files removed because no definition named them.
    pub orphans: Vec<String>,
    /// Where the log of work that waited for purge was damaged: what commits from there on deleted stays in the files, marked.
    pub purge_unread: Option<Lsn>,
}

/// Positions remembered for old snapshots.
const HISTORY: usize = 1024;

/// The engine's contribution to checkpoints.
struct Source {
    engine: Weak<Engine>,
    /// (log position, oldest first record of a transaction active then), ascending.
    history: Mutex<Vec<(Lsn, Lsn)>>,
}

impl CheckpointSource for Source {
    fn describe(&self, out: &mut Vec<u8>) {
        let Some(e) = self.engine.upgrade() else {
            return;
        };
        // Before the look at the active ones: a commit that was complete by now is in the queue, or was and is done.
        let looked = e.complete();
        let mut active = e.txns.active();
        if base::mutant!("checkpoint-forgets-the-active") {
            active.clear();
        }
        // After the look at the active ones: a commit puts itself in the queue before it stops being active.
        let purge = e.purge.pending();
        note_counters(&e);
        out.extend_from_slice(&e.txns.next().0.to_le_bytes());
        out.extend_from_slice(&(active.len() as u32).to_le_bytes());
        for a in &active {
            for w in [a.txid.0, a.first.0, a.last.0] {
                out.extend_from_slice(&w.to_le_bytes());
            }
        }
        for id in [&e.ddl.next_table, &e.next_index] {
            out.extend_from_slice(&id.load(Ordering::Relaxed).to_le_bytes());
        }
        // The queue may be long, and grow with every checkpoint that an old snapshot outlives: it is in the log already.
        let waiting_from = match purge.queued_from {
            Lsn::NONE => looked,
            first => first.min(looked),
        };
        for lsn in [waiting_from, purge.oldest] {
            out.extend_from_slice(&lsn.0.to_le_bytes());
        }
        for p in &purge.current {
            for w in [p.commit.0, p.txid.0, p.first.0, p.last.0] {
                out.extend_from_slice(&w.to_le_bytes());
            }
        }
    }

    fn retain(&self) -> Lsn {
        let Some(e) = self.engine.upgrade() else {
            return Lsn::NONE;
        };
        let (now, active) = oldest_active(&e);
        let snapshot = e.txns.oldest_snapshot(|| e.complete());
        let mut h = self.history.lock();
        // An entry that says no more than the one before it is none.
        if h.last().is_none_or(|(_, a)| *a != active) {
            h.push((now, active));
        }
        if h.len() > HISTORY {
            // Every other one says the same less exactly: more is kept, never less.
            let mut i = 0;
            h.retain(|_| {
                i += 1;
                i % 2 == 1
            });
        }
        // The last entry not above the oldest snapshot bounds every transaction that the snapshot may not see.
        let keep = h.iter().rposition(|(at, _)| *at <= snapshot).unwrap_or(0);
        h.drain(..keep);
        let versions = h.first().map_or(active, |(_, a)| *a);
        let purge = e.purge.pending().oldest;
        let purge = if purge.is_none() { Lsn::MAX } else { purge };
        versions.min(active).min(purge).min(e.events.kept())
    }
}

/// Notes all counters. Logged now, the notes lie behind the position that this checkpoint lets recovery scan from, and so does the
/// record of every row whose number the notes do not cover.
fn note_counters(e: &Engine) {
    let _noting = e.noting.lock();
    // Until the tables are open, what recovery found stands for them.
    let recovered = e.recovered_counters.lock();
    let mut counters = recovered.clone();
    let mut tables: Vec<Arc<Table>> = e.catalog().tables().cloned().collect();
    // Of a table that is being made from a query the counter is not to be lost either.
    tables.extend(e.unnamed.all().into_iter().filter(|t| t.is_lasting()));
    for t in tables {
        let next = t.live.auto_increment.load(Ordering::Relaxed);
        // A table that was not used since the start keeps what it had.
        let next = match next {
            0 => t.live.auto_increment_saved.load(Ordering::Relaxed),
            next => next,
        };
        if t.def.auto_increment_column().is_some() && next > 0 {
            counters.put(t.def.id, next);
        }
    }
    if base::mutant!("counter-not-noted") {
        return;
    }
    for body in counters.notes() {
        // A note that cannot be logged means a closed log: the checkpoint fails for the same reason.
        let _ = e
            .pager
            .append(RecordKind::Note, TxnId::NONE, Lsn::NONE, &body, |_, _| {});
    }
}

/// A log position, and the oldest first record of the transactions that had not ended there.
fn oldest_active(e: &Engine) -> (Lsn, Lsn) {
    // In this order: what begins after the look at the active ones begins behind `before`; what ends after it was among
    // them; what ended before it is visible to every snapshot from `now` on.
    let before = e.complete();
    let firsts = e.txns.active().into_iter().map(|a| a.first);
    let oldest = firsts.filter(|l| !l.is_none()).min();
    (e.complete(), oldest.map_or(before, |l| l.min(before)))
}

impl Engine {
    /// Opens `dir`, making it if it is empty or missing. Returns when statements can run; losers of a crash may still be
    /// being rolled back, with their rows locked.
    ///
    /// # Errors
    /// [`OpenError::InUse`]: another process has the directory; what is damaged or cannot be read, by name.
    pub async fn open(
        environment: Environment,
        dir: &Path,
        options: EngineOptions,
    ) -> Result<Arc<Engine>, OpenError> {
        Engine::open_with_report(environment, dir, options)
            .await
            .map(|(e, _)| e)
    }

    /// As [`Engine::open`], telling what was found.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub async fn open_with_report(
        environment: Environment,
        dir: &Path,
        options: EngineOptions,
    ) -> Result<(Arc<Engine>, OpenReport), OpenError> {
        // Boxed: compiled in this crate and not once more wherever it is awaited.
        let opened: Pin<Box<dyn Future<Output = Result<_, OpenError>> + Send + '_>> =
            Box::pin(recover(environment, dir, options));
        opened.await
    }
}

async fn recover(
    environment: Environment,
    dir: &Path,
    options: EngineOptions,
) -> Result<(Arc<Engine>, OpenReport), OpenError> {
    let mut redo = RedoTable::default();
    btree::register(&mut redo);
    let mut found = Analysis::new();
    let mut observe = |start: Lsn, _: Lsn, r: &Record<'_>| found.observe(start, r);
    let (pager, pages) =
        pager::open(environment, options.pager.clone(), dir, redo, &mut observe).await?;
    let mut made = None;
    let opened = begin(&pager, dir, &options, found, pages, &mut made).await;
    if opened.is_err() {
        // Nothing of it goes on by itself.
        pager.halt();
        match made {
            Some(engine) => engine.abandon().await,
            None => pager.stopped().await,
        }
    }
    opened
}

/// What comes behind the pages' recovery: transactions, definitions, tasks.
async fn begin(
    pager: &Arc<Pager>,
    dir: &Path,
    options: &EngineOptions,
    mut found: Analysis,
    pages: Report,
    made: &mut Option<Arc<Engine>>,
) -> Result<(Arc<Engine>, OpenReport), OpenError> {
    let mut unread = None;
    if !found.purge_from.is_none() && found.purge_from < pages.redo_from {
        let (from, to) = (found.purge_from, pages.redo_from);
        let read = pager.scan_log(from, to, &mut |at, _, r| found.observe_queued(at, r))?;
        unread = (read < to).then_some(read);
    }
    let mut report = OpenReport {
        pages,
        purge_unread: unread,
        ..OpenReport::default()
    };
    if found.next >= TXID_MAX {
        let why = format!("the log names transaction {}", found.next - 1);
        return Err(OpenError::Damaged(why));
    }
    let clock = pager.environment().clock.clone();
    let txns = Arc::new(TxnSystem::new(TxnId(found.next.max(1))));
    let locks = LockTable::new(txns.clone(), clock, pager.environment().random.next_u64());
    let pool = pager.pool().frames() as u64 * pager::PAGE_SIZE as u64;
    locks.set_pool(pool);
    let purge = PurgeQueue::new(found.purge_queue(), found.purge_from, pager.log().end());
    let mut engine = Engine::assemble(pager.clone(), txns, locks, options, purge);
    engine.dir = dir.to_path_buf();
    engine.temp = TempFiles::new(&pager.environment().disk, dir);
    let tells = Arc::downgrade(pager);
    engine.temp.on_shortage(Box::new(move |written| {
        if let Some(pager) = tells.upgrade() {
            pager.note_temporary(written);
        }
    }));
    let engine = Arc::new(engine);
    *made = Some(engine.clone());
    let open = found.active.keys().copied().collect();
    engine.events.started(engine.log.end(), open);
    let mut losers = adopt(&engine, &found);
    let recovered = |c: Counters| {
        let mut place = engine.recovered_counters.lock();
        *place = c;
    };
    recovered(found.counters.clone());
    engine
        .ddl
        .next_table
        .store(found.next_table, Ordering::Relaxed);
    engine
        .next_index
        .store(found.next_index.max(2), Ordering::Relaxed);
    // Checkpoints from here on: rolling back needs room in the log, which only they make.
    let source = Arc::new(Source {
        engine: Arc::downgrade(&engine),
        // There is always an entry at or below the oldest snapshot.
        history: Mutex::new(vec![oldest_active(&engine)]),
    });
    pager.set_checkpoint_source(source);
    pager.start_checkpoints();
    pager.keep_spare();

    let catalog = open_catalog(&engine, &report.pages)
        .await
        .map_err(|e| in_catalog(&engine, e))?;
    engine.ddl.set_catalog_table(catalog.clone());
    let prepared = take_prepared(&engine, &mut losers).await?;
    report.losers = losers.len();
    report.prepared = prepared.len();
    // Definitions first: what is read below must be committed.
    let (ddl, rest): (Vec<_>, Vec<_>) = losers.drain(..).partition(|(_, l)| l.ddl);
    let mut later = rest;
    for (s, l) in ddl {
        if touches_only_catalog(&engine, &l).await? {
            finish_loser(s).await.map_err(|e| in_catalog(&engine, e))?;
        } else {
            later.push((s, l));
        }
    }
    let left = load_tables(&engine, &catalog, &found.counters, &mut report).await?;
    recovered(Counters::default());
    hold_tables(&engine, &prepared);
    pager.give_back_before_traffic().await;
    for (mut s, _) in later {
        // Definitions stay as they are until its rows are as they were.
        s.use_all_tables();
        s.roll_back_behind();
    }
    if !left.is_empty() {
        engine.orphaned_trees.store(left.len(), Ordering::SeqCst);
        engine.spawn("orphaned-trees", engine.clone().free_orphaned_trees(left));
    }
    engine.spawn("purge", engine.clone().run_purge());
    engine.spawn("defragmenter", engine.clone().run_defragmenter());
    engine.spawn("sampling", engine.clone().run_sampling());
    engine.spawn("flusher", engine.clone().run_flusher());
    Ok((engine, report))
}

async fn open_catalog(engine: &Arc<Engine>, report: &Report) -> Result<Arc<Table>, OpenError> {
    let pager = engine.pager();
    let id = SpaceId(CATALOG_ID);
    let path = engine.data_dir().join(catalog_path());
    let space = match pager.space(id) {
        Ok(s) if nothing_yet(pager, report) && !has_map(pager, &s).await => {
            // Its making was cut short behind the first sector, which tells what file it is.
            pager.drop_space(id)?;
            pager.create_space(id, &path, None)?
        }
        Ok(s) => s,
        Err(_) if report.created || nothing_yet(pager, report) => {
            if pager.environment().disk.exists(&path) {
                pager.environment().disk.remove_file(&path)?;
            }
            pager.create_space(id, &path, None)?
        }
        Err(_) => {
            return Err(OpenError::Damaged(format!(
                "{} is missing or damaged: restore the directory from a backup",
                path.display()
            )));
        }
    };
    // Page 1 is the root: the first page that is allocated. Until it is there, nothing else can be.
    let root = PageNo(1);
    let map = pager
        .run(|| Ok(pager::alloc::used_pages(&*pager.shared(&space, PageNo(0))?).contains(&root)))
        .await?;
    if !map {
        let made = pager.run(|| Tree::create(pager, &space, 1)).await?;
        if made != root {
            let why = "the catalog's root is not where it must be";
            return Err(OpenError::Damaged(format!("{}: {why}", path.display())));
        }
        pager.log().wait_durable(pager.log().end()).await?;
    }
    let kind = pager.run(|| Ok(pager.shared(&space, root)?.kind())).await?;
    if !matches!(kind, Some(PageKind::Leaf | PageKind::Inner)) {
        let why = "the catalog's root page is no node";
        return Err(OpenError::Damaged(format!(
            "{} is damaged: {why}",
            path.display()
        )));
    }
    let catalog = Table::open(pager, catalog_def(root), space, None);
    catalog.live.counts.exempt();
    Ok(Arc::new(catalog))
}

/// What is wrong with the definitions is told by the name of their file.
fn in_catalog(engine: &Engine, e: OpenError) -> OpenError {
    match e {
        OpenError::Op(OpError::Corrupt { page, why, .. }) => OpenError::Damaged(format!(
            "{} is damaged: page {}: {why}; restore the directory from a backup",
            engine.data_dir().join(catalog_path()).display(),
            page.0
        )),
        e => e,
    }
}

/// The directory was made, with or without the catalog's file, and nothing else ever happened in it.
fn nothing_yet(pager: &Pager, report: &Report) -> bool {
    let logged = report.records > 0 || !report.checkpoint.is_none();
    !logged && pager.spaces().iter().all(|s| s.id().0 == CATALOG_ID)
}

async fn has_map(pager: &Arc<Pager>, space: &Arc<pager::Space>) -> bool {
    let look = || Ok(pager.shared(space, PageNo(0))?.kind().is_some());
    pager.run(look).await.unwrap_or(false)
}

async fn load_tables(
    engine: &Arc<Engine>,
    catalog: &Arc<Table>,
    counters: &Counters,
    report: &mut OpenReport,
) -> Result<Vec<OrphanedTree>, OpenError> {
    let pager = engine.pager();
    let loaded = load(pager, catalog)
        .await
        .map_err(|e| in_catalog(engine, e.into()))?;
    let mut view = Catalog::with_schemas(loaded.schemas);
    let mut ids = BTreeSet::from([CATALOG_ID]);
    let mut unknown = BTreeSet::new();
    let mut next_index = 2;
    for def in loaded.tables {
        ids.insert(def.id);
        next_index = def
            .indexes
            .iter()
            .map(|x| x.id.saturating_add(1))
            .max()
            .unwrap_or(2)
            .max(next_index);
        let name = format!("{}.{}", def.schema, def.name);
        match pager.space(SpaceId(def.id)) {
            Ok(space) => {
                let pages = used_pages(pager, &space).await;
                let mut t = Table::open(pager, def, space, None);
                let was = loaded.stats.get(&t.def.id).and_then(|b| decode(b));
                if !know(&mut t, was, pages) {
                    unknown.insert(t.def.id);
                }
                let next = counters.of(&t);
                t.live.auto_increment_saved.store(next, Ordering::Relaxed);
                view.put_table(Arc::new(t));
            }
            Err(_) => {
                report.missing.push(name);
                missing_table(&mut view, def);
            }
        }
    }
    for o in loaded.objects {
        view.put_object(Arc::new(o));
    }
    // Files that no definition names: creations that did not commit, removals that did.
    for s in pager.spaces() {
        if !ids.contains(&s.id().0) {
            report.orphans.push(s.path().display().to_string());
            engine.drop_file(s.id());
        }
    }
    remove_left_runs(&*engine.environment().disk, &engine.data_dir())?;
    engine.temp.remove_left()?;
    remove_uncommitted(engine, &view, report)?;
    view.tables().for_each(|t| place_file(engine, t));
    let top = report.pages.max_space.max(ids.last().copied().unwrap_or(0));
    engine
        .ddl
        .next_table
        .fetch_max(top.saturating_add(1), Ordering::Relaxed);
    engine.next_index.fetch_max(next_index, Ordering::Relaxed);
    engine.change_catalog(|c| *c = view);
    for t in engine.catalog().tables() {
        if unknown.contains(&t.def.id) {
            engine.want_stats(t);
        }
    }
    for l in &loaded.orphaned_trees {
        // Its index has no definition, and its id is not to be given out again.
        engine
            .next_index
            .fetch_max(l.index.saturating_add(1), Ordering::Relaxed);
    }
    Ok(loaded.orphaned_trees)
}

/// Files without a whole page are the remains of a creation cut short, if no definition wants them.
fn remove_uncommitted(
    engine: &Arc<Engine>,
    view: &Catalog,
    report: &mut OpenReport,
) -> Result<(), OpenError> {
    let disk = &engine.environment().disk;
    let place = |d: &TableDef| engine.data_dir().join(table_path(&d.schema, &d.name));
    for path in &report.pages.uncommitted_files {
        let wanted = view.tables().any(|t| place(&t.def) == *path)
            || view.tables_without_file.values().any(|d| place(d) == *path);
        if wanted || *path == engine.data_dir().join(catalog_path()) {
            continue;
        }
        report.orphans.push(path.display().to_string());
        disk.remove_file(path)?;
    }
    Ok(())
}

/// A table without its file stays in the definitions, so that its name is known; using it says what is wrong.
fn missing_table(view: &mut Catalog, def: TableDef) {
    view.tables_without_file
        .insert((def.schema.clone(), def.name.clone()), def);
}

/// Pages of a table's file that were used, the first map and the first root left out.
async fn used_pages(pager: &Arc<Pager>, space: &Arc<pager::Space>) -> u64 {
    let used = pager
        .run(|| Ok(pager::alloc::high_water(&*pager.shared(space, PageNo(0))?)))
        .await;
    used.map_or(0, |pages| u64::from(pages).saturating_sub(2))
}

/// Gives a table that was opened what was known of its rows; false where nothing was, or where its file has become another since.
fn know(t: &mut Table, was: Option<Saved>, pages: u64) -> bool {
    let counts = t.live.clone();
    let Some(was) = was else {
        // Some sixty rows a page: enough until they have been looked at.
        counts.counts.set(pages * 60, false);
        return false;
    };
    let then = was.pages.saturating_sub(2);
    let grown = pages > then + then / 8 + 2;
    // Of a file that has grown the rows have too, about as much.
    let rows = match grown {
        true => (was.stats.rows as f64 * (pages + 1) as f64 / (then + 1) as f64) as u64,
        false => was.stats.rows,
    };
    counts.counts.set(rows, false);
    counts.counts.made(0, was.stats.rows);
    t.restore_stats(&was);
    !grown
}

/// A rename that was committed but whose file was not moved yet.
fn place_file(engine: &Engine, t: &Table) {
    let want = engine
        .data_dir()
        .join(table_path(&t.def.schema, &t.def.name));
    if t.space.path() != want {
        let disk = &engine.environment().disk;
        if let Some(dir) = want.parent() {
            let _ = disk.create_dir_all(dir);
        }
        if !disk.exists(&want) {
            // If it fails the table works from where it is.
            let _ = engine.pager().rename_space(t.space.id(), &want);
        }
    }
}
