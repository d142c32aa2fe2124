//! The binary log as a whole: the task that makes files, and what statements and dumps see of them and ask of it.
//!
//! | module | what |
//! |---|---|
//! | [`compression`] | what compressing transactions comes to |
//! | [`feed`] | what is shown |
//! | `refusal` | why what is requested is not done |
//! | `room` | what it does where the system is short of something |
//! | `worker` | the task that makes files |
//!
//! What it never does: make anybody wait who has not asked, but for those who would leave more than there is room for.

pub mod compression;
pub mod feed;
mod refusal;
mod room;
mod worker;

use crate::derive::Settings;
use crate::files::names::Names;
use crate::files::store::Store;
use crate::semi_sync::{Place, SemiSync};
use crate::source::GroupSource;
use base::environment::{Disk, File, OpenMode};
use base::{Environment, Lsn};
use feed::{Feed, Health};
pub use refusal::{Lack, Refusal};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use types::gtid::GtidSet;
use worker::{LogRequest, Requests, Room, Start, Worker};

/// What a binary log is opened with.
pub struct OpenLog {
    /// What the files are called.
    pub names: Names,
    /// What is set at the start.
    pub settings: Settings,
    /// The log can be read from here on.
    pub log_start: Lsn,
    /// It ends here.
    pub log_end: Lsn,
    /// Files are kept for so many seconds; 0: for ever. Asked whenever a file is begun.
    pub expire: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// The binary log of a server.
pub struct BinaryLog {
    feed: Arc<Feed>,
    requests: Arc<Requests>,
    names: Names,
    disk: Arc<dyn Disk>,
    semi_sync: Arc<SemiSync>,
}

/// A binary log that is open, and whose task has not begun.
pub struct Opened {
    /// The log.
    pub log: Arc<BinaryLog>,
    /// Groups are to be read from here on.
    pub resume: Lsn,
    /// Those that were committed here or before are there.
    pub done: Lsn,
    store: Store,
    start: Start,
    expire: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Opened {
    /// Begins the task, which takes groups from `source`.
    pub fn begin(self, environment: &Environment, source: impl GroupSource + 'static) {
        source.keep_from(self.resume);
        let state = self.store.state();
        let fresh = state.file;
        let ends = Place {
            file: state.file,
            position: state.position,
        };
        let worker = Worker {
            kept: self.resume,
            ends,
            start: (!self.store.began()).then_some(self.start),
            store: self.store,
            source,
            feed: self.log.feed.clone(),
            requests: self.log.requests.clone(),
            clock: environment.clock.clone(),
            expire: self.expire,
            room: Room::default(),
        };
        debug_assert!(fresh > 0);
        environment.spawn.spawn("binlog", Box::pin(worker.run()));
    }
}

impl BinaryLog {
    /// Opens the files.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(environment: &Environment, options: OpenLog) -> io::Result<Opened> {
        let now = (environment.clock.wall_us() / 1_000_000) as u32;
        let store = Store::open(
            environment.disk.clone(),
            options.names.clone(),
            options.settings.clone(),
            options.log_start..=options.log_end,
            now,
        )?;
        let semi_sync = Arc::new(SemiSync::new(environment.clock.clone()));
        let log = Arc::new(BinaryLog {
            feed: Arc::new(Feed::new(&store, semi_sync.clone())),
            requests: Arc::default(),
            names: options.names,
            disk: environment.disk.clone(),
            semi_sync,
        });
        Ok(Opened {
            log,
            resume: store.resume(),
            done: store.done(),
            store,
            start: Start {
                log_end: options.log_end,
                settings: options.settings,
            },
            expire: options.expire,
        })
    }

    /// What is shown.
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Which commits replicas have acknowledged, and who waits for that.
    pub fn semi_sync(&self) -> &Arc<SemiSync> {
        &self.semi_sync
    }

    /// What the files are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Opens a file to be read.
    ///
    /// # Errors
    /// What the disk answers.
    pub fn open_file(&self, number: u32) -> io::Result<Arc<dyn File>> {
        self.disk
            .open(&self.names.path(number), OpenMode::Buffered, false)
    }

    /// Waits until all is shown that was committed before `lsn`, which somebody has made durable or is about to: only what is durable is shown.
    ///
    /// # Errors
    /// Why it will not be.
    pub async fn wait_read(&self, lsn: Lsn) -> Result<(), String> {
        self.feed
            .wait_for(|v| match &v.health {
                _ if v.read >= lsn => Some(Ok(())),
                Health::Runs => None,
                Health::Ended => Some(Err("the server is being shut down".to_owned())),
                Health::Failed(e) => Some(Err(e.clone())),
            })
            .await
    }

    /// As [`wait_read`](Self::wait_read), but not for room: what is shown then is what the files have.
    ///
    /// # Errors
    /// Why it will not be.
    pub async fn wait_read_unless_short(&self, lsn: Lsn) -> Result<(), String> {
        let short = self.feed.wait_for(|v| v.short.is_some().then_some(Ok(())));
        let read = self.wait_read(lsn);
        let (mut short, mut read) = (pin!(short), pin!(read));
        poll_fn(|cx| match short.as_mut().poll(cx) {
            Poll::Pending => read.as_mut().poll(cx),
            ready => ready,
        })
        .await
    }

    /// The server ends: what there is no room for is left to the next start, which finds it in the engine's log.
    pub fn wait_no_more_for_room(&self) {
        self.requests.stop();
    }

    /// Waits until these transactions were done.
    ///
    /// # Errors
    /// Why that will not be known.
    pub async fn wait_executed(&self, set: &GtidSet) -> Result<(), String> {
        self.feed
            .wait_for(|v| match &v.health {
                _ if v.executed.contains(set) => Some(Ok(())),
                Health::Runs => None,
                Health::Ended => Some(Err("the server is being shut down".to_owned())),
                Health::Failed(e) => Some(Err(e.clone())),
            })
            .await
    }

    /// Has other settings in force from some time on.
    pub fn set_later(&self, settings: Settings) {
        self.requests.request(LogRequest::Set(settings));
    }

    /// Waits until the task has ended.
    pub async fn wait_end(&self) -> Health {
        let ended = |h: &Health| (*h != Health::Runs).then(|| h.clone());
        self.feed.wait_for(|v| ended(&v.health)).await
    }

    async fn ask(&self, request: LogRequest, behind: Lsn) -> Result<(), Refusal> {
        if let Health::Failed(e) = self.feed.with(|v| v.health.clone()) {
            return Err(Refusal::Over(e));
        }
        self.requests.ask(request, behind).await
    }

    /// Begins the next file, behind what was committed before `lsn`.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn rotate(&self, lsn: Lsn) -> Result<(), Refusal> {
        self.ask(LogRequest::Rotate, lsn).await
    }

    /// Has other settings in force from now on.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn set(&self, settings: Settings) -> Result<(), Refusal> {
        self.ask(LogRequest::Set(settings), Lsn::NONE).await
    }

    /// Removes the files before this one.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn purge(&self, first: u32) -> Result<(), Refusal> {
        self.ask(LogRequest::Purge(first), Lsn::NONE).await
    }

    /// Removes all files, forgets all transactions that were committed before `lsn`, and begins with the file `first`.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn reset(&self, first: u32, lsn: Lsn) -> Result<(), Refusal> {
        self.ask(LogRequest::Reset(first), lsn).await
    }

    /// Says of transactions that they were done elsewhere.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn add_purged(&self, set: GtidSet, lsn: Lsn) -> Result<(), Refusal> {
        self.ask(LogRequest::AddPurged(set), lsn).await
    }
}

#[cfg(test)]
pub(crate) mod tests;
