//! What the users of the log wait for, and who has to bring it about: for people. Nothing is woken by it.

use super::Log;
use base::Event;
use base::waits::LongWait;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Log {
    /// The waits for the log that have gone on for so long. `kept` says what keeps it from having room.
    pub(crate) fn long_waits(
        &self,
        least: Duration,
        kept: impl Fn() -> String,
        out: &mut Vec<LongWait>,
    ) {
        let (written, durable) = self.group.events();
        let complete = || {
            let (whole, end) = (self.ring.complete_seen(), self.end());
            format!("it is whole up to {whole}, and given out up to {end}")
        };
        let room = || {
            format!(
                "the log ends at {}, changes are admitted up to {} and all else up to {}; {}",
                self.end(),
                self.change_limit.load(Ordering::Relaxed),
                self.limit.load(Ordering::Relaxed),
                kept()
            )
        };
        let to_write = || format!("it is written up to {}", self.written());
        let to_sync = || {
            let durable = self.durable();
            format!("it is durable up to {durable}, which the thread log-sync has to move")
        };
        let waits: [(&Event, &str, &dyn Fn() -> String); 4] = [
            (&self.space_event, "room in the log", &room),
            (&self.complete_event, "the log to be whole", &complete),
            (written, "the log to be written", &to_write),
            (durable, "the log to be durable", &to_sync),
        ];
        for (event, what, holder) in waits {
            event.each_wait(|w| {
                if w.waited() >= least {
                    out.push(w.described(what, holder()));
                }
            });
        }
    }
}
