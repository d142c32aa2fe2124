//! A seed from beginning to end: one incarnation of the engine after the other on what the power cuts leave of the disk.

use crate::client::{self, Client};
use crate::context::Context;
use crate::disk::{Counts, Cut, Faults, SimDisk, Survivor};
use crate::events;
use crate::exec::{Executor, Stop};
use crate::model::Model;
use crate::plan::{Limits, Plan};
use crate::time::Time;
use crate::{context::Trouble, damage, verify};
use base::SplitMix64;
use base::lock::Mutex;
use engine::{Engine, OpenReport};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the engine's directory is on the simulated disk.
pub const DIR: &str = "/db";
/// Steps after which something goes round in circles.
const ENDLESS: u64 = 3_000_000;
/// Virtual time after which a full disk has room again, in microseconds.
const FULL_FOR_US: u64 = 200_000_000;

/// What came of a seed.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was wrong, if anything.
    pub failure: Option<String>,
    /// What happened, by name.
    pub counts: Counts,
    /// A hash over all decisions and operations.
    pub trace: u64,
}

/// A seed under way.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) rng: SplitMix64,
    pub(crate) model: Arc<Mutex<Model>>,
    pub(crate) counts: Counts,
    trace: u64,
    /// All ends since the last comparison were the process's and not the machine's.
    killed: bool,
    /// Recoveries that were cut short, one after the other.
    in_a_row: u64,
    verbose: bool,
}

/// One incarnation.
pub(crate) struct Life {
    pub(crate) exec: Executor,
    pub(crate) cx: Arc<Context>,
    cut: Cut,
}

impl Life {
    pub(crate) fn new(exec: Executor, cx: Arc<Context>) -> Life {
        Life {
            exec,
            cx,
            cut: Cut::Nothing,
        }
    }
}

type Opened = Arc<Mutex<Option<Result<(Arc<Engine>, OpenReport), String>>>>;

/// What a phase of an incarnation came to.
pub(crate) enum End {
    /// Go on.
    Fine,
    /// The power is off.
    Cut,
    /// Something is wrong.
    Wrong(String),
}

/// Runs a seed.
pub fn simulate(seed: u64, limits: &Limits, verbose: bool) -> Outcome {
    let mut plan = Plan::of(seed, limits);
    plan.verbose = verbose;
    if verbose {
        eprintln!("{plan:?}");
    }
    let mut run = Run {
        rng: SplitMix64::stream(seed, 2),
        model: Arc::default(),
        counts: Counts::new(),
        trace: 0,
        killed: true,
        in_a_row: 0,
        plan,
        verbose,
    };
    let mut survivor = Survivor::empty(run.plan.medium());
    let mut failure = None;
    for round in 0..run.plan.rounds {
        match run.round(survivor, round) {
            Ok(s) => survivor = s,
            Err(e) => {
                failure = Some(format!("round {round}: {e}"));
                survivor = Survivor::empty(run.plan.medium());
                break;
            }
        }
    }
    if failure.is_none() {
        failure = run.last(survivor).err();
    }
    Outcome {
        failure,
        counts: run.counts,
        trace: run.trace,
    }
}

impl Run {
    pub(crate) fn count(&mut self, what: &'static str, n: u64) {
        *self.counts.entry(what).or_default() += n;
    }

