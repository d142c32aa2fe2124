//! What Linux says about a process: CPU time and memory, from /proc.

use crate::step::Outcome;
use std::time::Duration;

/// Ticks a second in /proc/PID/stat: fixed at 100 in Linux's user-visible interface.
const TICKS_PER_SECOND: u64 = 100;

fn read(pid: u32, file: &str) -> Outcome<String> {
    let path = format!("/proc/{pid}/{file}");
    std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))
}

/// User plus system time of all threads of `pid`, the finished ones included.
pub fn cpu_time(pid: u32) -> Outcome<Duration> {
    let stat = read(pid, "stat")?;
    parse_cpu_time(&stat).ok_or_else(|| format!("/proc/{pid}/stat: unexpected '{stat}'"))
}

fn parse_cpu_time(stat: &str) -> Option<Duration> {
    // The program's name stands in parentheses and may hold anything; fields are counted after the last one.
    let after = &stat[stat.rfind(')')? + 1..];
    let mut fields = after.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis(
        (user + system) * 1000 / TICKS_PER_SECOND,
    ))
}

/// Bytes of memory that `pid` has resident now.
pub fn resident(pid: u32) -> Outcome<u64> {
    let status = read(pid, "status")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .ok_or_else(|| format!("/proc/{pid}/status has no VmRSS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_survives_odd_program_names() {
        let stat =
            "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 100 1 1 1 1 1 1 1 1";
        assert_eq!(parse_cpu_time(stat), Some(Duration::from_secs(2)));
    }

    #[test]
    fn own_figures_are_there() {
        let pid = std::process::id();
        assert!(cpu_time(pid).is_ok());
        assert!(resident(pid).unwrap() > 0);
    }
}
