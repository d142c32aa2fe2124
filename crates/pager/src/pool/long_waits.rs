//! What the pool's users wait for, and who has it: for people. Nothing is woken by it.

use super::Pool;
use base::waits::{LongWait, Waiting, Who};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

/// Names of who holds something, at most.
const NAMED: usize = 8;

/// Some names, and how many more there are.
fn named(all: &BTreeSet<Who>) -> String {
    let mut out = String::new();
    for (i, name) in all.iter().take(NAMED).enumerate() {
        let _ = write!(out, "{}{name}", if i == 0 { "" } else { "; " });
    }
    if all.len() > NAMED {
        let _ = write!(out, "; and {} more", all.len() - NAMED);
    }
    out
}

impl Pool {
    /// The waits of the pool's users that have gone on for so long.
    pub(crate) fn long_waits(&self, least: Duration, out: &mut Vec<LongWait>) {
        let mut free = Vec::new();
        self.free_event.each_wait(|w| {
            if w.waited() >= least {
                free.push(w.described("a free frame of the buffer pool", ""));
            }
        });
        if !free.is_empty() {
            let holder = self.holders();
            free.iter_mut().for_each(|w| w.holder.clone_from(&holder));
        }
        out.append(&mut free);
        let reading: Vec<_> = {
            let reading = self.reading.lock();
            reading.iter().map(|(k, r)| (*k, r.clone())).collect()
        };
        for ((space, page), r) in reading {
            r.event.each_wait(|w| {
                if w.waited() >= least {
                    let what = format!("the read of page {page} of tablespace {space}");
                    out.push(w.described(what, "the device has not answered"));
                }
            });
        }
        for (frame, w) in self.latch_waits.all() {
            if w.waited() >= least {
                out.push(self.latch_wait(frame, &w));
            }
        }
    }

    fn latch_wait(&self, frame: u32, w: &Waiting) -> LongWait {
        let f = self.frame(frame);
        let what = match f.identity() {
            Some((space, page)) => {
                format!("the latch of page {} of tablespace {}", page.0, space.0)
            }
            None => format!("the latch of frame {frame}"),
        };
        let last = f.latched_by.get().unwrap_or_default();
        let holder = match f.holders() {
            (0, _) => "nobody holds it".to_owned(),
            (_, true) => format!("{last} holds it alone"),
            (n, false) => format!("{n} share it, the last of them {last}"),
        };
        w.described(what, holder)
    }

    /// What all frames are used for.
    fn holders(&self) -> String {
        let (mut pinned, mut dirty, mut written) = (0, 0, 0);
        let mut by = BTreeSet::new();
        for i in 0..self.frames() {
            let f = self.frame(i);
            if f.identity().is_none() {
                continue;
            }
            if f.is_pinned() {
                pinned += 1;
                by.extend(f.pinned_by.get());
            }
            dirty += u32::from(!f.is_clean());
            written += u32::from(f.is_being_written());
        }
        let reading = self.reading.lock().len();
        format!(
            "of {} frames {} are free, {pinned} pinned{}{}, {dirty} changed and not written yet, {written} of them on their way to the device, \
             and {reading} pages are being read",
            self.frames(),
            self.free_frames(),
            if by.is_empty() { "" } else { " by " },
            named(&by)
        )
    }
}
