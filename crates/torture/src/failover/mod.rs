//! `cargo xtask failover`: a source under semi-sync is killed in the middle of its clients' work, again and again; `tidemill promote` makes a replica
//! the source, and `tidemill rejoin` brings the old one back.
//!
//! No commit that was acknowledged may be missing on the new source, none may be there twice, and in the end all servers have the same rows. Where the
//! old source has committed what no replica ever got, it must say so and must not come back by itself: a fresh directory takes its place. With
//! `--planned` the source lives ([`planned`]).

mod killed;
mod nodes;
mod plan;
mod planned;

use harness::scratch::Scratch;
use harness::step::{self, Outcome};
pub use plan::Options;

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    run(*options)
}

/// The share of the tests.
pub fn short(seed: u64) -> Outcome<()> {
    for (planned, clients) in [(false, 4), (true, 8)] {
        run(Options {
            times: 3,
            planned,
            clients,
            seed,
        })?;
    }
    Ok(())
}

fn run(plan: Options) -> Outcome<()> {
    step::announce(&format!(
        "{} {}, {} clients, --seed {}",
        plan.times,
        if plan.planned { "switchovers" } else { "kills" },
        plan.clients,
        plan.seed
    ));
    let mut scratch = Scratch::new("failover")?;
    let result = match plan.planned {
        true => planned::trial(plan, &scratch),
        false => killed::trial(plan, &scratch),
    };
    if result.is_err() {
        scratch.keep();
    }
    result
}
