//! `cargo xtask power-cuts`: the server on a file system that forgets at a power cut what was not synced.
//!
//! The file system is ours, in this process, and lies in memory (`content`, `volume`, `disk`; `mount` is its side to the
//! kernel). The server is the program a user runs, and knows nothing of it. Each round: the ledger's clients and one that
//! changes definitions at work; the power goes at an operation chosen by chance; the server is killed before it learns
//! anything more; what was durable is mounted again, and the server starts on it. Everything acknowledged must be there.

mod content;
mod definitions;
mod disk;
mod mount;
mod series;
mod volume;

use disk::{Disk, Lies};
use harness::rng;
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use harness::workspace;
use mount::Mount;
use series::{Ended, Plan, Series};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many times the power goes.
    #[arg(long, default_value_t = 100)]
    cuts: u32,
    /// Connections of the ledger.
    #[arg(long, default_value_t = 8)]
    clients: u32,
    /// `innodb_flush_method`; drawn at each start without it.
    #[arg(long, value_name = "METHOD")]
    flush_method: Option<String>,
    /// A planted fault, which must be found: syncs are answered and nothing is done.
    #[arg(long)]
    forget_syncs: bool,
    /// A planted fault, which must be found: syncs of folders are answered and nothing is done.
    #[arg(long)]
    forget_names: bool,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let plan = Plan {
        cuts: options.cuts,
        clients: options.clients,
        lies: match (options.forget_syncs, options.forget_names) {
            (true, _) => Lies::All,
            (false, true) => Lies::Names,
            (false, false) => Lies::None,
        },
        flush_method: options.flush_method.clone(),
        seed: options.seed,
    };
    match run(&plan)? {
        None => Ok(()),
        Some(why) => Err(format!("not tried: {why}")),
    }
}

/// The share of CI: some cuts, and the planted faults, which must be found. Where nothing can be mounted it says so.
pub fn short(seed: u64) -> Outcome<()> {
    let mut plan = Plan {
        cuts: 3,
        clients: 4,
        lies: Lies::None,
        flush_method: None,
        seed,
    };
    if let Some(why) = run(&plan)? {
        println!("    SKIPPED, the power was not cut: {why}");
        return Ok(());
    }
    for lies in [Lies::All, Lies::Names] {
        plan.lies = lies;
        run(&plan)?;
    }
    Ok(())
}

/// Runs the plan; why it could not, where this machine lets nobody mount a file system.
fn run(plan: &Plan) -> Outcome<Option<String>> {
    step::announce(&format!(
        "power cuts: {} of them, {} ledger clients{}, --seed {}",
        plan.cuts,
        plan.clients,
        match plan.lies {
            Lies::None => "",
            Lies::Names => ", on a file system that forgets syncs of folders",
            Lies::All => ", on a file system that forgets syncs",
        },
        plan.seed
    ));
    mount::unmount_left(&workspace::target_dir()?.join("xtask"));
    let mut scratch = Scratch::new("power-cuts")?;
    let at = scratch.path().join("disk");
    let owner = std::fs::metadata(scratch.path()).map_err(|e| e.to_string())?;
    let disk = Disk::new(plan.seed, owner.uid(), owner.gid());
    let mounted = match Mount::new(&disk, &at) {
        Ok(mounted) => mounted,
        Err(why) => return Ok(Some(why)),
    };
    let result = Series::new(plan, disk.clone(), mounted, scratch.path(), &at)
        .and_then(|mut series| series.run());
    let judged = judge(plan, result);
    if judged.is_err() {
        save(&disk, &at, scratch.path());
        scratch.keep();
    }
    judged.map_err(|e| format!("{e}\n(repeat with --seed {})", plan.seed))?;
    Ok(None)
}

/// The disk is in memory and goes with this process: what is durable on it is copied beside it for somebody to look at.
fn save(disk: &Disk, at: &Path, beside: &Path) {
    disk.power_on();
    let copied = Mount::new(disk, at).and_then(|_mounted| {
        let to = beside.join("durable");
        step::must(Command::new("cp").arg("-r").arg(at).arg(to))
    });
    if let Err(why) = copied {
        println!("    the disk is lost: {why}");
    }
}

/// A file system that keeps its promises must lose nothing; one that does not must be found out by what is missing.
fn judge(plan: &Plan, result: Result<(), Ended>) -> Outcome<()> {
    match result {
        Ok(()) if plan.lies != Lies::None => Err(format!(
            "{} cuts on a file system that forgets syncs, and nothing was missed",
            plan.cuts
        )),
        Err(Ended::Lost(what)) if plan.lies != Lies::None => {
            let first = what.lines().next().unwrap_or_default();
            println!("    found, as it must be: {first}");
            Ok(())
        }
        Ok(()) => Ok(()),
        Err(Ended::Lost(why) | Ended::Failed(why)) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_planted_fault_must_be_found_as_what_it_is() {
        let mut plan = Plan {
            cuts: 1,
            clients: 1,
            lies: Lies::None,
            flush_method: None,
            seed: 1,
        };
        let lost = || Err(Ended::Lost("gone".to_owned()));
        assert!(judge(&plan, Ok(())).is_ok());
        assert!(judge(&plan, lost()).is_err());
        plan.lies = Lies::All;
        assert!(judge(&plan, Ok(())).is_err());
        assert!(judge(&plan, lost()).is_ok());
        assert!(judge(&plan, Err(Ended::Failed("no start".to_owned()))).is_err());
    }
}
