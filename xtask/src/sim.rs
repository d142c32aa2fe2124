//! `cargo xtask sim`: builds the simulator and runs it. The engine is linked into that program and never into this one.

use harness::step::{self, Outcome};
use harness::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seeds that once failed, from the root of the tree.
const KEPT: &str = "crates/sim/seeds.txt";

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: u64,
    /// One seed alone.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    seed: u64,
    /// Keep seeds that fail in crates/sim/seeds.txt.
    #[arg(long)]
    keep: bool,
    /// A source and two replicas instead of one engine.
    #[arg(long, conflicts_with = "keep")]
    cluster: bool,
}

/// `cargo xtask sim`.
pub fn command(options: &Options) -> Outcome<()> {
    let Options {
        seconds,
        threads,
        seed,
        keep,
        cluster,
    } = *options;
    let program = match cluster {
        true => build_cluster(None)?,
        false => build(None)?,
    };
    let mut run = Command::new(program);
    run.args(["--seconds", &seconds.to_string()])
        .args(["--threads", &threads.to_string()]);
    if seed > 0 {
        run.args(["--seed", &seed.to_string()]);
    }
    if !cluster {
        run.arg(if keep { "--keep" } else { "--kept" })
            .arg(workspace::root().join(KEPT));
    }
    step::visibly(&mut run)
}

/// What compiles the planted bugs in.
pub const MUTANTS: &str = "--cfg tidemill_mutants";

/// Seeds of the share of CI: half a minute on two cores. They are counted and not timed, so that a run tries the same everywhere.
const SHARE: u64 = 300;

/// The share of CI: those that once failed, and some more, which follow from the number of the run.
pub fn share(number: u64) -> Outcome<()> {
    // The one that `cargo test` has built: another would take longer to build than the seeds take to run.
    let program = workspace::built_by_cargo("debug", "sim")?;
    let from = number % (1 << 40) * 1000;
    let mut run = Command::new(program);
    run.args(["--seeds", &format!("{from}..{}", from + SHARE)]);
    run.args(["--threads", "2"]);
    run.arg("--kept").arg(workspace::root().join(KEPT));
    step::visibly(&mut run)
}

/// Builds the simulator; `mutants`: with the planted bugs, into this folder.
pub fn build(mutants: Option<&Path>) -> Outcome<PathBuf> {
    build_program("sim", mutants)
}

/// Builds the simulator of a source and its replicas, likewise.
pub fn build_cluster(mutants: Option<&Path>) -> Outcome<PathBuf> {
    build_program("cluster", mutants)
}

fn build_program(package: &str, mutants: Option<&Path>) -> Outcome<PathBuf> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--profile", "sim", "--package", package]);
    let dir = match mutants {
        Some(d) => {
            cargo.env("RUSTFLAGS", MUTANTS).env("CARGO_TARGET_DIR", d);
            d.to_path_buf()
        }
        None => workspace::target_dir()?,
    };
    step::visibly(&mut cargo)?;
    Ok(dir.join("sim").join(package))
}
