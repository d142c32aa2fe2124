//! `cargo xtask lab tpch`: the 22 queries of TPC-H, on Tidemill and on MariaDB.
//!
//! The data is made by `tpchgen-cli` and the queries are those of `go-tpc`, both of pinned versions and both fetched when they are needed:
//! nothing of them is in this repository.

mod data;
mod tables;

use crate::go_tpc::Queries;
use crate::query_comparison::{self, Dataset};
use harness::step::Outcome;

const QUERIES: Queries = Queries {
    file: "tpch/query.go",
    view: "revenue0",
    view_file: "cmd/go-tpc/misc.go",
};

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// TPC-H's scale factor; 1 is about a gigabyte.
    #[arg(long, default_value_t = 0.2)]
    scale: f64,
    /// Primary keys alone, as go-tpc makes the tables; otherwise the foreign keys and the dates of orders and shipments have indexes.
    #[arg(long)]
    primary_keys: bool,
    #[command(flatten)]
    asking: query_comparison::Asking,
}

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    options.asking.whole()?;
    let questions = query_comparison::questions(QUERIES.all()?);
    let files = data::made(options.scale, &options.asking.cache()?)?;
    let keys = if options.primary_keys { "-pk" } else { "" };
    let data = Dataset {
        name: format!("tpch-{}{keys}", options.scale),
        parts: tables::all(&files, !options.primary_keys),
    };
    let title = format!("TPC-H at scale {}", options.scale);
    query_comparison::ask_all(&title, &data, &questions, &options.asking)
}
