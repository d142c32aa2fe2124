//! The pager as its users see it: pages by latch, mini-transactions, tablespaces, and the tasks behind them.

use crate::alloc;
use crate::checkpoint::{CheckpointSource, Checkpointer};
use crate::cleaner::{Cleaner, CleanerState, compressors};
use crate::compressed::Shadow;
use crate::doublewrite::Doublewrite;
use crate::error::{ForeignError, OpError, Purpose, Wait};
use crate::files::Files;
use crate::foreign::ForeignSpace;
use crate::log::record::RecordKind;
use crate::log::{Log, LogFollower, Observer, Scanner};
use crate::mtr::{Committed, Mtr, PageIx, append_behind, append_plain};
use crate::options::PagerOptions;
use crate::page::{self, Page};
use crate::pool::{ExclusiveGuard, Pin, Pins, Pool, SharedGuard};
use crate::redo::RedoTable;
use crate::shortages::{ShortageListener, Shortages};
use crate::space::Space;
use base::{Environment, Event, Lsn, PageNo, SpaceId, TxnId};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Name of a tablespace file's extension.
pub const SPACE_EXTENSION: &str = "tdb";

/// The open storage of one directory.
pub struct Pager {
    pub(crate) environment: Environment,
    pub(crate) options: PagerOptions,
    pub(crate) pool: Arc<Pool>,
    pub(crate) log: Arc<Log>,
    pub(crate) redo: Arc<RedoTable>,
    pub(crate) checkpointer: Arc<Checkpointer>,
    pub(crate) cleaner: Arc<CleanerState>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) tasks: Arc<Tasks>,
    /// The disk of the environment.
    pub(crate) files: Arc<Files>,
    pub(crate) shortages: Arc<Shortages>,
    /// Where the spare file is.
    pub(crate) spare: PathBuf,
    /// This start came after a crash: the log goes on in another file.
    pub(crate) jumped: bool,
    pub(crate) _owner: Box<dyn Send + Sync>,
}

impl Pager {
    /// The buffer pool (counters, size).
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The environment this pager lives on.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The options it was opened with.
    pub fn options(&self) -> &PagerOptions {
        &self.options
    }

    /// Pages written by the cleaner since start, in batches, checkpoints made, tablespace syncs.
    pub fn write_counters(&self) -> (u64, u64, u64, u64) {
        let c = &self.cleaner.counters;
        let k = &self.checkpointer;
        (
            c.pages_written.get(),
            c.batches.get(),
            k.checkpoints.get(),
            k.data_syncs.get(),
        )
    }

    /// Shows the log's records from the one at `from` up to `to`, and tells how far it came: not to `to` where the log is damaged.
    /// At start-up: it reads the device on the calling thread.
    ///
    /// # Errors
    /// What reading the segments fails with.
    pub fn scan_log(&self, from: Lsn, to: Lsn, observe: &mut Observer<'_>) -> io::Result<Lsn> {
        let jumps = {
            let control = &self.checkpointer.control;
            let c = control.lock();
            c.state.jumps.clone()
        };
        let mut scan = Scanner::new(self.log.segments(), &jumps, from);
        while scan.position() < to
            && let Some((start, end, r)) = scan.next_record()?
        {
            observe(start, end, &r);
        }
        Ok(scan.position())
    }

    /// Reads the log from `from` on, which must be the start of a record or the end of the log, while it is written.
    pub fn follow_log(&self, from: Lsn) -> LogFollower {
        let control = self.checkpointer.control.lock();
        LogFollower::new(self.log.clone(), control.state.jumps.clone(), from)
    }

    /// The oldest position of the log that the last checkpoint has kept.
    pub fn oldest_kept(&self) -> Lsn {
        let control = self.checkpointer.control.lock();
        match control.state.needed {
            // There was none: it is the log's beginning.
            Lsn::NONE => control.state.redo,
            needed => needed,
        }
    }

    /// From now on `listener` is told when the system has too little of something (room, descriptors), and when that is over.
    pub fn on_shortage(&self, listener: ShortageListener) {
        self.shortages.listen(listener);
    }

