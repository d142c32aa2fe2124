//! The archive of the binary log: each file that is shown is copied into a folder elsewhere, and the one that is being written is brought up to
//! date about once a second, so that a machine that is lost takes no more of the binary log than that.
//!
//! | module | what |
//! |---|---|
//! | [`marker`] | the archive's own file: whose it is, and how far it is whole |
//! | [`copier`] | files are copied, a step at a time |
//!
//! A task of its own follows what is shown as a dump does. It is woken by the first thing that is shown after a pause, and pauses for a second
//! behind each time that it has caught up: no commit and no file of the server waits for it, and it wakes no more often than that.
//!
//! What it never does: let a file be purged that the archive lacks, write over what the archive has, or hold a commit up.

pub mod copier;
pub mod marker;

use crate::files::names::Names;
use crate::files::read::read_head;
use crate::files::store::LogFile;
use crate::service::BinaryLog;
use crate::service::feed::{Feed, View};
use base::environment::{Disk, OpenMode, deadline};
use base::lock::Mutex;
use base::{Clock, Environment, Event, Lsn};
use copier::{Copier, Step, Trouble};
use sql_expr::vars::{StatusSource, StatusValue};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

/// Between two times, in microseconds; likewise until something that has failed is tried again.
const PAUSE: u64 = 1_000_000;
/// At the end of the server it goes on for so long, in microseconds: what is left then is archived by the next start.
const LAST: u64 = 10_000_000;

/// Who is told what of the archive: whether it is an error, and the text.
pub type Listener = Arc<dyn Fn(bool, &str) + Send + Sync>;

/// How the archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Health {
    /// It follows.
    #[default]
    On,
    /// Something has failed, and is tried again.
    Retrying,
    /// It has stopped: nothing is archived before the server is started anew.
    Stopped,
}

#[derive(Default)]
struct Status {
    health: Health,
    at: Option<Step>,
    errors: u64,
    /// Why it does not follow.
    why: String,
    listener: Option<Listener>,
}

/// RESET wants to begin with a file.
struct Asked {
    first: u32,
    answer: Mutex<Option<Result<u32, String>>>,
}

#[derive(Default)]
struct Requests {
    queue: VecDeque<Arc<Asked>>,
    /// So many statements want nothing to be copied.
    held: usize,
    ending: bool,
    ended: bool,
}

/// The archive of a server's binary log.
pub struct Archive {
    feed: Arc<Feed>,
    names: Names,
    disk: Arc<dyn Disk>,
    /// The first file that it lacks, or has not whole; 0: it is not known.
    lacks: AtomicU32,
    log_end: Lsn,
    status: Mutex<Status>,
    requests: Mutex<Requests>,
    asked: Event,
    answered: Event,
}

/// While it lives, nothing is copied: the binary log is begun anew.
pub struct Held {
    of: Arc<Archive>,
    /// With this file.
    pub first: u32,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of.requests.lock().held -= 1;
        if !base::mutant!("archive-let-go-without-a-word") {
            self.of.asked.fire();
        }
    }
}

/// What was shown when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    epoch: u64,
    last: Option<LogFile>,
    /// All that the log had at the start is there.
    started: bool,
}

impl Seen {
    fn of(v: &View, log_end: Lsn) -> Seen {
        Seen {
            epoch: v.epoch,
            last: v.files.last().copied(),
            started: v.read >= log_end,
        }
    }
}

enum Turn {
    Copy,
    Reset(Arc<Asked>),
    End,
}

/// The task.
struct Follower {
    archive: Arc<Archive>,
    copier: Copier,
    clock: Arc<dyn Clock>,
    /// All of this was archived.
    seen: Option<Seen>,
    /// Not before this time.
    next: u64,
}

impl Archive {
    /// Begins to archive the files of `log` in `dir`, for the server of this UUID. `log_end`: of the log at the start.
    pub fn begin(
        environment: &Environment,
        log: &BinaryLog,
        log_end: Lsn,
        (dir, uuid): (PathBuf, &str),
    ) -> Arc<Archive> {
        let archive = Arc::new(Archive {
            feed: log.feed().clone(),
            names: log.names().clone(),
            disk: environment.disk.clone(),
            lacks: AtomicU32::new(0),
            log_end,
            status: Mutex::default(),
            requests: Mutex::default(),
            asked: Event::new(),
            answered: Event::new(),
        });
        let disk = environment.disk.clone();
        let copier = Copier::new(disk, log.names().clone(), dir, uuid.to_owned());
        let follower = Follower {
            archive: archive.clone(),
            copier,
            clock: environment.clock.clone(),
            seen: None,
            next: 0,
        };
        let task = Box::pin(follower.run());
        environment.spawn.spawn("binlog-archive", task);
        archive
    }

