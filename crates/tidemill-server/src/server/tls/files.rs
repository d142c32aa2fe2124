//! Reading what the `ssl_*` variables name: certificates, keys, revocation lists, all PEM, relative to the data directory.
//!
//! Only plain files of a sane size are opened: the reading is done on a thread that serves connections.

use std::io::Read;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A file of all authorities there are has a quarter of this.
const LARGEST: u64 = 1 << 20;
/// Files of a directory of authorities or revocation lists.
const MOST_FILES: usize = 1000;

/// The bytes of a file.
///
/// # Errors
/// Names the file.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let told = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let about = std::fs::metadata(path).map_err(|e| told(&e))?;
    if !about.is_file() {
        return Err(told(&"not a plain file"));
    }
    let file = std::fs::File::open(path).map_err(|e| told(&e))?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| told(&e))?;
    if bytes.len() as u64 > LARGEST {
        return Err(told(&"too large"));
    }
    Ok(bytes)
}

/// The things of one kind in a file; none is possible.
fn items<T: PemObject>(path: &Path) -> Result<Vec<T>, String> {
    let bytes = read(path)?;
    T::pem_slice_iter(&bytes)
        .collect::<Result<Vec<T>, Error>>()
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// The things of one kind in a file, where one is named, and in a directory, where one is: at least one in each. Beside them
/// others may be there.
///
/// # Errors
/// Names the file or directory, and what is missing as `what`.
pub(super) fn all<T: PemObject>(
    file: Option<&Path>,
    folder: Option<&Path>,
    what: &str,
) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    for (path, inside) in [
        (file, file.map(|file| Ok(vec![file.to_owned()]))),
        (folder, folder.map(directory)),
    ] {
        let (Some(path), Some(inside)) = (path, inside) else {
            continue;
        };
        let before = found.len();
        for file in inside? {
            found.extend(items::<T>(&file)?);
        }
        if found.len() == before {
            return Err(format!("{}: no {what} in PEM", path.display()));
        }
    }
    Ok(found)
}

/// The certificates of a file: at least one.
///
/// # Errors
/// Names the file.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    all(Some(path), None, "certificate")
}

/// The private key of a file, not encrypted.
///
/// # Errors
/// Names the file.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let bytes = read(path)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|e| {
        let why = match e {
            Error::NoItemsFound => "no private key in PEM without a passphrase".to_owned(),
            e => e.to_string(),
        };
        format!("{}: {why}", path.display())
    })
}

/// The files of a directory in the order of their names, for `ssl_capath` and `ssl_crlpath`. OpenSSL looks files up by hashes
/// that their names are; here the names do not matter.
///
/// # Errors
/// Names the directory.
fn directory(path: &Path) -> Result<Vec<PathBuf>, String> {
    let told = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| told(&e))? {
        let file = entry.map_err(|e| told(&e))?.path();
        if file.is_file() {
            files.push(file);
        }
        if files.len() > MOST_FILES {
            return Err(told(&"too many files"));
        }
    }
    files.sort();
    Ok(files)
}
