//! The file of a LOAD DATA that is not LOCAL: where it may be, and that it is a file. Never waits: what is no regular file (a FIFO, a
//! device, a socket) could keep the thread for good, and is refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use types::SqlError;
use types::error::codes;

/// Opens a file for reading, where `secure_file_priv` allows it: `NULL` allows none, the empty text all, and a folder what is below it
/// once links are followed.
///
/// # Errors
/// 1290; 13 for a file that is not there, 29 for one that cannot be opened, 1085 for what is no regular file.
pub(super) fn open(path: &[u8], allowed: &str) -> Result<File, SqlError> {
    let given = String::from_utf8_lossy(path).into_owned();
    if allowed.eq_ignore_ascii_case("NULL") {
        return Err(refused());
    }
    let path: PathBuf = match Path::new(&given) {
        p if p.is_absolute() || allowed.is_empty() => p.to_path_buf(),
        p => Path::new(allowed).join(p),
    };
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
