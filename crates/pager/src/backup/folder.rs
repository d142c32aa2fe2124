//! A backup in a folder: `backup.chunks`, the stream as it came, and `manifest`, which is there when the backup is whole, and not before.

use super::chunk::Unusable;
use super::manifest::{MANIFEST_MAX, Manifest};
use base::{Disk, File, OpenMode};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The stream.
pub const CHUNKS: &str = "backup.chunks";
/// What the backup says of itself.
pub const MANIFEST: &str = "manifest";
const NEW: &str = "manifest.new";
/// Bytes that are made durable at a time: the last sync is not to be one of all.
const SYNC_EVERY: u64 = 64 << 20;

/// Writes a backup into a folder.
pub struct FolderWriter {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    file: Arc<dyn File>,
    at: u64,
    synced: u64,
}

impl FolderWriter {
    /// Begins one in a folder that is not there, or is empty.
    ///
    /// # Errors
    /// [`Unusable::Other`]: something is in it. The system's.
    pub fn new(disk: &Arc<dyn Disk>, dir: &Path) -> Result<FolderWriter, Unusable> {
        if disk.exists(dir) && !disk.read_dir(dir)?.is_empty() {
            let why = format!(
                "{} is not empty: a backup is made in an empty folder, or one that is not there",
                dir.display()
            );
            return Err(Unusable::Other(why));
        }
        disk.create_dir_all(dir)?;
        let file = disk.open(&dir.join(CHUNKS), OpenMode::Buffered, true)?;
        Ok(FolderWriter {
            disk: disk.clone(),
            dir: dir.to_path_buf(),
            file,
            at: 0,
            synced: 0,
        })
    }

    /// Appends a chunk's bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_now(bytes, self.at)?;
        self.at += bytes.len() as u64;
        if self.at - self.synced >= SYNC_EVERY {
            self.file.sync_now()?;
            self.synced = self.at;
        }
        Ok(())
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// It is whole.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(self, manifest: &Manifest) -> io::Result<()> {
        self.file.sync_now()?;
        let new = self.dir.join(NEW);
        let file = self.disk.open(&new, OpenMode::Buffered, true)?;
        file.write_now(manifest.encode().as_bytes(), 0)?;
        file.sync_now()?;
        self.disk.rename(&new, &self.dir.join(MANIFEST))?;
        self.disk.sync_dir(&self.dir)?;
        if let Some(above) = self.dir.parent().filter(|p| !p.as_os_str().is_empty()) {
            // A folder that may not be opened was not made here.
            let _not_ours = self.disk.sync_dir(above);
        }
        Ok(())
    }

    /// It will not be one: takes away what there is, so that the room is free again.
    pub fn abandon(self) {
        for name in [CHUNKS, NEW, MANIFEST] {
            let path = self.dir.join(name);
            if self.disk.exists(&path) {
                // What stays is no backup either.
                let _ = self.disk.remove_file(&path);
            }
        }
        let _ = self.disk.remove_dir(&self.dir);
    }
}

/// What the backup in a folder says of itself.
///
/// # Errors
/// [`Unusable::Cut`]: there is no manifest, since the backup was broken off. See [`Unusable`].
pub fn manifest_in(disk: &dyn Disk, dir: &Path) -> Result<Manifest, Unusable> {
    let file = match disk.open(&dir.join(MANIFEST), OpenMode::Buffered, false) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let why = match disk.exists(&dir.join(CHUNKS)) {
                true => Unusable::Cut(format!(
                    "{} has no manifest, it was broken off",
                    dir.display()
                )),
                false => Unusable::Other(format!("there is no backup in {}", dir.display())),
            };
            return Err(why);
        }
        r => r?,
    };
    let mut bytes = vec![0; (file.len()? as usize).min(MANIFEST_MAX + 1)];
    let got = file.read_now(&mut bytes, 0)?;
    Manifest::decode(&bytes[..got])
}

/// Reads the stream of a backup in a folder.
pub struct FolderReader {
    file: Arc<dyn File>,
    at: u64,
}

impl FolderReader {
    /// Opens it.
    ///
    /// # Errors
    /// As [`manifest_in`].
    pub fn open(disk: &dyn Disk, dir: &Path) -> Result<FolderReader, Unusable> {
        manifest_in(disk, dir)?;
        let file = disk.open(&dir.join(CHUNKS), OpenMode::Buffered, false)?;
        Ok(FolderReader { file, at: 0 })
    }
}

impl Read for FolderReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_now(buf, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}
