//! A bar that shows a person how far a long definition change has come.

use engine::Interrupt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Statements that are through by then show none.
const PATIENCE: Duration = Duration::from_millis(500);
const EACH: Duration = Duration::from_millis(100);
/// Signs between the brackets.
const WIDTH: usize = 30;

/// Shows the progress of a statement on standard error until it is dropped.
pub(super) struct ProgressBar {
    end: Option<Sender<()>>,
    shows: Option<JoinHandle<()>>,
}

impl ProgressBar {
    /// For the statement that is about to run in the session that is interrupted by this.
    pub(super) fn show(of: Arc<Interrupt>) -> ProgressBar {
        let (end, ended) = mpsc::channel();
        let shows = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                let mut wait = PATIENCE;
                let mut shown = 0;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    wait = EACH;
                    let text = of
                        .progress
                        .stage()
                        .map(|(what, percent)| line(what, percent));
                    shown = replace(shown, text.as_deref().unwrap_or_default());
                }
                replace(shown, "");
            });
        ProgressBar {
            end: Some(end),
            // A statement runs without a bar as well.
            shows: shows.ok(),
        }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.shows.take() {
            let _ended = thread.join();
        }
    }
}

/// Writes a text over the one before it, of so many signs; how many there are now.
fn replace(shown: usize, text: &str) -> usize {
    let signs = text.chars().count();
    if shown > 0 || signs > 0 {
        let blanks = " ".repeat(shown.saturating_sub(signs));
        // The cursor stays where an answer is to begin.
        let end = if signs == 0 { "\r" } else { "" };
        // A terminal that has gone is found out by who reads from it.
        let _gone =
            write!(io::stderr(), "\r{text}{blanks}{end}").and_then(|()| io::stderr().flush());
    }
    signs
}

fn line(what: &str, percent: Option<u64>) -> String {
    let Some(percent) = percent else {
        return format!("{what} ...");
    };
    let full = (percent as usize * WIDTH / 100).min(WIDTH);
    let (done, left) = ("#".repeat(full), ".".repeat(WIDTH - full));
    format!("[{done}{left}] {percent:>2} % {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_as_many_signs_as_are_done() {
        assert_eq!(line("waits", None), "waits ...");
        assert_eq!(
            line("copies", Some(0)),
            format!("[{}]  0 % copies", ".".repeat(30))
        );
        let half = format!("[{}{}] 50 % copies", "#".repeat(15), ".".repeat(15));
        assert_eq!(line("copies", Some(50)), half);
        assert_eq!(line("copies", Some(99)).find('.'), Some(30));
    }
}
