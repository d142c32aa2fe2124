//! What the worker does where the system is short of something: it tries again, says so, and has those wait who would leave more, as the engine's
//! log keeps all that is not in the files. A purge is granted meanwhile, as it makes room. And it looks whether the files are where they were.
//!
//! What it never does: give up what was committed. Where the server ends without room, the next start makes the same bytes.

use super::refusal::{Lack, Refusal};
use super::worker::Worker;
use crate::files::store::Store;
use crate::source::GroupSource;
use base::environment::{deadline, shortage};
use engine::Intake;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

/// The system's number where there is no room.
const ENOSPC: i32 = 28;
/// It is tried again after so many microseconds.
const AGAIN: u64 = 1_000_000;
/// How often it is said that something is short, at most: it may come and go.
const SAID_AGAIN: u64 = 60_000_000;
/// How often it is looked whether the files are there, at most.
const LOOKED_AGAIN: u64 = 1_000_000;

impl<S: GroupSource> Worker<S> {
    /// Does a step; where the system is short of something, again and again.
    pub(super) async fn again(
        &mut self,
        mut step: impl FnMut(&mut Store) -> io::Result<()>,
    ) -> Result<(), String> {
        loop {
            match step(&mut self.store) {
                Ok(()) => {
                    self.room_is_there();
                    return Ok(());
                }
                Err(e) if shortage(&e).is_none() => return Err(e.to_string()),
                Err(e) => self.room_is_short(&e),
            }
            if self.requests.are_stopped() {
                self.room.given_up = true;
                return Err("the server is being shut down".to_owned());
            }
            self.wait_for_room().await;
        }
    }

    /// What there is too little of.
    pub(super) fn lack(&self, e: &io::Error) -> Lack {
        let number = e.raw_os_error().unwrap_or(match shortage(e) {
            Some(_) => ENOSPC,
            None => 0,
        });
        // As MySQL says it: without the number, which stands before it.
        let text = match number {
            ENOSPC => "No space left on device".to_owned(),
            _ => e.to_string(),
        };
        Lack {
            file: self.store.names().name(self.store.state().file),
            error: (number, text),
        }
    }

    fn room_is_short(&mut self, e: &io::Error) {
        let lack = self.lack(e);
        if let Some(asked) = self.room.told.take() {
            self.requests
                .answer(&asked, Err(Refusal::Short(lack.clone())));
        }
        self.requests.refuse(&lack);
        if self.room.since.is_some() {
            return;
        }
        let now = self.clock.now_us();
        let said = self.room.said;
        self.room.since = Some(now);
        self.room.is_said = said.is_none_or(|said| now >= said + SAID_AGAIN);
        let path = self.store.names().path(self.store.state().file);
        let text = format!(
            "the binary log: {}: {e}; transactions that leave something in it wait until that has passed \
             (PURGE BINARY LOGS removes files that are needed no more)",
            path.display()
        );
        if self.room.is_said {
            self.room.said = Some(now);
        }
        self.source
            .set_intake(Intake::Short, self.room.is_said.then_some(&*text));
        self.feed.set_short(Some(lack));
    }

    fn room_is_there(&mut self) {
        let Some(since) = self.room.since.take() else {
            return;
        };
        let text = format!(
            "the binary log: what was short is there again, after {} s",
            (self.clock.now_us() - since) / 1_000_000
        );
        self.feed.set_short(None);
        self.source
            .set_intake(Intake::Open, self.room.is_said.then_some(&*text));
    }

    /// Waits until it is to be tried again: after a while, where a purge has made room, or where the server ends. Who does not wait for room is told
    /// so.
    async fn wait_for_room(&mut self) {
        let clock = self.clock.clone();
        let lack = self.feed.with(|v| v.short.clone());
        let mut time = pin!(deadline(&*clock, clock.now_us() + AGAIN));
        let asked = poll_fn(|cx| {
            self.requests.park(cx);
            if let Some(lack) = &lack {
                self.requests.refuse(lack);
            }
            let purge = match base::mutant!("room-not-made-by-a-purge") {
                true => None,
                false => self.requests.next_purge(),
            };
            match purge {
                Some(purge) => Poll::Ready(Some(purge)),
                None if self.requests.are_stopped() => Poll::Ready(None),
                None => time.as_mut().poll(cx).map(|()| None),
            }
        });
        let Some((asked, first)) = asked.await else {
            return;
        };
        let purged = self.store.make_room(first);
        let purged = purged.map_err(|e| Refusal::Over(e.to_string()));
        let position = self.store.done();
        self.feed.show(&self.store, position, self.ends, true);
        self.requests.answer(&asked, purged);
    }

