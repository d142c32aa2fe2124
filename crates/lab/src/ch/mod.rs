//! `cargo xtask lab ch`: the 22 analytical queries of the CH-benCHmark over TPC-C's tables, on Tidemill and on MariaDB.
//!
//! Rows and queries are those of `go-tpc`: nothing of them is in this repository. (Cole et al., "The mixed workload CH-benCHmark",
//! DBTest 2011.) The queries run alone here: what transactions beside them cost is another question.

mod data;

use crate::go_tpc::Queries;
use crate::query_comparison::{self, Dataset};
use harness::step::Outcome;

const QUERIES: Queries = Queries {
    file: "ch/query.go",
    view: "revenue1",
    view_file: "ch/workload.go",
};

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Warehouses, of 100 MB each.
    #[arg(long, default_value_t = 4)]
    warehouses: u32,
    #[command(flatten)]
    asking: query_comparison::Asking,
}

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    options.asking.whole()?;
    let warehouses = options.warehouses;
    let data = Dataset {
        name: format!("ch-{warehouses}"),
        parts: data::made(warehouses, &options.asking.cache()?)?,
    };
    let title = format!("CH-benCHmark, {warehouses} warehouses");
    query_comparison::ask_all(
        &title,
        &data,
        &query_comparison::questions(QUERIES.all()?),
        &options.asking,
    )
}
