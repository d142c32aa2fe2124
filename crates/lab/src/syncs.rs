//! `cargo xtask syncs`: the system calls that durable commits cost, counted by strace.
//!
//! With one client a commit is one sync; with many, a sync serves many commits. No commit sleeps, and none waits
//! on a futex with a time limit: a wait that needs a timer is a wait for an event that nobody signals.

use harness::queries;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::{Figures, Load};
use harness::table::{Cell, Table};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Calls that make written data durable.
const SYNCS: &[&str] = &["fdatasync", "fsync", "sync_file_range"];

/// Calls by which a thread waits for time to pass.
const SLEEPS: &[&str] = &["nanosleep", "clock_nanosleep"];

/// How long the arguments of futex calls are watched.
const WATCHED_SECONDS: u64 = 3;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// Seconds of a run.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let (kind, seconds) = (options.server, options.seconds);
    let scratch = Scratch::new("syncs")?;
    let setup = Setup::new(kind, scratch.path())?
        .option("innodb-flush-log-at-trx-commit=1")
        .option("innodb-buffer-pool-size=512M")
        .option("max-connections=400")
        .redo_capacity("1G");
    let server = setup.start()?;
    let load = Load {
        seconds,
        ..Load::new("oltp_update_non_index", 100_000)
    };
    load.prepare(&setup)?;
    let mut table = Table::new(&[
        "clients",
        "commits",
        "syncs",
        "syncs/commit",
        "log syncs (status)",
        "sleeps",
        "timed futexes",
        "timed/s",
    ]);
    let mut broken = Vec::new();
    for threads in [1, 64] {
        step::announce(&format!("{threads} clients, {seconds} s under strace"));
        let seen = measure(&server, &load.threads(threads), scratch.path())?;
        seen.print();
        // Where the server tells its own log syncs, they count too: a sync submitted through io_uring is no call.
        let syncs = seen.sum(SYNCS).max(seen.log_syncs.unwrap_or(0));
        let commits = seen.figures.transactions.max(1);
        let a_commit = syncs as f64 / commits as f64;
        let timed = seen.timed_futexes as f64 / WATCHED_SECONDS as f64;
        table.row(vec![
            u64::from(threads).into(),
            commits.into(),
            seen.sum(SYNCS).into(),
            Cell::Number(a_commit, 3),
            seen.log_syncs.map_or(Cell::Missing, Cell::from),
            seen.sum(SLEEPS).into(),
            seen.timed_futexes.into(),
            Cell::Number(timed, 1),
        ]);
        if threads == 1 && !(0.95..=1.1).contains(&a_commit) {
            broken.push(format!("{a_commit:.3} syncs a commit at one client"));
        }
        if threads > 1 && a_commit >= 1.0 {
            broken.push(format!("{a_commit:.3} syncs a commit at {threads} clients"));
        }
        // A clock that ticks each second is no part of a commit; more than that is.
        let ticks = 5 * (WATCHED_SECONDS + 2);
        if seen.sum(SLEEPS) > 0 || seen.timed_futexes > ticks {
            broken.push(format!(
                "{} sleeps and {} timed futex waits at {threads} clients",
                seen.sum(SLEEPS),
                seen.timed_futexes
            ));
        }
    }
    server.terminate()?;
    table.print();
    if broken.is_empty() {
        Ok(())
    } else {
        Err(broken.join("; "))
    }
}

/// What strace saw of one load.
struct Seen {
    calls: BTreeMap<String, u64>,
    timed_futexes: u64,
    log_syncs: Option<u64>,
    figures: Figures,
}

impl Seen {
    fn sum(&self, names: &[&str]) -> u64 {
        names.iter().filter_map(|name| self.calls.get(*name)).sum()
    }

    fn print(&self) {
        let commits = self.figures.transactions.max(1) as f64;
        let mut calls: Vec<(&String, &u64)> = self.calls.iter().collect();
        calls.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (name, count) in calls.into_iter().take(12) {
            println!(
                "    {name:<20} {count:>9}  {:>8.3} a commit",
                *count as f64 / commits
            );
        }
    }
}

