//! Says when the system has too little of something for the storage, and when that is over: once each, however often it is tried meanwhile.
//! Decides nothing.

use base::seams::shortage;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who is told, in words for people. Must not wait.
pub type ShortageListener = Arc<dyn Fn(&str) + Send + Sync>;

/// What it is that cannot be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Where {
    /// Opening the file of a table.
    Tables,
    /// Making another file of the log.
    Log,
    /// Writing changed pages, or noting a checkpoint.
    Pages,
}

impl Where {
    fn words(self) -> &'static str {
        match self {
            Where::Tables => "the files of tables",
            Where::Log => "the log's next file",
            Where::Pages => "writing changed pages",
        }
    }
}

/// What is short now.
#[derive(Default)]
pub(crate) struct Shortages {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lasting: Vec<Where>,
    listener: Option<ShortageListener>,
}

impl Shortages {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        if !state.lasting.contains(&place) {
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

    #[test]
    fn each_begin_and_each_end_is_told_once() {
        let shortages = Shortages::default();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        shortages.listen(Arc::new(move |text| {
            ear.lock().unwrap().push(text.to_owned());
        }));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        for _ in 0..2 {
            shortages.passed(Where::Log);
            shortages.met(Where::Log, &io::Error::other("broken"));
            shortages.met(Where::Log, &full);
            shortages.met(Where::Log, &full);
            shortages.met(Where::Pages, &full);
            shortages.passed(Where::Log);
            shortages.passed(Where::Log);
        }
        let heard = heard.lock().unwrap();
        assert_eq!(heard.len(), 5, "{heard:?}");
        assert!(heard[0].contains("log") && heard[1].contains("pages"));
    }
}
