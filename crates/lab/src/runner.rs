//! Running a series: the sides take turns, so that a drift of the machine falls on all of them alike.
//!
//! All servers of a series are up at the same time, and those whose turn it is not are stopped where they stand, so that
//! their background work costs the others nothing. Each round goes through the sides in the other direction.

use crate::dataset_cache::{DatasetCache, Started};
use crate::experiment::{Data, Load, Part, Series, Side, What};
use crate::fio::Fio;
use crate::judge;
use crate::machine;
use crate::measure::{self, Job};
use crate::peers::{Terms, Who};
use crate::record::{Outcomes, Point, Run, SeriesRecord, SideRecord};
use crate::tpcc;
use harness::step::{self, Outcome};
use harness::workspace;

/// How much smaller tables and pools are in a quick run.
const QUICK_DIVISOR: u64 = 10;

/// What the command line says.
#[derive(Debug, Clone)]
pub struct Plan {
    /// See that everything works: small tables, short runs, the fewest and the most clients.
    pub quick: bool,
    /// Seconds a run.
    pub seconds: u64,
    /// Runs of each side.
    pub repeats: usize,
    /// These numbers of clients alone; empty for all.
    pub clients: Vec<u32>,
    /// These sides alone, by the beginning of their names; empty for all.
    pub sides: Vec<String>,
    /// MyRocks as a further peer wherever MariaDB is one.
    pub myrocks: bool,
}

impl Plan {
    fn clients_of(&self, series: &Series) -> Vec<u32> {
        let all = series.clients.iter().copied();
        let asked: Vec<u32> = all
            .filter(|c| self.clients.is_empty() || self.clients.contains(c))
            .collect();
        match asked.as_slice() {
            [first, .., last] if self.quick => vec![*first, *last],
            _ => asked,
        }
    }

    fn sides_of(&self, series: &Series) -> Vec<Side> {
        let mut sides: Vec<Side> = series.sides.to_vec();
        let mariadb = |s: &Side| s.part == Part::Plain && s.what == What::Server(Who::MariaDb);
        if self.myrocks
            && let Some(at) = sides.iter().position(mariadb)
        {
            sides.insert(at + 1, Side::plain(Who::MyRocks));
        }
        sides.retain(|side| {
            let there = side.cores <= machine::cores();
            let asked = |s: &String| side.name.starts_with(s.as_str());
            there && (self.sides.is_empty() || self.sides.iter().any(asked))
        });
        sides
    }

    fn seconds_of(&self, series: &Series) -> u64 {
        match (series.seconds, self.quick) {
            (0, _) => self.seconds,
            (own, true) => own.min(self.seconds * 4),
            (own, false) => own,
        }
    }

    fn repeats_of(&self, series: &Series) -> usize {
        match series.repeats {
            0 => self.repeats,
            own => own.min(self.repeats),
        }
    }

    fn data_of(&self, data: Data) -> Data {
        match data {
            Data::Rows {
                tables,
                rows,
                options,
                cached,
            } if self.quick => Data::Rows {
                tables,
                rows: rows / QUICK_DIVISOR,
                options,
                cached,
            },
            Data::Warehouses(_) if self.quick => Data::Warehouses(1),
            other => other,
        }
    }

    fn terms_of(&self, series: &Series) -> Terms {
        let mut terms = series.terms;
        // What is to be larger than the pool must stay so.
        if self.quick && matches!(series.data, Data::Rows { cached: false, .. }) {
            terms.pool_mib /= QUICK_DIVISOR;
        }
        terms
    }

    /// About how long a series takes, in seconds.
    pub fn estimate(&self, series: &Series) -> u64 {
        let runs =
            self.clients_of(series).len() * self.sides_of(series).len() * self.repeats_of(series);
        runs as u64 * (self.seconds_of(series) + 3)
    }
}

/// What runs experiments.
pub struct Runner<'a> {
    plan: &'a Plan,
    cache: &'a mut DatasetCache,
    fio: &'a Fio,
}

/// A side and what became of it: running until it fails.
struct SideState {
    side: Side,
    running: Result<Running, String>,
    data: Data,
    /// Has it had its long warm-up?
    warm: bool,
}

