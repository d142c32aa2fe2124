//! A disk that moves fewer bytes a second than the machine's: what the volumes are that most databases in the cloud run on. A control group holds one
//! server to it; what the kernel writes by itself (logs that are not written past its cache) is in nobody's limit.

use harness::cgroup::own_group;
use harness::step::Outcome;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The group that a server is in. It must outlive the server, or it stays behind.
#[derive(Debug)]
pub struct SlowDisk {
    dir: PathBuf,
}

impl SlowDisk {
    /// Holds a process to so many MB a second that it reads from the disk under `data`, and as many that it writes.
    ///
    /// # Errors
    /// The kernel or the container does not let us.
    pub fn over(pid: u32, data: &Path, mb_s: u64) -> Outcome<SlowDisk> {
        let device = device_of(data)?;
        let (parent, older) = own_group("blkio").ok_or("a slower disk: no control group")?;
        let slow = SlowDisk {
            dir: parent.join(format!("tidemill-lab-disk-{pid}")),
        };
        let fail = |e: std::io::Error| format!("a slower disk, {}: {e}", slow.dir.display());
        fs::create_dir(&slow.dir).map_err(fail)?;
        let bytes = mb_s * 1_000_000;
        let write = |file: &str, text: String| fs::write(slow.dir.join(file), text).map_err(fail);
        match older {
            false => write("io.max", format!("{device} rbps={bytes} wbps={bytes}"))?,
            true => {
                for file in ["read_bps_device", "write_bps_device"] {
                    write(
                        &format!("blkio.throttle.{file}"),
                        format!("{device} {bytes}"),
                    )?;
                }
            }
        }
        write("cgroup.procs", pid.to_string())?;
        Ok(slow)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// The numbers of the disk, not of its partition, that has this folder.
fn device_of(dir: &Path) -> Outcome<String> {
    let fail = |e: std::io::Error| format!("{}: {e}", dir.display());
    let device = fs::metadata(dir).map_err(fail)?.dev();
    // As the C library's `gnu_dev_major` and `gnu_dev_minor` take them apart.
    let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
    let minor = (device & 0xff) | (device >> 12 & !0xff);
    let sys = format!("/sys/dev/block/{major}:{minor}");
    let sys = Path::new(&sys);
    match sys.join("partition").exists() {
        true => {
            let whole = fs::read_to_string(sys.join("../dev")).map_err(fail)?;
            Ok(whole.trim().to_owned())
        }
        false => Ok(format!("{major}:{minor}")),
    }
}

/// In words, for the terms of a series.
pub fn described(mb_s: u64) -> String {
    format!("a disk of {mb_s} MB/s each way")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_slowed_down_where_that_is_allowed() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let here = std::env::current_dir().unwrap();
        match SlowDisk::over(child.id(), &here, 10) {
            Ok(slow) => {
                let procs = fs::read_to_string(slow.dir.join("cgroup.procs")).unwrap();
                assert_eq!(procs.trim(), child.id().to_string());
                child.kill().unwrap();
                child.wait().unwrap();
                let dir = slow.dir.clone();
                drop(slow);
                assert!(!dir.exists());
            }
            Err(why) => {
                assert!(why.contains("slower disk"), "{why}");
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    }
}
