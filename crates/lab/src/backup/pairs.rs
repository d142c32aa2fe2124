//! Runs of the load in pairs: without a backup, and with one.

use super::options::Options;
use super::program::Program;
use super::report::{Figure, Figures};
use super::seconds::Stretch;
use super::side::{Running, Side};
use super::tool::Taken;
use harness::process;
use harness::step::Outcome;
use harness::sysbench::Watched;
use harness::table::median;
use std::path::Path;
use std::time::{Duration, Instant};

/// The load runs so long before anything is measured.
const LEAD: Duration = Duration::from_secs(5);
/// How often the load is looked at.
const LOOKS: Duration = Duration::from_millis(200);

const MIB: f64 = (1 << 20) as f64;

/// What the clients and the server did in a stretch of time.
#[derive(Debug)]
struct Measured {
    stretch: Stretch,
    /// The server's processor time, microseconds a transaction.
    cpu_us: f64,
}

/// A run without a backup, and one with.
#[derive(Debug)]
struct Pair {
    without: Measured,
    with: Measured,
    taken: Taken,
}

impl Pair {
    fn rate(&self) -> f64 {
        self.with.stretch.rate() / self.without.stretch.rate()
    }

    /// The worst second of the run without, of as many as the backup took.
    fn worst_without(&self) -> f64 {
        self.without.stretch.worst_of(self.with.stretch.tps.len())
    }

    fn worst(&self) -> f64 {
        self.with.stretch.worst() / self.worst_without()
    }
}

/// The load, begun.
struct Begun<'a> {
    load: Watched,
    running: &'a mut Running,
    from: Instant,
    cpu: Duration,
}

impl<'a> Begun<'a> {
    fn start(side: &Side, running: &'a mut Running) -> Outcome<Begun<'a>> {
        side.forget()?;
        let mut load = side.load.watch(&side.setup)?;
        load.seconds_until(Instant::now() + LEAD)?;
        Ok(Begun {
            load,
            cpu: process::cpu_time(running.pid())?,
            running,
            from: Instant::now(),
        })
    }

    fn go_on_until(&mut self, end: Instant) -> Outcome<()> {
        while Instant::now() < end {
            std::thread::sleep(LOOKS);
            self.load.seconds()?;
            self.running.must_run()?;
        }
        Ok(())
    }

    /// What there was up to a moment, when the server had used so much.
    fn measured(&mut self, to: Instant, cpu: Duration) -> Outcome<Measured> {
        let seconds = self.load.seconds_until(to)?;
        let stretch = Stretch::between(&seconds, self.from, to);
        let transactions = stretch.rate() * (to - self.from).as_secs_f64();
        let used = cpu.saturating_sub(self.cpu);
        Ok(Measured {
            cpu_us: used.as_secs_f64() * 1e6 / transactions,
            stretch,
        })
    }
}

fn without(side: &Side, running: &mut Running, seconds: u64) -> Outcome<Measured> {
    let mut begun = Begun::start(side, running)?;
    let to = begun.from + Duration::from_secs(seconds);
    begun.go_on_until(to)?;
    let cpu = process::cpu_time(begun.running.pid())?;
    begun.measured(to, cpu)
}

fn with(
    side: &Side,
    running: &mut Running,
    options: &Options,
    dir: &Path,
) -> Outcome<(Measured, Taken)> {
    let mut begun = Begun::start(side, running)?;
    let mut program: Program = side.begin_backup(dir, None, options.throttle)?;
    let mut looked = Instant::now();
    let done = loop {
        if let Some(done) = program.look()? {
            break done;
        }
        if looked.elapsed() > LOOKS {
            begun.load.seconds()?;
            begun.running.must_run()?;
            looked = Instant::now();
        }
    };
    let cpu = process::cpu_time(begun.running.pid())?;
    let measured = begun.measured(done.end, cpu)?;
    let least = begun.from + Duration::from_secs(options.seconds);
    begun.go_on_until(least)?;
    Ok((measured, Taken::of(side, dir, done)?))
}

fn say(name: &str, measured: &Measured, more: &str) {
    println!(
        "    {name:<8} {:>7.0} /s  worst second {:>6.0}  longest {:>6.0} ms  cpu {:>6.0} us{more}",
        measured.stretch.rate(),
        measured.stretch.worst(),
        measured.stretch.longest_ms,
        measured.cpu_us,
    );
}

/// Runs the load until the pool is warm, then in pairs; the last backup of all stays, and is given back.
pub(super) fn run(
    side: &Side,
    running: &mut Running,
    options: &Options,
    figures: &mut Figures,
) -> Outcome<Taken> {
    if options.warm > 0 {
        drop(without(side, running, options.warm)?);
        running.wait_quiet()?;
    }
    let dir = side.dir.join("full");
    let mut pairs = Vec::new();
    for _ in 0..options.repeats.max(1) {
        if dir.is_dir() {
            std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        let plain = without(side, running, options.seconds)?;
        say("without", &plain, "");
        running.wait_quiet()?;
        let (measured, taken) = with(side, running, options, &dir)?;
        let more = format!(
            "  backup {:.1} s, {:.1} MiB, its own cpu {:.2} s",
            taken.done.seconds,
            taken.mib(),
            taken.done.cpu
        );
        say("with", &measured, &more);
        running.wait_quiet()?;
        pairs.push(Pair {
            without: plain,
            with: measured,
            taken,
        });
    }
    let least = pairs.iter().map(|p| p.with.stretch.tps.len()).min();
    if least.is_none_or(|n| n < 5) {
        println!("    the backup was over too soon for its seconds to mean anything: more rows");
    }
    tell(&pairs, side.table_bytes()?, figures);
    let last = pairs.pop().map(|p| p.taken);
    last.ok_or_else(|| "no backup was taken".to_owned())
}

fn tell(pairs: &[Pair], table_bytes: u64, figures: &mut Figures) {
    let middle = |of: &dyn Fn(&Pair) -> f64| median(&pairs.iter().map(of).collect::<Vec<_>>());
    let most = |of: &dyn Fn(&Pair) -> f64| pairs.iter().map(of).fold(0.0, f64::max);
    let tables = table_bytes as f64;
    let mut put = |figure, value| {
        figures.insert(figure, value);
    };
    put(Figure::Tables, tables / MIB);
    put(Figure::RateWithout, middle(&|p| p.without.stretch.rate()));
    put(Figure::RateWith, middle(&|p| p.with.stretch.rate()));
    put(Figure::Rate, middle(&Pair::rate));
    put(Figure::WorstWithout, middle(&Pair::worst_without));
    put(Figure::WorstWith, middle(&|p| p.with.stretch.worst()));
    put(Figure::Worst, middle(&Pair::worst));
    put(
        Figure::LongestWithout,
        most(&|p| p.without.stretch.longest_ms),
    );
    put(Figure::LongestWith, most(&|p| p.with.stretch.longest_ms));
    put(Figure::CpuWithout, middle(&|p| p.without.cpu_us));
    put(Figure::CpuWith, middle(&|p| p.with.cpu_us));
    put(Figure::Seconds, middle(&|p| p.taken.done.seconds));
    put(
        Figure::Speed,
        middle(&|p| tables / 1e6 / p.taken.done.seconds),
    );
    put(Figure::Size, middle(&|p| p.taken.mib()));
    put(Figure::Log, middle(&|p| p.taken.log_bytes as f64 / MIB));
    let share = |p: &Pair| p.taken.bytes as f64 / (tables + p.taken.log_bytes as f64);
    put(Figure::Share, middle(&share));
    put(Figure::OwnCpu, middle(&|p| p.taken.done.cpu));
}
