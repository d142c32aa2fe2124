//! Who may read what we make: directories are for our user and its group (0750), files too (0640), keys for our user alone (0600), whatever the
//! umask is. The modes are those of mysqld.
//!
//! The only place that makes files and directories. What is there already keeps its mode; [`is_open`] tells of it.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Mode of directories.
pub const DIRECTORY: u32 = 0o750;
/// Mode of files.
pub const FILE: u32 = 0o640;
/// Mode of files that nobody else is to read.
pub const KEY: u32 = 0o600;

/// Opens a file as `options` say, and makes it with that mode where it is missing.
///
/// # Errors
/// Those of the operating system.
pub fn open_or_create(options: &OpenOptions, path: &Path, mode: u32) -> io::Result<fs::File> {
    loop {
        match options.clone().create(false).create_new(false).open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            r => return r,
        }
        // Never readable for others, not even for the moment until its mode is set.
        let new = options.clone().create_new(true).mode(mode & KEY).open(path);
        match new {
            // Somebody else was faster.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            Ok(file) => {
                file.set_permissions(Permissions::from_mode(mode))?;
                return Ok(file);
            }
        }
    }
}

/// Writes a file anew.
///
/// # Errors
/// Those of the operating system.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = open_or_create(OpenOptions::new().write(true), path, mode)?;
    file.set_len(0)?;
    file.write_all(bytes)
}

/// Makes a directory and those above it that are missing.
///
/// # Errors
/// Those of the operating system.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(DIRECTORY & 0o700).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(DIRECTORY)),
        Err(_) if path.is_dir() => Ok(()),
        Err(e) => Err(e),
    }
}

/// Whether others than our user and its group may look at a file or into a directory. What cannot be asked is not open.
pub fn is_open(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o007 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_ours_alone() {
        let top = std::env::temp_dir().join(format!("tidemill-private-{}", std::process::id()));
        let dir = top.join("a/b");
        create_dir_all(&dir).unwrap();
        create_dir_all(&dir).unwrap();
        assert_eq!((mode(&top), mode(&dir)), (DIRECTORY, DIRECTORY));
        let (file, key) = (dir.join("f"), dir.join("k"));
        write(&file, b"longer than", FILE).unwrap();
        write(&file, b"this", FILE).unwrap();
        write(&key, b"", KEY).unwrap();
        assert_eq!((mode(&file), mode(&key)), (FILE, KEY));
        assert_eq!(fs::read(&file).unwrap(), b"this");
        assert!(!is_open(&file) && !is_open(&dir) && !is_open(&dir.join("none")));
        // What somebody has opened stays as he made it.
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        write(&file, b"x", FILE).unwrap();
        assert!(is_open(&file) && mode(&file) == 0o644);
        fs::remove_dir_all(&top).unwrap();
    }
}
