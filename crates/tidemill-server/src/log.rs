//! The server's log: lines for people, to standard error or to the file of `log_error`, in the form MySQL's has.
//!
//! It never fails: what cannot be written is lost.

use base::lock::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base::real::file_modes;
use sql::context::host::{LogLine, Priority};
use types::DateTime;

/// Where lines go.
#[derive(Debug)]
pub struct Log {
    /// `None` for standard error.
    file: Option<Mutex<File>>,
    recent: Mutex<Recent>,
}

/// Bytes of lines that are kept for `performance_schema.error_log`.
const KEPT: usize = 1 << 20;

/// The last lines.
#[derive(Debug)]
struct Recent {
    lines: VecDeque<LogLine>,
    bytes: usize,
}

impl Recent {
    const fn new() -> Recent {
        Recent {
            lines: VecDeque::new(),
            bytes: 0,
        }
    }

    /// What a line takes, about.
    fn size(line: &LogLine) -> usize {
        size_of::<LogLine>() + line.text.len()
    }

    fn push(&mut self, line: LogLine) {
        self.bytes += Recent::size(&line);
        self.lines.push_back(line);
        while self.bytes > KEPT
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= Recent::size(&oldest);
        }
    }
}

impl Log {
    /// To standard error.
    pub const fn stderr() -> Log {
        Log {
            file: None,
            recent: Mutex::new(Recent::new()),
        }
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
            recent: Mutex::new(Recent::new()),
        })
    }

    /// Something for the record.
    pub fn note(&self, text: impl fmt::Display) {
        self.line(Priority::Note, &text);
    }

    /// Something that was not done as asked, or that someone should look at.
    pub fn warning(&self, text: impl fmt::Display) {
        self.line(Priority::Warning, &text);
    }

    /// Something that failed.
    pub fn error(&self, text: impl fmt::Display) {
        self.line(Priority::Error, &text);
    }

    /// The last lines, the oldest first.
    pub fn recent(&self) -> Vec<LogLine> {
        self.recent.lock().lines.iter().cloned().collect()
    }

    fn line(&self, priority: Priority, text: &dyn fmt::Display) {
        let level = match priority {
            Priority::Error => "ERROR",
            other => other.as_str(),
        };
        let (at_us, text) = (now_us(), text.to_string());
        let line = format!("{} 0 [{level}] {text}\n", timestamp(at_us));
        self.recent.lock().push(LogLine {
            at_us,
            priority,
            text,
        });
        // One write a line, so that lines of several threads do not mix. A full disk must not stop the server.
        let _lost = match &self.file {
            Some(file) => file.lock().write_all(line.as_bytes()),
            None => io::stderr().lock().write_all(line.as_bytes()),
        };
    }
}

/// Now, in microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A moment in UTC: `2026-01-31T23:59:59.123456Z`.
fn timestamp(micros: i64) -> String {
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
        let text = timestamp(now_us());
        assert_eq!(text.len(), 27, "{text}");
        assert_eq!(&text[10..11], "T");
        assert!(text.ends_with('Z'));
    }

    #[test]
    fn the_last_lines_are_kept_and_not_more() {
        let dir = std::env::temp_dir().join(format!("tidemill-log-{}", std::process::id()));
        let log = Log::file(&dir).expect("a file");
        log.note("first");
        log.warning("second");
        log.error("third");
        let kept: Vec<_> = log
            .recent()
            .into_iter()
            .map(|l| (l.priority.as_str(), l.text))
            .collect();
        let expected = [("Note", "first"), ("Warning", "second"), ("Error", "third")];
        assert_eq!(kept, expected.map(|(p, t)| (p, t.to_owned())));
        let written = std::fs::read_to_string(&dir).expect("the file");
        assert!(written.contains(" 0 [ERROR] third\n"), "{written}");
        let long = "x".repeat(KEPT / 4);
        (0..9).for_each(|_| log.note(&long));
        assert_eq!(log.recent().len(), 3);
        log.note("y".repeat(2 * KEPT));
        assert_eq!(log.recent().len(), 0);
        std::fs::remove_file(&dir).expect("the file");
    }
}
