//! `cargo xtask models`: every interleaving of small models of the latches, the log's ring, events and transaction slots.

use crate::args::Args;
use crate::step::{self, Outcome};
use crate::tree;

/// Crates with models.
const CRATES: [&str; 3] = ["base", "pager", "engine"];

/// `cargo xtask models`.
pub fn command(args: &Args) -> Outcome<()> {
    let preemptions: u32 = args.get("preemptions", 3)?;
    args.refuse_unread()?;
    run(preemptions)
}

/// Runs all models; a thread is interrupted at most `preemptions` times in each order tried.
pub fn run(preemptions: u32) -> Outcome<()> {
    let built = tree::target_dir()?.join("models");
    let mut test = tree::cargo();
    test.args(["test", "--release", "--lib"]);
    for name in CRATES {
        test.args(["-p", name]);
    }
    test.args(["--", "loom_model::"])
        .env("CARGO_TARGET_DIR", &built)
        .env("RUSTFLAGS", "--cfg tidemill_model")
        .env("LOOM_MAX_PREEMPTIONS", preemptions.to_string());
    step::visibly(&mut test)
}
