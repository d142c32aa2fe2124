//! The machine: what it is, and what it can do without a database.

use crate::catalog;
use crate::dataset_cache::DatasetCache;
use crate::experiment::{Data, Probe, Side};
use crate::fio::Fio;
use crate::measure::{self, Job};
use crate::peers::{Terms, Who};
use crate::record::{Limits, Machine};
use harness::step::{self, Outcome};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the processors are watched before a run.
const WATCHED: Duration = Duration::from_secs(2);

/// The clients at which the canned-response server is measured.
const CANNED_CLIENTS: &[u32] = &[1, 8, 64, 256];

/// What this machine is. `dir` is where the data will lie.
pub fn describe(dir: &Path) -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, name: &str, by: char| -> String {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.split_once(by))
            .map(|(_, value)| value.trim().trim_matches('"').to_owned())
            .unwrap_or_default()
    };
    let memory_kib: f64 = after(&read("/proc/meminfo"), "MemTotal", ':')
        .trim_end_matches(" kB")
        .parse()
        .unwrap_or(0.0);
    let mut df = Command::new("df");
    let file_system = step::must(df.arg("--output=fstype").arg(dir)).unwrap_or_default();
    Machine {
        cpu: after(&read("/proc/cpuinfo"), "model name", ':'),
        cores: cores(),
        memory_gib: (memory_kib / f64::from(1 << 20)).round(),
        system: after(&read("/etc/os-release"), "PRETTY_NAME", '='),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        file_system: file_system.lines().last().unwrap_or_default().to_owned(),
        busy_before: busy(),
    }
}

/// How many cores there are to run on.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The share of the processors' time that others use now.
fn busy() -> f64 {
    // `cpu user nice system idle iowait irq softirq steal guest guest_nice`: guests are counted as users already.
    let times = || -> Option<(u64, u64)> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let words = text.lines().next()?.split_whitespace().skip(1).take(8);
        let times: Vec<u64> = words.filter_map(|w| w.parse().ok()).collect();
        let idle = times.get(3)? + times.get(4)?;
        Some((times.iter().sum(), idle))
    };
    let before = times();
    std::thread::sleep(WATCHED);
    match before.zip(times()) {
        Some(((all_0, idle_0), (all_1, idle_1))) if all_1 > all_0 => {
            1.0 - (idle_1.saturating_sub(idle_0)) as f64 / (all_1 - all_0) as f64
        }
        _ => 0.0,
    }
}

/// Measures what the machine can do at most.
pub fn limits(fio: &Fio, cache: &mut DatasetCache, seconds: u64) -> Outcome<Limits> {
    step::announce("what the machine can do without a database");
    let mut limits = Limits::default();
    for (name, probe) in [
        ("random read, 16 KiB, 1 at a time", Probe::Read(1)),
        ("random read, 16 KiB, 32 at a time", Probe::Read(32)),
        ("random write, 16 KiB, 1 at a time", Probe::Write(1)),
        ("random write, 16 KiB, 32 at a time", Probe::Write(32)),
        ("write of 4 KiB + fdatasync", Probe::Sync(false)),
        ("the same past the kernel's cache", Probe::Sync(true)),
    ] {
        let disk = fio.run(probe, seconds)?;
        println!(
            "    {name:<36} {:>8.0}/s, p50 {:.0} us, p99 {:.0} us",
            disk.rate, disk.p50_us, disk.p99_us
        );
        limits.disk.push((name.to_owned(), disk));
    }
    let nothing = Data::Rows {
        tables: 1,
        rows: 1000,
        options: "",
        cached: false,
    };
    let terms = Terms {
        pool_mib: 0,
        log_mib: 0,
        flush: 1,
        disk_mb_s: 0,
    };
    let started = cache.start(&Side::plain(Who::Canned), nothing, terms, "")?;
    for &clients in CANNED_CLIENTS {
        let job = Job {
            load: catalog::POINT_SELECT,
            data: nothing,
            clients,
            seconds,
            cores: String::new(),
        };
        let run = measure::server(started.peer()?, Who::Canned, &job)?;
        let cpu = run.cpu_us.unwrap_or(f64::NAN);
        println!(
            "    canned answers, {clients:>3} clients          {:>8.0}/s, {cpu:.1} us CPU each",
            run.rate
        );
        limits.canned.push((clients, run.rate, cpu));
    }
    started.stop()?;
    Ok(limits)
}

/// Today, in UTC, as `2026-11-22`.
pub fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let (year, month, day) = civil(now.map_or(0, |d| d.as_secs() / 86_400));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of so many days after 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_779), (2026, 11, 22));
    }

    #[test]
    fn this_machine_has_a_name() {
        let machine = describe(Path::new("/"));
        assert!(machine.cores > 0 && machine.memory_gib > 0.0);
        assert!((0.0..=1.0).contains(&machine.busy_before));
    }
}