    fn merge(&mut self, other: Counts) {
        for (k, n) in other {
            *self.counts.entry(k).or_default() += n;
        }
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            eprintln!("{}", what());
        }
    }

    /// One incarnation: opens, compares, works, and ends one way or another.
    fn round(&mut self, from: Survivor, round: u64) -> Result<Survivor, String> {
        let faulty = round > 0 && self.rng.one_in(2);
        let disk = self.start(from);
        let cut = self.arm(&disk);
        if faulty && self.rng.one_in(4) {
            disk.set_faults(self.plan.faults);
        }
        let mut exec = self.executor(&disk);
        let r = self.open(&mut exec, faulty);
        let (engine, _) = match r {
            Ok(Some(e)) => e,
            Ok(None) => return self.end(exec, disk, cut, None, round),
            Err(e) => return Err(e),
        };
        let cx = Context::new(engine, disk.clone(), self.model.clone(), self.plan.clone());
        events::opened(&cx);
        let mut life = Life {
            exec,
            cx: Arc::new(cx),
            cut,
        };
        disk.set_faults(Faults::default());
        let end = self.work(&mut life, faulty);
        let failures = life.cx.failures();
        let at = life.cx.counts();
        self.merge(at);
        if let Some(f) = failures.first() {
            return Err(f.clone());
        }
        if let End::Wrong(e) = end {
            return Err(e);
        }
        let Life { exec, cx, cut } = life;
        self.end(exec, disk, cut, Some(cx), round)
    }

    pub(crate) fn start(&mut self, from: Survivor) -> SimDisk {
        let rng = SplitMix64::stream(self.rng.next(), 3);
        SimDisk::start(from, Arc::new(Time::default()), rng)
    }

    fn arm(&mut self, disk: &SimDisk) -> Cut {
        let mut cut = self.plan.cut(&mut self.rng);
        if cut == Cut::Kill && self.plan.faults.sync_error > 0 {
            // After a failed sync what is visible and what is on the medium differ for good: only a cut is honest.
            cut = Cut::Sectors(50);
        }
        if !self.rng.one_in(8) {
            let n = self.rng.log_up_to(self.plan.cut_within);
            disk.arm(n, cut);
        }
        cut
    }

    pub(crate) fn executor(&mut self, disk: &SimDisk) -> Executor {
        let rng = SplitMix64::stream(self.rng.next(), 4);
        Executor::new(disk.clone(), disk.time(), rng)
    }

    /// Opens the engine. None: the power went, or a fault that was planned kept it from opening.
    pub(crate) fn open(
        &mut self,
        exec: &mut Executor,
        faulty: bool,
    ) -> Result<Option<(Arc<Engine>, OpenReport)>, String> {
        let slot: Opened = Arc::default();
        let (environment, options) = (
            exec.environment(SplitMix64::stream(self.rng.next(), 5)),
            self.plan.options(),
        );
        let out = slot.clone();
        exec.spawn("open", async move {
            let r = Engine::open_with_report(environment, Path::new(DIR), options).await;
            *out.lock() = Some(r.map_err(|e| e.to_string()));
        });
        let take = |s: &Opened| s.lock().take();
        let there = |s: &Opened| s.lock().is_some();
        let stop = exec.run(ENDLESS, |_| there(&slot));
        match stop {
            Stop::Cut => {
                self.count("cuts during recovery", 1);
                self.in_a_row += 1;
                if self.in_a_row > 1 {
                    self.count("cuts during recovery of a recovery", 1);
                }
                // An engine that was opened in the same poll goes with the rest.
                drop(take(&slot));
                return Ok(None);
            }
            Stop::Done => {}
            s => return Err(format!("open: {s:?}, alive {:?}", exec.alive())),
        }
        self.in_a_row = 0;
        match take(&slot) {
            Some(Ok((e, report))) => {
                self.count("recoveries", 1);
                self.say(|| format!("  open: {report:?}"));
                self.count("losers found", report.losers as u64);
                self.count("orphans removed", report.orphans.len() as u64);
                self.count("pages restored", report.pages.restored_pages);
                if !self.plan.bit_rot
                    && (!report.missing.is_empty()
                        || !report.pages.damaged.is_empty()
                        || report.purge_unread.is_some())
                {
                    return Err(format!("open: {report:?}"));
                }
                Ok(Some((e, report)))
            }
            Some(Err(e)) if faulty && self.has_faults() => {
                self.say(|| format!("  refused: {e}"));
                self.count("starts refused for a fault", 1);
                Ok(None)
            }
            Some(Err(e)) => Err(format!("open: {e}")),
            None => Err("open: no answer".into()),
        }
    }

    fn has_faults(&self) -> bool {
        let f = &self.plan.faults;
        f.read_error + f.write_error + f.sync_error > 0
    }

    /// Runs a task to its end.
    pub(crate) fn task(
        &mut self,
        life: &mut Life,
        name: &str,
        f: impl Future<Output = Result<(), Trouble>> + Send + 'static,
    ) -> End {
        let slot: Arc<Mutex<Option<Result<(), Trouble>>>> = Arc::default();
        let out = slot.clone();
        life.exec.spawn(name, async move {
            let r = f.await;
            *out.lock() = Some(r);
        });
        let there = |s: &Arc<Mutex<Option<_>>>| s.lock().is_some();
        match life.exec.run(ENDLESS, |_| there(&slot)) {
            Stop::Cut => End::Cut,
            Stop::Done => match slot.lock().take() {
                Some(Ok(())) => End::Fine,
                Some(Err(Trouble::Wrong(w))) => End::Wrong(format!("{name}: {w}")),
                r => End::Wrong(format!("{name}: {r:?}")),
            },
            s => End::Wrong(format!("{name}: {s:?}, alive {:?}", life.exec.alive())),
        }
    }

    /// Compares, works, rests.
    fn work(&mut self, life: &mut Life, faulty: bool) -> End {
        let floor = {
            let m = self.model.lock();
            if self.killed { m.written } else { m.durable }
        };
        let cx = life.cx.clone();
        match self.task(life, "verify", async move {
            verify::recovered(&cx, floor, false).await
        }) {
            End::Fine => {}
            e => return e,
        }
        self.count("recoveries compared", 1);
        self.killed = true;
        if self.rng.one_in(4) {
            match self.rest(life) {
                End::Fine => {}
                e => return e,
            }
        }
        let c = Client::new(life.cx.clone(), 0, SplitMix64::stream(self.rng.next(), 6));
        // It sees to it that there are tables.
        match self.task(life, "prepare", async move { c.prepare().await }) {
            End::Fine => {}
            // A fault of the start may have closed the log.
            End::Wrong(_) if faulty && self.has_faults() => return End::Fine,
            e => return e,
        }
        if faulty {
            life.cx.disk.set_faults(self.plan.faults);
            if self.plan.small_room {
                let room = self.rng.log_up_to(6 << 20);
                life.cx.disk.set_room(room);
            }
        } else {
            life.cx.disk.set_faults(Faults {
                slow: self.plan.faults.slow,
                ..Faults::default()
            });
        }
        match self.clients(life) {
            End::Fine => {}
            e => return e,
        }
        life.cx.disk.set_room(u64::MAX);
        if faulty && self.has_faults() {
            return End::Fine;
        }
        if self.rng.one_in(2) {
            match self.rest(life) {
                End::Fine => {}
                e => return e,
            }
        }
        if self.rng.one_in(2) {
            return self.close(life);
        }
        End::Fine
    }

    pub(crate) fn close(&mut self, life: &mut Life) -> End {
        let cx = life.cx.clone();
        let e = self.task(life, "close", async move {
            cx.engine.close().await?;
            let mut m = cx.model();
            // A clean shutdown makes everything durable.
            (m.durable, m.written) = (m.seq, m.seq);
            Ok(())
        });
        if matches!(e, End::Fine) {
            self.count("clean shutdowns", 1);
        }
        e
    }

    fn clients(&mut self, life: &mut Life) -> End {
        let left = Arc::new(AtomicU64::new(self.plan.clients));
        if self.plan.events {
            let reader = events::follow(life.cx.clone());
            life.exec.spawn("groups", reader);
        }
        for n in 1..=self.plan.clients {
            let c = Client::new(life.cx.clone(), n, SplitMix64::stream(self.rng.next(), 6));
            let left = left.clone();
            life.exec.spawn("client", async move {
                c.run().await;
                left.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let mut room_at = match self.plan.small_room {
            true => life.exec.now() + FULL_FOR_US,
            false => u64::MAX,
        };
        loop {
            let cx = life.cx.clone();
            let over = || left.load(Ordering::Relaxed) == 0 || !cx.failures().is_empty();
            let done = |e: &Executor| over() || e.now() >= room_at;
            match life.exec.run(ENDLESS, done) {
                Stop::Done if over() => return End::Fine,
                Stop::Cut => return End::Cut,
                Stop::Done => {
                    // Whoever waits for room gets it when there is some, without asking again.
                    room_at = u64::MAX;
                    life.cx.disk.set_room(u64::MAX);
                    self.count("waits for room", 1);
                }
                s => {
                    let alive = life.exec.alive();
                    return End::Wrong(format!("clients: {s:?}, alive {alive:?}"));
                }
            }
        }
    }

    /// Waits for purge and rollbacks to end, and looks at everything.
    pub(crate) fn rest(&mut self, life: &mut Life) -> End {
        let engine = life.cx.engine.clone();
        if self.plan.prepares {
            let cx = life.cx.clone();
            match self.task(life, "ends", async move { client::end_all(&cx).await }) {
                End::Fine => {}
                End::Wrong(_) if self.has_faults() => return End::Fine,
                e => return e,
            }
        }
        let busy = |e: &Executor| e.has("rollback") || e.has("orphaned-trees");
        let quiet = |e: &Executor| !busy(e) && engine.counters().purge_queue == 0;
        match life.exec.run(ENDLESS, quiet) {
            Stop::Done => {}
            Stop::Cut => return End::Cut,
            // A fault has closed the log: nothing goes on before the next start.
            Stop::Stuck if self.has_faults() && engine.pager().log().failure().is_some() => {
                return End::Fine;
            }
            s => {
                let n = engine.counters();
                let alive = life.exec.alive();
                return End::Wrong(format!("rest: {s:?}, alive {alive:?}, {n:?}"));
            }
        }
        let c = engine.counters();
        let (purge, rollback) = (c.failed_purges, c.failed_rollbacks);
        if purge + rollback > 0 {
            if self.has_faults() {
                // What it left is for the next start.
                return End::Fine;
            }
            return End::Wrong(format!("gave up: purge of {purge}, rollback of {rollback}"));
        }
        let cx = life.cx.clone();
        self.task(life, "check", async move { verify::at_rest(&cx).await })
    }

    /// Ends an incarnation: what the disk keeps is where the next begins.
    fn end(
        &mut self,
        mut exec: Executor,
        disk: SimDisk,
        cut: Cut,
        cx: Option<Arc<Context>>,
        round: u64,
    ) -> Result<Survivor, String> {
        disk.cut_now(cut);
        if let Some(cx) = &cx {
            self.classify(&exec, cx);
        }
        let (steps, hash) = exec.trace();
        self.trace = (self.trace ^ hash).rotate_left(9).wrapping_add(steps);
        exec.abandon();
        drop(cx);
        drop(exec);
        self.merge(disk.counts());
        let Some((s, at)) = disk.take_survivor() else {
            return Err("no survivor".into());
        };
        // What a power cut took in an incarnation that was not compared stays gone when the next one is only killed.
        self.killed &= cut == Cut::Kill;
        self.count(
            if cut == Cut::Kill {
                "kills"
            } else {
                "power cuts"
            },
            1,
        );
        self.cut_at(&at);
        self.say(|| format!("round {round}: {cut:?} at {at}, {steps} steps, trace {hash:x}"));
        Ok(s)
    }

    fn cut_at(&mut self, at: &str) {
        let what = [
            ("doublewrite", "cuts in a doublewrite"),
            ("control", "cuts in a checkpoint's control file"),
            ("new segment", "cuts while a segment was made"),
            ("rename log", "cuts while a segment was reused"),
            ("sync folder", "cuts before a folder's sync"),
            ("write log", "cuts in a write of the log"),
            ("sync log", "cuts in a sync of the log"),
            ("catalog", "cuts in the catalog's file"),
            ("rename data", "cuts in a renaming of a table's file"),
            ("at rest", "cuts at rest"),
        ];
        for (text, name) in what {
            if at.contains(text) {
                self.count(name, 1);
            }
        }
        if at.contains(" data ") {
            self.count("cuts in a table's file", 1);
        }
    }

    fn classify(&mut self, exec: &Executor, cx: &Context) {
        let c = cx.engine.counters();
        self.count("checkpoints", c.checkpoints);
        self.count("pages written", c.pages_written);
        self.count("log records", c.log_records);
        self.count("entries purged", c.purged_entries);
        if exec.has("rollback") {
            self.count("cuts during a rollback", 1);
        }
        if exec.has("orphaned-trees") {
            self.count("cuts while dropped trees are freed", 1);
        }
        if c.purge_queue > 0 {
            self.count("cuts with purge work", 1);
        }
        if cx.ddl.load(Ordering::Relaxed) > 0 {
            self.count("cuts during a definition change", 1);
        }
        if cx.committing.load(Ordering::Relaxed) > 0 {
            self.count("cuts during a commit", 1);
        }
    }

    /// The last incarnation: no cut, everything is looked at, the files are those of the tables.
    fn last(&mut self, from: Survivor) -> Result<(), String> {
        let (from, mut disk) = (from, None);
        let mut survivor = Some(from);
        for again in [false, true] {
            let Some(s) = survivor.take() else { break };
            let d = self.start(s);
            let mut exec = self.executor(&d);
            let Some((engine, _)) = self.open(&mut exec, false)? else {
                return Err("the last start did not come to an end".into());
            };
            let cx = Context::new(engine, d.clone(), self.model.clone(), self.plan.clone());
            events::opened(&cx);
            let mut life = Life {
                exec,
                cx: Arc::new(cx),
                cut: Cut::Nothing,
            };
            let end = self.finale(&mut life, again);
            let failures = life.cx.failures();
            let counts = life.cx.counts();
            self.merge(counts);
            if let Some(f) = failures.first() {
                return Err(format!("at the end: {f}"));
            }
            if let End::Wrong(w) = end {
                return Err(format!("at the end: {w}"));
            }
            let Life { mut exec, cx, .. } = life;
            let (steps, hash) = exec.trace();
            self.trace = (self.trace ^ hash).rotate_left(9).wrapping_add(steps);
            d.cut_now(Cut::Nothing);
            exec.abandon();
            drop((cx, exec));
            self.merge(d.counts());
            survivor = d.take_survivor().map(|x| x.0);
            self.killed = false;
            disk = Some(());
        }
        if let (true, Some(()), Some(s)) = (self.plan.bit_rot, disk, survivor) {
            damage::bit_rot(self, s)?;
        }
        Ok(())
    }

    fn finale(&mut self, life: &mut Life, again: bool) -> End {
        let floor = {
            let m = self.model.lock();
            if self.killed { m.written } else { m.durable }
        };
        let cx = life.cx.clone();
        match self.task(life, "verify", async move {
            verify::recovered(&cx, floor, false).await
        }) {
            End::Fine => {}
            e => return e,
        }
        self.killed = true;
        match self.rest(life) {
            End::Fine => {}
            e => return e,
        }
        if !again && self.rng.one_in(2) {
            return End::Fine;
        }
        self.close(life)
    }
}
