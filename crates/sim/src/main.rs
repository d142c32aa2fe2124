//! `sim`: runs seeds until the time is over, and says what happened and what was wrong.
//!
//! The program starts itself again as workers, one process for some seeds at a time: a seed that ends the process, or
//! never ends, is found out by its parent, and whatever a cut left behind in memory goes with the process.

mod master;

use sim::{Limits, seed_file, simulate};
use std::io::Write;

const USAGE: &str =
    "sim [--seconds S] [--seed N] [--seeds A..B] [--threads 2] [--keep FILE] [--shrink] [--stop]
  --seconds S    new seeds for so long (default 60)
  --seed N       the first seed; alone: only this one, told in full
  --seeds A..B   these seeds
  --threads N    worker processes (default 2)
  --kept FILE    seeds that once failed, run first
  --keep FILE    the same, and new failures are added
  --shrink       look for the smallest limits under which a seed still fails
  --stop         stop at the first failure
  limits for a single seed: --clients N --rounds N --txns N --calm --no-ddl --no-rebuild --no-packed --large-steps
    --no-columns --same-keys --short --one-phase --no-relatives --no-events --no-defragment";

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub(crate) seconds: Option<u64>,
    pub(crate) seed: Option<u64>,
    pub(crate) seeds: Option<(u64, u64)>,
    pub(crate) threads: Option<u64>,
    pub(crate) kept: Option<String>,
    pub(crate) keep: bool,
    pub(crate) shrink: bool,
    pub(crate) stop: bool,
    worker: bool,
    quiet: bool,
    pub(crate) limits: Limits,
}

fn parse() -> Result<Args, String> {
    let mut a = Args::default();
    let mut it = std::env::args().skip(1);
    while let Some(arg) = it.next() {
        let mut value = || it.next().ok_or(format!("{arg} needs a value"));
        let number = |v: String| v.parse::<u64>().map_err(|e| format!("{v}: {e}"));
        match &*arg {
            "--seconds" => a.seconds = Some(number(value()?)?),
            "--seed" => a.seed = Some(number(value()?)?),
            "--seeds" => {
                let v = value()?;
                let (x, y) = v.split_once("..").ok_or("--seeds A..B")?;
                a.seeds = Some((number(x.into())?, number(y.into())?));
            }
            "--threads" => a.threads = Some(number(value()?)?),
            "--kept" => a.kept = Some(value()?),
            "--keep" => (a.kept, a.keep) = (Some(value()?), true),
            "--shrink" => a.shrink = true,
            "--stop" => a.stop = true,
            "--worker" => a.worker = true,
            "--quiet" => a.quiet = true,
            _ if seed_file::flag(&mut a.limits, &arg, &mut value)? => {}
            _ => return Err(format!("{arg}: unknown")),
        }
    }
    Ok(a)
}

/// Runs the given seeds and says a line about each.
fn work(a: &Args) {
    let (from, to) = a.seeds.unwrap_or((0, 0));
    let mut out = std::io::stdout().lock();
    for seed in from..to {
        let _ = writeln!(out, "start {seed}");
        let _ = out.flush();
        let o = simulate(seed, &a.limits, false);
        for (k, n) in &o.counts {
            let _ = writeln!(out, "count {n} {k}");
        }
        if let Some(f) = &o.failure {
            let _ = writeln!(out, "wrong {seed} {}", f.replace('\n', " "));
        }
        let _ = writeln!(out, "done {seed} {:x}", o.trace);
        let _ = out.flush();
    }
}

fn one(a: &Args, seed: u64) -> bool {
    let o = simulate(seed, &a.limits, !a.quiet);
    if !a.quiet {
        for (k, n) in &o.counts {
            println!("{n:>10} {k}");
        }
    }
    println!("trace {:x}", o.trace);
    match &o.failure {
        Some(f) => println!("seed {seed} FAILS: {f}"),
        None => println!("seed {seed} passes"),
    }
    o.failure.is_none()
}

fn main() {
    let a = match parse() {
        Ok(a) => a,
        Err(e) => {
            eprintln!("{e}\n{USAGE}");
            std::process::exit(2);
        }
    };
    if a.worker {
        return work(&a);
    }
    let fine = match (a.seed, a.seconds, a.seeds) {
        (Some(s), None, None) if !a.shrink => one(&a, s),
        _ => master::run(&a),
    };
    std::process::exit(i32::from(!fine));
}
