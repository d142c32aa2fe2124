//! The task that makes files: it takes groups as they become durable, and does what statements ask for between them.
//!
//! What it never does: look at the clock for what decides bytes that no state has.

use super::feed::{Feed, Health};
use super::refusal::{Lack, Refusal};
use crate::derive::{Making, Measure, Settings};
use crate::files::store::Store;
use crate::semi_sync::Place;
use crate::source::{Group, GroupSource, Items, ReadParts};
use base::environment::{deadline, rest, shortage};
use base::lock::Mutex;
use base::{Clock, Event, Lsn};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use types::gtid::GtidSet;

/// So many bytes of a file are made durable at a time.
const SYNC_EVERY: u64 = 16 << 20;
/// So much of the log is kept before the files are made durable, however little they have got.
const LOG_KEPT: u64 = 64 << 20;
/// Files that were filled before they are made durable.
const FILES_AT_ONCE: usize = 64;
/// Bytes of events that are written at a time.
const WRITE_AT: usize = 1 << 20;
/// Where nobody waits for events but dumps, what comes within so many microseconds is taken together.
pub(super) const REST_OF_DUMPS: u64 = 1_000;
/// Where nobody waits at all, likewise.
pub(super) const REST: u64 = 10_000;
const SECOND: i64 = 1_000_000;

/// What a statement wants of the files.
#[derive(Debug, Clone)]
pub(super) enum LogRequest {
    /// The next file.
    Rotate,
    /// Other settings.
    Set(Settings),
    /// The files before this one go.
    Purge(u32),
    /// All go, and the first is this.
    Reset(u32),
    /// These were done elsewhere.
    AddPurged(GtidSet),
}

/// A request and its answer.
pub(super) struct Asked {
    request: LogRequest,
    /// What was committed before is to be in the files first.
    behind: Lsn,
    answer: Mutex<Option<Result<(), Refusal>>>,
    /// It was answered: what comes of it later changes nothing.
    told: AtomicBool,
}

impl LogRequest {
    /// Who requests this is told where there is no room, and does not wait for it.
    fn waits_for_no_room(&self) -> bool {
        matches!(self, LogRequest::Rotate | LogRequest::Reset(_))
    }
}

/// Those that wait.
#[derive(Default)]
struct Waiting {
    queue: VecDeque<Arc<Asked>>,
    /// Why none is granted any more.
    over: Option<String>,
}

/// The requests of statements.
#[derive(Default)]
pub(super) struct Requests {
    waiting: Mutex<Waiting>,
    asked: Event,
    answered: Event,
    /// How many there were.
    count: AtomicU64,
    /// The server ends.
    stops: AtomicBool,
}

impl Requests {
    /// Has it done behind all that was committed before `behind`.
    pub(super) async fn ask(&self, request: LogRequest, behind: Lsn) -> Result<(), Refusal> {
        let asked = Arc::new(Asked {
            request,
            behind,
            answer: Mutex::new(None),
            told: AtomicBool::new(false),
        });
        self.put(asked.clone())?;
        self.answered.wait_for(|| asked.answer.lock().take()).await
    }

    /// Has it done at some time.
    pub(super) fn request(&self, request: LogRequest) {
        let asked = Asked {
            request,
            behind: Lsn::NONE,
            answer: Mutex::new(None),
            told: AtomicBool::new(false),
        };
        // Where none is granted any more, there is nothing left for which it would matter.
        let _over = self.put(Arc::new(asked));
    }

    /// Puts it behind the others; why not, where none is granted any more.
    fn put(&self, asked: Arc<Asked>) -> Result<(), String> {
        {
            let mut w = self.waiting.lock();
            match &w.over {
                Some(why) if !base::mutant!("request-behind-the-end-kept") => {
                    return Err(why.clone());
                }
                _ => w.queue.push_back(asked),
            }
        }
        self.count.fetch_add(1, Ordering::SeqCst);
        if !base::mutant!("request-without-a-word") {
            self.asked.fire();
        }
        Ok(())
    }

    fn next(&self, position: Lsn) -> Option<Arc<Asked>> {
        let mut w = self.waiting.lock();
        match w.queue.front() {
            Some(first) if first.behind <= position => w.queue.pop_front(),
            _ => None,
        }
    }

    /// A purge, wherever it stands: it is what makes room for the others.
    pub(super) fn next_purge(&self) -> Option<(Arc<Asked>, u32)> {
        let mut w = self.waiting.lock();
        let (at, first) = w
            .queue
            .iter()
            .enumerate()
            .find_map(|(at, a)| match a.request {
                LogRequest::Purge(first) => Some((at, first)),
                _ => None,
            })?;
        Some((w.queue.remove(at)?, first))
    }

