//! The disk by itself, measured with `fio`: what no database on this machine can exceed.

use crate::experiment::Probe;
use harness::step::{self, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `fio` measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Disk {
    /// Operations a second.
    pub rate: f64,
    /// Mean time of one, microseconds.
    pub mean_us: f64,
    /// Median time of one, microseconds.
    pub p50_us: f64,
    /// 95th percentile, microseconds.
    pub p95_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// The longest, microseconds.
    pub max_us: f64,
}

/// The file that is read and written.
#[derive(Debug)]
pub struct Fio {
    file: PathBuf,
    mib: u64,
}

/// One kind of access.
struct Job {
    rw: &'static str,
    block: &'static str,
    direct: bool,
    depth: u32,
    /// The part of fio's report that counts.
    part: &'static str,
}

impl Job {
    fn of(probe: Probe) -> Job {
        let random = |rw, depth, part| Job {
            rw,
            block: "16k",
            direct: true,
            depth,
            part,
        };
        match probe {
            Probe::Read(depth) => random("randread", depth, "read"),
            Probe::Write(depth) => random("randwrite", depth, "write"),
            Probe::Sync(direct) => Job {
                rw: "write",
                block: "4k",
                direct,
                depth: 1,
                part: "write",
            },
        }
    }
}

impl Fio {
    /// A file of so many MiB in `dir`, written once from end to end: a first write costs more than a later one.
    pub fn new(dir: &Path, mib: u64) -> Outcome<Fio> {
        if !step::on_path("fio") {
            return Err("fio is not installed (apt-get install fio)".to_owned());
        }
        let fio = Fio {
            file: dir.join("fio.data"),
            mib,
        };
        let mut lay = fio.command("write", "1m");
        step::must(lay.args(["--direct=1", "--end_fsync=1"]))?;
        Ok(fio)
    }

    fn command(&self, rw: &str, block: &str) -> Command {
        let mut command = Command::new("fio");
        command
            .args(["--name=lab", "--output-format=json", "--randrepeat=0"])
            .arg(format!("--filename={}", self.file.display()))
            .arg(format!("--size={}m", self.mib))
            .arg(format!("--rw={rw}"))
            .arg(format!("--bs={block}"));
        command
    }

    /// Runs one kind of access for so many seconds.
    pub fn run(&self, probe: Probe, seconds: u64) -> Outcome<Disk> {
        let job = Job::of(probe);
        let mut fio = self.command(job.rw, job.block);
        fio.args(["--time_based", "--overwrite=1"])
            .arg(format!("--runtime={seconds}"))
            .arg(format!("--direct={}", u8::from(job.direct)))
            .arg(format!("--iodepth={}", job.depth))
            // One at a time needs no queue, and a queue costs time; many at once need one.
            .arg(if job.depth == 1 {
                "--ioengine=psync"
            } else {
                "--ioengine=io_uring"
            });
        if matches!(probe, Probe::Sync(_)) {
            fio.arg("--fdatasync=1");
        }
        let text = step::must(&mut fio)?;
        // Warnings may stand before the report and after it.
        let report = text.find('{').map_or("", |at| &text[at..]);
        let mut values = serde_json::Deserializer::from_str(report).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            other => return Err(format!("fio's report: {other:?}")),
        };
        read(&value["jobs"][0], &job, probe)
            .ok_or_else(|| format!("fio's report is not understood:\n{}", step::tail(&text, 20)))
    }
}

fn read(job: &Value, kind: &Job, probe: Probe) -> Option<Disk> {
    let part = &job[kind.part];
    let rate = part["iops"].as_f64()?;
    let (times, mean_us) = match probe {
        // The loop's time is that of the write and the sync together; fio tells the two apart.
        Probe::Sync(_) => (&job["sync"]["lat_ns"], 1e6 / rate),
        _ => (&part["clat_ns"], part["lat_ns"]["mean"].as_f64()? / 1e3),
    };
    let percentile = |p: &str| Some(times["percentile"][p].as_f64()? / 1e3);
    Some(Disk {
        rate,
        mean_us,
        p50_us: percentile("50.000000")?,
        p95_us: percentile("95.000000")?,
        p99_us: percentile("99.000000")?,
        max_us: times["max"].as_f64()? / 1e3,
    })
}

impl Drop for Fio {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_read() {
        let job = serde_json::json!({
            "write": {"iops": 2000.0, "clat_ns": {"mean": 9000.0}},
            "sync": {"lat_ns": {"max": 9e6, "percentile":
                {"50.000000": 70000, "95.000000": 90000, "99.000000": 400000}}}
        });
        let probe = Probe::Sync(false);
        let disk = read(&job, &Job::of(probe), probe).unwrap();
        assert_eq!((disk.rate, disk.mean_us), (2000.0, 500.0));
        assert_eq!(
            (disk.p50_us, disk.p99_us, disk.max_us),
            (70.0, 400.0, 9000.0)
        );
    }
}
