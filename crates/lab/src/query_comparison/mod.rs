//! Queries asked of Tidemill and of MariaDB in one run: the same data, the same memory, the answers compared.
//!
//! What is asked of which data is told by a [`Dataset`] and a list of [`Question`]s; loading once, copies, time limits, comparison and
//! the report are here. A wrong answer fails the command.

mod answers;
mod loaded;
mod report;
mod run;
mod side;

pub(crate) use answers::Answer;
pub(crate) use loaded::{Dataset, Part};
pub(crate) use run::{Question, RightAnswer, ask_all, questions};

use crate::peers::Who;
use harness::step::Outcome;
use harness::workspace;
use std::path::PathBuf;
use std::time::Duration;

/// The flags of such a command.
#[derive(Debug, Clone, clap::Args)]
pub struct Asking {
    /// These questions alone, by name.
    #[arg(long, value_delimiter = ',')]
    pub(crate) queries: Vec<String>,
    /// These sides alone, by the beginnings of their names.
    #[arg(long, value_delimiter = ',')]
    pub(crate) sides: Vec<String>,
    /// Seconds after which a query is given up.
    #[arg(long, default_value_t = 60)]
    pub(crate) timeout: u64,
    /// Runs of each query on each side, more of very short ones; the best counts.
    #[arg(long, default_value_t = 2)]
    pub(crate) runs: usize,
    /// Print both EXPLAINs of what is slower than MariaDB, or wrong.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Where data and loaded data directories are kept; <target>/xtask/questions by default.
    #[arg(long)]
    pub(crate) cache: Option<PathBuf>,
    /// Load again, whatever the cache has.
    #[arg(long)]
    pub(crate) reload: bool,
    /// Write the record to docs/benchmarks instead of <target>/xtask/lab.
    #[arg(long)]
    pub(crate) record: bool,
}

/// Who can be asked, the judge last.
const WHOS: [Who; 2] = [Who::Tidemill, Who::MariaDb];

impl Asking {
    /// The sides that are wanted.
    pub(crate) fn whos(&self) -> Outcome<Vec<Who>> {
        for side in &self.sides {
            if !WHOS.iter().any(|who| who.name().starts_with(side.as_str())) {
                return Err(format!("there is no side '{side}'"));
            }
        }
        let wanted = |who: &Who| {
            self.sides.is_empty()
                || self
                    .sides
                    .iter()
                    .any(|s| who.name().starts_with(s.as_str()))
        };
        Ok(WHOS.into_iter().filter(wanted).collect())
    }

    /// Are all asked of all?
    ///
    /// # Errors
    /// They are not, and a record was asked for.
    pub(crate) fn whole(&self) -> Outcome<bool> {
        let whole = self.queries.is_empty() && self.whos()?.len() == WHOS.len();
        match self.record && !whole {
            true => Err("a record is made of all queries and both sides".to_owned()),
            false => Ok(whole),
        }
    }

    /// The longest that a query may take.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout.max(1))
    }

    /// The directory of what is made once.
    pub(crate) fn cache(&self) -> Outcome<PathBuf> {
        let dir = match &self.cache {
            Some(dir) => dir.clone(),
            None => workspace::target_dir()?.join("xtask").join("questions"),
        };
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        dir.canonicalize()
            .map_err(|e| format!("{}: {e}", dir.display()))
    }
}
