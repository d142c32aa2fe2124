//! The parent: deals seeds to worker processes, adds up what they report, and notices those that die or hang.

use crate::Args;
use base::lock::Mutex;
use sim::{Limits, WORKLOAD, seed_file};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Seeds a worker gets at a time.
const BATCH: u64 = 6;
/// A seed that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Default)]
struct Totals {
    counts: BTreeMap<String, u64>,
    seeds: u64,
    failures: Vec<(u64, Limits, String)>,
    next: u64,
    first_failure: Option<Duration>,
}

fn held(t: &Mutex<Totals>) -> std::sync::MutexGuard<'_, Totals> {
    t.lock()
}

/// Runs what is asked for; true if nothing was wrong.
pub(crate) fn run(a: &Args) -> bool {
    let begin = Instant::now();
    let totals = Arc::new(Mutex::new(Totals::default()));
    let kept = a.kept.as_deref().map(read_kept).unwrap_or_default();
    for (seed, limits) in &kept {
        batch(&totals, *seed, *seed + 1, limits, begin);
    }
    if a.kept.is_some() {
        println!(
            "{} kept seeds, {} fail",
            kept.len(),
            held(&totals).failures.len()
        );
    }
    let known = held(&totals).failures.len();
    let (from, to) = match (a.seeds, a.seed) {
        (Some(r), _) => r,
        (None, Some(s)) if a.seconds.is_none() => (s, s + 1),
        (None, Some(s)) => (s, u64::MAX),
        (None, None) => (fresh(), u64::MAX),
    };
    let seconds = a.seconds.or(a.seeds.is_none().then_some(60));
    let until = seconds.map(|s| begin + Duration::from_secs(s));
    held(&totals).next = from;
    let mut workers = Vec::new();
    for _ in 0..a.threads.unwrap_or(2) {
        let (totals, a) = (totals.clone(), a.clone());
        workers.push(std::thread::spawn(move || {
            loop {
                let (x, y) = {
                    let mut t = held(&totals);
                    let over = until.is_some_and(|u| Instant::now() >= u);
                    let enough = a.stop && t.failures.len() > known;
                    if over || enough || t.next >= to {
                        return;
                    }
                    let x = t.next;
                    t.next = x.saturating_add(BATCH).min(to);
                    (x, t.next)
                };
                batch(&totals, x, y, &a.limits, begin);
            }
        }));
    }
    for w in workers {
        let _ = w.join();
    }
    let mut t = std::mem::take(&mut *held(&totals));
    if a.shrink {
        for f in t.failures.iter_mut() {
            shrink(f);
        }
    }
    print(&t, begin.elapsed());
    if let (true, Some(file)) = (a.keep, &a.kept) {
        keep(file, &t.failures[known.min(t.failures.len())..]);
    }
    t.failures.is_empty()
}

fn fresh() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |d| d.as_micros() as u64 % 1_000_000_000) * 1000
}

/// Runs seeds `from..to` in processes of their own; a new one behind each that died.
fn batch(totals: &Mutex<Totals>, from: u64, to: u64, limits: &Limits, begin: Instant) {
    let mut from = from;
    while from < to {
        let Some((seed, why)) = process(totals, from, to, limits, begin) else {
            return;
        };
        let mut t = held(totals);
        t.failures.push((seed, *limits, why));
        t.first_failure.get_or_insert(begin.elapsed());
        from = seed + 1;
    }
}

/// One process. The seed at which it died, and how.
fn process(
    totals: &Mutex<Totals>,
    from: u64,
    to: u64,
    limits: &Limits,
    begin: Instant,
) -> Option<(u64, String)> {
    let exe = std::env::current_exe().ok()?;
    let child = Command::new(exe)
        .args(["--worker", "--seeds", &format!("{from}..{to}")])
        .args(seed_file::flags(limits))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(c) => c,
        Err(e) => return Some((from, format!("no worker: {e}"))),
    };
    let (tx, rx) = channel();
    let out = child.stdout.take();
    std::thread::spawn(move || {
        for line in out.into_iter().flat_map(|o| BufReader::new(o).lines()) {
            let Ok(line) = line else { return };
            if tx.send(line).is_err() {
                return;
            }
        }
    });
    let err = child.stderr.take();
    let said = std::thread::spawn(move || {
        let lines = err.into_iter().flat_map(|e| BufReader::new(e).lines());
        let all: Vec<String> = lines.map_while(Result::ok).collect();
        all[all.len().saturating_sub(6)..].join(" / ")
    });
    let mut seed = from;
    let mut over = false;
    let hung = loop {
        match rx.recv_timeout(PATIENCE) {
            Ok(line) => over = note(totals, &line, &mut seed, limits, begin),
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        }
    };
    if hung {
        let _ = child.kill();
    }
    let status = child.wait();
    let said = said.join().unwrap_or_default();
    if hung {
        return Some((seed, format!("hangs: {said}")));
    }
    match status {
        Ok(s) if s.success() && over => None,
        s => Some((seed, format!("the process ended: {s:?}: {said}"))),
    }
}

