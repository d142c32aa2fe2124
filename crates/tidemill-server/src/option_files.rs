//! The files that options are read from, as they are on the disk; and what SET PERSIST has kept, as SQL reads it.
//!
//! Must never decide what an option means.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sql::persisted;
use sql_expr::vars;

use crate::options::{Files, Kept, KeptValue};

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileSystem;

impl Files for FileSystem {
    fn read(&self, path: &Path) -> io::Result<String> {
        let bytes = std::fs::read(path)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        std::fs::read_dir(directory)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect()
    }

    fn kept(&self, datadir: &Path) -> Option<Kept> {
        kept(self, datadir)
    }
}

/// What `mysqld-auto.cnf` of a data directory says.
pub(crate) fn kept(files: &dyn Files, datadir: &Path) -> Option<Kept> {
    let path = datadir.join(persisted::FILE);
    let values = match files.read(&path) {
        Ok(text) => persisted::decode(&text).map(|all| {
            let value = |v: persisted::PersistedValue| KeptValue {
                is_known: vars::lookup(&v.name).is_some(),
                name: v.name,
                value: v.value,
            };
            all.into_iter().map(value).collect()
        }),
        Err(e) if e.kind() == ErrorKind::NotFound => return None,
        Err(e) => Err(e.to_string()),
    };
    Some(Kept { path, values })
}
