//! What background work met and no client is told of: damage that a rollback or purge cannot get past. Kept here for the
//! server's log and SHOW ENGINE STATUS. Nothing in here decides anything.

use base::lock::Mutex;
use std::fmt;
use std::sync::Arc;

/// So many different texts are kept; a database that is damaged in more places has told enough.
const KEPT_MAX: usize = 256;

/// Who is told.
pub type NoticeListener = Arc<dyn Fn(&str) + Send + Sync>;

/// Different texts in the order in which they came.
#[derive(Default)]
pub(crate) struct Notices {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    texts: Vec<String>,
    listener: Option<NoticeListener>,
}

impl Notices {
    /// Keeps a text and tells the listener, unless it was told before: the same page is met again and again.
    #[cold]
    pub(crate) fn add(&self, text: impl fmt::Display) {
        let text = text.to_string();
        let mut state = self.state.lock();
        if state.texts.len() >= KEPT_MAX || state.texts.contains(&text) {
            return;
        }
        let listener = state.listener.clone();
        state.texts.push(text.clone());
        // Not under the lock: the listener may write to a slow file.
        drop(state);
        if let Some(tell) = listener {
            tell(&text);
        }
    }

    /// Tells the listener, however often; without one, as [`add`](Self::add).
    #[cold]
    pub(crate) fn tell(&self, text: &str) {
        let listener = self.state.lock().listener.clone();
        match listener {
            Some(tell) => tell(text),
            None => self.add(text),
        }
    }

    /// All so far.
    pub(crate) fn all(&self) -> Vec<String> {
        let state = self.state.lock();
        state.texts.clone()
    }

    /// From now on `listener` is told; first of what came before.
    pub(crate) fn listen(&self, listener: NoticeListener) {
        let before = {
            let mut state = self.state.lock();
            state.listener = Some(listener.clone());
            state.texts.clone()
        };
        for text in before {
            listener(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_told_once_also_to_one_who_comes_late() {
        let notices = Notices::default();
        notices.add("a");
        notices.add("b");
        notices.add("a");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        notices.listen(Arc::new(move |text| {
            ear.lock().push(text.to_owned());
        }));
        notices.add("b");
        notices.add("c");
        assert_eq!(*heard.lock(), ["a", "b", "c"]);
        for n in 0..2 * KEPT_MAX {
            notices.add(n);
        }
        assert_eq!(notices.all().len(), KEPT_MAX);
    }
}