/// Takes in a worker's line; true when it ends a seed.
fn note(
    totals: &Mutex<Totals>,
    line: &str,
    seed: &mut u64,
    limits: &Limits,
    begin: Instant,
) -> bool {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let mut t = held(totals);
    match word {
        "start" => *seed = rest.parse().unwrap_or(*seed),
        "count" => {
            if let Some((n, name)) = rest.split_once(' ') {
                *t.counts.entry(name.to_string()).or_default() += n.parse::<u64>().unwrap_or(0);
            }
        }
        "wrong" => {
            let why = rest.split_once(' ').map_or(rest, |x| x.1).to_string();
            t.first_failure.get_or_insert(begin.elapsed());
            println!("seed {seed} fails: {why}");
            t.failures.push((*seed, *limits, why));
        }
        "done" => {
            t.seeds += 1;
            return true;
        }
        _ => {}
    }
    false
}

/// Takes away what is not needed for the failure.
fn shrink((seed, limits, why): &mut (u64, Limits, String)) {
    let mut tries: Vec<Limits> = Vec::new();
    let fails = |l: &Limits| -> Option<String> {
        let t = Mutex::new(Totals::default());
        batch(&t, *seed, *seed + 1, l, Instant::now());
        held(&t).failures.first().map(|f| f.2.clone())
    };
    let mut best = *limits;
    tries.push(Limits { calm: true, ..best });
    for l in tries {
        if let Some(w) = fails(&l) {
            (best, *why) = (l, w);
        }
    }
    let l = Limits {
        no_ddl: true,
        ..best
    };
    if let Some(w) = fails(&l) {
        (best, *why) = (l, w);
    }
    for n in [1, 2, 3, 4, 6] {
        let l = Limits { clients: n, ..best };
        if let Some(w) = fails(&l) {
            (best, *why) = (l, w);
            break;
        }
    }
    for n in [1, 2, 3, 4, 6, 8, 12, 16, 20] {
        let l = Limits { rounds: n, ..best };
        if let Some(w) = fails(&l) {
            (best, *why) = (l, w);
            break;
        }
    }
    for n in [1, 2, 4, 8, 16] {
        let l = Limits { txns: n, ..best };
        if let Some(w) = fails(&l) {
            (best, *why) = (l, w);
            break;
        }
    }
    *limits = best;
}

fn print(t: &Totals, took: Duration) {
    for (name, n) in &t.counts {
        println!("{n:>12} {name}");
    }
    let of = |n: &str| t.counts.get(n).copied().unwrap_or(0);
    let cuts = of("power cuts") + of("kills");
    println!("{:>12} seeds", t.seeds);
    println!(
        "{cuts:>12} cuts in {:.1} s: {:.1} a second",
        took.as_secs_f64(),
        cuts as f64 / took.as_secs_f64().max(0.001)
    );
    for (seed, l, why) in &t.failures {
        println!(
            "FAIL v{WORKLOAD} {seed} {}: {why}",
            seed_file::flags(l).join(" ")
        );
    }
    if let Some(d) = t.first_failure {
        println!("first failure after {:.1} s", d.as_secs_f64());
    }
    println!(
        "{}",
        if t.failures.is_empty() {
            "PASS"
        } else {
            "FAIL"
        }
    );
}

/// Seeds from a file.
fn read_kept(file: &str) -> Vec<(u64, Limits)> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(seed_file::line).collect()
}

fn keep(file: &str, new: &[(u64, Limits, String)]) {
    if new.is_empty() {
        return;
    }
    let f = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file);
    let Ok(mut f) = f else {
        println!("cannot write {file}");
        return;
    };
    for (seed, l, why) in new {
        let why: String = why.chars().take(100).collect();
        let _ = writeln!(
            f,
            "v{WORKLOAD} {seed} {} # {why}",
            seed_file::flags(l).join(" ")
        );
    }
}
