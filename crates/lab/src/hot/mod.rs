//! `cargo xtask lab hot`: what everybody wants at once, on Tidemill and on MariaDB: one row, two rows from both ends, the end of a table.
//!
//! Each commit is on the disk before it is answered. The servers take turns; the one that waits is stopped. After each run the rows are
//! held to what was answered. The longest wait is shown beside the median: a queue is only as good as what it does to its last.

mod client;
mod load;

use crate::peers::{self, Order, Peer, Terms, Who};
use harness::process;
use harness::scratch::Scratch;
use harness::server::Kind;
use harness::step::{self, Outcome};
use harness::sysbench::Reach;
use harness::table::{Cell, Table, median};
use harness::workspace;
use load::{DATABASE, Load, Seen, TABLES, Want};
use std::time::Duration;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds of a run.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Runs of each.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// What is wanted.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "row,pair,end"
    )]
    wants: Vec<Want>,
    /// How many want it; 0 for 200, and 256 for the end of a table.
    #[arg(long, default_value_t = 0)]
    clients: usize,
    /// The statements as text, and not prepared.
    #[arg(long)]
    text: bool,
    /// The servers.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "mariadb,tidemill"
    )]
    sides: Vec<Kind>,
}

/// The longest wait may be so many times the median.
const FAIR: f64 = 20.0;

struct Side {
    kind: Kind,
    peer: Box<dyn Peer>,
    /// What each run gave, with the server's processor time a commit in microseconds.
    runs: Vec<(Seen, f64)>,
}

impl Side {
    fn start(kind: Kind, scratch: &Scratch) -> Outcome<Side> {
        let who = match kind {
            Kind::Tidemill => Who::Tidemill,
            Kind::MariaDb => Who::MariaDb,
        };
        let order = Order {
            who,
            terms: Terms {
                pool_mib: 1024,
                log_mib: 1024,
                flush: 1,
                disk_mb_s: 0,
            },
            options: &[],
            dir: &scratch.path().join(who.name()),
            cores: "",
        };
        let peer = peers::start(&order)?;
        peer.ask("", TABLES)?;
        peer.pause(true)?;
        Ok(Side {
            kind,
            peer,
            runs: Vec::new(),
        })
    }

    fn done(&self, want: Want) -> Outcome<u64> {
        let answer = self.peer.ask(DATABASE, want.sum())?;
        answer.parse().map_err(|e| format!("{answer}: {e}"))
    }

    fn run(&mut self, load: &Load) -> Outcome<()> {
        self.peer.pause(false)?;
        let name = self.kind.name();
        let Reach::Mysql(socket) = self.peer.reach() else {
            return Err(format!("{name} has another protocol"));
        };
        let before = self.done(load.want)?;
        let used = process::cpu_time(self.peer.pid())?;
        let seen = load.run(&socket).map_err(|e| format!("{name}: {e}"))?;
        let used = process::cpu_time(self.peer.pid())?.saturating_sub(used);
        let after = self.done(load.want)?;
        self.peer.pause(true)?;
        let told = load.want.sum_of(seen.waits.len() as u64);
        if after - before != told {
            return Err(format!(
                "{name}: {told} changes were acknowledged, {} are there",
                after - before
            ));
        }
        let cpu = used.as_secs_f64() * 1e6 / seen.waits.len().max(1) as f64;
        println!(
            "    {name:<9} {:>9.0} /s  deadlocks {:>7}  waits {:.1} / {:.1} / {:.1} ms  cpu {cpu:.0} us",
            seen.rate(),
            seen.deadlocks,
            seen.wait(0.5),
            seen.wait(0.99),
            seen.wait(1.0),
        );
        self.runs.push((seen, cpu));
        Ok(())
    }

    fn middle(&self, figure: impl Fn(&(Seen, f64)) -> f64) -> f64 {
        median(&self.runs.iter().map(figure).collect::<Vec<_>>())
    }

    fn row(&self, load: &Load, against: Option<f64>) -> Vec<Cell> {
        let rate = self.middle(|r| r.0.rate());
        let longest = |r: &(Seen, f64)| r.0.wait(1.0) / r.0.wait(0.5);
        let worst = self.runs.iter().map(longest).fold(0.0, f64::max);
        vec![
            load.want.name().into(),
            self.kind.name().into(),
            (load.clients as u64).into(),
            Cell::Number(rate, 0),
            against.map_or(Cell::Missing, |a| Cell::Number(rate / a, 2)),
            Cell::Number(self.middle(|r| r.0.deadlocks as f64 / r.0.seconds), 0),
            Cell::Number(self.middle(|r| r.0.wait(0.5)), 1),
            Cell::Number(self.middle(|r| r.0.wait(0.99)), 1),
            Cell::Number(self.middle(|r| r.0.wait(1.0)), 1),
            Cell::Number(worst, 1),
            Cell::Number(self.middle(|r| r.1), 0),
        ]
    }
}

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    let scratch = Scratch::new("hot")?;
    let sides = options
        .sides
        .iter()
        .map(|kind| Side::start(*kind, &scratch));
    let mut sides = sides.collect::<Outcome<Vec<Side>>>()?;
    let mut table = Table::new(&[
        "want",
        "side",
        "clients",
        "commits/s",
        "ratio",
        "deadlocks/s",
        "median ms",
        "p99 ms",
        "max ms",
        "worst max/median",
        "cpu us",
    ]);
    for &want in &options.wants {
        let load = Load {
            want,
            clients: match (options.clients, want) {
                (0, Want::End) => 256,
                (0, _) => 200,
                (n, _) => n,
            },
            time: Duration::from_secs(options.seconds),
            text: options.text,
        };
        step::announce(&format!("{}: {} clients", want.name(), load.clients));
        for side in &mut sides {
            side.runs.clear();
        }
        for round in 0..options.repeats {
            let n = sides.len();
            for at in 0..n {
                sides[(at + round) % n].run(&load)?;
            }
        }
        let peer = sides.iter().find(|s| s.kind == Kind::MariaDb);
        let peer = peer.map(|s| s.middle(|r| r.0.rate()));
        for side in &sides {
            let against = peer.filter(|_| side.kind == Kind::Tidemill);
            table.row(side.row(&load, against));
        }
    }
    println!();
    table.print();
    println!(
        "each commit synced, Unix socket, {}; {} s a run, medians of {}; waits with all tries. ratio: Tidemill by MariaDB. \
         worst: of all runs, at most {FAIR} is fair.",
        if options.text { "text" } else { "prepared" },
        options.seconds,
        options.repeats,
    );
    table.save(&workspace::target_dir()?.join("xtask").join("hot.json"))?;
    for side in sides {
        side.peer.stop()?;
    }
    Ok(())
}
