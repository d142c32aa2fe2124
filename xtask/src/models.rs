//! `cargo xtask models`: every interleaving of small models of the latches, the log's ring, events, transaction slots and snapshots.
//!
//! The planted bugs are compiled in, and none is switched on: `cargo xtask mutants` runs the same programs with each.

use harness::step::{self, Outcome};
use harness::workspace;
use std::path::PathBuf;
use std::process::Command;

/// Crates with models.
const CRATES: [&str; 3] = ["base", "pager", "engine"];

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Preemptions of a thread in one order.
    #[arg(long, default_value_t = 3)]
    preemptions: u32,
}

/// `cargo xtask models`.
pub fn command(options: &Options) -> Outcome<()> {
    for (_, program) in built()? {
        let mut test = Command::new(program);
        test.arg("loom_model::")
            .env("LOOM_MAX_PREEMPTIONS", options.preemptions.to_string());
        step::visibly(&mut test)?;
    }
    Ok(())
}

/// The test programs with the models in them, by crate.
pub fn built() -> Outcome<Vec<(String, PathBuf)>> {
    let mut build = workspace::cargo();
    build.args(["test", "--release", "--lib", "--no-run"]);
    for name in CRATES {
        build.args(["--package", name]);
    }
    build
        .env("CARGO_TARGET_DIR", workspace::target_dir()?.join("models"))
        .env("RUSTFLAGS", "--cfg tidemill_model --cfg tidemill_mutants");
    programs(&mut build)
}

/// Runs a `cargo test --no-run`, and gives the test programs that it built: the name of each, without its hash, and where it is.
pub fn programs(build: &mut Command) -> Outcome<Vec<(String, PathBuf)>> {
    step::visibly(build)?;
    // Nothing is left to build: it only says where they are.
    let said = step::must(build)?;
    let program = |line: &str| {
        let path = line.trim().strip_prefix("Executable ")?.split_once('(')?.1;
        let path = PathBuf::from(path.trim_end_matches(')'));
        let file = path.file_name()?.to_string_lossy().into_owned();
        let name = file.rsplit_once('-')?.0.to_owned();
        Some((name, workspace::root().join(path)))
    };
    Ok(said.lines().filter_map(program).collect())
}
