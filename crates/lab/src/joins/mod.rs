//! `cargo xtask lab joins`: sixty queries over fourteen tables with skew and correlations, on Tidemill and on MariaDB.
//!
//! In the manner of the Join Order Benchmark (Leis et al., "How Good Are Query Optimizers, Really?", VLDB 2015), with a schema, rows and
//! queries of our own: what listeners play of which albums, whom those are by, and where they are heard on stage. With `--stale` the tables
//! have doubled since their statistics were made.

mod chance;
mod queries;
mod rows;
mod tables;

use crate::query_comparison::{self, Dataset};
use harness::step::Outcome;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Where the rows begin: the same seed makes the same rows.
    #[arg(long, default_value_t = 28)]
    seed: u64,
    /// The size; 1 is 1.5 million rows.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Double the tables after their statistics have been made.
    #[arg(long)]
    stale: bool,
    #[command(flatten)]
    asking: query_comparison::Asking,
}

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    options.asking.whole()?;
    let questions = queries::all()?;
    let Options {
        seed, scale, stale, ..
    } = *options;
    let name = format!("joins-{scale}-{seed}");
    let dir = rows::made(seed, scale, stale, &options.asking.cache()?.join(&name))?;
    let stale_name = if stale { "-stale" } else { "" };
    let data = Dataset {
        name: format!("{name}{stale_name}"),
        parts: tables::all(&dir, stale),
    };
    let title = format!("joins at scale {scale}, seed {seed}{stale_name}");
    query_comparison::ask_all(&title, &data, &questions, &options.asking)
}
