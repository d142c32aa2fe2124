//! `mysqld-auto.cnf` in the data directory: read when it is opened, and written anew by SET PERSIST, all of it or nothing.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use base::real::file_modes;
use sql::context::persisted::PersistedStore;
use sql::persisted;

/// What the directory keeps. A file that cannot be read counts as empty: whoever obeys it has refused it before, or was told not to.
pub(crate) fn store(dir: &Path) -> PersistedStore {
    let text = fs::read_to_string(dir.join(persisted::FILE)).unwrap_or_default();
    let values = persisted::decode(&text).unwrap_or_default();
    let dir = dir.to_owned();
    PersistedStore::new(values, Box::new(move |text| replace(&dir, text)))
}

/// A crash leaves the old file or the new one.
fn replace(dir: &Path, text: &str) -> io::Result<()> {
    let path = dir.join(persisted::FILE);
    let new = path.with_extension("cnf.new");
    file_modes::write(&new, text.as_bytes(), file_modes::FILE)?;
    File::open(&new)?.sync_all()?;
    fs::rename(&new, &path)?;
    File::open(dir)?.sync_all()
}
