//! The lab: measurements from outside. Never links the engine, and nothing of the product imports it.

#![warn(clippy::disallowed_types)]

mod backup;
pub mod canned;
mod catalog;
mod ch;
mod compare;
mod conversions;
mod dataset_cache;
mod experiment;
mod experiments;
mod fio;
mod formats;
mod go_tpc;
mod hot;
mod joins;
mod judge;
mod lag;
mod machine;
mod measure;
mod peers;
mod pressure;
mod probe;
mod query_comparison;
mod record;
mod recovery_time;
mod report;
mod runner;
mod spill;
mod syncs;
mod sysbench_matrix;
mod time_series;
mod tpcc;
mod tpcc_formats;
mod tpcds;
mod tpch;

use harness::step::Outcome;
use harness::workspace;

/// A command of `cargo xtask`, with its flags.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Tidemill beside MariaDB: throughput, processor time of a query, latency, noise.
    Compare(compare::Options),
    /// The experiments, beside MariaDB and PostgreSQL: E02 E11 ... | all.
    Lab(experiments::Options),
    /// Every sysbench script at every number of clients.
    SysbenchMatrix(sysbench_matrix::Options),
    /// A 64 MiB pool over 1 GB of data; memory must stay bounded.
    Pressure(pressure::Options),
    /// Kill with 1 GB of log to replay, time the first query.
    RecoveryTime(recovery_time::Options),
    /// The system calls of a durable commit, at 1 and 64 clients.
    Syncs(syncs::Options),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// What did not run or was not as it must be, as a sentence.
    pub fn run(&self) -> Outcome<()> {
        workspace::take_measured_server()?;
        match self {
            Command::Compare(options) => compare::command(options),
            Command::Lab(options) => experiments::command(options),
            Command::SysbenchMatrix(options) => sysbench_matrix::command(options),
            Command::Pressure(options) => pressure::command(options),
            Command::RecoveryTime(options) => recovery_time::command(options),
            Command::Syncs(options) => syncs::command(options),
        }
    }
}
