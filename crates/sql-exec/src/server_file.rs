//! Files of the server's machine that statements name, in LOAD DATA and SELECT ... INTO: where they may be, and that they are files. Nothing else opens a
//! path that a client gave. Never waits: what is no regular file (a FIFO, a device, a socket) could keep the thread for good, and is refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use types::SqlError;
use types::error::codes;

/// Opens a file for reading, where `secure_file_priv` allows it: `NULL` allows none, the empty text all, and a folder what is below it
/// once links are followed.
///
/// # Errors
/// 1290; 13 for a file that is not there, 29 for one that cannot be opened, 1085 for what is no regular file.
pub fn open(path: &[u8], allowed: &str) -> Result<File, SqlError> {
    let given = String::from_utf8_lossy(path).into_owned();
    if allowed.eq_ignore_ascii_case("NULL") {
        return Err(refused());
    }
    let path = meant(&given, allowed);
    let real = path.canonicalize();
    if !allowed.is_empty() && !is_within(&path, real.as_deref().ok(), Path::new(allowed)) {
        return Err(refused());
    }
    let real = real.map_err(|e| not_there(&given, &e))?;
    // A FIFO without a writer would not open; a link that was put there since is not followed.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(&real)
        .map_err(|e| not_opened(&given, &e))?;
    let kind = file.metadata().map_err(|e| not_there(&given, &e))?;
    if !kind.is_file() {
        return Err(SqlError::new(
            codes::ER_TEXTFILE_NOT_READABLE,
            format!("The file '{given}' must be in the database directory or be readable by all"),
        ));
    }
    Ok(file)
}

/// The folders of a data directory that are the engine's.
const OWN_FOLDERS: [&str; 3] = ["data", "log", "temp"];

/// Makes a new file where `secure_file_priv` allows it, as for [`open`], and says where it is. A data directory and what the engine keeps in it are no place
/// for one.
///
/// # Errors
/// 1290; 1086 where something is there already; 1 for what else the system answers.
pub(crate) fn create(
    path: &[u8],
    allowed: &str,
    datadir: &str,
) -> Result<(File, PathBuf), SqlError> {
    let place = Place::new(path, allowed, datadir)?;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o640)
        .open(&place.real);
    match file {
        Ok(file) => Ok((file, place.real)),
        Err(e) => Err(place.not_made(&e)),
    }
}

/// Where something new is to be.
struct Place {
    given: String,
    real: PathBuf,
}

impl Place {
    fn new(path: &[u8], allowed: &str, datadir: &str) -> Result<Place, SqlError> {
        let given = String::from_utf8_lossy(path).into_owned();
        if allowed.eq_ignore_ascii_case("NULL") {
            return Err(refused());
        }
        let path = meant(&given, allowed);
        let mut place = Place {
            given,
            real: PathBuf::new(),
        };
        let folder = match (path.parent(), path.file_name()) {
            (Some(folder), Some(_)) if folder.as_os_str().is_empty() => Path::new("."),
            (Some(folder), Some(_)) => folder,
            _ => return Err(place.not_made(&io::Error::from_raw_os_error(libc::EISDIR))),
        };
        let folder = folder.canonicalize();
        let inside = |f: &Path| {
            allowed.is_empty()
                || Path::new(allowed)
                    .canonicalize()
                    .is_ok_and(|a| f.starts_with(a))
        };
        let folder = match folder {
            Ok(f) if inside(&f) && !is_own(&f, Path::new(datadir)) => f,
            // The answer says nothing about what there is outside.
            Err(e) if allowed.is_empty() => return Err(place.not_made(&e)),
            _ => return Err(refused()),
        };
        place.real = folder.join(path.file_name().unwrap_or_default());
        Ok(place)
    }

    fn not_made(&self, e: &io::Error) -> SqlError {
        let given = &self.given;
        if e.kind() == io::ErrorKind::AlreadyExists {
            return SqlError::new(
                codes::ER_FILE_EXISTS_ERROR,
                format!("File '{given}' already exists"),
            );
        }
        let errno = e.raw_os_error().unwrap_or(0);
        SqlError::new(
            codes::EE_CANTCREATEFILE,
            format!(
                "Can't create/write to file '{given}' (OS errno {errno} - {})",
                why(e)
            ),
        )
    }
}

/// Makes a new folder where `secure_file_priv` allows it, as for [`create`], and says where it is.
///
/// # Errors
/// 1290; 1086 where something is there already; 1 for what else the system answers.
pub fn create_folder(path: &[u8], allowed: &str, datadir: &str) -> Result<PathBuf, SqlError> {
    let place = Place::new(path, allowed, datadir)?;
    match std::fs::DirBuilder::new().mode(0o750).create(&place.real) {
        Ok(()) => Ok(place.real),
        Err(e) => Err(place.not_made(&e)),
    }
}

/// The folder of a backup, where `secure_file_priv` allows it.
///
/// # Errors
/// 1290; 13 where there is none.
pub fn folder(path: &[u8], allowed: &str) -> Result<PathBuf, SqlError> {
    let given = String::from_utf8_lossy(path).into_owned();
    if allowed.eq_ignore_ascii_case("NULL") {
        return Err(refused());
    }
    let path = meant(&given, allowed);
    let real = path.canonicalize();
    if !allowed.is_empty() && !is_within(&path, real.as_deref().ok(), Path::new(allowed)) {
        return Err(refused());
    }
    real.map_err(|e| not_there(&given, &e))
}

