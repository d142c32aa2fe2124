//! A backup that is taken when a series begins, and what comes of it and the source's binary log when the series is over: the source, once more.

use super::judge::{self, Contents};
use super::owners;
use harness::server::{Kind, Setup};
use harness::step::{self, Outcome};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn folder(source: &Setup) -> PathBuf {
    source.datadir.with_extension("backup")
}

/// Takes it.
pub fn back_up(source: &Setup) -> Outcome<()> {
    let mut backup = Command::new(&source.program);
    backup
        .arg("backup")
        .arg(format!("--server={}", source.socket.display()))
        .arg(format!("--to={}", folder(source).display()));
    step::must(&mut backup).map(drop)
}

/// Restores it up to the end of the binary log, and compares that with what the source had. The source has ended.
pub fn compare(source: &Setup, had: &Contents) -> Outcome<()> {
    let below = source.datadir.with_extension("restored");
    std::fs::create_dir_all(&below).map_err(|e| format!("{}: {e}", below.display()))?;
    let mut setup = Setup::new(Kind::Tidemill, &below)?;
    let mut restore = Command::new(&source.program);
    restore
        .arg("restore")
        .arg(folder(source))
        .arg(format!("--datadir={}", setup.datadir.display()))
        .arg(format!("--binlogs={}", source.datadir.display()));
    step::must(&mut restore).map_err(|e| format!("restore: {e}"))?;
    for option in owners::OF_REPLICAS {
        setup = setup.option(option);
    }
    let mut server = setup.spawn()?;
    server.wait_ready(Duration::from_secs(120))?;
    let has = judge::read(&setup, true)?;
    server.terminate()?;
    had.must_equal(&has, true)
        .map_err(|e| format!("the source and what was restored: {e}"))
}