fn measure(server: &Server, load: &Load, dir: &Path) -> Outcome<Seen> {
    let counts = dir.join(format!("strace-counts-{}", load.threads));
    let mut conn = server.connect()?;
    let before = queries::status(conn.as_mut(), "Innodb_os_log_fsyncs");
    let tracer = Tracer::attach(server, &["-c"], &counts)?;
    let figures = load.run(server.setup())?;
    tracer.detach()?;
    let after = queries::status(conn.as_mut(), "Innodb_os_log_fsyncs");
    // A second, shorter run sees the arguments: a summary does not tell a wait with a limit from one without.
    let waits = dir.join(format!("strace-waits-{}", load.threads));
    let tracer = Tracer::attach(server, &["-e", "trace=futex"], &waits)?;
    let shorter = Load {
        seconds: WATCHED_SECONDS,
        ..load.clone()
    };
    shorter.run(server.setup())?;
    tracer.detach()?;
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    Ok(Seen {
        calls: parse_counts(&read(&counts)?),
        timed_futexes: read(&waits)?.lines().filter(|l| is_timed(l)).count() as u64,
        log_syncs: before.zip(after).map(|(b, a)| a.saturating_sub(b)),
        figures,
    })
}

/// A futex wait with a time limit, in strace's words.
fn is_timed(line: &str) -> bool {
    line.contains("FUTEX_WAIT") && line.contains("tv_sec")
}

/// Reads the table that `strace -c` writes: the last word is the call, the fourth its count.
fn parse_counts(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let name = *words.last()?;
            if words.len() < 5 || name == "total" {
                return None;
            }
            Some((name.to_owned(), words[3].parse().ok()?))
        })
        .collect()
}

/// An strace attached to the server.
struct Tracer(Child);

impl Tracer {
    fn attach(server: &Server, flags: &[&str], output: &Path) -> Outcome<Tracer> {
        let notes = output.with_extension("notes");
        let stderr = std::fs::File::create(&notes).map_err(|e| e.to_string())?;
        let child = Command::new("strace")
            .arg("-f")
            .args(flags)
            .arg("-p")
            .arg(server.pid().to_string())
            .arg("-o")
            .arg(output)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .map_err(|e| format!("strace: {e}"))?;
        let mut tracer = Tracer(child);
        let begun = Instant::now();
        // It says so once it is attached; the load begins only then.
        while !std::fs::read_to_string(&notes).is_ok_and(|t| t.contains("attached")) {
            if let Ok(Some(status)) = tracer.0.try_wait() {
                return Err(format!(
                    "strace ended with {status}: {}",
                    step::tail_of_file(&notes, 5)
                ));
            }
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("strace did not attach in 10 s".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(200));
        Ok(tracer)
    }

    fn detach(mut self) -> Outcome<()> {
        step::must(
            Command::new("kill")
                .arg("-INT")
                .arg(self.0.id().to_string()),
        )?;
        self.0.wait().map_err(|e| format!("strace: {e}"))?;
        Ok(())
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strace_is_understood() {
        let text = "% time     seconds  usecs/call     calls    errors syscall\n\
                    ------ ----------- ----------- --------- --------- ----------------\n\
                     71.43    0.005000          50       100           fdatasync\n\
                     28.57    0.002000           1      2000        12 futex\n\
                    100.00    0.007000                  2100        12 total\n";
        let calls = parse_counts(text);
        assert_eq!(calls.get("fdatasync"), Some(&100));
        assert_eq!(calls.get("futex"), Some(&2000));
        assert_eq!(calls.len(), 2);
        assert!(is_timed(
            "7 futex(0x7f, FUTEX_WAIT_PRIVATE, 2, {tv_sec=0, tv_nsec=50}) = 0"
        ));
        assert!(!is_timed("7 futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL) = 0"));
    }
}
