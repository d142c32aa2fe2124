//! What a run of the lab leaves behind: everything that was measured, in a form that serde writes and reads.
//!
//! Reports and the README are made from this and from nothing else, so that a figure in them can be traced to its runs.

use crate::experiment::Figure;
use crate::fio::Disk;
use harness::table::median;
use serde::{Deserialize, Serialize};

/// The whole run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {
    /// The version of this form.
    pub format: u32,
    /// The day, in UTC.
    pub date: String,
    /// Short runs on small tables, to see that everything works; its figures mean nothing.
    pub quick: bool,
    /// Seconds a run, where a series says nothing else.
    pub seconds: u64,
    /// Runs of each side and number of clients, where a series says nothing else.
    pub repeats: usize,
    /// On what.
    pub machine: Machine,
    /// What that could do without a database.
    pub limits: Limits,
    /// What was run.
    pub experiments: Vec<ExperimentRecord>,
}

/// The machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Its cores, as the operating system counts them.
    pub cores: usize,
    /// Its memory, GiB.
    pub memory_gib: f64,
    /// Name and version of the operating system.
    pub system: String,
    /// The kernel's version.
    pub kernel: String,
    /// The file system that held the data.
    pub file_system: String,
    /// How busy the processors were with other things before the run, as a share of one.
    pub busy_before: f64,
}

/// What the machine could do without a database, measured in the same run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Limits {
    /// What was asked of the disk, and what it gave.
    pub disk: Vec<(String, Disk)>,
    /// The canned-response server: clients, queries a second, microseconds of server CPU a query.
    pub canned: Vec<(u32, f64, f64)>,
}

/// One experiment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// Its name.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// What was seen once.
    pub seen: String,
    /// What was run.
    pub series: Vec<SeriesRecord>,
}

/// One series.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// What is special about it.
    pub label: String,
    /// Its name in the README.
    pub headline: Option<String>,
    /// The load.
    pub load: String,
    /// What the rate counts.
    pub unit: String,
    /// The tables.
    pub data: String,
    /// What all sides were given.
    pub terms: String,
    /// Memory for pages, MiB.
    pub pool_mib: u64,
    /// Seconds a run.
    pub seconds: u64,
    /// Who ran.
    pub sides: Vec<SideRecord>,
    /// What came of it.
    pub points: Vec<Point>,
    /// What came of the targets.
    pub verdicts: Vec<Verdict>,
    /// Why it ended early, if it did.
    pub failed: Option<String>,
}

/// One side.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SideRecord {
    /// Its name.
    pub name: String,
    /// A peer as it comes?
    pub peer: bool,
    /// No database, but what the machine could do?
    pub limit: bool,
    /// What it says of its version.
    pub version: String,
    /// What it was told at its start.
    pub settings: Vec<String>,
    /// The size of its tables' files before the first run, MiB.
    pub tables_mib: u64,
}

/// All sides at one number of clients.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Point {
    /// Clients.
    pub clients: u32,
    /// The runs of each side.
    pub results: Vec<Outcomes>,
}

/// The runs of one side.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcomes {
    /// Whose.
    pub side: String,
    /// In the order of time.
    pub runs: Vec<Run>,
    /// Why there are no more of them.
    pub failed: Option<String>,
}

/// One run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Run {
    /// The series' unit.
    pub rate: f64,
    /// Transactions a second.
    pub tps: f64,
    /// Percentiles of a transaction's time, milliseconds.
    pub p50_ms: f64,
    /// See there.
    pub p95_ms: f64,
    /// See there.
    pub p99_ms: f64,
    /// The longest, milliseconds.
    pub max_ms: f64,
    /// Server CPU, microseconds a query.
    pub cpu_us: Option<f64>,
    /// Memory of the server in the middle of the run, MiB.
    pub memory_mib: Option<f64>,
    /// Pages read from the device, a query.
    pub reads: Option<f64>,
    /// KiB sent to the device, a query.
    pub written_kib: Option<f64>,
    /// Log syncs, a commit.
    pub syncs: Option<f64>,
    /// Conflicts that the client retried.
    pub retried: u64,
    /// The rate second by second.
    pub seconds: Vec<f64>,
}

/// What came of one target at one number of clients.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// The target in words.
    #[serde(rename = "bar")]
    pub target: String,
    /// Clients.
    pub clients: u32,
    /// The two figures in words.
    pub figures: String,
    /// What was held to the target; nothing where it could not be measured.
    pub value: Option<f64>,
    /// Met?
    pub met: bool,
    /// By how much, as a share of the target; negative where it was missed.
    pub by: f64,
    /// The ratio of two equal runs: what lies closer to the target than this is not decided.
    pub noise: f64,
}