    /// Who does not wait for room is told that there is none.
    pub(super) fn refuse(&self, lack: &Lack) {
        let refused: VecDeque<Arc<Asked>> = {
            let mut w = self.waiting.lock();
            let all = std::mem::take(&mut w.queue);
            let refused;
            (refused, w.queue) = all.into_iter().partition(|a| a.request.waits_for_no_room());
            refused
        };
        for asked in refused {
            self.answer(&asked, Err(Refusal::Short(lack.clone())));
        }
    }

    /// Nobody waits for room any more.
    pub(super) fn stop(&self) {
        self.stops.store(true, Ordering::SeqCst);
        self.asked.fire();
    }

    pub(super) fn are_stopped(&self) -> bool {
        self.stops.load(Ordering::SeqCst)
    }

    /// The task is woken when somebody requests something.
    pub(super) fn park(&self, cx: &Context<'_>) {
        self.asked.park(cx);
    }

    #[cfg(test)]
    pub(super) fn are_asked(&self) -> bool {
        !self.waiting.lock().queue.is_empty()
    }

    #[cfg(test)]
    pub(super) fn is_over(&self) -> bool {
        self.waiting.lock().over.is_some()
    }

    /// None is granted any more: who waits is told so, and who asks from now on.
    fn end(&self, why: &str) {
        let left = {
            let mut w = self.waiting.lock();
            w.over = Some(why.to_owned());
            std::mem::take(&mut w.queue)
        };
        for asked in left {
            self.answer(&asked, Err(why.to_owned().into()));
        }
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn are_there(&self, cx: &Context<'_>) -> bool {
        self.asked.park(cx);
        !self.waiting.lock().queue.is_empty()
    }

    pub(super) fn answer(&self, asked: &Asked, r: Result<(), Refusal>) {
        if !asked.told.swap(true, Ordering::SeqCst) {
            *asked.answer.lock() = Some(r);
        }
        if !base::mutant!("request-granted-without-a-word") {
            self.answered.fire();
        }
    }
}

/// The worker.
pub(super) struct Worker<S> {
    pub(super) store: Store,
    pub(super) source: S,
    pub(super) feed: Arc<Feed>,
    pub(super) requests: Arc<Requests>,
    pub(super) clock: Arc<dyn Clock>,
    /// What the log had at the start ends here: it goes into the files as it would have without the start.
    pub(super) start: Option<Start>,
    /// Keep files for so many seconds; 0: for ever.
    pub(super) expire: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// From where the log is kept.
    pub(super) kept: Lsn,
    /// Where the last transaction ends.
    pub(super) ends: Place,
    pub(super) room: Room,
}

/// What the worker knows of the room that it has; see `room`.
#[derive(Default)]
pub(super) struct Room {
    /// Since when something is short.
    pub(super) since: Option<u64>,
    /// When that was said last.
    pub(super) said: Option<u64>,
    /// It was said this time.
    pub(super) is_said: bool,
    /// When the files were looked for last.
    pub(super) looked: u64,
    /// The server ends before there is room.
    pub(super) given_up: bool,
    /// Who is told as soon as there is none.
    pub(super) told: Option<Arc<Asked>>,
}

/// What is done once all is in the files that the log had at the start.
pub(super) struct Start {
    pub(super) log_end: Lsn,
    pub(super) settings: Settings,
}

enum Turn {
    Group(Group),
    Asked(Arc<Asked>),
    Idle,
    End,
    Failed(String),
}

impl<S: GroupSource> Worker<S> {
    /// Works until the log is closed.
    pub(super) async fn run(mut self) {
        let health = match self.work().await {
            Ok(()) => Health::Ended,
            // What is missing is in the engine's log, which closes beside it, and made at the next start.
            Err(_) if self.room.given_up || self.requests.are_stopped() => Health::Ended,
            Err(e) => {
                self.tell_failure(&e);
                Health::Failed(e)
            }
        };
        let why = match &health {
            Health::Failed(e) => e.clone(),
            _ => "the server is being shut down".to_owned(),
        };
        let Worker {
            store,
            source,
            expire,
            feed,
            requests,
            ..
        } = self;
        // Whoever waits for the end may open the directory again: nothing of it is held then. What asks the variables has them, and with them
        // whoever wants to know of their changes.
        drop((store, source, expire));
        feed.set_health(health);
        // Who asks too late is answered too.
        requests.end(&why);
    }