    /// Files of tables that are open, and how often one was opened.
    pub fn open_files(&self) -> (u64, u64) {
        self.files.counts()
    }

    /// Where recovery would start now.
    pub fn checkpoint_lsn(&self) -> Lsn {
        Lsn(self.checkpointer.redo_lsn.load(Ordering::Acquire))
    }

    /// Joins the layer above to checkpoints. Once, before [`Pager::start_checkpoints`].
    pub fn set_checkpoint_source(&self, s: Arc<dyn CheckpointSource>) {
        let set = self.checkpointer.source.set(s);
        assert!(set.is_ok(), "checkpoint source set twice");
    }

    /// Recovery is over: checkpoints may be made from now on.
    pub fn start_checkpoints(&self) {
        let crowded = self.jumped && self.checkpointer.was_left_crowded();
        self.checkpointer.crowded.store(crowded, Ordering::Release);
        self.checkpointer.enabled.store(true, Ordering::Release);
        // The log found may be longer than what may lie behind a checkpoint.
        self.log.request_checkpoint();
        if self.jumped {
            // Each start after a crash takes another file, and the log that it has read is read again after the next one: a
            // checkpoint of everything gives both back.
            self.log.request_full_checkpoint();
        }
    }

    /// The last step of a recovery, behind [`Pager::start_checkpoints`]: where one start after the other was cut short before its checkpoint, until
    /// the log had more files than it may have, waits for this one's. Else each would leave another file. Nobody else waits.
    ///
    /// What the checkpoint is short of, and a device that fails it, are told as always, and are no reason not to start.
    pub async fn give_back_before_traffic(&self) {
        let round = self.cleaner.rounds.load(Ordering::Acquire);
        if self.checkpointer.drain_would_free() {
            let over = || {
                let over = self.log.drain().is_none()
                    || self.log.failure().is_some()
                    || self.cleaner.stop.load(Ordering::Acquire)
                    || self.cleaner.starved_since(round).is_some();
                over.then_some(())
            };
            self.cleaner.flushed.wait_for(over).await;
        }
        if self.checkpointer.crowded.swap(false, Ordering::AcqRel) {
            // It may make as many files again as usual.
            self.log.keeper.fire();
        }
    }

    /// See [`Pool::optimistic`].
    ///
    /// # Errors
    /// As [`Pool::optimistic`].
    #[inline(always)]
    pub fn optimistic<R>(
        &self,
        space: &Space,
        page: PageNo,
        f: impl FnMut(&Page) -> R,
    ) -> Result<R, OpError> {
        self.pool.optimistic(space, page, f)
    }

