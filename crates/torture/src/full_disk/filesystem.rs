//! A small file system of our own: ext4 in a file, mounted on a folder, and unmounted whatever happens.

use harness::step::{self, Outcome};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The mounted file system. Nothing else is ever filled or unmounted.
#[derive(Debug)]
pub struct FileSystem {
    at: PathBuf,
}

/// A file system, or why this machine has none to give.
#[derive(Debug)]
pub enum Made {
    /// It is mounted.
    Mounted(FileSystem),
    /// Mounting is not permitted, or the programs are not there.
    NotHere(String),
}

/// A program that need not be on the PATH of a user.
fn program(name: &str) -> Command {
    let usual = Path::new("/usr/sbin").join(name);
    if usual.is_file() {
        Command::new(usual)
    } else {
        Command::new(name)
    }
}

impl FileSystem {
    /// Makes one of `mib` MiB below `dir`.
    pub fn make(dir: &Path, mib: u64) -> Outcome<Made> {
        let (image, at) = (dir.join("disk.img"), dir.join("disk"));
        let failed = |e: std::io::Error| format!("{}: {e}", image.display());
        File::create(&image)
            .and_then(|f| f.set_len(mib << 20))
            .map_err(failed)?;
        std::fs::create_dir_all(&at).map_err(failed)?;
        // Without blocks kept for root: the server must meet the end where it is.
        let made = step::must(
            program("mkfs.ext4")
                .args(["-q", "-F", "-m", "0"])
                .arg(&image),
        );
        let mounted = made
            .and_then(|_| step::must(program("mount").args(["-o", "loop"]).arg(&image).arg(&at)));
        Ok(match mounted {
            Ok(_) => Made::Mounted(FileSystem { at }),
            Err(why) => Made::NotHere(why),
        })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Free bytes, as `df` says.
    pub fn free(&self) -> u64 {
        harness::scratch::free_bytes(&self.at).unwrap_or(0)
    }

    fn ballast(&self) -> PathBuf {
        self.at.join("ballast")
    }

    /// Fills it from outside, until `leave` bytes are free.
    pub fn fill(&self, leave: u64) -> Outcome<()> {
        let path = self.ballast();
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(failed)?;
        let block = vec![0xa5; 4096];
        loop {
            let free = self.free();
            if free <= leave {
                return Ok(());
            }
            let blocks = ((free - leave) / 4096).clamp(1, 4096);
            for _ in 0..blocks {
                match file.write_all(&block) {
                    // `df` counts blocks that a file cannot have.
                    Err(e) if e.kind() == std::io::ErrorKind::StorageFull => {
                        return file.sync_all().map_err(failed);
                    }
                    r => r.map_err(failed)?,
                }
            }
            file.sync_all().map_err(failed)?;
        }
    }

    /// Gives `bytes` of what was filled from outside free again.
    pub fn relieve(&self, bytes: u64) -> Outcome<()> {
        let path = self.ballast();
        let file = File::options()
            .write(true)
            .open(&path)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        let len = file.metadata().map_or(0, |m| m.len());
        file.set_len(len.saturating_sub(bytes))
            .and_then(|()| file.sync_all())
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    fn unmount(&self) -> bool {
        for _ in 0..50 {
            if step::must(program("umount").arg(&self.at)).is_ok() {
                return true;
            }
            // The server that was killed may not be gone altogether.
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    }
}

impl Drop for FileSystem {
    fn drop(&mut self) {
        if !self.unmount() {
            // Out of everybody's way at least; the kernel frees it with its last open file.
            let lazily = step::must(program("umount").arg("-l").arg(&self.at));
            println!(
                "    {} could not be unmounted at once: {}",
                self.at.display(),
                lazily.map_or_else(|e| e, |_| "it goes with its last open file".to_owned())
            );
        }
    }
}
