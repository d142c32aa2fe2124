//! `cargo xtask miri`: what [Miri](https://github.com/rust-lang/miri) can run of the crates whose `unsafe` code holds pages:
//! undefined behaviour, leaks, and races between threads that are not the pool's optimistic reads.
//!
//! Miri comes with nightly toolchains alone, so this is no part of `cargo xtask test`.

use harness::step::{self, Outcome};
use harness::workspace;
use std::process::Command;

/// A crate, and what of it is run: `--lib` or a test program, and names that must be left out.
///
/// Left out is what drives a whole pager from several threads: its optimistic reads are data races by the letter of the
/// memory model (see `pager::pool::arena`), and Miri reports them as such.
const RUNS: &[(&str, &[&str], &[&str])] = &[
    ("base", &["--lib"], &["move_bytes"]),
    ("pager", &["--lib"], &[]),
    ("btree", &["--lib"], &[]),
    // `overflow` and `damage`; the others drive threads, or take Miri hours.
    (
        "btree",
        &["--test", "suite"],
        &[
            "fill::",
            "model::",
            "partition::",
            "read_ahead::",
            "redo::",
            "stress::",
        ],
    ),
];

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The toolchain that Miri comes with.
    #[arg(long, default_value = "nightly")]
    toolchain: String,
}

/// `cargo xtask miri`.
pub fn command(options: &Options) -> Outcome<()> {
    run(&options.toolchain)
}

fn run(toolchain: &str) -> Outcome<()> {
    step::announce("Miri");
    step::visibly(Command::new("rustup").args([
        "toolchain",
        "install",
        toolchain,
        "--profile=minimal",
        "--component=miri,rust-src",
    ]))?;
    let built = workspace::target_dir()?.join("miri");
    for (name, what, without) in RUNS {
        step::announce(&format!("Miri: {name} {}", what.join(" ")));
        let mut test = Command::new("cargo");
        test.arg(format!("+{toolchain}"))
            .args(["miri", "test", "-p", name])
            .args(*what)
            .args(["--", "--test-threads=1"])
            .current_dir(workspace::root())
            .env("CARGO_TARGET_DIR", &built)
            // The tests ask for the time and read their own files.
            .env("MIRIFLAGS", "-Zmiri-disable-isolation");
        for name in *without {
            test.args(["--skip", name]);
        }
        step::visibly(&mut test)?;
    }
    Ok(())
}
