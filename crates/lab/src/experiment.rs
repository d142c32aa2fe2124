//! What an experiment is: data. Which sides, which load, how many clients, and the target that the result is held to.
//!
//! A side's own options are part of the data, so that nothing is set for one server that the report does not show.

use crate::peers::{Terms, Who};
use std::fmt;

/// The database of the tables.
pub const DATABASE: &str = "sbtest";

/// One experiment of the list that defines the product.
#[derive(Debug)]
pub struct Experiment {
    /// Its name: `E02`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What was once seen on MySQL and PBXT, the reason for the target.
    pub seen: &'static str,
    /// What is run for it, one after the other.
    pub series: &'static [Series],
}

/// One load on several sides at several numbers of clients.
#[derive(Debug)]
pub struct Series {
    /// What is special about it, within the experiment.
    pub label: &'static str,
    /// What the clients do.
    pub load: Load,
    /// Numbers of clients, in ascending order.
    pub clients: &'static [u32],
    /// Seconds a run; 0 for what the command line says.
    pub seconds: u64,
    /// Runs a side and number of clients; 0 for what the command line says.
    pub repeats: usize,
    /// The tables.
    pub data: Data,
    /// What all sides are given alike.
    pub terms: Terms,
    /// Who runs.
    pub sides: &'static [Side],
    /// What the result is held to.
    pub targets: &'static [Target],
    /// Its name in the README, if it stands there.
    pub headline: Option<&'static str>,
}

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A script of sysbench, with options of its own.
    Sysbench(&'static str, &'static [&'static str]),
    /// TPC-C by `go-tpc`, with options of its own.
    Tpcc(&'static [&'static str]),
}

impl Load {
    /// In words.
    pub fn name(self) -> String {
        match self {
            Load::Sysbench(script, flags) => [&[script], flags].concat().join(" "),
            Load::Tpcc(flags) => [&["go-tpc"], flags].concat().join(" "),
        }
    }

    /// What is counted a second (a minute, for TPC-C).
    pub fn unit(self) -> &'static str {
        match self {
            Load::Sysbench(..) => "queries/s",
            Load::Tpcc(_) => "new orders/min",
        }
    }
}

/// The tables that a series works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// So many of sysbench's tables, of so many rows each.
    Rows {
        /// Tables.
        tables: u32,
        /// Rows of each.
        rows: u64,
        /// Options that each table is altered to have once it is filled; empty for none.
        options: &'static str,
        /// Read once from end to end before anything is measured, so that all of it is in memory.
        cached: bool,
    },
    /// TPC-C's tables with so many warehouses.
    Warehouses(u32),
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Rows {
                tables,
                rows,
                options,
                ..
            } => {
                let space = if options.is_empty() { "" } else { ", " };
                write!(f, "{tables} x {rows} rows{space}{options}")
            }
            Data::Warehouses(n) => write!(f, "{n} warehouses"),
        }
    }
}

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A server.
    Server(Who),
    /// The disk itself.
    Disk(Probe),
}

/// What the disk is asked to do by `fio`, 16 KiB a time unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Random reads, so many under way at once, past the kernel's cache.
    Read(u32),
    /// Random writes, likewise.
    Write(u32),
    /// A write of 4 KiB and an fdatasync, again and again: through the kernel's cache (false), or past it.
    Sync(bool),
}

/// What a side is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The default configuration: ours, or a peer's.
    Plain,
    /// With options that a user would have to set: shown beside, never the best peer.
    Tuned,
    /// What the machine could do without a database.
    Limit,
}

/// One side of a series.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// Its name in the report, unique in the series.
    pub name: &'static str,
    /// Who.
    pub what: What,
    /// What for.
    pub part: Part,
    /// Options, under the names of the server itself.
    pub options: &'static [&'static str],
    /// Tables of its own, where they differ from the others'.
    pub data: Option<Data>,
    /// How many cores it may use; 0 for all. The clients get the others, where there are any.
    pub cores: usize,
}

impl Side {
    /// A server as it comes.
    pub const fn plain(who: Who) -> Side {
        Side {
            name: who.name(),
            what: What::Server(who),
            part: match who {
                Who::Canned => Part::Limit,
                _ => Part::Plain,
            },
            options: &[],
            data: None,
            cores: 0,
        }
    }

    /// A server with options.
    pub const fn tuned(who: Who, name: &'static str, options: &'static [&'static str]) -> Side {
        Side {
            name,
            part: Part::Tuned,
            options,
            ..Side::plain(who)
        }
    }

    /// A server on tables of its own.
    pub const fn on(who: Who, name: &'static str, data: Data) -> Side {
        Side {
            data: Some(data),
            ..Side::tuned(who, name, &[])
        }
    }

    /// A server on so many cores.
    pub const fn cores(who: Who, name: &'static str, cores: usize) -> Side {
        Side {
            cores,
            ..Side::tuned(who, name, &[])
        }
    }

    /// The disk.
    pub const fn disk(name: &'static str, probe: Probe) -> Side {
        Side {
            name,
            what: What::Disk(probe),
            part: Part::Limit,
            options: &[],
            data: None,
            cores: 0,
        }
    }

    /// Is it a peer, as it comes?
    pub fn is_peer(&self) -> bool {
        self.part == Part::Plain && self.what != What::Server(Who::Tidemill)
    }
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// What was done a second.
    Rate,
    /// Server CPU, microseconds a query.
    Cpu,
    /// Pages read from the device, a query.
    Reads,
    /// Syncs of the log, a commit.
    Syncs,
    /// The worst second by the median second.
    WorstSecond,
}

impl Figure {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Rate => "throughput",
            Figure::Cpu => "server CPU a query",
            Figure::Reads => "page reads a query",
            Figure::Syncs => "log syncs a commit",
            Figure::WorstSecond => "worst second by the median second",
        }
    }

    /// Is the better one the smaller one?
    pub fn less_is_better(self) -> bool {
        matches!(self, Figure::Cpu | Figure::Reads | Figure::Syncs)
    }
}

/// What a figure is divided by before it is held to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Nothing.
    Nothing,
    /// The same figure of another side, at the same number of clients.
    Side(&'static str),
    /// The same figure of the better peer, at the same number of clients.
    BestPeer,
    /// The same side's best at any number of clients; asked at the largest number alone.
    OwnPeak,
}

/// What the target is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Not below.
    AtLeast(f64),
    /// Not above.
    AtMost(f64),
    /// Not further from 1 than so much, either way.
    Within(f64),
}

/// What a result is held to.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Whose figure.
    pub side: &'static str,
    /// Which.
    pub figure: Figure,
    /// By what it is divided.
    pub against: Against,
    /// Where it must lie then.
    pub limit: Limit,
    /// At these numbers of clients alone; empty for all.
    pub clients: &'static [u32],
    /// Does the list of experiments give the number? Where it gives none, the lab has chosen one, and says so.
    pub ours: bool,
}

impl Target {
    /// A target on Tidemill's figure, at all numbers of clients.
    pub const fn new(figure: Figure, against: Against, limit: Limit) -> Target {
        Target {
            side: Who::Tidemill.name(),
            figure,
            against,
            limit,
            clients: &[],
            ours: false,
        }
    }

    /// The same for another side.
    pub const fn of(self, side: &'static str) -> Target {
        Target { side, ..self }
    }

    /// The same at these numbers of clients alone.
    pub const fn at(self, clients: &'static [u32]) -> Target {
        Target { clients, ..self }
    }

    /// The same, with a number that the lab has chosen.
    pub const fn chosen(self) -> Target {
        Target { ours: true, ..self }
    }
}