impl Run {
    /// One of its figures.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Rate => Some(self.rate),
            Figure::Cpu => self.cpu_us,
            Figure::Reads => self.reads,
            Figure::Syncs => self.syncs,
            Figure::WorstSecond => {
                let middle = median(&self.seconds);
                let worst = self.seconds.iter().copied().reduce(f64::min)?;
                (middle > 0.0).then(|| worst / middle)
            }
        }
    }
}

/// The middle of several runs, with the least and the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub middle: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Outcomes {
    /// A figure of each run that has it.
    pub fn values(&self, of: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(of).collect()
    }

    /// The middle of a figure; nothing where no run has it.
    pub fn spread(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<Spread> {
        let values = self.values(of);
        Some(Spread {
            least: values.iter().copied().reduce(f64::min)?,
            most: values.iter().copied().reduce(f64::max)?,
            middle: median(&values),
        })
    }

    /// The median of a figure.
    pub fn middle(&self, figure: Figure) -> Option<f64> {
        self.spread(|run| run.figure(figure)).map(|s| s.middle)
    }

    /// The ratio of two equal halves of the runs, the larger by the smaller: every other run against the rest, each
    /// half with its median, as a side is compared with another. 1 where there is one run only.
    pub fn noise(&self, figure: Figure) -> f64 {
        let values = self.values(|run| run.figure(figure));
        let half = |first: usize| -> Vec<f64> {
            let chosen = values.iter().copied().skip(first).step_by(2);
            chosen.collect()
        };
        let (a, b) = (median(&half(0)), median(&half(1)));
        match a.min(b) {
            least if least > 0.0 => a.max(b) / least,
            _ => 1.0,
        }
    }
}

impl Point {
    /// The runs of a side.
    pub fn of(&self, side: &str) -> Option<&Outcomes> {
        self.results.iter().find(|r| r.side == side)
    }
}

impl SeriesRecord {
    /// The better peer at a point, by a figure.
    pub fn best_peer(&self, point: &Point, figure: Figure) -> Option<(&str, f64)> {
        let peers = self.sides.iter().filter(|s| s.peer);
        let figures =
            peers.filter_map(|s| Some((s.name.as_str(), point.of(&s.name)?.middle(figure)?)));
        if figure.less_is_better() {
            figures.min_by(|a, b| a.1.total_cmp(&b.1))
        } else {
            figures.max_by(|a, b| a.1.total_cmp(&b.1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(rates: &[f64]) -> Outcomes {
        let run = |rate: &f64| Run {
            rate: *rate,
            ..Run::default()
        };
        Outcomes {
            runs: rates.iter().map(run).collect(),
            ..Outcomes::default()
        }
    }

    #[test]
    fn equal_halves_have_no_noise() {
        assert_eq!(outcomes(&[10.0, 10.0, 10.0]).noise(Figure::Rate), 1.0);
        assert_eq!(outcomes(&[10.0, 12.0, 10.0]).noise(Figure::Rate), 1.2);
        assert_eq!(outcomes(&[10.0]).noise(Figure::Rate), 1.0);
    }

    #[test]
    fn the_worst_second_stands_beside_the_median() {
        let run = Run {
            seconds: vec![100.0, 50.0, 100.0],
            ..Run::default()
        };
        assert_eq!(run.figure(Figure::WorstSecond), Some(0.5));
        assert_eq!(Run::default().figure(Figure::WorstSecond), None);
    }

    #[test]
    fn the_better_peer_depends_on_the_figure() {
        let side = |name: &str| SideRecord {
            name: name.to_owned(),
            peer: true,
            ..SideRecord::default()
        };
        let series = SeriesRecord {
            sides: vec![side("a"), side("b")],
            ..SeriesRecord::default()
        };
        let result = |side: &str, rate, cpu| Outcomes {
            side: side.to_owned(),
            runs: vec![Run {
                rate,
                cpu_us: Some(cpu),
                ..Run::default()
            }],
            failed: None,
        };
        let point = Point {
            clients: 1,
            results: vec![result("a", 10.0, 30.0), result("b", 20.0, 40.0)],
        };
        assert_eq!(series.best_peer(&point, Figure::Rate), Some(("b", 20.0)));
        assert_eq!(series.best_peer(&point, Figure::Cpu), Some(("a", 30.0)));
    }
}
