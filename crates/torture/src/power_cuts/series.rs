//! A series of power cuts on one disk: load, cut, kill, mount again, start, verify, stop, check.

use super::content::Unsynced;
use super::definitions::Definitions;
use super::disk::{Disk, Lies};
use super::mount::Mount;
use crate::ledger::{Book, Tally};
use harness::rng::Rng;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What a series is made of.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many times the power goes.
    pub cuts: u32,
    /// Connections of the ledger.
    pub clients: u32,
    /// The planted fault: syncs that the file system answers without doing anything.
    pub lies: Lies,
    /// `innodb_flush_method`; without it, chance decides at each start.
    pub flush_method: Option<String>,
    /// Where the chance comes from.
    pub seed: u64,
}

/// How a series ended that did not end well.
#[derive(Debug)]
pub enum Ended {
    /// Something that was acknowledged is not there, or something else is.
    Lost(String),
    /// Anything else.
    Failed(String),
}

impl From<String> for Ended {
    fn from(why: String) -> Ended {
        Ended::Failed(why)
    }
}

/// The longest that a load goes on without a cut.
const LOAD_MAX: Duration = Duration::from_secs(4);

/// The same for a start.
const START_MAX: Duration = Duration::from_secs(2);

/// The ways to write and sync by which everything is durable on this file system. (O_DIRECT_NO_FSYNC trusts a device to lose nothing.)
const FLUSH_METHODS: [&str; 3] = ["O_DIRECT", "fsync", "O_DSYNC"];

/// The word by which both kinds of clients say that something acknowledged is not there.
const MISSING: &str = "ACKNOWLEDGED";

/// What has been counted.
#[derive(Debug, Default)]
struct Counted {
    under_load: u32,
    in_recovery: u32,
    after_a_stop: u32,
    acknowledged: u64,
    unanswered: u64,
    definitions: u64,
    first_queries: Vec<Duration>,
}

/// A series under way.
#[derive(Debug)]
pub struct Series<'a> {
    plan: &'a Plan,
    rng: Rng,
    disk: Disk,
    at: PathBuf,
    mounted: Option<Mount>,
    setup: Setup,
    book: Book,
    definitions: Definitions,
    counted: Counted,
}

