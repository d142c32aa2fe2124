//! The engine of one directory: what all its sessions share.

use crate::interrupt::Interrupt;
use crate::lock::LockTable;
use crate::notices::{NoticeListener, Notices};
use crate::purge_queue::PurgeQueue;
use crate::sampling_queue::SamplingQueue;
use crate::schema::{Catalog, Table, TableSizes};
use crate::txn::TxnSystem;
use crate::worn_tables::{DefragmentOptions, Defragmenter};
use crate::xa::Branches;
use base::counters::Counter;
use base::lock::{Mutex, RwLock};
use base::{Environment, Event, Lsn, Task, TxnId, environment};
use pager::compressed::CompressionCounts;
use pager::{Log, Pager, PagerOptions};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use types::SqlError;

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Storage.
    pub pager: PagerOptions,
    /// innodb_flush_log_at_trx_commit: 0, 1 or 2.
    pub flush_at_commit: u8,
    /// Bytes of index entries that a build sorts in memory; more are sorted in runs of so many, in a file.
    pub sort_bytes_max: u64,
    /// Threads that build an index or copy a table together, at most.
    pub builders_max: usize,
    /// Rows that are worth a thread.
    pub builder_rows_min: u64,
    /// How space comes back by itself.
    pub defragment: DefragmentOptions,
    /// The log is kept as it is found, until somebody says what readers of it need ([`Engine::keep_log_from`]).
    pub keep_log: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            pager: PagerOptions::default(),
            flush_at_commit: 1,
            sort_bytes_max: 64 << 20,
            builders_max: std::thread::available_parallelism().map_or(1, usize::from),
            builder_rows_min: 20_000,
            defragment: DefragmentOptions::default(),
            keep_log: false,
        }
    }
}

/// What the engine counted since start.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) rows_read: Counter,
    pub(crate) rows_inserted: Counter,
    pub(crate) rows_updated: Counter,
    pub(crate) rows_deleted: Counter,
    pub(crate) commits: Counter,
    pub(crate) definition_commits: Counter,
    pub(crate) rollbacks: Counter,
    pub(crate) deadlocks: Counter,
    pub(crate) lock_waits: Counter,
    pub(crate) lock_timeouts: Counter,
    pub(crate) write_conflicts: Counter,
    pub(crate) purged: Counter,
    pub(crate) failed_purges: Counter,
    pub(crate) failed_rollbacks: Counter,
}

/// A reading of all counters, for SHOW STATUS.
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs)]
pub struct EngineCounters {
    pub rows_read: u64,
    pub rows_inserted: u64,
    pub rows_updated: u64,
    pub rows_deleted: u64,
    pub commits: u64,
    /// Of these, changes of definitions.
    pub definition_commits: u64,
    pub rollbacks: u64,
    pub deadlocks: u64,
    pub row_lock_waits: u64,
    pub lock_timeouts: u64,
    /// Rows and values that are in the lock table.
    pub locks: u64,
    /// What locks take of memory, those of ranges included.
    pub lock_bytes: u64,
    /// Transactions refused under snapshot isolation, as a row had changed.
    pub write_conflicts: u64,
    pub purged_entries: u64,
    /// Transactions whose deleted rows stay, marked, because the log or the device failed.
    pub failed_purges: u64,
    /// Transactions whose rows stay locked because the log or a page that their rollback needs is damaged.
    pub failed_rollbacks: u64,
    /// Transactions whose deleted rows wait for purge.
    pub purge_queue: u64,
    pub pool_pages: u64,
    pub pool_pages_free: u64,
    pub pages_read: u64,
    /// Those of them that a scan had read ahead of it.
    pub pages_read_ahead: u64,
    pub pages_evicted: u64,
    pub pages_written: u64,
    pub checkpoints: u64,
    pub data_syncs: u64,
    pub log_bytes: u64,
    pub log_records: u64,
    pub log_writes: u64,
    pub log_syncs: u64,
    pub log_end: u64,
    pub log_durable: u64,
    /// Bytes of log since the position where recovery would start.
    pub checkpoint_age: u64,
    pub page_size: u64,
}

