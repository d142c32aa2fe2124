//! `cargo xtask`: everything a developer or a CI machine does to this tree that is more than one cargo command.
//!
//! What tests and measures a server from outside is in the crates `torture` and `lab`; here are the checks of the source, and
//! what builds and runs programs of the workspace. Every command prints what it does while it does it and ends with one
//! line, `PASS` or `FAIL`; the exit status says the same.

mod backup;
mod ci;
mod fuzz;
mod miri;
mod models;
mod mutants;
mod planted;
mod seeds;
mod sim;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use harness::install;
use harness::step::Outcome;
use std::process::ExitCode;
use std::time::Instant;

/// Tests from outside, measurements and checks of the source.
#[derive(Debug, Parser)]
#[command(
    bin_name = "cargo xtask",
    args_override_self = true,
    after_help = "Scratch data is under <target>/xtask. TIDEMILL_SERVER=/path/to/tidemill uses a server that is already built."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install what the tests need, then all tests, in short forms.
    Test(ci::Options),
    /// fmt, clippy, tidy and test.
    Ci(ci::Options),
    /// Checks of the source that no compiler makes.
    Tidy(tidy::Options),
    #[command(flatten)]
    Torture(torture::Command),
    #[command(flatten)]
    Lab(lab::Command),
    /// The engine on a simulated disk, power cuts, a model beside it.
    Sim(sim::Options),
    /// Backups under random changes, restored and compared.
    Backup(backup::Options),
    /// Unit and property tests from new seeds, until one fails or the time is over.
    Seeds(seeds::Options),
    /// Every interleaving of small models of latches, log ring, events, slots and snapshots.
    Models(models::Options),
    /// Undefined behaviour in what Miri can run of base, pager and btree.
    Miri(miri::Options),
    /// Coverage-guided fuzzing of what reads bytes from outside.
    Fuzz(fuzz::Options),
    /// Planted bugs, and how fast the simulator, real threads or a model find each.
    Mutants(mutants::Options),
    /// Install the programs that the tests drive (Debian and Ubuntu, through apt).
    Install,
}

impl Command {
    fn run(&self) -> Outcome<()> {
        match self {
            Command::Test(options) => ci::test(options),
            Command::Ci(options) => ci::ci(options),
            Command::Tidy(options) => tidy::command(options),
            Command::Torture(command) => command.run(),
            Command::Lab(command) => command.run(),
            Command::Sim(options) => sim::command(options),
            Command::Backup(options) => backup::command(options),
            Command::Seeds(options) => seeds::command(options),
            Command::Models(options) => models::command(options),
            Command::Miri(options) => miri::command(options),
            Command::Fuzz(options) => fuzz::command(options),
            Command::Mutants(options) => mutants::command(options),
            Command::Install => install::all(),
        }
    }
}

fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let name = matches.subcommand_name().unwrap_or_default();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    let begun = Instant::now();
    let result = cli.command.run();
    let took = begun.elapsed().as_secs_f64();
    match result {
        Ok(()) => {
            println!("\nPASS {name} ({took:.1} s)");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("\nFAIL {name} ({took:.1} s): {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_are_read() {
        let read = |line: &str| Cli::try_parse_from(line.split_whitespace());
        for line in [
            "xtask lab E02 E11 --quick --clients 1,64",
            "xtask lab formats --rows 5 --myrocks",
            "xtask compare --tests oltp_point_select --sides mariadb",
            "xtask damage --grounds killed,busy --only ibdata",
            "xtask crash --starts 5 --capacity-mb 64",
            "xtask slt tests/slt --jobs 1",
            "xtask e2e --only a --only b",
        ] {
            assert!(read(line).is_ok(), "{line}");
        }
        for line in [
            "xtask e2e --typo 1",
            "xtask e2e stray",
            "xtask crash --rounds x",
            "xtask crash --capacity-mb 64",
            "xtask slt",
            "xtask",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
