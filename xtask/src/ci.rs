//! `cargo xtask test` and `cargo xtask ci`: what must pass before a change is kept.

use crate::crash::{self, Plan};
use crate::{
    damage, differential, dumps, e2e, few_files, full_disk, fuzz, hostile, isolation, power_cuts,
    privileges, purge_stop, seeds, sim, slt, starts, tidy, tls,
};
use harness::args::Args;
use harness::step::Outcome;
use harness::{install, step, workspace};
use std::time::Duration;

/// The unit and property tests take three minutes on two busy cores.
const TESTS_MAX: Duration = Duration::from_secs(20 * 60);

/// `cargo xtask test`: unit and property tests, end-to-end cases, three crashes, and a short share of everything else that
/// docs/testing.md tells of. All of it draws from one seed, which is the same in each run unless `--seed` says otherwise.
pub fn test(args: &Args) -> Outcome<()> {
    let (rounds, seed) = test_flags(args)?;
    run_tests(rounds, seed)
}

fn test_flags(args: &Args) -> Outcome<(u32, u64)> {
    let rounds = args.get("rounds", 3)?;
    let seed = seeds::of(args)?;
    args.refuse_unread()?;
    Ok((rounds, seed))
}

fn run_tests(rounds: u32, seed: u64) -> Outcome<()> {
    install::ensure()?;
    step::visibly(workspace::cargo().args(["test", "--workspace", "--no-run"]))?;
    println!("random tests draw from --seed {seed}");
    let mut tests = workspace::cargo();
    tests.args(["test", "--workspace"]);
    step::visibly_within(tests.env(seeds::VARIABLE, seed.to_string()), TESTS_MAX)?;
    fuzz::share(seed)?;
    e2e::all()?;
    slt::all()?;
    differential::short()?;
    tls::all()?;
    dumps::short()?;
    crash::run(&Plan::new(rounds, seed))?;
    starts::run(starts::Plan::new(60, seed))?;
    purge_stop::run(300_000)?;
    few_files::short(seed)?;
    isolation::short(seed)?;
    hostile::short()?;
    privileges::short()?;
    damage::short(seed)?;
    full_disk::short(seed)?;
    power_cuts::short(seed)?;
    sim::share(seed)
}

/// `cargo xtask ci`: format, lints, tidy, then `test`.
pub fn ci(args: &Args) -> Outcome<()> {
    let (rounds, seed) = test_flags(args)?;
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
    run_tests(rounds, seed)
}
