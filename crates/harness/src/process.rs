//! What Linux says about a process, or one and its children: CPU time, memory and bytes moved.

use crate::step::Outcome;
use procfs::process::{Process, Stat, Status};
use procfs::{ProcError, ProcResult};
use std::time::Duration;

const KIB: u64 = 1024;

/// What one process tells of itself.
fn ask<T>(pid: u32, question: impl Fn(&Process) -> ProcResult<T>) -> Outcome<T> {
    let failed = |e: ProcError| format!("/proc/{pid}: {e}");
    let process = Process::new(pid.cast_signed()).map_err(failed)?;
    question(&process).map_err(failed)
}

/// User plus system time of all threads of `pid`, the finished ones included.
pub fn cpu_time(pid: u32) -> Outcome<Duration> {
    let stat = ask(pid, Process::stat)?;
    Ok(own_time(&stat))
}

/// User plus system time of the threads of `pid` that have this name now.
pub fn cpu_time_of_threads(pid: u32, name: &str) -> Outcome<Duration> {
    let tasks = ask(pid, Process::tasks)?;
    let stats = tasks.filter_map(|task| task.and_then(|t| t.stat()).ok());
    let named = stats.filter(|stat| stat.comm == name);
    Ok(named.map(|stat| of_ticks(stat.utime + stat.stime)).sum())
}

fn own_time(stat: &Stat) -> Duration {
    of_ticks(stat.utime + stat.stime)
}

/// The time of the children that the process has waited for.
fn time_of_ended_children(stat: &Stat) -> Duration {
    of_ticks(u64::try_from(stat.cutime + stat.cstime).unwrap_or(0))
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / procfs::ticks_per_second())
}

/// User plus system time of a child of ours that has ended and has not been waited for; nothing while it runs.
///
/// # Errors
/// There is no such process: it has been waited for already.
pub fn time_of_ended(pid: u32) -> Outcome<Option<Duration>> {
    let stat = ask(pid, Process::stat)?;
    Ok(matches!(stat.state, 'Z' | 'X').then(|| own_time(&stat) + time_of_ended_children(&stat)))
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
    let stat = ask(pid, Process::stat)?;
    // The kernel adds the bytes of children that ended to the parent's own.
    let (read, written) = bytes_moved(pid)?;
    let mut sum = Usage {
        cpu: own_time(&stat) + time_of_ended_children(&stat),
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
    let io = ask(pid, Process::io)?;
    Ok((io.read_bytes, io.write_bytes))
}

/// The processes that `pid`'s first thread has started and that are there still.
pub fn children(pid: u32) -> Outcome<Vec<u32>> {
    ask(pid, |process| process.task_main_thread()?.children())
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
    let status = ask(pid, Process::status)?;
    let bytes = |name, kib| bytes_of(pid, name, kib);
    Ok((
        bytes("RssAnon", status.rssanon)?,
        bytes("RssFile", status.rssfile)?,
        bytes("RssShmem", status.rssshmem)?,
    ))
}

fn bytes_of(pid: u32, name: &str, kib: Option<u64>) -> Outcome<u64> {
    kib.map(|kib| kib * KIB)
        .ok_or_else(|| format!("/proc/{pid}/status has no {name}"))
}

/// Bytes of memory that `pid` has resident now.
pub fn resident(pid: u32) -> Outcome<u64> {
    let status: Status = ask(pid, Process::status)?;
    bytes_of(pid, "VmRSS", status.vmrss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_figures_are_there() {
        let pid = std::process::id();
        assert!(cpu_time(pid).is_ok());
        assert!(resident(pid).unwrap() > 0);
        assert!(resident_together(pid).unwrap() > 0);
        assert!(usage(pid).is_ok());
        assert!(cpu_time(u32::MAX >> 1).is_err());
    }

    #[test]
    fn a_child_that_has_ended_tells_its_time() {
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; read -r _";
        let mut sh = std::process::Command::new("sh");
        let child = sh.args(["-c", work]).stdin(std::process::Stdio::piped());
        let mut child = child.spawn().unwrap();
        assert_eq!(time_of_ended(child.id()).unwrap(), None);
        drop(child.stdin.take());
        let took = loop {
            if let Some(took) = time_of_ended(child.id()).unwrap() {
                break took;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(took > Duration::ZERO);
        child.wait().unwrap();
        assert!(time_of_ended(child.id()).is_err());
    }
}
