//! `tidemill backup`, `tidemill restore`, `tidemill replica`: backups of servers that go on, and data directories from them.
//!
//! What a backup is, is the engine's ([`engine::backup`]); a server gives it over an ordinary connection, as the rows of BACKUP SERVER TO CLIENT.
//!
//! Must never do: write into a folder that has something in it; take for whole what has not come to its end.

mod connection;
mod point_in_time;
mod replica;

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use base::{Disk, Environment};
use engine::backup::{
    FolderReader, FolderWriter, Manifest, SinceToken, Summary, Unusable, Verifier, manifest_in,
};

use crate::options::{BackupArguments, Options, RestoreArguments};
use connection::{Failure, chunks};
pub use replica::replica;

/// What is said of what was done, or why it was not.
pub type Outcome = Result<Vec<String>, String>;

fn environment() -> Environment {
    base::real::environment()
}

fn why(e: &Unusable) -> String {
    e.to_string()
}

/// Takes a backup.
///
/// # Errors
/// Says why there is none; nothing is left of it then.
pub fn back_up(arguments: &BackupArguments) -> Outcome {
    let disk = environment().disk;
    let since = match &arguments.since {
        None => None,
        Some(dir) => Some(manifest_in(&*disk, dir).map_err(|e| why(&e))?.token()),
    };
    let summary = match &arguments.to {
        None => {
            let mut out = io::stdout().lock();
            let put = |chunk: &[u8]| out.write_all(chunk);
            let taken = receive(arguments, since.as_ref(), put)?;
            io::stdout().flush().map_err(|e| e.to_string())?;
            taken
        }
        Some(dir) => {
            let mut folder = FolderWriter::new(&disk, dir).map_err(|e| why(&e))?;
            match receive(arguments, since.as_ref(), |chunk| folder.push(chunk)) {
                Ok(taken) => {
                    let finished = folder.finish(&taken.manifest);
                    finished.map_err(|e| format!("{}: {e}", dir.display()))?;
                    taken
                }
                Err(e) => {
                    folder.abandon();
                    return Err(e);
                }
            }
        }
    };
    Ok(told(&summary))
}

/// Has the server give a backup, and checks each chunk as it comes.
fn receive(
    arguments: &BackupArguments,
    since: Option<&SinceToken>,
    mut put: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Summary, String> {
    let mut verifier = Verifier::default();
    let mut summary = None;
    let got = chunks(&arguments.client, since, arguments.throttle, |chunk| {
        summary = verifier.push(chunk)?;
        put(chunk).map_err(|e| Failure::Own(format!("the backup cannot be written: {e}")))
    });
    got.map_err(|e| e.to_string())?;
    summary.ok_or_else(|| "the server gave no whole backup".to_owned())
}

/// Reads a backup and checks all of it.
///
/// # Errors
/// Says what is wrong with it.
pub fn verify(dir: &Path) -> Outcome {
    let disk = environment().disk;
    let summary = read_one(&disk, dir, &mut |from| engine::backup::verify(from))?;
    Ok(told(&summary))
}

/// Reads the backup in a folder, whose manifest must be that of its end.
fn read_one(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    read: &mut dyn FnMut(&mut dyn Read) -> Result<Summary, Unusable>,
) -> Result<Summary, String> {
    let here = |e: &Unusable| format!("{}: {e}", dir.display());
    let manifest = manifest_in(&**disk, dir).map_err(|e| here(&e))?;
    let reader = FolderReader::open(&**disk, dir).map_err(|e| here(&e))?;
    let mut reader = io::BufReader::with_capacity(1 << 20, reader);
    let summary = read(&mut reader).map_err(|e| here(&e))?;
    match summary.manifest == manifest {
        true => Ok(summary),
        false => Err(format!(
            "{}: the backup is damaged: its manifest is another one's",
            dir.display()
        )),
    }
}

/// Makes a data directory.
///
/// # Errors
/// Says why there is none; what was begun cannot be started.
pub fn restore(arguments: &RestoreArguments, options: &Options) -> Outcome {
    let environment = environment();
    let dir = &options.datadir;
    // All that is wrong with the folders is said before anything is made.
    for from in &arguments.from {
        manifest_in(&*environment.disk, from).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    let mut restore = engine::backup::restore(&environment, dir).map_err(|e| why(&e))?;
    if arguments.from.is_empty() {
        let mut input = io::BufReader::with_capacity(1 << 20, io::stdin().lock());
        restore.read(&mut input, true).map_err(|e| why(&e))?;
    }
    for (i, from) in arguments.from.iter().enumerate() {
        let last = i + 1 == arguments.from.len();
        read_one(&environment.disk, from, &mut |r| restore.read(r, last))?;
    }
    let manifest = restore.finish().map_err(|e| why(&e))?;
    let mut lines = vec![format!(
        "{} was restored: what was committed up to {} in the log; the first start recovers it",
        dir.display(),
        manifest.end
    )];
    lines.extend(place(&manifest));
    if let Some(binlogs) = &arguments.binlogs {
        lines.push(point_in_time::apply(
            binlogs,
            arguments.until,
            manifest,
            options,
        )?);
    }
    Ok(lines)
}

fn told(summary: &Summary) -> Vec<String> {
    let m = &summary.manifest;
    let what = match m.parent {
        0 => "all".to_owned(),
        parent => format!("what has changed since {parent:016x}"),
    };
    let mut lines = vec![format!(
        "backup {:016x}: {what}, {} tablespaces, {} pages, {} bytes, log {} to {}",
        m.id,
        m.spaces.len() + m.born.len(),
        summary.pages,
        summary.bytes,
        m.needed,
        m.end
    )];
    lines.extend(place(m));
    lines
}

/// Where the binary log was.
fn place(m: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((file, position)) = &m.binary_log {
        lines.push(format!("binary log: {file}, position {position}"));
    }
    if let Some(set) = &m.gtid_executed {
        lines.push(format!("gtid_executed: {set}"));
    }
    lines
}