    /// See [`Pool::shared`].
    ///
    /// # Errors
    /// As [`Pool::shared`].
    #[inline(always)]
    pub fn shared(&self, space: &Space, page: PageNo) -> Result<SharedGuard<'_>, OpError> {
        self.pool.shared(space, page)
    }

    /// See [`Pool::exclusive`].
    ///
    /// # Errors
    /// As [`Pool::exclusive`].
    #[inline(always)]
    pub fn exclusive(&self, space: &Space, page: PageNo) -> Result<ExclusiveGuard<'_>, OpError> {
        self.pool.exclusive(space, page)
    }

    /// Begins a mini-transaction, if the log has room for one.
    ///
    /// # Errors
    /// As [`Log::admit`].
    #[inline(always)]
    pub fn mtr(&self) -> Result<Mtr<'_>, OpError> {
        self.log.admit(Purpose::Tidy)?;
        Ok(Mtr::new(&self.log, &self.redo))
    }

    /// As [`Pager::mtr`], for a record of this kind, or something that prepares for one: on a full disk it makes a
    /// difference.
    ///
    /// # Errors
    /// As [`Log::admit`].
    #[inline(always)]
    pub fn mtr_of(&self, kind: RecordKind) -> Result<Mtr<'_>, OpError> {
        self.log.admit(Purpose::of(kind))?;
        Ok(Mtr::new(&self.log, &self.redo))
    }

    /// Allocates a page in the mini-transaction. See [`crate::alloc`].
    ///
    /// # Errors
    /// [`OpError::Wait`] for a map page or for the file to grow; [`OpError::Corrupt`]: a map page is damaged.
    pub fn alloc_page<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        space: &Arc<Space>,
    ) -> Result<PageIx, OpError> {
        alloc::alloc_page(&self.pool, mtr, space)
    }

    /// As [`Pager::alloc_page`], for a page below `below`; `None` where none is free there.
    ///
    /// # Errors
    /// [`OpError::Wait`] for a map page; [`OpError::Corrupt`]: a map page is damaged.
    pub fn alloc_page_below<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        space: &Arc<Space>,
        below: PageNo,
    ) -> Result<Option<PageIx>, OpError> {
        alloc::alloc_page_below(&self.pool, mtr, space, below)
    }

    /// Frees a page that is latched in the mini-transaction.
    ///
    /// # Errors
    /// [`OpError::Wait`] for a map page; [`OpError::Corrupt`]: a map page is damaged.
    pub fn free_page<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        space: &Arc<Space>,
        page: PageIx,
    ) -> Result<(), OpError> {
        alloc::free_page(&self.pool, mtr, space, page)
    }

    /// Appends a record that changes no page. `publish` runs before any reader can see it as complete.
    ///
    /// # Errors
    /// [`OpError::Io`]: the log is closed.
    pub fn append(
        &self,
        kind: RecordKind,
        txid: TxnId,
        prev: Lsn,
        body: &[u8],
        publish: impl FnOnce(Lsn, Lsn),
    ) -> Result<Committed, OpError> {
        append_plain(&self.log, &self.redo, kind, txid, prev, body, publish)
    }

    /// As [`append`](Self::append), with another record of the transaction right in front of it, `front`: its kind and body. A crash may leave
    /// the front one alone, as with two appends, and never the other.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_behind(
        &self,
        front: (RecordKind, &[u8]),
        record: (RecordKind, TxnId, Lsn),
        body: &[u8],
        publish: impl FnOnce(Lsn, Lsn),
    ) -> Result<Committed, OpError> {
        let (log, redo) = (&self.log, &self.redo);
        Ok(append_behind(log, redo, front, record, body, publish))
    }

    /// Awaits what a synchronous operation lacked. A page comes back pinned: keep the pin until the operation succeeded. For who has no other
    /// page pinned; [`Pager::resolve_into`] is for all others.
    ///
    /// # Errors
    /// What the wait ends with: [`OpError::Dropped`], [`OpError::Corrupt`], [`OpError::SpaceFull`], [`OpError::LogFull`], [`OpError::LogDamaged`], [`OpError::Short`],
    /// [`OpError::Io`]. Never [`OpError::Wait`].
    pub async fn resolve(&self, wait: Wait) -> Result<Option<Pin>, OpError> {
        match wait {
            Wait::Page(space, page) => {
                let s = self.space(space)?;
                Ok(Some(self.pool.fetch(&s, page).await?))
            }
            Wait::Reading(space, page) => {
                self.pool.wait_read(space, page).await;
                Ok(None)
            }
            Wait::LogSpace(purpose) => self.log.wait_admission(purpose).await.map(|()| None),
            Wait::LogRead(lsn) => self.log.fetch(lsn).await.map(|()| None),
            Wait::Grow(space) => {
                let s = self.space(space)?;
                self.grow(&s).await.map(|()| None)
            }
            Wait::FreeFrame => self.pool.wait_free().await.map(|()| None),
        }
    }

    /// As [`Pager::resolve`], keeping what the operation needs in `pins`: over reads, which come to an end whatever others do. Before any
    /// other wait they are given up. Operations that each wait for one more page while holding some would wait for each other; so would those
    /// that wait for room, which comes when somebody else goes on who may need a frame.
    ///
    /// # Errors
    /// As [`Pager::resolve`].
    pub async fn resolve_into(&self, wait: Wait, pins: &mut Pins) -> Result<(), OpError> {
        let Wait::Page(space, page) = wait else {
            let is_read = matches!(wait, Wait::Reading(..) | Wait::LogRead(_));
            if !is_read && !base::mutant!("pages-pinned-over-a-wait-for-room") {
                pins.clear();
            }
            return self.resolve(wait).await.map(|_| ());
        };
        let s = self.space(space)?;
        loop {
            match self.pool.fetch_now(&s, page).await {
                Err(OpError::Wait(Wait::FreeFrame)) => {
                    if !base::mutant!("pages-pinned-over-a-wait-for-a-frame") {
                        pins.clear();
                    }
                    self.pool.wait_free().await?;
                }
                r => {
                    pins.push(r?);
                    return Ok(());
                }
            }
        }
    }

    /// Runs a synchronous operation as often as it takes, awaiting what it lacks in between.
    ///
    /// # Errors
    /// What the operation fails with, or a wait of it ([`Pager::resolve`]). Never [`OpError::Wait`].
    pub async fn run<R>(&self, mut op: impl FnMut() -> Result<R, OpError>) -> Result<R, OpError> {
        let mut pins = Pins::new();
        loop {
            match op() {
                Err(OpError::Wait(w)) => self.resolve_into(w, &mut pins).await?,
                r => return r,
            }
        }
    }

    async fn grow(&self, space: &Arc<Space>) -> Result<(), OpError> {
        if space.mapped() >= space.room() {
            self.grow_file(space, space.room())?;
        }
        let room = space.room();
        let mut group = alloc::GROUP;
        while group < room {
            match self.pool.fetch(space, PageNo(group)).await {
                Ok(_) => {}
                Err(OpError::Corrupt {
                    why: page::NEVER_WRITTEN,
                    ..
                }) => self.make_map(space, group).await?,
                Err(e) => return Err(e),
            }
            group += alloc::GROUP;
        }
        space.set_mapped(room);
        Ok(())
    }

    async fn make_map(&self, space: &Arc<Space>, group: u32) -> Result<(), OpError> {
        let mut pins = Pins::new();
        loop {
            let made = self.mtr().and_then(|mut m| {
                let g = self.pool.fresh(space, PageNo(group))?;
                // Somebody else may have made it, and it may have been written out and left memory since.
                let exists = g.kind() == Some(page::PageKind::SpaceMap) || space.mapped() > group;
                let ix = m.add(g);
                if !exists {
                    m.op_init(ix, alloc::OP_MAP_FORMAT, &[&group.to_le_bytes()]);
                    m.commit();
                }
                Ok(())
            });
            match made {
                Err(OpError::Wait(w)) => Box::pin(self.resolve_into(w, &mut pins)).await?,
                r => return r,
            }
        }
    }

    /// The open tablespace with this id.
    ///
    /// # Errors
    /// [`OpError::Dropped`]: there is none.
    pub fn space(&self, id: SpaceId) -> Result<Arc<Space>, OpError> {
        self.pool.spaces.get(id).ok_or(OpError::Dropped(id))
    }

    /// Opens a tablespace file that is none of this directory's, to read it.
    ///
    /// # Errors
    /// As [`ForeignSpace::open`].
    pub async fn open_foreign(&self, path: &Path) -> Result<ForeignSpace, ForeignError> {
        ForeignSpace::open(&*self.environment.disk, path, self.pool.cells_of).await
    }

    /// All open tablespaces.
    pub fn spaces(&self) -> Vec<Arc<Space>> {
        self.pool.spaces.all()
    }

    /// Writes every page changed before now, then makes a checkpoint.
    ///
    /// # Errors
    /// [`OpError::Io`]: a device failed, or the pager was closed; [`OpError::SpaceFull`], [`OpError::Short`]: pages could not be written just now.
    pub async fn flush_all(&self) -> Result<(), OpError> {
        self.flush_below(self.log.complete()).await?;
        self.checkpointer.checkpoint(false).await
    }

    async fn flush_below(&self, lsn: Lsn) -> Result<(), OpError> {
        self.cleaner.flush_to.fetch_max(lsn.0, Ordering::AcqRel);
        let round = self.cleaner.rounds.load(Ordering::Acquire);
        if !base::mutant!("writes-asked-for-without-a-word") {
            self.log.growth.fire();
        }
        self.cleaner
            .flushed
            .wait_for(|| {
                if let Some(e) = self.log.failure() {
                    return Some(Err(OpError::Io(e)));
                }
                if self.cleaner.stop.load(Ordering::Acquire) {
                    return Some(Err(crate::error::closed()));
                }
                if self.checkpointer.candidate() >= lsn {
                    return Some(Ok(()));
                }
                if let Some(why) = self.cleaner.starved_since(round) {
                    return Some(Err(why));
                }
                if self.cleaner.flush_to.fetch_max(lsn.0, Ordering::AcqRel) < lsn.0 {
                    self.log.growth.fire();
                }
                None
            })
            .await
    }

    /// Clean shutdown: writes everything, makes a last checkpoint, ends the tasks. Nobody may use the pager any more.
    ///
    /// # Errors
    /// As [`Pager::flush_all`]. The tasks have ended all the same; the next start recovers.
    pub async fn close(&self) -> Result<(), OpError> {
        let r = async {
            self.flush_below(self.log.complete()).await?;
            self.checkpointer.checkpoint(true).await
        }
        .await;
        self.halt();
        self.stopped().await;
        if r.is_ok() {
            // Nobody reads or writes any more. Files that stay today go another day.
            let _ = self.checkpointer.give_back_files();
            for space in self.pool.spaces.all() {
                // What is not given back today will be another day.
                let _ = space.shadow().map(Shadow::trim);
            }
        }
        r
    }

    /// After [`Pager::halt`]: waits until no task touches the directory any more.
    pub async fn stopped(&self) {
        self.tasks
            .ended
            .wait_for(|| (self.tasks.running.load(Ordering::Acquire) == 0).then_some(()))
            .await
    }

    /// Ends the tasks and writes nothing more, as a crash would.
    pub fn halt(&self) {
        self.stop.store(true, Ordering::Release);
        self.cleaner.stop.store(true, Ordering::Release);
        self.log.growth.fire();
        self.log.keeper.fire();
        self.log.close();
    }

    pub(crate) fn start_tasks(&self, doublewrite: Option<Doublewrite>) {
        let cleaner = Cleaner {
            pool: self.pool.clone(),
            open_files: self.options.open_files,
            log: self.log.clone(),
            state: self.cleaner.clone(),
            checkpointer: self.checkpointer.clone(),
            spawn: self.environment.spawn.clone(),
            doublewrite,
            staging: Vec::new(),
            scratch: None,
            compressors: compressors(self.pool.cells_of),
            clock: self.environment.clock.clone(),
        };
        self.spawn("cleaner", cleaner.run());
        self.spawn("log-sync", self.log.clone().run_sync());
        self.spawn(
            "log-keeper",
            self.checkpointer
                .clone()
                .run_keeper(self.environment.clock.clone(), self.stop.clone()),
        );
    }

    fn spawn(&self, name: &str, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.running.fetch_add(1, Ordering::AcqRel);
        let running = Running {
            tasks: self.tasks.clone(),
            log: self.log.clone(),
            pool: self.pool.clone(),
            cleaner: self.cleaner.clone(),
            came_to_end: false,
        };
        self.environment.spawn.spawn(
            name,
            Box::pin(async move {
                // All of it, not only the field that is named below.
                let mut running = running;
                task.await;
                running.came_to_end = true;
            }),
        );
    }
}

/// A background task of the pager. If it ends before its end (a panic), the log is closed: those who wait for what only it
/// does are told, instead of waiting for ever.
struct Running {
    tasks: Arc<Tasks>,
    log: Arc<Log>,
    pool: Arc<Pool>,
    cleaner: Arc<CleanerState>,
    came_to_end: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.came_to_end {
            let why = io::Error::other("a background task of the storage died");
            self.log.close_failed(&why);
            self.pool.close(self.log.failure());
            self.cleaner.flushed.fire();
        }
        self.tasks.running.fetch_sub(1, Ordering::AcqRel);
        if !base::mutant!("task-of-the-storage-ended-without-a-word") {
            self.tasks.ended.fire();
        }
    }
}

/// The pager's own background tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    running: AtomicUsize,
    ended: Event,
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.halt();
    }
}