/// A session with a transaction that is for the next start to roll back.
pub(crate) trait Unfinished: Send {
    /// The engine has stopped.
    fn forget_transaction(self: Box<Self>);
    /// A table is gone: it may have been the one that stood in the way.
    fn try_again(self: Box<Self>);
}

/// The engine.
pub struct Engine {
    pub(crate) pager: Arc<Pager>,
    pub(crate) log: Arc<Log>,
    pub(crate) txns: Arc<TxnSystem>,
    pub(crate) locks: Arc<LockTable>,
    pub(crate) catalog: RwLock<Arc<Catalog>>,
    pub(crate) catalog_version: AtomicU64,
    /// Tables that no definition names.
    pub(crate) unnamed: crate::unnamed::UnnamedTables,
    pub(crate) purge: PurgeQueue,
    /// Branches of distributed transactions, those included that are prepared and no session has.
    pub(crate) branches: Arc<Branches>,
    /// Tables whose figures are to be made.
    pub(crate) sampling: SamplingQueue,
    pub(crate) defragmenter: Arc<Defragmenter>,
    pub(crate) ddl: crate::schema::DdlState,
    /// Groups of events, and who reads them.
    pub(crate) events: crate::events::EventLog,
    /// Locks of the whole server.
    pub(crate) global: Arc<crate::table_lock::GlobalLock>,
    pub(crate) fence: Arc<crate::fence::FenceState>,
    /// Sessions there have been.
    pub(crate) sessions: AtomicU64,
    pub(crate) counters: Counters,
    pub(crate) notices: Notices,
    pub(crate) next_index: AtomicU32,
    /// Trees in the catalog that no definition names.
    pub(crate) orphaned_trees: AtomicUsize,
    pub(crate) dir: std::path::PathBuf,
    pub(crate) temp: Arc<crate::temp::TempFiles>,
    /// AUTO_INCREMENT counters found by recovery, until the tables are open.
    pub(crate) recovered_counters: Mutex<crate::counters::Counters>,
    /// Held while counters are looked at and noted in the log: a note says what holds at its place there.
    pub(crate) noting: Mutex<()>,
    flush_at_commit: AtomicU8,
    pub(crate) sort_bytes_max: u64,
    pub(crate) builders_max: usize,
    pub(crate) builder_rows_min: u64,
    /// innodb_compression_level, for tablespaces made from now on.
    pub(crate) compression_level: AtomicU8,
    /// innodb_rollback_on_timeout.
    pub(crate) rollback_on_timeout: AtomicBool,
    /// innodb_autoinc_lock_mode.
    pub(crate) auto_lock_mode: AtomicU8,
    pub(crate) flusher: Flusher,
    pub(crate) stopping: AtomicBool,
    tasks: Arc<Tasks>,
    /// See [`Engine::keep`]; none once the engine has stopped.
    kept: Mutex<Option<Vec<Box<dyn Unfinished>>>>,
}

/// The once-a-second flush of flush_log_at_trx_commit 0 and 2.
#[derive(Default)]
pub(crate) struct Flusher {
    pub(crate) armed: AtomicBool,
    pub(crate) event: Event,
}

impl Engine {
    pub(crate) fn assemble(
        pager: Arc<Pager>,
        txns: Arc<TxnSystem>,
        locks: Arc<LockTable>,
        options: &EngineOptions,
        purge: PurgeQueue,
    ) -> Engine {
        let disk = &pager.environment().disk;
        Engine {
            log: pager.log().clone(),
            temp: crate::temp::TempFiles::new(disk, std::path::Path::new("")),
            txns,
            locks,
            catalog: RwLock::default(),
            catalog_version: AtomicU64::new(0),
            unnamed: Default::default(),
            purge,
            branches: Arc::default(),
            sampling: SamplingQueue::new(),
            defragmenter: Arc::new(Defragmenter::new(options.defragment)),
            ddl: Default::default(),
            events: crate::events::EventLog::new(match options.keep_log {
                true => pager.oldest_kept(),
                false => Lsn::MAX,
            }),
            pager,
            global: Arc::default(),
            fence: Arc::default(),
            sessions: AtomicU64::new(0),
            counters: Counters::default(),
            notices: Notices::default(),
            next_index: AtomicU32::new(2),
            orphaned_trees: AtomicUsize::new(0),
            dir: std::path::PathBuf::new(),
            recovered_counters: Default::default(),
            noting: Mutex::default(),
            flush_at_commit: AtomicU8::new(options.flush_at_commit.min(2)),
            sort_bytes_max: options.sort_bytes_max,
            builders_max: options.builders_max,
            builder_rows_min: options.builder_rows_min,
            compression_level: AtomicU8::new(6),
            rollback_on_timeout: AtomicBool::new(false),
            auto_lock_mode: AtomicU8::new(2),
            flusher: Flusher::default(),
            stopping: AtomicBool::new(false),
            tasks: Arc::default(),
            kept: Mutex::new(Some(Vec::new())),
        }
    }