    /// What is written into a file that somebody has removed is nowhere.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn look_for_files(&mut self) -> Result<(), String> {
        let now = self.clock.now_us();
        if now < self.room.looked + LOOKED_AGAIN {
            return Ok(());
        }
        self.room.looked = now;
        match self.store.is_there() || base::mutant!("files-that-are-gone-not-seen") {
            true => Ok(()),
            false => {
                let path = self.store.names().path(self.store.state().file);
                Err(format!("{}: it is not there any more", path.display()))
            }
        }
    }

    /// No files are made any more: nothing may be committed that belongs into them.
    pub(super) fn tell_failure(&self, why: &str) {
        let text = format!(
            "the binary log cannot go on: {why}; transactions that leave something in it fail until the server is started again"
        );
        self.source
            .set_intake(Intake::Over(why.to_owned()), Some(&text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_time::{in_time, until};
    use crate::service::BinaryLog;
    use crate::service::feed::Health;
    use crate::service::tests::{Log, numbers, start};
    use base::environment::Disk;
    use base::mem::MemDisk;
    use base::{Lsn, block_on};
    use std::path::Path;
    use std::sync::Arc;
    use types::gtid::GtidSet;

    /// Three files with something in them, a fourth that is written, and no room for what is committed next.
    fn without_room() -> (Arc<MemDisk>, Arc<Log>, Arc<BinaryLog>, Lsn) {
        let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
        let binary_log = start(&disk, &log);
        for _ in 0..3 {
            let lsn = log.commit(&[1; 5000]);
            block_on(binary_log.rotate(Lsn(lsn.0 + 1))).unwrap();
        }
        disk.set_room(10);
        let lsn = log.commit(&[7; 500]);
        (disk, log, binary_log, Lsn(lsn.0 + 1))
    }

    fn said(log: &Log) -> Vec<Intake> {
        let said = log.intake.lock();
        said.iter().map(|(intake, _)| intake.clone()).collect()
    }

    #[test]
    fn who_would_leave_more_waits_for_room_and_a_purge_makes_it() {
        in_time(|| {
            let (_disk, log, binary_log, lsn) = without_room();
            // Who only looks is shown what there is.
            block_on(binary_log.wait_read_unless_short(lsn)).unwrap();
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 3);
            until("it is said", || said(&log) == [Intake::Short]);
            let text = log.intake.lock()[0].1.clone().unwrap();
            assert!(text.contains("/d/binlog.000004: "), "{text}");
            // Before what was asked first: this makes the room for it.
            let sets = binary_log.clone();
            let set =
                std::thread::spawn(move || block_on(sets.add_purged(GtidSet::default(), lsn)));
            until("it is asked", || binary_log.requests.are_asked());
            let all = numbers(&binary_log);
            block_on(binary_log.purge(all[2])).unwrap();
            block_on(binary_log.wait_read(lsn)).unwrap();
            set.join().unwrap().unwrap();
            block_on(binary_log.rotate(lsn)).unwrap();
            assert_eq!(numbers(&binary_log), [all[2], all[3], all[3] + 1]);
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 4);
            assert_eq!(binary_log.feed.with(|v| v.purged.len()), 2);
            assert_eq!(said(&log), [Intake::Short, Intake::Open]);
            log.close();
            assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
        });
    }

    fn refused(r: Result<(), Refusal>) -> (String, i32) {
        match r {
            Err(Refusal::Short(lack)) => (lack.file, lack.error.0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_wants_another_file_is_told_that_there_is_no_room() {
        in_time(|| {
            let (disk, log, binary_log, lsn) = without_room();
            block_on(binary_log.wait_read_unless_short(lsn)).unwrap();
            let all = numbers(&binary_log);
            let lack = ("binlog.000004".to_owned(), 28);
            assert_eq!(refused(block_on(binary_log.rotate(lsn))), lack);
            assert_eq!(refused(block_on(binary_log.reset(1, lsn))), lack);
            assert_eq!(refused(block_on(binary_log.rotate(Lsn::NONE))), lack);
            assert_eq!(numbers(&binary_log), all, "nothing was done");
            disk.set_room(1 << 20);
            block_on(binary_log.wait_read(lsn)).unwrap();
            assert_eq!(numbers(&binary_log), all, "and nothing is done later");
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 4);
            block_on(binary_log.reset(1, lsn)).unwrap();
            assert_eq!(numbers(&binary_log), [1]);
            log.close();
            assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
        });
    }

    #[test]
    fn what_finds_no_room_in_the_midst_is_told_so() {
        in_time(|| {
            let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
            let binary_log = start(&disk, &log);
            let lsn = Lsn(log.commit(&[1; 5000]).0 + 1);
            block_on(binary_log.wait_read(lsn)).unwrap();
            disk.set_room(0);
            refused(block_on(binary_log.reset(1, lsn)));
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 1);
            refused(block_on(binary_log.rotate(lsn)));
            disk.set_room(1 << 20);
            // What has begun is done.
            until("there is another file", || numbers(&binary_log).len() == 2);
            let lsn = Lsn(log.commit(&[2; 500]).0 + 1);
            block_on(binary_log.wait_read(lsn)).unwrap();
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 2);
            log.close();
            assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
            // The files are what they are after any other rotation.
            let binary_log = start(&disk, &log);
            block_on(binary_log.wait_read(lsn)).unwrap();
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 2);
            log.close();
            block_on(binary_log.wait_end());
        });
    }

    #[test]
    fn a_crash_behind_a_purge_without_room_leaves_the_rest() {
        in_time(|| {
            let (disk, log, binary_log, lsn) = without_room();
            block_on(binary_log.wait_read_unless_short(lsn)).unwrap();
            block_on(binary_log.purge(2)).unwrap();
            let crashed = Arc::new(disk.crash(false));
            log.close();
            block_on(binary_log.wait_end());
            let binary_log = start(&crashed, &log);
            block_on(binary_log.wait_read(lsn)).unwrap();
            assert_eq!(numbers(&binary_log)[..3], [2, 3, 4]);
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 4);
            assert_eq!(binary_log.feed.with(|v| v.purged.len()), 1);
            log.close();
            block_on(binary_log.wait_end());
        });
    }

    #[test]
    fn a_server_ends_without_room_and_goes_on_with_it() {
        in_time(|| {
            let (disk, log, binary_log, lsn) = without_room();
            block_on(binary_log.wait_read_unless_short(lsn)).unwrap();
            binary_log.wait_no_more_for_room();
            assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
            let e = block_on(binary_log.wait_read(lsn)).unwrap_err();
            assert_eq!(e, "the server is being shut down");
            assert!(block_on(binary_log.rotate(lsn)).is_err());
            disk.set_room(1 << 20);
            let binary_log = start(&disk, &log);
            block_on(binary_log.wait_read(lsn)).unwrap();
            assert_eq!(binary_log.feed.with(|v| v.executed.len()), 4);
            log.close();
            block_on(binary_log.wait_end());
        });
    }

    #[test]
    fn a_log_that_closes_while_it_is_read_is_no_failure_of_a_server_that_ends() {
        for ends in [true, false] {
            in_time(move || {
                let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
                let binary_log = start(&disk, &log);
                let lsn = log.commit(b"x");
                block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
                if ends {
                    binary_log.wait_no_more_for_room();
                }
                *log.broken.lock() = true;
                log.close();
                let (health, said) = match ends {
                    true => (Health::Ended, vec![]),
                    false => {
                        let why = "it was closed".to_owned();
                        (Health::Failed(why.clone()), vec![Intake::Over(why)])
                    }
                };
                assert_eq!(block_on(binary_log.wait_end()), health);
                assert_eq!(self::said(&log), said);
            });
        }
    }

    #[test]
    fn files_that_are_gone_are_missed() {
        in_time(|| {
            let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
            let binary_log = start(&disk, &log);
            let lsn = log.commit(b"x");
            block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
            disk.remove_file(Path::new("/d/binlog.000001")).unwrap();
            until("it is missed", || {
                log.commit(b"y");
                std::thread::sleep(std::time::Duration::from_millis(20));
                !said(&log).is_empty()
            });
            let why = "/d/binlog.000001: it is not there any more";
            assert_eq!(said(&log), [Intake::Over(why.to_owned())]);
            let health = block_on(binary_log.wait_end());
            assert_eq!(health, Health::Failed(why.to_owned()));
        });
    }
}