    async fn work(&mut self) -> Result<(), String> {
        let mut idle = false;
        loop {
            let begun = (self.feed.begun(), self.requests.count());
            match self.turn(idle).await {
                Turn::Group(g) => {
                    idle = false;
                    self.group(g).await?;
                }
                Turn::Asked(asked) => {
                    idle = false;
                    match self.grant(&asked).await {
                        Ok(answer) => self.requests.answer(&asked, answer),
                        Err(why) => {
                            self.requests.answer(&asked, Err(why.clone().into()));
                            return Err(why);
                        }
                    }
                }
                Turn::Idle => {
                    self.pause().await?;
                    self.rest().await;
                    // Who has begun to wait since, or requests something, may do so behind a place that the log has reached without a group: it is
                    // looked once more, and said how far that is.
                    idle = (self.feed.begun(), self.requests.count()) == begun;
                }
                Turn::End => {
                    self.pause().await?;
                    let now = (self.clock.wall_us() / SECOND) as u32;
                    self.again(|s| s.stop(now)).await?;
                    let position = self.source.position();
                    self.feed.show(&self.store, position, self.ends, true);
                    self.source.keep_from(self.store.resume());
                    return Ok(());
                }
                Turn::Failed(e) => return Err(e),
            }
        }
    }

    /// What comes next. `idle`: there was nothing when it was looked at last, and it is said again only when somebody has woken it.
    async fn turn(&mut self, idle: bool) -> Turn {
        let mut looked = !idle;
        let position = self.source.position();
        // Boxed by the source: what stops waiting loses nothing.
        let mut next = self.source.next();
        poll_fn(|cx| {
            self.requests.asked.park(cx);
            if let Some(asked) = self.requests.next(position) {
                return Poll::Ready(Turn::Asked(asked));
            }
            match next.as_mut().poll(cx) {
                Poll::Ready(Ok(Some(g))) => Poll::Ready(Turn::Group(g)),
                Poll::Ready(Ok(None)) => Poll::Ready(Turn::End),
                Poll::Ready(Err(e)) => Poll::Ready(Turn::Failed(e)),
                Poll::Pending if std::mem::replace(&mut looked, true) => Poll::Ready(Turn::Idle),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// A while in which what is committed wakes nobody here: each sync of the log would, and take a core from those who commit. It ends at
    /// once when somebody waits whom others wait for, or wants something. What comes after some time without is taken at once, and on a
    /// server where nothing is committed there is one rest and then none.
    async fn rest(&mut self) {
        let clock = &*self.clock;
        let mut soon = pin!(deadline(clock, clock.now_us() + REST_OF_DUMPS));
        let wanted = |cx: &mut Context<'_>| {
            self.requests.are_there(cx)
                || self.feed.is_wanted(cx)
                || self.feed.is_wanted_by_dumps(cx) && soon.as_mut().poll(cx).is_ready()
        };
        rest(clock, REST, wanted).await;
    }

    async fn group(&mut self, g: Group) -> Result<(), String> {
        self.past_start(g.commit).await?;
        let made = match g.items {
            Items::Whole(bytes) => {
                let put = self.store.put(&bytes, g.txid, g.commit, g.resume);
                put.map_err(|e| e.to_string())?
            }
            Items::InParts(_) if self.store.passes(g.commit, g.resume) => None,
            Items::InParts(parts) => {
                let made = self.put_in_parts(&*parts, g.txid).await?;
                let ended = self.store.end_parts(made, g.commit, g.resume);
                Some(ended.map_err(|e| e.to_string())?)
            }
        };
        // What was there before the start is none of what was written since.
        if let Some(made) = &made
            && self.start.is_none()
        {
            self.feed.compression().add(made);
        }
        if let Some(made) = made
            && made.asked != 0
            && let Some(gtid) = made.gtid
        {
            self.feed.name(made.asked, gtid);
        }
        self.ends = self.end();
        if self.store.is_full() {
            self.again(Store::fill_next).await?;
            self.expire().await?;
            self.feed
                .show(&self.store, self.store.done(), self.ends, true);
        }
        if self.store.unsynced() >= SYNC_EVERY || self.store.unsynced_files() >= FILES_AT_ONCE {
            self.sync().await?;
        } else if self.store.unwritten() >= WRITE_AT {
            self.write(false).await?;
        }
        Ok(())
    }

    /// Puts the events of a large group in, and writes them from time to time: nobody is shown them before all are there. It is read twice,
    /// as its length stands in front.
    async fn put_in_parts(&mut self, parts: &dyn ReadParts, txid: u64) -> Result<Making, String> {
        let mut measure = Measure::new(self.store.state().settings.checksum);
        let mut reader = parts.read();
        while let Some(part) = reader.next().await? {
            let measured = measure.add(&part);
            measured.map_err(|_| "a transaction's events are damaged".to_owned())?;
        }
        let begun = self.store.begin_parts(measure, txid);
        let mut making = begun.map_err(|e| e.to_string())?;
        let mut reader = parts.read();
        while let Some(part) = reader.next().await? {
            let put = self.store.put_part(&mut making, &part);
            put.map_err(|e| e.to_string())?;
            if self.store.unwritten() >= WRITE_AT {
                self.again(Store::write).await?;
            }
        }
        Ok(making)
    }

    /// Where the files end.
    fn end(&self) -> Place {
        let state = self.store.state();
        Place {
            file: state.file,
            position: state.position,
        }
    }

    /// There is nothing to do: what was put in is written and shown.
    async fn pause(&mut self) -> Result<(), String> {
        let position = self.source.position();
        self.past_start(position).await?;
        self.write(true).await?;
        if position.0.saturating_sub(self.kept.0) >= LOG_KEPT {
            self.store.go_on_from(self.source.resume());
            self.sync().await?;
        }
        Ok(())
    }

    /// Once all is there that the log had at the start, the settings of now are in force, and the next file is begun.
    async fn past_start(&mut self, position: Lsn) -> Result<(), String> {
        let Some(start) = self.start.take_if(|s| position >= s.log_end) else {
            return Ok(());
        };
        self.again(|s| s.set(start.settings.clone())).await?;
        let now = (self.clock.wall_us() / SECOND) as u32;
        self.next_file(now).await
    }

    async fn write(&mut self, whole: bool) -> Result<(), String> {
        self.again(Store::flush).await?;
        self.look_for_files()?;
        let read = match whole {
            true => self.source.position(),
            false => self.store.done(),
        };
        self.feed.show(&self.store, read, self.ends, false);
        Ok(())
    }

    async fn sync(&mut self) -> Result<(), String> {
        self.again(Store::sync).await?;
        self.kept = self.store.resume();
        self.source.keep_from(self.kept);
        self.feed
            .show(&self.store, self.store.done(), self.ends, false);
        Ok(())
    }

    async fn next_file(&mut self, created: u32) -> Result<(), String> {
        self.again(|s| s.rotate(created)).await?;
        self.expire().await?;
        self.kept = self.store.resume();
        self.source.keep_from(self.kept);
        self.feed
            .show(&self.store, self.store.done(), self.ends, true);
        Ok(())
    }

    /// Removes the files whose time is over.
    async fn expire(&mut self) -> Result<(), String> {
        let seconds = (self.expire)();
        if seconds == 0 {
            return Ok(());
        }
        let now = self.clock.wall_us() / SECOND;
        let Some(before) = u32::try_from(now - seconds as i64).ok() else {
            return Ok(());
        };
        match self.store.first_since(before) {
            Ok(first) => self.again(|s| s.purge(first)).await,
            Err(e) => Err(e.to_string()),
        }
    }

    /// Does what is requested; what is answered to that.
    ///
    /// # Errors
    /// The files cannot be gone on with.
    async fn grant(&mut self, asked: &Arc<Asked>) -> Result<Result<(), Refusal>, String> {
        // Where there is no room it is said so at once.
        let patient = !asked.request.waits_for_no_room();
        self.room.told = (!patient).then(|| Arc::clone(asked));
        self.write(false).await?;
        if !patient && self.room.told.is_none() {
            return Ok(Ok(()));
        }
        match &asked.request {
            // What has begun is done when there is room.
            LogRequest::Rotate => self.next_file(0).await?,
            LogRequest::Set(settings) => self.again(|s| s.set(settings.clone())).await?,
            LogRequest::Purge(first) => self.again(|s| s.purge(*first)).await?,
            LogRequest::AddPurged(set) => self.again(|s| s.add_purged(set)).await?,
            LogRequest::Reset(first) => {
                match self.store.begin_reset(*first) {
                    Ok(()) => {}
                    // Nothing is lost yet, and nothing will be.
                    Err(e) if shortage(&e).is_some() => {
                        return Ok(Err(Refusal::Short(self.lack(&e))));
                    }
                    Err(e) => return Err(e.to_string()),
                }
                // From here on it is done, and makes room.
                self.room.told = None;
                self.feed.begin_anew();
                self.again(|s| s.reset(*first)).await?;
                self.ends = self.end();
            }
        }
        self.room.told = None;
        self.feed
            .show(&self.store, self.store.done(), self.ends, true);
        Ok(Ok(()))
    }
}
