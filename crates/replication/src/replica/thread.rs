//! The receiver and those who apply, as the list of connections shows them, and as KILL ends them.

use std::sync::{Arc, Weak};

use sql::context::{Command, Doing, OwnThread};

use super::state::Shared;

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// It reads from the source.
    Receiver,
    /// It applies by itself, or hands out what is to be applied.
    Applier,
    /// It applies what it is given.
    Worker(usize),
}

/// One of them.
pub(super) struct Thread {
    shared: Weak<Shared>,
    which: Which,
}

impl Thread {
    /// For the list.
    pub fn new(shared: &Shared, which: Which) -> Arc<Thread> {
        Arc::new(Thread {
            shared: shared.me(),
            which,
        })
    }
}

impl OwnThread for Thread {
    fn name(&self) -> &'static str {
        match self.which {
            Which::Receiver => "thread/sql/replica_io",
            Which::Applier => "thread/sql/replica_sql",
            Which::Worker(_) => "thread/sql/replica_worker",
        }
    }

    fn doing(&self) -> Doing {
        let command = match self.which {
            Which::Receiver => Command::Connect,
            _ => Command::Query,
        };
        let Some(shared) = self.shared.upgrade() else {
            return Doing {
                command,
                state: "",
                seconds: None,
            };
        };
        let now = u64::try_from(shared.instance.wall_us() / 1_000_000).unwrap_or(0);
        let s = shared.state();
        let state = match self.which {
            Which::Receiver => s.receiver_state,
            Which::Applier => s.applier_state,
            Which::Worker(n) => match s.workers.get(n) {
                Some(w) if !w.applying.name.is_empty() => "Applying batch of row changes",
                _ => "Waiting for an event from Coordinator",
            },
        };
        // As in MySQL: how old it is what was applied last.
        let applies = self.which != Which::Receiver && s.event_time != 0;
        Doing {
            command,
            state,
            seconds: applies.then(|| now.saturating_sub(s.event_time.into())),
        }
    }

    fn end(&self) {
        if let Some(shared) = self.shared.upgrade() {
            match self.which {
                Which::Receiver => shared.end_receiver(),
                Which::Applier | Which::Worker(_) => {
                    shared.end_applier();
                    shared.cuts.cut_off();
                }
            }
        }
    }
}
