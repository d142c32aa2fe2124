//! `cargo xtask full-disk`: a server on a real file system that is filled to its last block.
//!
//! On a full disk statements that need room fail with MySQL's error, and nothing else happens: reads are answered, what
//! was rolled back is gone, definitions are as they were, nothing that was acknowledged is lost, also if the server is
//! killed just then. When there is room again, statements succeed, without a restart. Every wait has a bound.
//!
//! Then one volume alone is full: that of the tables, of the engine's log, of temporary files, of the binary log.

mod binlog;
pub mod filesystem;
mod round;
mod statements;
mod volumes;
mod writers;

use filesystem::{FileSystem, Made};
use harness::rng;
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use round::{Narrow, Round};
use volumes::Volume;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The size of the file system, MiB.
    #[arg(long, default_value_t = 96)]
    mb: u64,
    /// How many times it is filled.
    #[arg(long, default_value_t = 6)]
    rounds: u32,
    /// The share of `cargo xtask test`.
    #[arg(long)]
    short: bool,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    if options.short {
        return short(options.seed);
    }
    match run(options.mb, options.rounds, options.seed)? {
        None => Ok(()),
        Some(why) => Err(format!("not tried: {why}")),
    }
}

/// The share of CI. Where nothing can be mounted it says so.
pub fn short(seed: u64) -> Outcome<()> {
    if let Some(why) = run(96, 3, seed)? {
        println!("    SKIPPED, nothing was tried on a full disk: {why}");
    }
    Ok(())
}

/// Runs the rounds; why it could not, where this machine lets nobody mount a file system.
fn run(mib: u64, rounds: u32, seed: u64) -> Outcome<Option<String>> {
    step::announce(&format!("a full disk of {mib} MiB, --seed {seed}"));
    for round in 0..rounds {
        let mut scratch = Scratch::new("full-disk")?;
        let disk = match FileSystem::make(scratch.path(), mib)? {
            Made::Mounted(disk) => disk,
            Made::NotHere(why) => return Ok(Some(why)),
        };
        let narrow = Narrow::of_round(round);
        println!("    round {}: {}", round + 1, narrow.words());
        let result = Round::new(&disk, scratch.path(), narrow, seed ^ u64::from(round))
            .and_then(|mut round| round.run());
        if let Err(why) = result {
            scratch.keep();
            return Err(format!("round {}: {why}", round + 1));
        }
    }
    for volume in Volume::ALL {
        println!("    {}", volume.words());
        on_a_volume(80, |disk, scratch| {
            volumes::Round::new(disk, scratch, volume)?.run()
        })?;
    }
    println!("    the volume of the binary log alone");
    on_a_volume(64, |disk, scratch| binlog::Round::new(disk, scratch)?.run())?;
    Ok(None)
}

/// Makes a small file system for one of the volumes of a server.
fn on_a_volume(
    mib: u64,
    round: impl FnOnce(&FileSystem, &std::path::Path) -> Outcome<()>,
) -> Outcome<()> {
    let mut scratch = Scratch::new("full-volume")?;
    match FileSystem::make(scratch.path(), mib)? {
        Made::Mounted(disk) => round(&disk, scratch.path()).inspect_err(|_| scratch.keep()),
        // It was there for the others.
        Made::NotHere(why) => Err(why),
    }
}
