//! `cargo xtask sim` and `cargo xtask mutants`: builds the simulator and runs it. The engine is linked into that program
//! and never into this one.
//!
//! The second command builds it with the planted bugs compiled in, switches one on at a time, and says how long the
//! simulator took to find it.

use crate::args::Args;
use crate::step::{self, Outcome};
use crate::tree;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Seeds that once failed, from the root of the tree.
const KEPT: &str = "crates/sim/seeds.txt";

/// Every planted bug, by the name in its `mutant!`.
const MUTANTS: &[&str] = &[
    "a-part-of-the-work-left-out",
    "added-column-without-its-default",
    "a-run-read-from-behind-the-cut",
    "acknowledged-before-durable",
    "build-without-its-snapshot",
    "change-beside-a-rebuild-not-noted",
    "change-under-way-forgotten",
    "checkpoint-forgets-the-active",
    "checkpoint-noted-before-durable",
    "checkpoint-redo-too-new",
    "checkpoint-without-data-sync",
    "checkpoint-without-root",
    "checksum-not-looked-at",
    "commit-flag-wrong",
    "compensation-lost",
    "counter-not-in-rows",
    "counter-not-noted",
    "delete-leaves-entries",
    "dictionary-not-in-the-root",
    "doublewrite-not-synced",
    "doublewrite-skipped",
    "equal-entries-not-looked-for",
    "failed-log-sync-ignored",
    "group-commit-wakeup-lost",
    "held-purge-forgotten",
    "jump-not-noted",
    "last-changes-not-brought",
    "rows-found-by-what-they-were-at-first",
    "leftover-not-noted",
    "log-sync-skipped",
    "loser-not-rolled-back",
    "mark-before-the-build-lost",
    "new-table-not-synced",
    "old-chain-leaked",
    "old-file-dropped-before-the-swap",
    "page-before-its-log",
    "page-entered-before-it-is-written",
    "place-reused-before-a-root",
    "purge-wakeup-lost",
    "purged-too-early",
    "read-past-the-snapshot",
    "redo-applied-twice",
    "renamed-table-folder-not-synced",
    "reused-segment-folder-not-synced",
    "rollback-leaves-entries",
    "root-before-its-pages",
    "root-not-synced",
    "segment-reused-early",
    "torn-page-not-restored",
    "two-definition-changes-at-once",
    "unique-not-checked",
    "write-conflict-not-seen",
    "writers-without-entries-beside-a-build",
];

/// `cargo xtask sim`.
pub fn command(args: &Args) -> Outcome<()> {
    let seconds: u64 = args.get("seconds", 60)?;
    let threads: u64 = args.get("threads", 2)?;
    let seed: u64 = args.get("seed", 0)?;
    let keep = args.has("keep");
    args.refuse_unread()?;
    let program = build(None)?;
    let mut run = Command::new(program);
    run.args(["--seconds", &seconds.to_string()])
        .args(["--threads", &threads.to_string()]);
    if seed > 0 {
        run.args(["--seed", &seed.to_string()]);
    }
    run.arg(if keep { "--keep" } else { "--kept" })
        .arg(tree::root().join(KEPT));
    step::visibly(&mut run)
}

/// Seeds of the share of CI: half a minute on two cores. They are counted and not timed, so that a run tries the same everywhere.
const SHARE: u64 = 400;

/// The share of CI: those that once failed, and some more, which follow from the number of the run.
pub fn share(number: u64) -> Outcome<()> {
    let program = build(None)?;
    let from = number % (1 << 40) * 1000;
    let mut run = Command::new(program);
    run.args(["--seeds", &format!("{from}..{}", from + SHARE)]);
    run.args(["--threads", "2"]);
    run.arg("--kept").arg(tree::root().join(KEPT));
    step::visibly(&mut run)
}

/// `cargo xtask mutants`.
pub fn mutants(args: &Args) -> Outcome<()> {
    let each: u64 = args.get("seconds-each", 600)?;
    let threads: u64 = args.get("threads", 2)?;
    let only: String = args.get("only", String::new())?;
    args.refuse_unread()?;
    if !MUTANTS.iter().any(|m| m.contains(&*only)) {
        return Err(format!("there is no planted bug '{only}'"));
    }
    let program = build(Some(&tree::target_dir()?.join("mutants")))?;
    let mut rows = Vec::new();
    for name in MUTANTS.iter().filter(|m| m.contains(&*only)) {
        let row = one(&program, name, each, threads)?;
        println!("{}", row.line());
        rows.push(row);
    }
    println!(
        "\n{:<36} {:<7} {:>8} {:>7}  how",
        "planted", "caught", "seconds", "seeds"
    );
    rows.iter().for_each(|r| println!("{}", r.line()));
    let caught = rows.iter().filter(|r| r.how.is_some()).count();
    println!("{caught} of {} caught", rows.len());
    // Of 25, 24.
    if caught * 25 >= rows.len() * 24 {
        Ok(())
    } else {
        Err(format!(
            "{} planted bugs were not found",
            rows.len() - caught
        ))
    }
}

/// What became of a planted bug.
struct Row {
    name: &'static str,
    how: Option<String>,
    seconds: f64,
    seeds: String,
}

impl Row {
    fn line(&self) -> String {
        let caught = if self.how.is_some() { "yes" } else { "NO" };
        let how: String = self.how.iter().flat_map(|h| h.chars().take(110)).collect();
        format!(
            "{:<36} {caught:<7} {:>8.1} {:>7}  {how}",
            self.name, self.seconds, self.seeds
        )
    }
}

fn one(program: &Path, name: &'static str, each: u64, threads: u64) -> Outcome<Row> {
    let begun = Instant::now();
    let said = step::quietly(
        Command::new(program)
            .args(["--seconds", &each.to_string(), "--stop", "--seed", "1"])
            .args(["--threads", &threads.to_string()])
            .env("TIDEMILL_MUTANT", name),
    )?;
    let line = |p: &str| {
        said.text
            .lines()
            .find(|l| l.starts_with(p))
            .map(str::to_string)
    };
    let how = line("FAIL v").map(|l| l.split_once(": ").map_or(l.clone(), |x| x.1.to_string()));
    let seeds = said.text.lines().find(|l| l.trim_end().ends_with(" seeds"));
    Ok(Row {
        name,
        how,
        seconds: begun.elapsed().as_secs_f64(),
        seeds: seeds.map_or(String::new(), |l| {
            l.trim().trim_end_matches(" seeds").to_string()
        }),
    })
}

/// Builds the simulator; `mutants`: with the planted bugs, into this folder.
fn build(mutants: Option<&Path>) -> Outcome<PathBuf> {
    let mut cargo = tree::cargo();
    cargo.args(["build", "--profile", "sim", "--package", "sim"]);
    let dir = match mutants {
        Some(d) => {
            cargo
                .env("RUSTFLAGS", "--cfg tidemill_mutants")
                .env("CARGO_TARGET_DIR", d);
            d.to_path_buf()
        }
        None => tree::target_dir()?,
    };
    step::visibly(&mut cargo)?;
    Ok(dir.join("sim").join("sim"))
}
