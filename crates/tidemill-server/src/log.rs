//! The server's log: lines for people, to standard error or to the file of `log_error`, in the form MySQL's has.
//!
//! It never fails: what cannot be written is lost.

use base::lock::Mutex;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base::real::file_modes;
use types::DateTime;

/// Where lines go.
#[derive(Debug)]
pub struct Log {
    /// `None` for standard error.
    file: Option<Mutex<File>>,
}

impl Log {
    /// To standard error.
    pub const fn stderr() -> Log {
        Log { file: None }
    }

    /// Appends to a file.
    ///
    /// # Errors
    /// Of opening it.
    pub fn file(path: &Path) -> io::Result<Log> {
        let mut options = OpenOptions::new();
        options.append(true);
        let file = file_modes::open_or_create(&options, path, file_modes::FILE)?;
        Ok(Log {
            file: Some(Mutex::new(file)),
        })
    }

    /// Something for the record.
    pub fn note(&self, text: impl fmt::Display) {
        self.line("Note", &text);
    }

    /// Something that was not done as asked, or that someone should look at.
    pub fn warning(&self, text: impl fmt::Display) {
        self.line("Warning", &text);
    }

    /// Something that failed.
    pub fn error(&self, text: impl fmt::Display) {
        self.line("ERROR", &text);
    }

    fn line(&self, level: &str, text: &dyn fmt::Display) {
        let line = format!("{} 0 [{level}] {text}\n", timestamp());
        // One write a line, so that lines of several threads do not mix. A full disk must not stop the server.
        let _lost = match &self.file {
            Some(file) => file.lock().write_all(line.as_bytes()),
            None => io::stderr().lock().write_all(line.as_bytes()),
        };
    }
}

/// Now in UTC: `2026-01-31T23:59:59.123456Z`.
fn timestamp() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    let mut text = Vec::with_capacity(28);
    DateTime::from_unix_micros(micros, 6)
        .unwrap_or(DateTime::ZERO)
        .write_text(&mut text);
    if let Some(space) = text.get_mut(10) {
        *space = b'T';
    }
    text.push(b'Z');
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_timestamp() {
        let text = timestamp();
        assert_eq!(text.len(), 27, "{text}");
        assert_eq!(&text[10..11], "T");
        assert!(text.ends_with('Z'));
    }
}
