//! Statements and the archive's task wait for each other.

use super::*;
use crate::derive::tests::settings;
use crate::in_time::{in_time, until};
use crate::service::tests::{Log, start_in};
use base::block_on;
use base::mem::{MemDisk, environment};

#[test]
fn statements_and_the_task_are_told_of_each_other() {
    let environment = environment(Arc::new(MemDisk::default()));
    let log = Arc::new(Log::default());
    let binary_log = start_in(&environment, &log);
    let uuid = settings().sid.to_string();
    let at = (PathBuf::from("/a"), &*uuid);
    let archive = Archive::begin(&environment, &binary_log, Lsn(0), at);
    let position = || archive.status.lock().at.map_or(0, |at| at.position);
    until("it waits for more", || binary_log.feed().dumps_wait());
    let before = position();
    log.commit(b"one");
    until("it is archived", || position() > before);
    let ask = || {
        let archive = archive.clone();
        in_time(move || block_on(archive.before_reset(1)).expect("an answer"))
    };
    // It has nothing to do but to wait, and then it is asked again and again.
    until("it waits for more", || binary_log.feed().dumps_wait());
    for _ in 0..20 {
        drop(ask());
    }
    let held = ask();
    let before = position();
    let lsn = log.commit(b"two");
    block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).expect("it is shown");
    until("it waits to be let go", || archive.asked.has_waiters());
    assert_eq!(position(), before);
    drop(held);
    until("it goes on", || position() > before);
    let ends = archive.clone();
    until("it waits for more", || binary_log.feed().dumps_wait());
    in_time(move || block_on(ends.end()));
    assert!(block_on(archive.before_reset(1)).is_err());
    log.close();
    block_on(binary_log.wait_end());
}
