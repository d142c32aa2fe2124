//! `cargo xtask seeds`: the unit and property tests again and again, each time from a seed that nobody has tried. The tests of every
//! day draw from one fixed seed (`base::seed`), so what is found here is a find of this command: it becomes a fixed case.

use harness::rng::{self, Rng};
use harness::step::{self, Outcome};
use harness::workspace;
use std::time::{Duration, Instant};

/// The variable that says what random tests draw from.
pub const VARIABLE: &str = "TIDEMILL_SEED";

/// What they draw from in every run of `cargo xtask test`.
const FIXED: u64 = 1;

/// The seed of the tests: the one given, or the variable, or the fixed one.
pub fn of(given: Option<u64>) -> Outcome<u64> {
    match (given, std::env::var(VARIABLE)) {
        (Some(seed), _) => Ok(seed),
        (None, Ok(text)) => text
            .parse()
            .map_err(|_| format!("{VARIABLE}={text} is no number")),
        (None, Err(_)) => Ok(FIXED),
    }
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds after which no new seed begins.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// The tests of this package alone.
    #[arg(long, default_value = "", hide_default_value = true)]
    package: String,
    /// Only tests whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
    /// The first seed; a new one each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// `cargo xtask seeds`.
pub fn command(options: &Options) -> Outcome<()> {
    let Options {
        seconds,
        package,
        only,
        seed: first,
    } = options.clone();
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