    /// The environment it lives on.
    pub fn environment(&self) -> &Environment {
        self.pager.environment()
    }

    /// Temporary files of statements.
    pub fn temp_files(&self) -> &Arc<crate::temp::TempFiles> {
        &self.temp
    }

    /// The storage below.
    pub fn pager(&self) -> &Arc<Pager> {
        &self.pager
    }

    /// The lock table, to be looked at.
    pub fn locks(&self) -> &Arc<LockTable> {
        &self.locks
    }

    /// Which sessions have FLUSH TABLES WITH READ LOCK, and which LOCK INSTANCE FOR BACKUP.
    pub fn server_lock_holders(&self) -> (Vec<u64>, Vec<u64>) {
        self.global.holders()
    }

    /// The definitions as of now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// Grows with every change of a definition.
    #[inline]
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Ordering::Acquire)
    }

    pub(crate) fn change_catalog(&self, f: impl FnOnce(&mut Catalog)) {
        let mut c = self.catalog.write();
        let mut next = Catalog::clone(&c);
        f(&mut next);
        next.version += 1;
        self.catalog_version.store(next.version, Ordering::Release);
        *c = Arc::new(next);
        drop(c);
        self.ddl.set_seen();
    }

    /// Waits until sessions see the definitions that were committed up to this commit record. Who has found a change in the log may be here before they
    /// do, and whoever he tells of it would look in vain.
    pub async fn definitions_seen(&self, commit: Lsn) {
        let seen = || (!self.ddl.is_unseen(commit)).then_some(());
        self.ddl.seen.wait_for(seen).await;
    }

    /// innodb_flush_log_at_trx_commit: 0, 1 or 2.
    pub fn set_flush_at_commit(&self, v: u8) {
        self.flush_at_commit.store(v.min(2), Ordering::Relaxed);
    }

    /// innodb_compression_level, 0 to 9, for tables that are made from now on.
    pub fn set_compression_level(&self, v: u8) {
        self.compression_level.store(v.min(9), Ordering::Relaxed);
    }

    /// innodb_rollback_on_timeout: a lock wait timeout rolls the transaction back, and not the statement alone.
    pub fn set_rollback_on_timeout(&self, on: bool) {
        self.rollback_on_timeout.store(on, Ordering::Relaxed);
    }

    /// innodb_autoinc_lock_mode: 0, 1 or 2.
    pub fn set_auto_lock_mode(&self, mode: u8) {
        self.auto_lock_mode.store(mode.min(2), Ordering::Relaxed);
    }

    /// See [`Engine::set_flush_at_commit`].
    pub fn flush_at_commit(&self) -> u8 {
        self.flush_at_commit.load(Ordering::Relaxed)
    }

    /// Every commit below is published.
    #[inline]
    pub(crate) fn complete(&self) -> Lsn {
        self.log.complete()
    }

    pub(crate) fn interrupt(&self) -> Arc<Interrupt> {
        Arc::new(Interrupt::new(
            self.locks.clone(),
            self.environment().clock.clone(),
        ))
    }

    /// Lets a time pass, in microseconds, unless the engine stops, which `event` announces.
    pub(crate) async fn pause(&self, us: u64, event: &Event) {
        let clock = &self.environment().clock;
        let timer = environment::deadline(&**clock, clock.now_us() + us);
        let mut timer = std::pin::pin!(timer);
        std::future::poll_fn(|cx| {
            event.park(cx);
            if self.stopping.load(Ordering::Acquire) {
                return std::task::Poll::Ready(());
            }
            timer.as_mut().poll(cx)
        })
        .await;
    }

    pub(crate) fn spawn(
        self: &Arc<Self>,
        name: &str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.environment().spawn.spawn(name, self.counted(task));
    }

    /// As [`spawn`](Self::spawn), for long work of a statement; see [`base::environment::Spawn::spawn_work`].
    pub(crate) fn spawn_work(
        self: &Arc<Self>,
        name: &str,
        throttled: bool,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let task = self.counted(task);
        self.environment().spawn.spawn_work(name, throttled, task)
    }

    /// A task that the engine's end waits for.
    fn counted(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) -> Task {
        self.tasks.running.fetch_add(1, Ordering::AcqRel);
        let running = Running(self.tasks.clone());
        Box::pin(async move {
            let _running = running;
            task.await;
        })
    }

    /// Clean shutdown: ends the background tasks, writes everything out, makes a last checkpoint. Sessions must have
    /// ended their transactions; what they still try fails.
    ///
    /// # Errors
    /// What writing the pages or the log fails with: the next start recovers.
    pub async fn close(&self) -> Result<(), SqlError> {
        self.stop_tasks().await;
        let closed = self.pager.close().await;
        self.let_go();
        closed.map_err(|e| crate::error::storage(e, "the database"))
    }

    /// Makes every commit durable that anybody knows of: for an end without [`close`](Self::close), beside statements that do not end.
    ///
    /// # Errors
    /// What writing the log fails with.
    pub async fn make_durable(&self) -> Result<(), SqlError> {
        let durable = self.log.wait_durable(self.complete()).await;
        durable.map_err(|e| crate::error::storage(e, "the database"))
    }

    /// Stops without writing anything more, as a crash would. For tests.
    pub async fn abandon(&self) {
        self.stop_tasks().await;
        self.pager.halt();
        self.pager.stopped().await;
        self.let_go();
    }

    /// What rollbacks and purge met in the background and could not get past: damage, each place once.
    pub fn notices(&self) -> Vec<String> {
        self.notices.all()
    }

    /// From now on `listener` is told of [`Engine::notices`], first of those before, and of what the system is short of, when that begins
    /// and when it is over. It must not wait.
    pub fn on_notice(&self, listener: NoticeListener) {
        self.pager.on_shortage(listener.clone());
        self.notices.listen(listener);
    }

    /// A transaction's rollback cannot go on: its rows stay locked until the next start, if that can do better.
    #[cold]
    pub(crate) fn note_failed_rollback(&self, txid: TxnId, why: &str) {
        self.counters.failed_rollbacks.inc();
        self.notices.add(format_args!(
            "transaction {} cannot be rolled back, its rows stay locked: {why}",
            txid.0
        ));
    }

    /// 1205; where transactions hold rows for good, with one of their reasons, as the wait may have been for those.
    #[cold]
    pub(crate) fn timed_out(&self) -> SqlError {
        let mut e = SqlError::lock_wait_timeout();
        let holding = {
            let kept = self.kept.lock();
            kept.as_ref().is_some_and(|kept| !kept.is_empty())
        };
        if holding
            && let Some(why) = self
                .notices
                .all()
                .iter()
                .find(|t| t.starts_with("transaction"))
        {
            e.message = format!("{}; {why}", e.message);
        }
        e
    }

    /// Keeps a session whose rollback cannot go on until the engine has stopped: its cell stays registered, so that
    /// checkpoints go on listing its transaction, which the next start rolls back.
    pub(crate) fn keep(&self, session: Box<dyn Unfinished>) {
        let mut kept = self.kept.lock();
        match &mut *kept {
            Some(sessions) => sessions.push(session),
            None => {
                drop(kept);
                session.forget_transaction();
            }
        }
    }

    /// Has those whose rollback failed try again, now that a table was dropped.
    pub(crate) fn roll_back_kept(&self) {
        let mut kept = self.kept.lock();
        let sessions = kept.as_mut().map(std::mem::take).unwrap_or_default();
        drop(kept);
        for session in sessions {
            session.try_again();
        }
    }

    /// The last checkpoint was made: the sessions that were kept refer to the engine, and go.
    fn let_go(&self) {
        let kept = self.kept.lock().take();
        for session in kept.into_iter().flatten() {
            session.forget_transaction();
        }
        self.branches.forget_all();
    }

    async fn stop_tasks(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.flusher.event.fire();
        self.purge.event.fire();
        self.defragmenter.event.fire();
        if !base::mutant!("stop-without-a-word") {
            self.sampling.event.fire();
        }
        let tasks = &self.tasks;
        tasks
            .ended
            .wait_for(|| (tasks.running.load(Ordering::Acquire) == 0).then_some(()))
            .await;
    }

    /// What a table takes on disk.
    pub fn table_sizes(&self, t: &Table) -> TableSizes {
        t.sizes(&self.pager)
    }

    /// What compression and decompression of compressed tables' pages came to, by size of block; counted from zero again after a `reset`.
    pub fn compression_counts(&self, reset: bool) -> Vec<(u32, CompressionCounts)> {
        self.pager.pool().compression.all(reset)
    }

    /// The same by table (its number) and index, while [`count_packed_indexes`](Self::count_packed_indexes) is on.
    pub fn index_compression_counts(&self, reset: bool) -> Vec<((u32, u32), CompressionCounts)> {
        let all = self.pager.pool().compression.indexes(reset);
        all.into_iter().map(|((s, i), n)| ((s.0, i), n)).collect()
    }

    /// Whether compression is counted for each index as well.
    pub fn count_packed_indexes(&self, on: bool) {
        self.pager.pool().compression.count_indexes(on);
    }

    /// Pages that the pool has room for.
    pub fn pool_pages(&self) -> u64 {
        self.pager.pool().frames() as u64
    }

    /// All counters now.
    pub fn counters(&self) -> EngineCounters {
        let (c, pool, log) = (&self.counters, self.pager.pool(), &self.log);
        let (pages_written, _, checkpoints, data_syncs) = self.pager.write_counters();
        let (locks, lock_bytes) = self.locks.figures();
        EngineCounters {
            locks,
            lock_bytes,
            rows_read: c.rows_read.get(),
            rows_inserted: c.rows_inserted.get(),
            rows_updated: c.rows_updated.get(),
            rows_deleted: c.rows_deleted.get(),
            commits: c.commits.get(),
            definition_commits: c.definition_commits.get(),
            rollbacks: c.rollbacks.get(),
            deadlocks: c.deadlocks.get(),
            row_lock_waits: c.lock_waits.get(),
            lock_timeouts: c.lock_timeouts.get(),
            write_conflicts: c.write_conflicts.get(),
            purged_entries: c.purged.get(),
            failed_purges: c.failed_purges.get(),
            failed_rollbacks: c.failed_rollbacks.get(),
            purge_queue: self.purge.len() as u64,
            pool_pages: pool.frames() as u64,
            pool_pages_free: pool.free_frames() as u64,
            pages_read: pool.counters.reads.get(),
            pages_read_ahead: pool.counters.ahead.get(),
            pages_evicted: pool.counters.evicted.get(),
            pages_written,
            checkpoints,
            data_syncs,
            log_bytes: log.counters.bytes.get(),
            log_records: log.counters.records.get(),
            log_writes: log.counters.writes.get(),
            log_syncs: log.counters.syncs.get(),
            log_end: log.end().0,
            log_durable: log.durable().0,
            checkpoint_age: log.end().0.saturating_sub(self.pager.checkpoint_lsn().0),
            page_size: pager::PAGE_SIZE as u64,
        }
    }
}

/// The background tasks.
#[derive(Default)]
struct Tasks {
    running: AtomicU32,
    ended: Event,
}

/// A background task: counted until it ends, however it ends. It has not got the engine, whose directory may be opened again as soon as the last
/// has told that it has ended.
struct Running(Arc<Tasks>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        if !base::mutant!("task-ended-without-a-word") {
            self.0.ended.fire();
        }
    }
}
