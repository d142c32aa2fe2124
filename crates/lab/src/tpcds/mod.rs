//! `cargo xtask lab tpcds`: the 99 queries of TPC-DS, on Tidemill and on MariaDB, the answers held to DuckDB's.
//!
//! Rows are made by `tpcgen-cli`; queries and right answers are those of DuckDB, which reads the same rows. Both are Python packages of pinned
//! versions, fetched when they are needed: nothing of them is in this repository. What of a query is not MySQL's is rewritten by rule.

mod dialect;
mod packages;
mod tables;

use crate::query_comparison::{self, Dataset};
use harness::step::Outcome;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// TPC-DS's scale factor; 1 is about a gigabyte.
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Primary keys alone; otherwise each column that points to another table has an index.
    #[arg(long)]
    primary_keys: bool,
    #[command(flatten)]
    asking: query_comparison::Asking,
}

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    options.asking.whole()?;
    let cache = options.asking.cache()?;
    let made = packages::made(options.scale, &cache)?;
    let keys = if options.primary_keys { "-pk" } else { "" };
    let data = Dataset {
        name: format!("tpcds-{}{keys}", options.scale),
        parts: tables::all(&made, !options.primary_keys)?,
    };
    let questions = packages::questions(&made, &cache)?;
    let title = format!("TPC-DS at scale {}", options.scale);
    query_comparison::ask_all(&title, &data, &questions, &options.asking)
}
