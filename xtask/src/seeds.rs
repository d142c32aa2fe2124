//! `cargo xtask seeds`: the unit and property tests again and again, each time from a seed that nobody has tried. The tests of every
//! day draw from one fixed seed (`base::seed`), so what is found here is a find of this command: it becomes a fixed case.

use harness::args::Args;
use harness::rng::{self, Rng};
use harness::step::{self, Outcome};
use harness::workspace;
use std::time::{Duration, Instant};

/// The variable that says what random tests draw from.
pub const VARIABLE: &str = "TIDEMILL_SEED";

/// What they draw from in every run of `cargo xtask test`.
const FIXED: u64 = 1;

/// The seed of the tests: `--seed`, or the variable, or the fixed one.
pub fn of(args: &Args) -> Outcome<u64> {
    let set = match std::env::var(VARIABLE) {
        Ok(text) => text
            .parse()
            .map_err(|_| format!("{VARIABLE}={text} is no number"))?,
        Err(_) => FIXED,
    };
    args.get("seed", set)
}

/// `cargo xtask seeds`.
pub fn command(args: &Args) -> Outcome<()> {
    let seconds: u64 = args.get("seconds", 600)?;
    let package: String = args.get("package", String::new())?;
    let only: String = args.get("only", String::new())?;
    let first: u64 = args.get("seed", rng::fresh_seed())?;
    args.refuse_unread()?;
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut rng = Rng::new(first);
    let mut seed = first;
    let mut runs = 0;
    loop {
        step::announce(&format!("{VARIABLE}={seed}"));
        let mut test = workspace::cargo();
        test.args(["test", "--quiet", "--lib", "--bins", "--tests"]);
        match package.is_empty() {
            true => test.arg("--workspace"),
            false => test.args(["--package", &package]),
        };
        if !only.is_empty() {
            test.args(["--", &only]);
        }
        step::visibly(test.env(VARIABLE, seed.to_string())).map_err(|e| {
            format!("{e}; {VARIABLE}={seed} repeats it: make a fixed case of what it drew")
        })?;
        runs += 1;
        if Instant::now() >= until {
            println!("{runs} seeds, nothing found");
            return Ok(());
        }
        seed = rng.next_u64() >> 16;
    }
}
