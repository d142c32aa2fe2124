//! What Linux says about a process, or one and its children: CPU time, memory and bytes moved, from /proc.

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
    parse_times(stat).map(|[own, _]| own)
}

/// The process's own time, and that of the children it has waited for.
fn parse_times(stat: &str) -> Option<[Duration; 2]> {
    // The program's name stands in parentheses and may hold anything; fields are counted after the last one.
    let after = &stat[stat.rfind(')')? + 1..];
    let mut fields = after.split_whitespace().skip(11);
    let mut both = || -> Option<Duration> {
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        let ticks = user + system;
        Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
    };
    Some([both()?, both()?])
}

/// What a server has used since it was started.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// User plus system time.
    pub cpu: Duration,
    /// Bytes read from devices; what the kernel's cache gave is not among them.
    pub read: u64,
    /// Bytes sent to devices.
    pub written: u64,
}

impl Usage {
    /// What was used since `before`.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            cpu: self.cpu.saturating_sub(before.cpu),
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }
}

/// What `pid` has used, with its children: those it has, and those that ended and that it waited for.
pub fn usage(pid: u32) -> Outcome<Usage> {
    let stat = read(pid, "stat")?;
    let [own, ended] =
        parse_times(&stat).ok_or_else(|| format!("/proc/{pid}/stat: unexpected '{stat}'"))?;
    // The kernel adds the bytes of children that ended to the parent's own.
    let (read, written) = bytes_moved(pid)?;
    let mut sum = Usage {
        cpu: own + ended,
        read,
        written,
    };
    for child in children(pid)? {
        // One that ends meanwhile is missed once, and counted as ended the next time.
        if let (Ok(cpu), Ok((read, written))) = (cpu_time(child), bytes_moved(child)) {
            sum.cpu += cpu;
            sum.read += read;
            sum.written += written;
        }
    }
    Ok(sum)
}

fn bytes_moved(pid: u32) -> Outcome<(u64, u64)> {
    let io = read(pid, "io")?;
    let field = |name: &str| -> Option<u64> {
        let line = io.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    field("read_bytes:")
        .zip(field("write_bytes:"))
        .ok_or_else(|| format!("/proc/{pid}/io: unexpected '{io}'"))
}

/// The processes that `pid`'s first thread has started and that are there still.
pub fn children(pid: u32) -> Outcome<Vec<u32>> {
    let text = read(pid, &format!("task/{pid}/children"))?;
    Ok(text
        .split_whitespace()
        .filter_map(|n| n.parse().ok())
        .collect())
}

/// Bytes of memory that `pid` and its children have resident: what each has for itself, and once the largest share of
/// what they have in common. Adding up their resident sets would count a shared pool once for each of them.
pub fn resident_together(pid: u32) -> Outcome<u64> {
    let (mut own, mut file, mut shared) = resident_parts(pid)?;
    for child in children(pid)? {
        if let Ok((a, f, s)) = resident_parts(child) {
            own += a;
            file = file.max(f);
            shared = shared.max(s);
        }
    }
    Ok(own + file + shared)
}

fn resident_parts(pid: u32) -> Outcome<(u64, u64, u64)> {
    let status = read(pid, "status")?;
    let kib = |name: &str| kib_of(&status, name).ok_or_else(|| format!("{pid} has no {name}"));
    Ok((kib("RssAnon:")?, kib("RssFile:")?, kib("RssShmem:")?))
}

/// A field of /proc/PID/status that is given in KiB, in bytes.
fn kib_of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// Bytes of memory that `pid` has resident now.
pub fn resident(pid: u32) -> Outcome<u64> {
    let status = read(pid, "status")?;
    kib_of(&status, "VmRSS:").ok_or_else(|| format!("/proc/{pid}/status has no VmRSS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_survives_odd_program_names() {
        let stat =
            "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 100 1 1 1 1 1 1 1 1";
        assert_eq!(parse_cpu_time(stat), Some(Duration::from_secs(2)));
        let with_children = stat.replace(" 0 0 20 0 1 ", " 100 0 20 0 1 ");
        let times = parse_times(&with_children).unwrap();
        assert_eq!(times, [Duration::from_secs(2), Duration::from_secs(1)]);
    }

    #[test]
    fn own_figures_are_there() {
        let pid = std::process::id();
        assert!(cpu_time(pid).is_ok());
        assert!(resident(pid).unwrap() > 0);
        assert!(resident_together(pid).unwrap() > 0);
        assert!(usage(pid).is_ok());
    }
}
