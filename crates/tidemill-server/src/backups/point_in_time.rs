//! `tidemill restore --binlogs`: the directory goes on behind the backup, by the files of the binary log that the server has left, in its
//! data directory or in an archive.

use std::path::Path;
use std::sync::Arc;

use base::block_on;
use base::environment::{Disk, OpenMode};
use engine::backup::{Manifest, RESTORED};
use replication::archive::marker::Marker;
use replication::replica::replay::{Logs, NamedFile, ReplayUntil, replay};
use sql::context::replica::LogPlace;
use types::gtid::GtidSet;

use crate::open;
use crate::options::{Options, RestoreUntil};

/// The files of the binary log in a folder, from the one with this name on, in their order: a name and a number that is one more each time. An archive
/// says where the binary log was begun anew: they end there, and the name of the one with which it was is given too.
fn files(
    disk: &dyn Disk,
    dir: &Path,
    first: &str,
) -> Result<(Vec<NamedFile>, Option<String>), String> {
    let wrong = || format!("the binary log's file '{first}' has no number");
    let (base, number) = first.rsplit_once('.').ok_or_else(wrong)?;
    let mut number: u64 = number.parse().map_err(|_| wrong())?;
    let names = disk.read_dir(dir);
    let names = names.map_err(|e| format!("{}: {e}", dir.display()))?;
    let numbered = |name: &str| {
        let (b, n) = name.rsplit_once('.')?;
        (b == base).then_some(())?;
        n.parse::<u64>().ok()
    };
    let last = names.iter().filter_map(|(name, _)| numbered(name)).max();
    let marker = Marker::read(disk, dir).map_err(|e| e.to_string())?;
    let begun = marker.into_iter().flat_map(|m| m.begun).map(u64::from);
    let begun = begun.filter(|n| *n > number).min();
    let last = last.map(|last| begun.map_or(last, |begun| last.min(begun - 1)));
    let mut all = Vec::new();
    while last.is_some_and(|last| number <= last) {
        let name = format!("{base}.{number:06}");
        let file = disk.open(&dir.join(&name), OpenMode::Buffered, false);
        let file = file.map_err(|e| format!("{}: {e}", dir.join(&name).display()))?;
        all.push((name, file));
        number += 1;
    }
    Ok((all, begun.map(|number| format!("{base}.{number:06}"))))
}

/// Applies them, and says what was done.
pub(super) fn apply(
    dir: &Path,
    until: RestoreUntil,
    mut manifest: Manifest,
    options: &Options,
) -> Result<String, String> {
    let until = match until {
        RestoreUntil::End => ReplayUntil::End,
        RestoreUntil::Time(micros) => ReplayUntil::Time(micros),
        RestoreUntil::Gtid(gtid) => ReplayUntil::Gtid(gtid),
    };
    let disk = base::real::environment().disk;
    let none = "the server had no binary log when the backup was taken: there is no point in time to be found behind it";
    let (file, position) = manifest.binary_log.clone().ok_or(none)?;
    let executed = manifest.gtid_executed.as_deref().unwrap_or_default();
    let executed = GtidSet::parse(executed).ok_or("the backup's gtid_executed is none")?;
    let (files, begun_anew) = files(&*disk, dir, &file)?;
    let logs = Logs {
        files,
        begun_anew,
        from: LogPlace { file, position },
        executed,
    };
    let anew = logs.anew();
    let database = block_on(open::open(options)).map_err(|e| e.to_string())?;
    let instance = Arc::clone(&database.directory.instance);
    let done = block_on(replay(&instance, logs, &until));
    drop(instance);
    let closed = block_on(database.directory.close());
    let done = done?;
    closed.map_err(|e| e.message)?;
    manifest.gtid_executed = Some(done.executed.to_string());
    manifest.binary_log = Some((done.place.file.clone(), done.place.position));
    let path = options.datadir.join(RESTORED);
    let said = |e: std::io::Error| format!("{}: {e}", path.display());
    let kept = disk.open(&path, OpenMode::Buffered, true).map_err(said)?;
    kept.truncate(0).map_err(said)?;
    kept.write_now(manifest.encode().as_bytes(), 0)
        .map_err(said)?;
    kept.sync_now().map_err(said)?;
    let cut = match done.cut {
        true => "; the last file ends within a transaction, which was left out",
        false => "",
    };
    Ok(format!(
        "{} transactions were applied, up to {} in {}{cut}{anew}; gtid_executed: {}",
        done.transactions, done.place.position, done.place.file, done.executed
    ))
}
