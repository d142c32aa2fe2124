//! `cargo xtask test` and `cargo xtask ci`: what must pass before a change is kept.

use crate::{fuzz, seeds, sim};
use harness::step::{self, Outcome};
use harness::{install, workspace};
use std::time::Duration;

/// The unit and property tests take three minutes on two busy cores.
const TESTS_MAX: Duration = Duration::from_secs(20 * 60);

/// The flags of `test` and `ci`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many crashes.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Where the random numbers come from: without it TIDEMILL_SEED, or 1.
    #[arg(long)]
    seed: Option<u64>,
}

/// `cargo xtask test`: unit and property tests, end-to-end cases, three crashes, and a short share of everything else that
/// docs/testing.md tells of. All of it draws from one seed, which is the same in each run unless `--seed` says otherwise.
pub fn test(options: &Options) -> Outcome<()> {
    run_tests(options.rounds, seeds::of(options.seed)?)
}

fn run_tests(rounds: u32, seed: u64) -> Outcome<()> {
    install::ensure()?;
    step::visibly(workspace::cargo().args(["test", "--workspace", "--no-run"]))?;
    println!("random tests draw from --seed {seed}");
    let mut tests = workspace::cargo();
    tests
        .args(["test", "--workspace"])
        .env("TIDEMILL_ALL_TESTS", "1");
    step::visibly_within(tests.env(seeds::VARIABLE, seed.to_string()), TESTS_MAX)?;
    fuzz::share(seed)?;
    workspace::take_tested_server()?;
    torture::share(rounds, seed)?;
    sim::share(seed)
}

/// `cargo xtask ci`: format, lints, tidy, then `test`.
pub fn ci(options: &Options) -> Outcome<()> {
    let seed = seeds::of(options.seed)?;
    step::visibly(workspace::cargo().args(["fmt", "--all", "--check"]))?;
    step::visibly(
        workspace::cargo()
            .args(["fmt", "--check", "--manifest-path"])
            .arg(workspace::root().join("fuzz/Cargo.toml")),
    )?;
    step::visibly(workspace::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    tidy::all()?;
    run_tests(options.rounds, seed)
}