    /// From now on `listener` is told when it fails and when it goes on; first of what is so now. It must not wait.
    pub fn on_change(&self, listener: Listener) {
        let why = {
            let mut told = self.status.lock();
            told.listener = Some(listener.clone());
            told.why.clone()
        };
        if !why.is_empty() {
            listener(true, &why);
        }
    }

    /// The first file that may not be purged; 0: none may.
    pub fn lacks(&self) -> u32 {
        self.lacks.load(Ordering::Acquire)
    }

    /// For how many seconds files are kept that are to be kept for `seconds` (0: for ever), so that none goes that the archive lacks. `now`: in seconds
    /// since 1970.
    ///
    /// A file goes when the next was begun longer ago than that.
    pub fn keep(&self, seconds: u64, now: i64) -> u64 {
        let lacks = self.lacks();
        if seconds == 0 || lacks == 0 {
            return 0;
        }
        // It is more than a file behind.
        if self.disk.exists(&self.names.path(lacks.saturating_add(2))) {
            return 0;
        }
        let next = self.names.path(lacks.saturating_add(1));
        match self.disk.open(&next, OpenMode::Buffered, false) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => seconds,
            Err(_) => 0,
            Ok(file) => match read_head(&*file) {
                // The clock may go on before it is looked at again.
                Ok(head) => {
                    let age = (now - i64::from(head.began)).max(0) as u64;
                    seconds.max(age + 2)
                }
                Err(_) => 0,
            },
        }
    }

    /// Has all archived that is shown, and says in the archive that RESET begins the binary log anew; nothing more is archived as long as what this
    /// gives lives. `first`: what was asked for, 1 where nothing was.
    ///
    /// # Errors
    /// Why it cannot be begun anew.
    pub async fn before_reset(self: &Arc<Self>, first: u32) -> Result<Held, String> {
        let asked = Arc::new(Asked {
            first,
            answer: Mutex::new(None),
        });
        let mut held = {
            let mut requests = self.requests.lock();
            if requests.ended {
                return Err("the server is being shut down".to_owned());
            }
            requests.held += 1;
            requests.queue.push_back(asked.clone());
            Held {
                of: self.clone(),
                first,
            }
        };
        if !base::mutant!("archive-asked-without-a-word") {
            self.asked.fire();
        }
        let answer = || asked.answer.lock().take();
        held.first = self.answered.wait_for(answer).await?;
        Ok(held)
    }

    /// Archives what is left, and ends the task.
    pub async fn end(&self) {
        self.requests.lock().ending = true;
        if !base::mutant!("archive-told-to-end-without-a-word") {
            self.asked.fire();
        }
        let ended = || self.requests.lock().ended.then_some(());
        self.answered.wait_for(ended).await;
    }

    fn is_asked(&self) -> bool {
        let requests = self.requests.lock();
        requests.ending || !requests.queue.is_empty()
    }

    fn tell(&self, error: bool, text: &str) {
        let listener = self.status.lock().listener.clone();
        if let Some(listener) = listener {
            listener(error, text);
        }
    }

    /// It has gone on.
    fn went_on(&self, step: Step) {
        let was = {
            let mut told = self.status.lock();
            told.at = Some(step);
            told.why.clear();
            std::mem::take(&mut told.health)
        };
        if was != Health::On {
            let name = self.names.name(step.file);
            let text = format!("the archive of the binary log goes on with {name}");
            self.tell(false, &text);
        }
    }

    /// It has not.
    fn failed(&self, trouble: &Trouble) {
        let (health, why) = match trouble {
            Trouble::Passing(why) => (
                Health::Retrying,
                format!("the binary log cannot be archived, which is tried again: {why}"),
            ),
            Trouble::Final(why) => (
                Health::Stopped,
                format!("the binary log is not archived any more: {why}"),
            ),
        };
        {
            let mut told = self.status.lock();
            told.errors += 1;
            told.health = health;
            // Tried again and again, it is told once.
            if told.why == why {
                return;
            }
            told.why.clone_from(&why);
        }
        self.tell(true, &why);
    }

    /// Bytes of files that are not archived.
    fn behind(&self, at: Option<Step>) -> u64 {
        self.feed.with(|v| {
            let left = |f: &LogFile| match at {
                Some(at) if f.number < at.file => 0,
                Some(at) if f.number == at.file => f.size.saturating_sub(at.position),
                _ => f.size,
            };
            v.files.iter().map(left).sum()
        })
    }
}

