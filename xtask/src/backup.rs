//! `cargo xtask backup`: backups under random changes of rows and definitions, restored and compared, for as long as one likes.

use crate::seeds;
use harness::step::{self, Outcome};
use harness::workspace;

/// How long the test takes backups; `engine`'s `stress_backup` reads it.
const SECONDS: &str = "TIDEMILL_BACKUP_SECONDS";

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds of backups; `cargo xtask test` takes 6.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Where the random numbers come from: without it TIDEMILL_SEED, or 1.
    #[arg(long)]
    seed: Option<u64>,
}

/// `cargo xtask backup`.
pub fn command(options: &Options) -> Outcome<()> {
    let seed = seeds::of(options.seed)?;
    println!("random tests draw from --seed {seed}");
    let mut test = workspace::cargo();
    test.args(["test", "--package", "engine", "--test", "stress_backup"])
        .args(["--", "--nocapture"])
        .env(seeds::VARIABLE, seed.to_string())
        .env(SECONDS, options.seconds.to_string());
    step::visibly(&mut test)
}
