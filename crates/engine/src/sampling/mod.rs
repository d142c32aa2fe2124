//! Statistics of tables nobody has to ask for: who notices that a table has changed enough, the task that takes samples, and dives for
//! a range. What is made of the samples is in [`crate::stats`].
//!
//! A table is looked at when a tenth of its rows has changed, a moment after that, and not again before it has had a rest of many times
//! what the look took. The tables wait in a queue; the task sleeps until one of them is due.

mod prefixes;
mod range;
mod sample;

use crate::engine::Engine;
use crate::error;
use crate::schema::{Look, Table, TableUse};
use crate::session::Session;
use crate::stats::Histogram;
use base::environment;
use pager::OpError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use types::SqlError;

/// A load that has just begun, or a table that is made only to be dropped again, gets this time before it is looked at, in microseconds.
const SETTLE_US: u64 = 200_000;
/// The least rest of a table between two looks, and how many times what a look took.
const REST_US: u64 = 1_000_000;
const REST_TIMES: u64 = 50;

/// Why no figures were made.
enum NoSample {
    /// The table's definition is about to change, or the engine stops.
    Later,
    /// It was not to be read, or the statement was ended.
    Failed(SqlError),
}

impl From<SqlError> for NoSample {
    fn from(e: SqlError) -> NoSample {
        NoSample::Failed(e)
    }
}

/// Whether a look may go on.
type GoOn<'f> = dyn Fn() -> Result<(), NoSample> + Send + Sync + 'f;

impl Engine {
    /// A row of the table was changed, put in or taken out: `rows` more there are.
    #[inline]
    pub(crate) fn row_changed(&self, t: &Table, rows: i64) {
        if rows != 0 {
            t.count_rows(rows);
        }
        self.defragmenter.note_change();
        if t.live.counts.changed() {
            self.look_at_changes(t);
        }
    }

    #[cold]
    fn look_at_changes(&self, t: &Table) {
        let now = self.environment().clock.now_us();
        let rest = t.live.counts.rest_until.load(Ordering::Relaxed);
        match t.live.counts.look() {
            Look::Nothing => {}
            Look::Due => self.sampling.ask(t.def.id, (now + SETTLE_US).max(rest)),
            Look::Urgent => self.sampling.ask(t.def.id, now + SETTLE_US),
        }
    }

    /// Has figures of a table made soon: whoever plans with it knows too little of it.
    pub fn want_stats(&self, t: &Table) {
        if t.live.counts.become_due() == Look::Due {
            let now = self.environment().clock.now_us();
            let rest = t.live.counts.rest_until.load(Ordering::Relaxed);
            self.sampling.ask(t.def.id, (now + SETTLE_US).max(rest));
        }
    }

    /// Whether figures are made of tables that have changed, without being asked for. They are unless this says otherwise.
    pub fn set_auto_stats(&self, on: bool) {
        self.sampling.on.store(on, Ordering::Release);
        self.sampling.event.fire();
    }

    /// The task that makes figures.
    pub(crate) async fn run_sampling(self: Arc<Self>) {
        loop {
            let asked = self.sampling.asked();
            let next = self
                .sampling
                .event
                .wait_for(|| {
                    if self.stopping.load(Ordering::Acquire) {
                        return Some(None);
                    }
                    let on = self.sampling.on.load(Ordering::Acquire);
                    self.sampling.next().filter(|_| on).map(Some)
                })
                .await;
            let Some((id, at)) = next else { return };
            if at > self.environment().clock.now_us() {
                self.sleep_until(at, asked).await;
                continue;
            }
            self.sampling.remove(id);
            self.sample_in_turn(id).await;
        }
    }

    /// Sleeps until a time, or until another table is put in, or the engine stops.
    async fn sleep_until(&self, at: u64, asked: u64) {
        let clock = &self.environment().clock;
        let timer = environment::deadline(&**clock, at);
        let mut timer = std::pin::pin!(timer);
        std::future::poll_fn(|cx| {
            self.sampling.event.park(cx);
            if self.stopping.load(Ordering::Acquire) || self.sampling.asked() != asked {
                return Poll::Ready(());
            }
            timer.as_mut().poll(cx)
        })
        .await;
    }