/// Whether a folder is a data directory or one that the engine has in it.
fn is_own(folder: &Path, datadir: &Path) -> bool {
    let Ok(datadir) = datadir.canonicalize() else {
        return false;
    };
    let own = |name: &&str| folder.starts_with(datadir.join(name));
    folder == datadir || OWN_FOLDERS.iter().any(own)
}

/// The path that is meant: what does not begin at the root begins in the folder that is allowed.
fn meant(given: &str, allowed: &str) -> PathBuf {
    match Path::new(given) {
        p if p.is_absolute() || allowed.is_empty() => p.to_path_buf(),
        p => Path::new(allowed).join(p),
    }
}

/// Whether a path leads below a folder. Of one that leads nowhere its own folder decides, so that the answer says nothing about what
/// there is outside.
fn is_within(path: &Path, real: Option<&Path>, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    match real {
        Some(real) => real.starts_with(folder),
        None => path
            .parent()
            .and_then(|p| p.canonicalize().ok())
            .is_some_and(|p| p.starts_with(folder)),
    }
}

fn refused() -> SqlError {
    SqlError::new(
        codes::ER_OPTION_PREVENTS_STATEMENT,
        "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement",
    )
}

/// What the system says of an error, without its number.
fn why(e: &io::Error) -> String {
    let text = e.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}

fn not_there(given: &str, e: &io::Error) -> SqlError {
    let errno = e.raw_os_error().unwrap_or(0);
    SqlError::new(
        codes::EE_STAT,
        format!(
            "Can't get stat of '{given}' (OS errno {errno} - {})",
            why(e)
        ),
    )
}

fn not_opened(given: &str, e: &io::Error) -> SqlError {
    let errno = e.raw_os_error().unwrap_or(0);
    SqlError::new(
        codes::EE_FILENOTFOUND,
        format!("File '{given}' not found (OS errno {errno} - {})", why(e)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn code(path: &Path, allowed: &str) -> u16 {
        open(path.as_os_str().as_encoded_bytes(), allowed).map_or_else(|e| e.code, |_| 0)
    }

    #[test]
    fn new_files_are_made_below_the_folder_alone() {
        let root = std::env::temp_dir().join(format!("new-file-{}", std::process::id()));
        let (inside, datadir) = (root.join("in"), root.join("d"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(datadir.join("log")).unwrap();
        std::fs::create_dir_all(datadir.join("files")).unwrap();
        symlink(&root, inside.join("out")).unwrap();
        symlink(root.join("target"), inside.join("link")).unwrap();
        let made = |path: &Path, allowed: &str| {
            let path = path.as_os_str().as_encoded_bytes();
            create(path, allowed, datadir.to_str().unwrap()).map_or_else(|e| e.code, |_| 0)
        };
        let allowed = inside.to_str().unwrap();
        assert_eq!(made(&inside.join("a"), allowed), 0);
        assert_eq!(made(Path::new("b"), allowed), 0);
        assert!(inside.join("b").exists());
        assert_eq!(made(&inside.join("a"), allowed), 1086);
        assert_eq!(
            made(&inside.join("link"), allowed),
            1086,
            "a link is not followed"
        );
        assert!(!root.join("target").exists());
        assert_eq!(made(&inside.join("out/c"), allowed), 1290);
        assert_eq!(made(&inside.join("../c"), allowed), 1290);
        assert_eq!(made(&root.join("none/c"), allowed), 1290);
        assert_eq!(made(&inside.join(".."), allowed), 1);
        assert_eq!(made(&inside.join("c"), "NULL"), 1290);
        assert_eq!(made(&root.join("c"), ""), 0);
        assert_eq!(made(&root.join("none/c"), ""), 1);
        assert_eq!(made(&datadir.join("c"), ""), 1290);
        assert_eq!(made(&datadir.join("log/c"), ""), 1290);
        assert_eq!(made(&datadir.join("files/c"), ""), 0);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn only_regular_files_below_the_folder() {
        let root = std::env::temp_dir().join(format!("load-file-{}", std::process::id()));
        let inside = root.join("in");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("a"), "1").unwrap();
        std::fs::write(root.join("b"), "1").unwrap();
        symlink(root.join("b"), inside.join("out")).unwrap();
        symlink(inside.join("a"), root.join("back")).unwrap();
        let fifo = inside.join("fifo");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        let allowed = inside.to_str().unwrap();
        assert_eq!(code(&inside.join("a"), allowed), 0);
        assert_eq!(code(Path::new("a"), allowed), 0);
        assert_eq!(
            code(&root.join("back"), allowed),
            0,
            "links are followed first"
        );
        assert_eq!(code(&root.join("b"), allowed), 1290);
        assert_eq!(code(&inside.join("out"), allowed), 1290);
        assert_eq!(code(&inside.join("../b"), allowed), 1290);
        assert_eq!(code(&inside.join("none"), allowed), 13);
        assert_eq!(code(&root.join("none"), allowed), 1290);
        assert_eq!(code(&inside.join("../none"), allowed), 1290);
        assert_eq!(code(&inside.join("a"), "NULL"), 1290);
        assert_eq!(code(&root.join("b"), ""), 0);
        assert_eq!(code(&inside.join("a"), "/nowhere/at/all"), 1290);
        // Neither waits for anything.
        assert_eq!(code(&fifo, allowed), 1085);
        assert_eq!(code(Path::new("/dev/zero"), ""), 1085);
        assert_eq!(code(&root, ""), 1085);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
