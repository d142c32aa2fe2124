//! The values for the next start, as a running server has them: in memory, and in the file that whoever opened the directory writes.

use base::lock::Mutex;
use std::io;
use types::SqlError;
use types::error::codes;

use crate::persisted::{self, PersistedValue};

/// Puts a text in the file's place, all of it or nothing, durable when it returns.
pub type PersistedWriter = Box<dyn Fn(&str) -> io::Result<()> + Send + Sync>;

/// The values, and how they get to the file.
pub struct PersistedStore {
    values: Mutex<Vec<PersistedValue>>,
    write: PersistedWriter,
}

impl PersistedStore {
    /// With what the file holds.
    pub fn new(values: Vec<PersistedValue>, write: PersistedWriter) -> PersistedStore {
        PersistedStore {
            values: Mutex::new(values),
            write,
        }
    }

    /// What is kept, by name.
    pub(crate) fn list(&self) -> Vec<PersistedValue> {
        let mut all = self.values.lock().clone();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    pub(crate) fn put(&self, value: PersistedValue) -> Result<(), SqlError> {
        self.change(|all| {
            all.retain(|v| v.name != value.name);
            all.push(value);
        })
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), SqlError> {
        self.change(|all| all.retain(|v| v.name != name))
    }

    pub(crate) fn clear(&self) -> Result<(), SqlError> {
        self.change(Vec::clear)
    }

    /// What the file does not take is not kept in memory either.
    fn change(&self, f: impl FnOnce(&mut Vec<PersistedValue>)) -> Result<(), SqlError> {
        let mut all = self.values.lock();
        let mut next = all.clone();
        f(&mut next);
        (self.write)(&persisted::encode(&next)).map_err(|e| {
            let (errno, file) = (e.raw_os_error().unwrap_or(0), persisted::FILE);
            let why = format!("Error writing file '{file}' (errno: {errno} - {e})");
            SqlError::new(codes::ER_ERROR_ON_WRITE, why)
        })?;
        *all = next;
        Ok(())
    }
}