enum Running {
    Server(Who, Started),
    Disk(super::experiment::Probe),
}

impl<'a> Runner<'a> {
    /// A runner with what a run has made ready.
    pub fn new(plan: &'a Plan, cache: &'a mut DatasetCache, fio: &'a Fio) -> Runner<'a> {
        Runner { plan, cache, fio }
    }

    /// Runs a series. What fails is in the record.
    pub fn series(&mut self, series: &Series) -> SeriesRecord {
        let terms = self.plan.terms_of(series);
        let data = self.plan.data_of(series.data);
        let mut record = SeriesRecord {
            label: series.label.to_owned(),
            headline: series.headline.map(str::to_owned),
            load: series.load.name(),
            unit: series.load.unit().to_owned(),
            data: data.to_string(),
            terms: terms.to_string(),
            pool_mib: terms.pool_mib,
            seconds: self.plan.seconds_of(series),
            ..SeriesRecord::default()
        };
        let mut states = Vec::new();
        for side in self.plan.sides_of(series) {
            let state = self.start_side(side, data, terms);
            record.sides.push(described(&state));
            states.push(state);
        }
        for clients in self.plan.clients_of(series) {
            let point = self.point(series, &mut states, clients);
            record.points.push(point);
        }
        for state in states {
            if let Ok(Running::Server(who, started)) = state.running {
                let checked = consistent(&started, who, state.data);
                if let Err(why) = checked.and_then(|()| started.stop()) {
                    let name = state.side.name;
                    let why = failed(&state.side, &why);
                    record.failed = Some(format!("{name} did not end as it should: {why}"));
                }
            }
        }
        record.verdicts = judge::judge(series, &record);
        record
    }

    fn start_side(&mut self, side: Side, data: Data, terms: Terms) -> SideState {
        let data = side.data.map_or(data, |own| self.plan.data_of(own));
        let running = match side.what {
            What::Disk(probe) => Ok(Running::Disk(probe)),
            What::Server(who) => self.start(&side, who, data, terms),
        };
        let running = running.map_err(|why| failed(&side, &why));
        SideState {
            side,
            running,
            data,
            warm: false,
        }
    }

    fn start(&mut self, side: &Side, who: Who, data: Data, terms: Terms) -> Outcome<Running> {
        let cores = match side.cores {
            0 => String::new(),
            n => format!("0-{}", n - 1),
        };
        let started = self.cache.start(side, data, terms, &cores)?;
        started.peer()?.pause(true)?;
        Ok(Running::Server(who, started))
    }

    /// All sides at one number of clients, again and again.
    fn point(&self, series: &Series, states: &mut [SideState], clients: u32) -> Point {
        let job = Job {
            load: series.load,
            data: series.data,
            clients,
            seconds: self.plan.seconds_of(series),
            cores: String::new(),
        };
        step::announce(&format!("{}, {clients} clients", job.load.name()));
        let mut runs: Vec<Vec<Run>> = states.iter().map(|_| Vec::new()).collect();
        for round in 0..self.plan.repeats_of(series) {
            let mut order: Vec<usize> = (0..states.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for at in order {
                let state = &mut states[at];
                match self.turn(state, &job) {
                    Ok(Some(run)) => {
                        tell(state, &run, series.load);
                        runs[at].push(run);
                    }
                    Ok(None) => {}
                    // Dropping the server ends it.
                    Err(why) => state.running = Err(failed(&state.side, &why)),
                }
            }
        }
        let results = states.iter().zip(runs).map(|(state, runs)| Outcomes {
            side: state.side.name.to_owned(),
            runs,
            failed: state.running.as_ref().err().cloned(),
        });
        Point {
            clients,
            results: results.collect(),
        }
    }

    /// One run of one side; nothing where it has failed before.
    fn turn(&self, state: &mut SideState, job: &Job) -> Outcome<Option<Run>> {
        let (who, started) = match &state.running {
            Err(_) => return Ok(None),
            Ok(Running::Disk(probe)) => {
                return measure::disk(self.fio, *probe, job.seconds).map(Some);
            }
            Ok(Running::Server(who, started)) => (*who, started),
        };
        let job = Job {
            data: state.data,
            cores: left_over(state.side.cores),
            ..job.clone()
        };
        let peer = started.peer()?;
        peer.expect(job.clients)?;
        peer.pause(false)?;
        // Connections, caches and what the other sides left in the device settle before anything is counted. The
        // first time, a pool smaller than the data fills as well.
        let first = if self.plan.quick { 2 } else { 8 };
        let warming = Job {
            seconds: if state.warm { 1 } else { first },
            ..job.clone()
        };
        measure::server(peer, who, &warming)?;
        let run = measure::server(peer, who, &job)?;
        peer.pause(true)?;
        state.warm = true;
        Ok(Some(run))
    }
}

/// What the load's own checks say of the tables that Tidemill leaves.
fn consistent(started: &Started, who: Who, data: Data) -> Outcome<()> {
    let peer = started.peer()?;
    peer.pause(false)?;
    match data {
        Data::Warehouses(n) if who == Who::Tidemill => tpcc::check(peer, who, n),
        // The peers are not on trial, and MariaDB reads the history once a customer: hours for five warehouses.
        _ => Ok(()),
    }
}

/// Tells of a failure, and gives what the record keeps of it: without the places of this machine's files, which mean
/// nothing elsewhere.
fn failed(side: &Side, why: &str) -> String {
    println!("    {} FAILED: {why}", side.name);
    let mut text = why.to_owned();
    let target = workspace::target_dir().unwrap_or_default();
    for (place, name) in [
        (target, "<target>"),
        (workspace::root(), "<tree>"),
        (std::env::temp_dir(), "<temporary>"),
    ] {
        let place = place.display().to_string();
        if place.len() > 1 {
            text = text.replace(&place, name);
        }
    }
    text
}

/// The cores that are left for the clients of a server that has the first `used`; all, where none are left.
fn left_over(used: usize) -> String {
    let all = machine::cores();
    if used == 0 || used >= all {
        String::new()
    } else {
        format!("{used}-{}", all - 1)
    }
}

fn tell(state: &SideState, run: &Run, load: Load) {
    let cpu = run
        .cpu_us
        .map_or(String::new(), |us| format!("{us:>8.1} us CPU each"));
    println!(
        "    {:<28} {:>9.0} {}  p99 {:>8.2} ms {cpu}",
        state.side.name,
        run.rate,
        load.unit(),
        run.p99_ms
    );
}

fn described(state: &SideState) -> SideRecord {
    let mut record = SideRecord {
        name: state.side.name.to_owned(),
        peer: state.side.is_peer(),
        limit: state.side.part == Part::Limit,
        ..SideRecord::default()
    };
    match &state.running {
        Ok(Running::Server(who, started)) => {
            record.tables_mib = started.tables_mib(*who);
            record.version.clone_from(&started.version);
            record.settings.clone_from(&started.settings);
        }
        Ok(Running::Disk(probe)) => record.settings.push(format!("fio: {probe:?}")),
        Err(why) => record.version = format!("did not start: {why}"),
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    fn plan() -> Plan {
        Plan {
            quick: false,
            seconds: 10,
            repeats: 5,
            clients: Vec::new(),
            sides: Vec::new(),
            myrocks: false,
        }
    }

    #[test]
    fn a_quick_run_is_smaller_everywhere() {
        let series = catalog::cached_point_select();
        let full = plan();
        let quick = Plan {
            quick: true,
            seconds: 2,
            repeats: 2,
            ..plan()
        };
        assert_eq!(full.clients_of(series), [1, 8, 64, 256]);
        assert_eq!(quick.clients_of(series), [1, 256]);
        assert!(quick.estimate(series) * 5 < full.estimate(series));
    }

    #[test]
    fn myrocks_stands_beside_mariadb() {
        let series = catalog::cached_point_select();
        let asked = Plan {
            myrocks: true,
            ..plan()
        };
        let names: Vec<&str> = asked.sides_of(series).iter().map(|s| s.name).collect();
        assert!(names.windows(2).any(|w| w == ["mariadb", "myrocks"]));
        assert!(!plan().sides_of(series).iter().any(|s| s.name == "myrocks"));
    }
}
