//! How far a long definition change has come, for whoever lists what sessions do.
//!
//! Must never do: keep whoever makes the progress waiting.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What a definition change is doing. The words are those of MySQL's stages of `ALTER TABLE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Stage {
    /// Transactions that use the table are waited for.
    Waiting = 1,
    /// Rows are copied into a new file.
    Copying = 2,
    /// Rows are read for an index.
    Reading = 3,
    /// Entries are put into an index.
    Inserting = 4,
    /// Rows that have changed meanwhile are copied again.
    ReplayingChanges = 5,
}

impl Stage {
    fn of(n: u8) -> Option<Stage> {
        Some(match n {
            1 => Stage::Waiting,
            2 => Stage::Copying,
            3 => Stage::Reading,
            4 => Stage::Inserting,
            5 => Stage::ReplayingChanges,
            _ => return None,
        })
    }

    fn words(self) -> &'static str {
        match self {
            Stage::Waiting => "Waiting for table metadata lock",
            Stage::Copying => "copy to tmp table",
            Stage::Reading => "altering table (read PK and internal sort)",
            Stage::Inserting => "altering table (insert)",
            Stage::ReplayingChanges => "altering table (log apply table)",
        }
    }
}

/// The stage of a session's definition change, and its pieces of work, done and in all.
#[derive(Default)]
pub struct Progress {
    stage: AtomicU8,
    done: AtomicU64,
    all: AtomicU64,
}

impl Progress {
    /// A stage begins, of so many pieces, 0 if that is not known.
    pub(crate) fn begin(&self, stage: Stage, all: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// So many pieces more are done.
    pub(crate) fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }

    /// There is nothing to tell any more.
    pub(crate) fn end(&self) {
        self.stage.store(0, Ordering::Relaxed);
    }

    /// The stage in words, and how many hundredths of it are done where that is known; `None` outside of definition changes.
    pub fn stage(&self) -> Option<(&'static str, Option<u64>)> {
        let stage = Stage::of(self.stage.load(Ordering::Relaxed))?;
        let (done, all) = (&self.done, &self.all);
        let (done, all) = (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
        let percent = (all > 0).then(|| (done * 100 / all.max(1)).min(99));
        Some((stage.words(), percent))
    }

    /// The same as one text.
    pub fn text(&self) -> Option<String> {
        Some(match self.stage()? {
            (words, None) => words.to_owned(),
            (words, Some(percent)) => format!("{words}, {percent} %"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told() {
        let p = Progress::default();
        assert_eq!(p.text(), None);
        p.begin(Stage::Inserting, 200);
        p.add(50);
        assert_eq!(p.text().as_deref(), Some("altering table (insert), 25 %"));
        // What there is was only estimated.
        p.add(300);
        assert_eq!(p.text().as_deref(), Some("altering table (insert), 99 %"));
        p.begin(Stage::Waiting, 0);
        assert_eq!(p.text().as_deref(), Some("Waiting for table metadata lock"));
        p.end();
        assert_eq!(p.text(), None);
    }
}
