//! `cluster`: runs histories until the time is over, and says what happened and what was wrong.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cluster::{Outcome, WORKLOAD, simulate};

const USAGE: &str = "cluster [--seconds S] [--seed N] [--seeds A..B] [--threads 2] [--stop]
  --seconds S    new seeds for so long (default 60)
  --seed N       the first seed; alone: only this one, told in full
  --seeds A..B   these seeds
  --threads N    so many histories at once (default 2)
  --stop         stop at the first failure";

#[derive(Default)]
struct Args {
    seconds: Option<u64>,
    seed: Option<u64>,
    seeds: Option<(u64, u64)>,
    threads: Option<u64>,
    stop: bool,
}

#[derive(Default)]
struct Totals {
    counts: BTreeMap<&'static str, u64>,
    failures: u64,
}

fn parse() -> Result<Args, String> {
    let mut a = Args::default();
    let mut it = std::env::args().skip(1);
    while let Some(arg) = it.next() {
        let mut value = || it.next().ok_or(format!("{arg} needs a value"));
        let number = |v: &str| v.parse::<u64>().map_err(|e| format!("{v}: {e}"));
        match &*arg {
            "--seconds" => a.seconds = Some(number(&value()?)?),
            "--seed" => a.seed = Some(number(&value()?)?),
            "--threads" => a.threads = Some(number(&value()?)?),
            "--seeds" => {
                let v = value()?;
                let (x, y) = v.split_once("..").ok_or("--seeds A..B")?;
                a.seeds = Some((number(x)?, number(y)?));
            }
            "--stop" => a.stop = true,
            _ => return Err(format!("{arg}: unknown")),
        }
    }
    Ok(a)
}

/// Nobody has had this one.
fn fresh() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |d| d.as_micros() as u64 % 1_000_000_000) * 1000
}

fn note(totals: &Mutex<Totals>, seed: u64, o: Outcome) {
    let Ok(mut t) = totals.lock() else { return };
    for (what, n) in o.counts {
        *t.counts.entry(what).or_default() += n;
    }
    if let Some(why) = o.failure {
        println!("FAIL v{WORKLOAD} {seed}: {}", why.replace('\n', " "));
        t.failures += 1;
    }
}

fn run(a: &Args) -> bool {
    let begun = Instant::now();
    let (from, to) = match (a.seeds, a.seed, a.seconds) {
        (Some(range), ..) => range,
        (None, Some(seed), None) => {
            let o = simulate(seed, true);
            println!("trace {:x}", o.trace);
            let totals = Mutex::default();
            note(&totals, seed, o);
            return print(totals, begun);
        }
        (None, seed, _) => (seed.unwrap_or_else(fresh), u64::MAX),
    };
    let limit = match a.seeds {
        Some(_) => Duration::MAX,
        None => Duration::from_secs(a.seconds.unwrap_or(60)),
    };
    let (next, totals) = (AtomicU64::new(from), Mutex::<Totals>::default());
    std::thread::scope(|scope| {
        for _ in 0..a.threads.unwrap_or(2) {
            scope.spawn(|| {
                loop {
                    let failed = totals.lock().is_ok_and(|t| t.failures > 0);
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if begun.elapsed() >= limit || (a.stop && failed) || seed >= to {
                        return;
                    }
                    note(&totals, seed, simulate(seed, false));
                }
            });
        }
    });
    print(totals, begun)
}

fn print(totals: Mutex<Totals>, begun: Instant) -> bool {
    let t = totals.into_inner().unwrap_or_default();
    for (what, n) in &t.counts {
        println!("{n:>12} {what}");
    }
    println!("{:>12.1} s", begun.elapsed().as_secs_f64());
    println!("{}", if t.failures == 0 { "PASS" } else { "FAIL" });
    t.failures == 0
}

fn main() {
    match parse() {
        Ok(a) => std::process::exit(i32::from(!run(&a))),
        Err(e) => {
            eprintln!("{e}\n{USAGE}");
            std::process::exit(2);
        }
    }
}