impl<'a> Series<'a> {
    /// A series on an empty disk that is mounted on `at`.
    pub fn new(
        plan: &'a Plan,
        disk: Disk,
        mounted: Mount,
        dir: &Path,
        at: &Path,
    ) -> Result<Series<'a>, Ended> {
        let mut setup = Setup::new(Kind::Tidemill, dir)?
            .option("innodb-buffer-pool-size=5M")
            .option("max-connections=100")
            .redo_capacity("32M");
        setup.datadir = at.join("data");
        Ok(Series {
            plan,
            rng: Rng::new(plan.seed),
            disk,
            at: at.to_path_buf(),
            mounted: Some(mounted),
            setup,
            book: Book::new(plan.seed, plan.clients),
            definitions: Definitions::new(plan.seed),
            counted: Counted::default(),
        })
    }

    /// Runs it to its end, or to the first thing that is wrong.
    pub fn run(&mut self) -> Result<(), Ended> {
        let mut server = self.drawn().start()?;
        {
            let mut conn = server.connect()?;
            self.book.create(conn.as_mut())?;
            self.definitions.create(conn.as_mut())?;
        }
        if self.lied_to() {
            self.disk.lie(self.plan.lies);
        }
        while self.cuts() < self.plan.cuts {
            let why = |e: Ended, n: u32| match e {
                Ended::Lost(why) => Ended::Lost(format!("cut {n}: {why}")),
                Ended::Failed(why) => Ended::Failed(format!("cut {n}: {why}")),
            };
            server = self.round(server).map_err(|e| why(e, self.cuts()))?;
        }
        self.verify(&server)?;
        server.terminate()?;
        self.setup.check_offline()?;
        self.unmount()?;
        self.tell();
        Ok(())
    }

    fn lied_to(&self) -> bool {
        self.plan.lies != Lies::None
    }

    fn cuts(&self) -> u32 {
        self.counted.under_load + self.counted.in_recovery + self.counted.after_a_stop
    }

    /// A cut under load, perhaps one in the recovery, then everything that must be true; perhaps one more after a clean stop.
    fn round(&mut self, server: Server) -> Result<Server, Ended> {
        let tally = self.load_and_cut(server)?;
        self.counted.under_load += 1;
        let mut recoveries = 0;
        // On a file system that lies, a second cut could keep the server from starting before anything was missed.
        while !self.lied_to() && self.cuts() < self.plan.cuts && self.rng.one_in(3) {
            let again = self.drawn().spawn()?;
            // Early most times: a recovery has some hundred changes.
            let within = 10 << (3 * self.rng.below(4));
            self.disk.cut_after(self.rng.below(within));
            self.disk.wait_for_cut(START_MAX);
            self.kill_and_mount(again)?;
            self.counted.in_recovery += 1;
            recoveries += 1;
        }
        let mut server = self.drawn().spawn()?;
        let took = server.wait_ready(Duration::from_secs(120))?;
        self.counted.first_queries.push(took);
        let there = self.verify(&server)?;
        server.must_run()?;
        server.terminate()?;
        self.setup.check_offline()?;
        let stopped = self.cuts() < self.plan.cuts && self.rng.one_in(4);
        if stopped {
            // A clean stop has left nothing that is not durable.
            self.disk.wait_for_cut(Duration::ZERO);
            self.disk.release();
            self.mount_again()?;
            self.counted.after_a_stop += 1;
        }
        println!(
            "    {} cuts: {} acknowledged, {} unanswered; {recoveries} of them in the recovery; first query {} ms after \
             the restart; {there} there; sound{}",
            self.cuts(),
            tally.acknowledged,
            tally.unknown,
            took.as_millis(),
            if stopped {
                "; and one after the stop"
            } else {
                ""
            },
        );
        let server = self.drawn().start()?;
        self.verify(&server)?;
        Ok(server)
    }

    fn load_and_cut(&mut self, server: Server) -> Result<Tally, Ended> {
        if self.lied_to() && self.cuts() == 0 {
            // As from a drive whose cache had it all: no half of anything is left to stumble over.
            self.disk.decide(Unsynced::Lost);
            self.disk.cut_after(4000);
        } else {
            let within = 30 << (2 * self.rng.below(5));
            self.disk.cut_after(self.rng.below(within));
        }
        let setup = &self.setup;
        let (disk, definitions) = (&self.disk, &mut self.definitions);
        let begun = Instant::now();
        let (sum, defined) = self.book.write_while(setup, |stop| {
            let (killed, defined) = std::thread::scope(|scope| {
                let definer = scope.spawn(|| definitions.work(setup, stop));
                disk.wait_for_cut(LOAD_MAX);
                let killed = server.signal("KILL");
                stop.store(true, Ordering::Relaxed);
                disk.release();
                let killed = killed.and(server.kill9());
                let ended = |_| Err("a client panicked".to_owned());
                (killed, definer.join().unwrap_or_else(ended))
            });
            killed.and(defined)
        })?;
        if sum.acknowledged + defined == 0 && begun.elapsed() > LOAD_MAX {
            return Err(Ended::Failed("nothing was acknowledged".to_owned()));
        }
        self.counted.acknowledged += sum.acknowledged;
        self.counted.unanswered += sum.unknown;
        self.counted.definitions += defined;
        self.mount_again()?;
        Ok(sum)
    }

    /// How the server is started next: its files are opened and synced in another way from start to start.
    fn drawn(&mut self) -> Setup {
        let any = FLUSH_METHODS[self.rng.below(FLUSH_METHODS.len() as u64) as usize];
        let method = self.plan.flush_method.as_deref().unwrap_or(any);
        let option = format!("innodb-flush-method={method}");
        self.setup = self
            .setup
            .clone()
            .without("innodb-flush-method")
            .option(&option);
        self.setup.clone()
    }

    fn kill_and_mount(&mut self, server: Server) -> Outcome<()> {
        let killed = server.signal("KILL");
        self.disk.release();
        killed.and(server.kill9())?;
        self.mount_again()
    }

    fn unmount(&mut self) -> Outcome<()> {
        self.mounted.take().map_or(Ok(()), Mount::unmount)
    }

    fn mount_again(&mut self) -> Outcome<()> {
        self.unmount()?;
        self.disk.power_on();
        self.mounted = Some(Mount::new(&self.disk, &self.at)?);
        Ok(())
    }

    /// Everything acknowledged is there; the number of the ledger's transactions found.
    fn verify(&mut self, server: &Server) -> Result<u64, Ended> {
        let mut conn = server.connect()?;
        let missing = |why: String| match why.contains(MISSING) {
            true => Ended::Lost(server.with_log(&why)),
            false => Ended::Failed(server.with_log(&why)),
        };
        let there = self.book.verify(conn.as_mut()).map_err(missing)?;
        self.definitions.verify(conn.as_mut()).map_err(missing)?;
        Ok(there)
    }

    fn tell(&mut self) {
        let counted = &mut self.counted;
        let figures = self.disk.figures();
        let losses = figures.losses;
        counted.first_queries.sort_unstable();
        let times = &counted.first_queries;
        let at = |n: usize| times.get(n).map_or(0, |t| t.as_millis());
        println!(
            "    {} cuts ({} under load, {} in a recovery, {} after a clean stop): {} transactions and {} statements on \
             definitions acknowledged, {} without an answer; none lost",
            counted.under_load + counted.in_recovery + counted.after_a_stop,
            counted.under_load,
            counted.in_recovery,
            counted.after_a_stop,
            counted.acknowledged,
            counted.definitions,
            counted.unanswered,
        );
        println!(
            "    {} changes and {} syncs; of the changes not synced at a cut {} were lost, {} kept, {} torn; of the names {} \
             lost, {} kept",
            figures.changes,
            figures.syncs,
            losses.lost,
            losses.kept,
            losses.torn,
            losses.names_lost,
            losses.names_kept,
        );
        println!(
            "    first query after a cut: {} ms in the middle, {} ms at most",
            at(times.len() / 2),
            at(times.len().saturating_sub(1)),
        );
    }
}
