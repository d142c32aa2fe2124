//! What is shown of the files, to whoever reads them: dumps and statements. The worker tells it, and wakes those who wait for more.
//!
//! What it never does: show what a crash could take.

use super::compression::Counted;
use super::refusal::Lack;
use crate::derive::Settings;
use crate::files::store::{LogFile, Store};
use crate::semi_sync::{Place, SemiSync};
use base::lock::Mutex;
use base::{Event, Lsn};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Context;
use types::gtid::{Gtid, GtidSet};

/// How the worker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It makes files.
    Runs,
    /// It has ended in good order.
    Ended,
    /// It cannot go on; why.
    Failed(String),
}

/// What is shown.
#[derive(Debug, Clone)]
pub struct View {
    /// Counts how often the files were begun anew: positions of before mean nothing then.
    pub epoch: u64,
    /// All files in order, the last being written.
    pub files: Vec<LogFile>,
    /// All transactions.
    pub executed: GtidSet,
    /// Those that are in no file any more.
    pub purged: GtidSet,
    /// What was committed before this position of the log is shown.
    pub read: Lsn,
    /// The commit record of the last of `executed`.
    pub done: Lsn,
    /// The settings in force.
    pub settings: Settings,
    /// How the worker is.
    pub health: Health,
    /// It has no room for what comes next, and waits for some.
    pub short: Option<Lack>,
}

impl View {
    /// The size of a file, and whether another follows it; `None`: there is no such file.
    pub fn file(&self, number: u32) -> Option<(u64, bool)> {
        let at = self.files.binary_search_by_key(&number, |f| f.number);
        let at = at.ok()?;
        Some((self.files[at].size, at + 1 < self.files.len()))
    }

    /// Takes over the files that are there now. Those that had ended before are as they were, so thousands of them cost nothing at each step.
    fn follow(&mut self, files: &[LogFile]) {
        let known = self.files.len();
        let same = files.first().map(|f| f.number) == self.files.first().map(|f| f.number);
        if same && known <= files.len() && known > 0 {
            self.files.truncate(known - 1);
            self.files.extend_from_slice(&files[known - 1..]);
        } else {
            self.files = files.to_vec();
        }
    }

    /// The number of the file behind this one.
    pub fn behind(&self, number: u32) -> Option<u32> {
        let at = self.files.partition_point(|f| f.number <= number);
        Some(self.files.get(at)?.number)
    }
}

/// Who has asked what transactions are called. Numbers of before a crash are in the log, and nobody's: they begin with the time of the start.
#[derive(Default)]
struct Asked {
    last: u64,
    names: HashMap<u64, GtidSet>,
}

/// See the module.
pub struct Feed {
    view: Mutex<View>,
    asked: Mutex<Asked>,
    /// What is shown has changed: for those who hold somebody up meanwhile.
    moved: Event,
    /// The same for those who do not: dumps whose replica acknowledges nothing.
    moved_for_dumps: Event,
    /// Somebody has begun to wait.
    wanted: Event,
    /// How often somebody has begun to wait that holds somebody up.
    begun: AtomicU64,
    compression: Counted,
    semi_sync: Arc<SemiSync>,
}

impl Feed {
    /// What a store has to show.
    pub fn new(store: &Store, semi_sync: Arc<SemiSync>) -> Feed {
        Feed {
            view: Mutex::new(View {
                epoch: 0,
                files: store.list().to_vec(),
                executed: store.state().executed.clone(),
                purged: store.purged(),
                read: Lsn::NONE,
                done: store.done(),
                settings: store.state().settings.clone(),
                health: Health::Runs,
                short: None,
            }),
            asked: Mutex::default(),
            moved: Event::new(),
            moved_for_dumps: Event::new(),
            wanted: Event::new(),
            begun: AtomicU64::new(0),
            compression: Counted::default(),
            semi_sync,
        }
    }

    /// What compressing transactions comes to.
    pub fn compression(&self) -> &Counted {
        &self.compression
    }

    /// Looks.
    pub fn with<R>(&self, look: impl FnOnce(&View) -> R) -> R {
        look(&self.view.lock())
    }