    /// A table's turn: on a thread of its own, where one is to be had, which leaves others more of a busy machine.
    async fn sample_in_turn(self: &Arc<Self>, id: u32) {
        let done = Arc::new((AtomicBool::new(false), base::Event::new()));
        let (engine, told) = (self.clone(), Told(done.clone()));
        let work = async move {
            let _told = told;
            engine.sample_by_id(id).await;
        };
        if self.spawn_work("statistics", true, work).is_err() {
            self.sample_by_id(id).await;
            return;
        }
        let ended = || done.0.load(Ordering::Acquire).then_some(());
        done.1.wait_for(ended).await;
    }

    async fn sample_by_id(self: &Arc<Self>, id: u32) {
        let named = || self.catalog().tables().find(|t| t.def.id == id).cloned();
        let Some(t) = self.unnamed.get(id).or_else(named) else {
            return;
        };
        let clock = &self.environment().clock;
        let held = TableUse::announce(&t, false);
        let begun = clock.now_us();
        let go_on = || {
            let replaced = t.retired.load(Ordering::SeqCst);
            let stop = replaced || !t.lock.admits(false) || self.stopping.load(Ordering::Acquire);
            match stop {
                true => Err(NoSample::Later),
                false => Ok(()),
            }
        };
        let done = match go_on() {
            Ok(()) => self.make_stats(&t, &go_on).await,
            Err(e) => Err(e),
        };
        if done.is_ok() {
            // A full disk or a closed log: others say so.
            let _ = self.save_stats(&t, false).await;
        }
        drop(held);
        let now = clock.now_us();
        let rest = now + REST_US.max((now - begun) * REST_TIMES);
        t.live.counts.rest_until.store(rest, Ordering::Relaxed);
        match done {
            Ok(()) => {}
            Err(NoSample::Later) => self.sampling.ask(id, now + REST_US),
            // What cannot be read now may be later, when more has changed.
            Err(NoSample::Failed(_)) => {
                let counts = &t.live.counts;
                counts.made(counts.changes(), counts.rows());
            }
        }
    }

    /// Makes figures of a table that somebody holds, and shows them.
    async fn make_stats(
        self: &Arc<Self>,
        t: &Arc<Table>,
        go_on: &GoOn<'_>,
    ) -> Result<(), NoSample> {
        let changes = t.live.counts.changes();
        let stats = self.sample_table(t, go_on).await?;
        let rows = stats.rows;
        t.known.put(stats);
        t.live.counts.made(changes, rows);
        Ok(())
    }
}

/// Tells that the work is done, however it ends.
struct Told(Arc<(AtomicBool, base::Event)>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
        if !base::mutant!("sample-made-without-a-word") {
            self.0.1.fire();
        }
    }
}

impl Session {
    /// Makes figures of a table that this session holds, now: ANALYZE TABLE.
    ///
    /// # Errors
    /// The statement was interrupted; what cannot be read.
    pub async fn analyze_table(&mut self, t: &Arc<Table>) -> Result<(), SqlError> {
        let interrupt = self.interrupt.clone();
        let go_on = || interrupt.check().map_err(NoSample::Failed);
        let engine = self.engine.clone();
        match engine.make_stats(t, &go_on).await {
            Ok(()) => engine.save_stats(t, true).await,
            Err(NoSample::Failed(e)) => Err(e),
            Err(NoSample::Later) => {
                Err(error::storage(OpError::Dropped(t.space_id()), &t.full_name))
            }
        }
    }

    /// Sets the histograms of a table that this session holds, as they are shown: those of these columns, and of others as they were. An empty
    /// text takes one away.
    ///
    /// # Errors
    /// What making figures fails with, where there are none yet.
    pub async fn set_histograms(
        &mut self,
        t: &Arc<Table>,
        changed: Vec<Histogram>,
    ) -> Result<(), SqlError> {
        if t.stats().is_none() {
            self.analyze_table(t).await?;
        }
        let mut all = t.histograms().to_vec();
        all.retain(|h| changed.iter().all(|c| c.column != h.column));
        all.extend(changed.into_iter().filter(|h| !h.json.is_empty()));
        all.sort_by(|a, b| a.column.cmp(&b.column));
        t.known.put_histograms(all.into());
        self.engine.clone().save_stats(t, true).await
    }
}
