//! Space comes back by itself: a task packs the leaves of trees that deletes and splits have worn, moves pages from the end of a table's file to free
//! ones in front, and gives the end back to the file system. (docs/decisions/0084)
//!
//! A table is looked at once a tick while something changes anywhere. It gets its turn when it has been quiet for a few ticks; for longer each time when
//! its leaves were split again soon after they had been packed. When there is nothing left to do the task sleeps until a row is changed, and a
//! server at rest writes nothing.
//!
//! Must never do: hold more than what one change of two leaves takes; go on while files are to stay as they are.

mod turn;

use crate::engine::Engine;
use crate::schema::Table;
use crate::session::Session;
use crate::worn_tables::{IndexSpace, Pause};
use base::environment;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use types::SqlError;

/// Where others commit it rests so many times as long as it has worked, in pieces of so many microseconds.
const REST_TIMES: u64 = 9;
const REST_US: u64 = 5_000;

impl Engine {
    /// Whether space comes back by itself (`innodb_defragment`). It does unless this says otherwise.
    pub fn set_defragment(&self, on: bool) {
        self.defragmenter.set_on(on);
    }

    /// What is known of the space of a table's indexes, by their ids.
    pub fn index_space(&self, t: &Table) -> Vec<(u32, IndexSpace)> {
        self.defragmenter.index_space(t.def.id)
    }

    /// Bytes of a table's file that went back to the file system since the start.
    pub fn reclaimed_bytes(&self, t: &Table) -> u64 {
        self.defragmenter.cut_pages(t.def.id) * pager::PAGE_SIZE as u64
    }

    /// The task.
    pub(crate) async fn run_defragmenter(self: Arc<Self>) {
        let d = &self.defragmenter;
        let mut commits = 0;
        loop {
            let stopping = || self.stopping.load(Ordering::Acquire);
            let work = d.event.wait_for(|| match stopping() {
                true => Some(false),
                false => (d.is_on() && d.is_awake()).then_some(true),
            });
            if !work.await {
                return;
            }
            loop {
                self.pause(d.options.tick_us, &d.event).await;
                if stopping() {
                    return;
                }
                if !d.is_on() {
                    break;
                }
                // Before the look: what changes from here on wakes it again.
                d.begin_look();
                let now = self.counters.commits.get();
                let idle = std::mem::replace(&mut commits, now) == now;
                let more = self.look_at_tables(idle).await;
                if !more && !d.is_awake() {
                    break;
                }
            }
        }
    }

    /// Gives each table its turn that is due; whether another look is needed though nothing changes. `idle`: nothing was committed since the last look.
    async fn look_at_tables(self: &Arc<Self>, idle: bool) -> bool {
        let tables: Vec<Arc<Table>> = self.catalog().tables().cloned().collect();
        self.defragmenter.forget_others(&tables);
        let mut more = false;
        for t in tables {
            if t.def.is_temporary() || t.def.options.discarded {
                continue;
            }
            let look = self.defragmenter.look(&t);
            more |= look.waits;
            if !look.due {
                continue;
            }
            more |= self.turn_in_turn(t, look.busy).await;
            if self.stopping.load(Ordering::Acquire) || self.log.failure().is_some() {
                return false;
            }
        }
        if idle && self.defragmenter.cuts_wait(|cut| !self.pager.may_cut(cut)) {
            // On a busy server a checkpoint comes by itself. What it fails with others say.
            let _ = self.pager.flush_all().await;
        }
        more
    }

    /// A table's turn: on a thread of its own, where one is to be had, which leaves others more of a busy machine.
    async fn turn_in_turn(self: &Arc<Self>, t: Arc<Table>, busy: bool) -> bool {
        let done = Arc::new((AtomicBool::new(false), base::Event::new()));
        let more = Arc::new(AtomicBool::new(false));
        let (engine, told) = (self.clone(), Told(done.clone()));
        let (table, answer) = (t.clone(), more.clone());
        let work = async move {
            let _told = told;
            let more = engine.defragment_table(&table, busy).await;
            answer.store(more, Ordering::Release);
        };
        if self.spawn_work("defragmenter", true, work).is_err() {
            return self.defragment_table(&t, busy).await;
        }
        let ended = || done.0.load(Ordering::Acquire).then_some(());
        done.1.wait_for(ended).await;
        more.load(Ordering::Acquire)
    }

    /// Gives way to others between two steps, and longer where others commit, but not while somebody wants the table.
    async fn pace(&self, t: &Table, begun: u64, commits: &mut u64) {
        let clock = &self.environment().clock;
        let now = self.counters.commits.get();
        if std::mem::replace(commits, now) != now {
            let now_us = clock.now_us();
            let until = now_us + REST_TIMES * now_us.saturating_sub(begun);
            while clock.now_us() < until && self.turn_goes_on(t) {
                let rest = REST_US.min(until.saturating_sub(clock.now_us()));
                self.pause(rest, &self.defragmenter.event).await;
            }
        }
        environment::yield_now(&*self.environment().spawn).await;
    }
}

impl Session {
    /// Keeps pages of tables where they are until this is dropped; what is under way ends first.
    ///
    /// # Errors
    /// The statement was interrupted.
    pub(crate) async fn keep_pages_still(&mut self) -> Result<Pause, SqlError> {
        let engine = self.engine.clone();
        let d = &engine.defragmenter;
        let pause = Pause::begin(d);
        self.wait_unless_killed(&d.idle, || d.is_idle()).await?;
        Ok(pause)
    }
}

/// Tells that the work is done, however it ends.
struct Told(Arc<(AtomicBool, base::Event)>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
        if !base::mutant!("defragmented-without-a-word") {
            self.0.1.fire();
        }
    }
}