    /// Waits until `ready` gives something; it is asked whenever something has changed.
    pub async fn wait_for<R>(&self, ready: impl FnMut(&View) -> Option<R>) -> R {
        self.wait_on(&self.moved, ready).await
    }

    /// The same for a dump, which can take together what comes within a moment; `urgent`: commits wait for what its replica says.
    pub async fn wait_for_events<R>(
        &self,
        urgent: bool,
        ready: impl FnMut(&View) -> Option<R>,
    ) -> R {
        let event = match urgent {
            true => &self.moved,
            false => &self.moved_for_dumps,
        };
        self.wait_on(event, ready).await
    }

    async fn wait_on<R>(&self, event: &Event, mut ready: impl FnMut(&View) -> Option<R>) -> R {
        let ready = || self.with(&mut ready);
        if std::ptr::eq(event, &self.moved) {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        if base::mutant!("files-waited-for-without-a-word") {
            return event.wait_for(ready).await;
        }
        event.wait_and_tell(&self.wanted, ready).await
    }

    /// How often somebody has begun to wait that holds somebody up. Who looks at the log after this is asked finds all that those wait for who have begun by then.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    /// Whether somebody waits that holds somebody up. It is noticed later too by a task that is woken then.
    pub(super) fn is_wanted(&self, cx: &Context<'_>) -> bool {
        self.wanted.park(cx);
        self.moved.has_waiters()
    }

    /// Whether a dump waits; likewise.
    pub(super) fn is_wanted_by_dumps(&self, cx: &Context<'_>) -> bool {
        self.wanted.park(cx);
        self.moved_for_dumps.has_waiters()
    }

    #[cfg(test)]
    pub(crate) fn dumps_wait(&self) -> bool {
        self.moved_for_dumps.has_waiters()
    }

    /// From now on the names of transactions that carry the number that is given here are kept. `now`: microseconds since 1970.
    pub fn ask_names(&self, now: u64) -> u64 {
        let mut asked = self.asked.lock();
        asked.last = asked.last.max(now).saturating_add(1);
        let number = asked.last;
        asked.names.insert(number, GtidSet::new());
        number
    }

    /// They are kept no more.
    pub fn forget_names(&self, number: u64) {
        self.asked.lock().names.remove(&number);
    }

    /// The names of those that were shown since this was asked last.
    pub fn take_names(&self, number: u64) -> GtidSet {
        let mut asked = self.asked.lock();
        asked
            .names
            .get_mut(&number)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// A transaction that carries a number is called so.
    pub(super) fn name(&self, number: u64, gtid: Gtid) {
        if let Some(names) = self.asked.lock().names.get_mut(&number) {
            names.add(gtid);
        }
    }

    /// Wakes all who wait, to look again at what is theirs.
    pub fn wake(&self) {
        if !base::mutant!("files-shown-without-a-word") {
            self.moved.fire();
        }
        if !base::mutant!("files-shown-to-dumps-without-a-word") {
            self.moved_for_dumps.fire();
        }
    }

    /// Shows what the store has by now, of which the last transaction ends at `ends`. `all`: more than the last file's end may have changed.
    pub(super) fn show(&self, store: &Store, read: Lsn, ends: Place, all: bool) {
        // Before a dump sees it: it asks which events are to be acknowledged.
        self.semi_sync.shown(ends, read);
        {
            let mut v = self.view.lock();
            v.read = v.read.max(read);
            v.follow(store.list());
            if all {
                v.purged = store.purged();
                v.settings = store.state().settings.clone();
            }
            v.executed.clone_from(&store.state().executed);
            v.done = store.done();
        }
        self.wake();
    }

    /// Says of all positions that they mean nothing any more.
    pub(super) fn begin_anew(&self) {
        self.view.lock().epoch += 1;
        self.semi_sync.begin_anew();
    }

    pub(super) fn set_short(&self, short: Option<Lack>) {
        self.view.lock().short = short;
        self.wake();
    }

    pub(super) fn set_health(&self, health: Health) {
        self.view.lock().health = health;
        self.wake();
    }
}
