//! Says when the system has too little of something for the storage, and when that is over: once each, however often it is tried meanwhile, and no more
//! than once a minute.
//! Decides nothing.

use base::Clock;
use base::environment::shortage;
use base::lock::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Who is told, in words for people. Must not wait.
pub type ShortageListener = Arc<dyn Fn(&str) + Send + Sync>;

/// What it is that cannot be done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Where {
    /// Opening the file of a table.
    Tables,
    /// Making the file of a table larger.
    Growth,
    /// Writing temporary files and tables.
    Temporary,
    /// Making another file of the log.
    Log,
    /// Writing changed pages, or noting a checkpoint.
    Pages,
}

impl Where {
    fn words(self) -> &'static str {
        match self {
            Where::Tables => "the files of tables",
            Where::Growth => "more pages of tables",
            Where::Temporary => "temporary files",
            Where::Log => "the log's next file",
            Where::Pages => "writing changed pages",
        }
    }
}

/// How often the same is told, at most, in microseconds: it may come and go many times a second.
const AGAIN_US: u64 = 60_000_000;

/// What is short now.
pub(crate) struct Shortages {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct State {
    /// What was told to be short and not that it is over.
    lasting: Vec<Where>,
    /// When that was told last.
    told: BTreeMap<Where, u64>,
    listener: Option<ShortageListener>,
}

impl Shortages {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Shortages {
        Shortages {
            state: Mutex::default(),
            clock,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// From now on `listener` is told.
    pub(crate) fn listen(&self, listener: ShortageListener) {
        self.lock().listener = Some(listener);
    }

    /// It could not be done. An error of another kind is not told here: it does not pass.
    pub(crate) fn met(&self, place: Where, e: &io::Error) {
        if shortage(e).is_none() {
            return;
        }
        let mut state = self.lock();
        if state.lasting.contains(&place) {
            return;
        }
        let now = self.clock.now_us();
        let told = state.told.get(&place);
        if told.is_none_or(|told| now >= told + AGAIN_US) {
            state.told.insert(place, now);
            state.lasting.push(place);
            let words = place.words();
            tell(
                state,
                &format!("{words}: {e}; statements that need it fail until that has passed"),
            );
        }
    }

    /// It could be done.
    pub(crate) fn passed(&self, place: Where) {
        let mut state = self.lock();
        if let Some(i) = state.lasting.iter().position(|p| *p == place) {
            state.lasting.swap_remove(i);
            let words = place.words();
            tell(state, &format!("{words}: what was short is there again"));
        }
    }
}

/// Not under the lock: the listener may write to a slow file.
fn tell(state: MutexGuard<'_, State>, text: &str) {
    let listener = state.listener.clone();
    drop(state);
    if let Some(tell) = listener {
        tell(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::mem::ManualClock;

    #[test]
    fn each_begin_and_each_end_is_told_once() {
        let clock = Arc::new(ManualClock::default());
        let shortages = Shortages::new(clock.clone());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        shortages.listen(Arc::new(move |text| {
            ear.lock().push(text.to_owned());
        }));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        for round in 0..3 {
            // The second time too soon.
            clock.advance(AGAIN_US * (round / 2));
            shortages.passed(Where::Log);
            shortages.met(Where::Log, &io::Error::other("broken"));
            shortages.met(Where::Log, &full);
            shortages.met(Where::Log, &full);
            shortages.met(Where::Pages, &full);
            shortages.passed(Where::Log);
            shortages.passed(Where::Log);
        }
        let heard = heard.lock();
        assert_eq!(heard.len(), 5, "{heard:?}");
        assert!(heard[0].contains("log") && heard[1].contains("pages"));
    }
}
