//! What comes of the backups: data directories that must have what the server had. Anything else is an error.

use super::counter::{self, Counted};
use super::report::{Figure, Figures};
use super::side::{Running, Side};
use super::tool::{self, Taken};
use crate::peers::forget;
use harness::server::{Kind, Setup};
use harness::step::{self, Outcome};
use std::path::Path;

/// What there is to be restored, and what the server had in the end.
#[derive(Debug)]
pub(super) struct Source {
    /// Of all, taken under load.
    pub(super) full: Taken,
    /// What has changed since, in order.
    pub(super) changed: [Taken; 2],
    /// Each table's checksum in the end.
    pub(super) checksums: Vec<(String, u64)>,
    /// What was counted behind the first backup, where transactions have names.
    pub(super) counted: Vec<Counted>,
}

/// A restored directory with its server.
struct Restored {
    running: Running,
    setup: Setup,
    recovery: f64,
}

impl Restored {
    fn start(setup: Setup) -> Outcome<Restored> {
        // As on the machine that it was brought to.
        forget(&setup.datadir)?;
        let (running, recovery) = Running::start(&setup)?;
        Ok(Restored {
            running,
            setup,
            recovery,
        })
    }

    fn end(self) -> Outcome<()> {
        self.running.stop()?;
        let dir = self.setup.datadir;
        std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))
    }

    fn ask(&self, sql: &str) -> Outcome<String> {
        let rows = self.running.connect()?.run(sql);
        let rows = rows.map_err(|e| format!("{sql}: {e}"))?;
        let cell = rows.first().and_then(|r| r.first()).cloned();
        cell.ok_or_else(|| format!("{sql}: no row"))
    }

    /// It has what the server had in the end.
    fn must_be_equal(&self, side: &Side, source: &Source, what: &str) -> Outcome<()> {
        let here = side.checksums(&self.running)?;
        match here == source.checksums {
            true => Ok(()),
            false => Err(format!(
                "{what}: the tables' checksums are {here:?}, and were {:?}",
                source.checksums
            )),
        }
    }
}

/// Restores them in every way that there is, and looks at each.
pub(super) fn all(
    side: &Side,
    source: &Source,
    binary_log: &Path,
    figures: &mut Figures,
) -> Outcome<()> {
    let full = source.full.dir.as_path();
    step::announce(&format!("{}: restored", side.kind.name()));
    if let Some(verified) = side.verify(full)? {
        println!("    verified: {:.1} s", verified.seconds);
        figures.insert(Figure::Verify, verified.seconds);
    }
    alone(side, full, figures)?;
    chain(side, source, figures)?;
    if side.kind == Kind::Tidemill {
        to_gtid(side, source, binary_log, figures)?;
        to_end(side, source, binary_log)?;
    }
    Ok(())
}

/// The backup that was taken under load: a moment at which all transactions were whole.
fn alone(side: &Side, full: &Path, figures: &mut Figures) -> Outcome<()> {
    if let Some(prepared) = side.prepare(full, None)? {
        println!("    prepared: {:.1} s", prepared.seconds);
        figures.insert(Figure::Prepare, prepared.seconds);
    }
    let to = side.beside("restored")?;
    let done = side.restore(&[full], &to, None)?;
    let restored = Restored::start(to)?;
    println!(
        "    the backup of all: {:.1} s, and {:.2} s until the first row",
        done.seconds, restored.recovery
    );
    figures.insert(Figure::Restore, done.seconds);
    figures.insert(Figure::Recovery, restored.recovery);
    side.count(&restored.running)?;
    side.check(&restored.running)?;
    restored.end()
}

/// With all that has changed since.
fn chain(side: &Side, source: &Source, figures: &mut Figures) -> Outcome<()> {
    let full = source.full.dir.as_path();
    let [first, second] = &source.changed;
    let mut seconds = 0.0;
    for changed in [first, second] {
        if let Some(prepared) = side.prepare(full, Some(&changed.dir))? {
            seconds += prepared.seconds;
        }
    }
    let to = side.beside("restored-chain")?;
    let done = side.restore(&[full, &first.dir, &second.dir], &to, None)?;
    seconds += done.seconds;
    figures.insert(Figure::Chain, seconds);
    let restored = Restored::start(to)?;
    restored.must_be_equal(side, source, "the chain of backups")?;
    println!("    with all that has changed since: {seconds:.1} s, and equal to what was there");
    restored.end()
}

/// Up to a transaction in the midst of the load.
fn to_gtid(side: &Side, source: &Source, binary_log: &Path, figures: &mut Figures) -> Outcome<()> {
    let middle = source.counted.get(source.counted.len() / 2);
    let chosen = middle.ok_or("nothing was counted beside the load")?;
    let to = side.beside("restored-gtid")?;
    let name = chosen.name();
    let log = Some((binary_log, Some(name.as_str())));
    let done = side.restore(&[&source.full.dir], &to, log)?;
    let applied = tool::applied(&done.said).ok_or_else(|| done.said.clone())?;
    let restored = Restored::start(to)?;
    let n = restored.ask(counter::ASK)?;
    let set = restored.ask("SELECT @@global.gtid_executed")?;
    if n != chosen.n.to_string() || set != chosen.set() {
        return Err(format!(
            "restored to {name}: the counter is at {n}, and {set} was executed; not {} and {}",
            chosen.n,
            chosen.set()
        ));
    }
    side.count(&restored.running)?;
    side.check(&restored.running)?;
    println!(
        "    to {name}: {:.1} s, {applied} transactions applied, the counter at {n} of {}, as it must be",
        done.seconds,
        source.counted.len()
    );
    figures.insert(Figure::PointInTime, done.seconds);
    figures.insert(Figure::Applied, applied as f64);
    let gap = n.parse::<f64>().unwrap_or(f64::NAN) - chosen.n as f64;
    figures.insert(Figure::PastGtid, gap.abs());
    restored.end()
}

/// Up to the end of the binary log, which is where the server was.
fn to_end(side: &Side, source: &Source, binary_log: &Path) -> Outcome<()> {
    let to = side.beside("restored-end")?;
    let done = side.restore(&[&source.full.dir], &to, Some((binary_log, None)))?;
    let applied = tool::applied(&done.said).ok_or_else(|| done.said.clone())?;
    let restored = Restored::start(to)?;
    restored.must_be_equal(side, source, "the backup with the whole binary log")?;
    println!(
        "    to the end of the binary log: {:.1} s, {applied} transactions applied, and equal to what was there",
        done.seconds
    );
    restored.end()
}