impl StatusSource for Archive {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        let (health, at, errors, why) = {
            let told = self.status.lock();
            (told.health, told.at, told.errors, told.why.clone())
        };
        let text = |text: &str| StatusValue::Text(text.to_owned());
        let health = match health {
            Health::On => "ON",
            Health::Retrying => "RETRYING",
            Health::Stopped => "STOPPED",
        };
        let file = at.filter(|at| at.file > 0);
        let name = file.map_or(String::new(), |at| self.names.name(at.file));
        out("Binlog_archive_status", text(health));
        out("Binlog_archive_last_file", text(&name));
        let position = at.map_or(0, |at| at.position);
        out("Binlog_archive_last_position", StatusValue::Count(position));
        let behind = self.behind(at);
        out("Binlog_archive_behind", StatusValue::Count(behind));
        out("Binlog_archive_errors", StatusValue::Count(errors));
        out("Binlog_archive_last_error", text(&why));
    }
}

impl Follower {
    async fn run(mut self) {
        loop {
            match self.turn().await {
                Turn::Copy => {
                    let stop = || self.archive.is_asked();
                    let done = Self::archive_shown(&self.archive, &mut self.copier, &stop);
                    self.took(done);
                }
                Turn::Reset(asked) => {
                    let r = self.before_reset(asked.first);
                    *asked.answer.lock() = Some(r);
                    if !base::mutant!("archive-answers-without-a-word") {
                        self.archive.answered.fire();
                    }
                }
                Turn::End => break,
            }
        }
        if !self.is_stopped() {
            let until = self.clock.now_us() + LAST;
            let stop = || self.clock.now_us() >= until;
            let done = Self::archive_shown(&self.archive, &mut self.copier, &stop);
            self.took(done);
        }
        let Follower {
            archive, copier, ..
        } = self;
        // Another may have the archive from here on.
        drop(copier);
        let left = {
            let mut requests = archive.requests.lock();
            requests.ended = true;
            std::mem::take(&mut requests.queue)
        };
        for asked in left {
            *asked.answer.lock() = Some(Err("the server is being shut down".to_owned()));
        }
        if !base::mutant!("archive-ended-without-a-word") {
            archive.answered.fire();
        }
    }

    fn is_stopped(&self) -> bool {
        self.archive.status.lock().health == Health::Stopped
    }

    /// What comes next.
    async fn turn(&mut self) -> Turn {
        let (seen, stopped) = (self.seen, self.is_stopped());
        let archive = &self.archive;
        let mut pause = pin!(deadline(&*self.clock, self.next));
        let more = |v: &View| (Some(Seen::of(v, archive.log_end)) != seen).then_some(());
        let mut more = pin!(archive.feed.wait_for_events(false, more));
        let mut paused = true;
        poll_fn(|cx| {
            archive.asked.park(cx);
            {
                let mut requests = archive.requests.lock();
                if let Some(asked) = requests.queue.pop_front() {
                    return Poll::Ready(Turn::Reset(asked));
                }
                if requests.ending {
                    return Poll::Ready(Turn::End);
                }
                if requests.held > 0 || stopped {
                    return Poll::Pending;
                }
            }
            // What is shown wakes nobody in the pause.
            if paused && pause.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            paused = false;
            more.as_mut().poll(cx).map(|()| Turn::Copy)
        })
        .await
    }

    /// Archives all that is shown, or as much until `stop`. Gives what was seen; `None`: there is more.
    fn archive_shown(
        archive: &Archive,
        copier: &mut Copier,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Seen>, Trouble> {
        loop {
            let (seen, files) = archive
                .feed
                .with(|v| (Seen::of(v, archive.log_end), v.files.clone()));
            let step = copier.step(&files, seen.started);
            let now = archive.feed.with(|v| v.epoch);
            if now != seen.epoch {
                // RESET has taken the files meanwhile: what came of it means nothing.
                return Ok(None);
            }
            archive.lacks.store(copier.lacks(&files), Ordering::Release);
            let step = step?;
            archive.went_on(step);
            if !step.more {
                return Ok(Some(seen));
            }
            if stop() {
                return Ok(None);
            }
        }
    }

    fn took(&mut self, done: Result<Option<Seen>, Trouble>) {
        let now = self.clock.now_us();
        match done {
            Ok(Some(seen)) => (self.seen, self.next) = (Some(seen), now + PAUSE),
            Ok(None) => self.seen = None,
            Err(trouble) => {
                self.archive.failed(&trouble);
                (self.seen, self.next) = (None, now + PAUSE);
            }
        }
    }

    fn before_reset(&mut self, first: u32) -> Result<u32, String> {
        if self.is_stopped() {
            return Err(self.archive.status.lock().why.clone());
        }
        let done = Self::archive_shown(&self.archive, &mut self.copier, &|| false);
        if let Err(trouble) = done {
            self.archive.failed(&trouble);
            return Err(self.archive.status.lock().why.clone());
        }
        self.seen = None;
        let files = self.archive.feed.with(|v| v.files.clone());
        let number = self.copier.before_reset(&files, first);
        number.map_err(|trouble| match trouble {
            Trouble::Passing(why) | Trouble::Final(why) => why,
        })
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod waits;
