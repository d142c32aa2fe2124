//! Everybody who waits is woken by what he waits for: each test has one wait and one end of it, so that nothing else comes to its help.

mod definitions;
mod purge;
mod rows;
mod space;
mod tables;

use crate::world::{create, def, key, open_with, row, within};
use base::block_on;
use base::mem::{self, MemDisk};
use engine::*;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use types::SqlError;

/// Many times what any of these tests takes, in seconds: whoever has not been woken by then sleeps.
const LIMIT: u64 = 30;
/// Longer than any test lasts, in seconds.
const FOR_EVER: u32 = 6_000;

const FOR_UPDATE: ReadMode = ReadMode::Lock {
    exclusive: true,
    wait: LockWait::Wait,
};
const FOR_SHARE: ReadMode = ReadMode::Lock {
    exclusive: false,
    wait: LockWait::Wait,
};

/// An engine with a table `t` of ten rows, and a table `other`.
fn stage() -> Arc<Engine> {
    let e = open_with(mem::environment(Arc::new(MemDisk::default())), 256);
    let mut s = e.session();
    block_on(async {
        create(&mut s, def("t")).await;
        s.create_table(def("other")).await.unwrap();
        for name in ["t", "other"] {
            let t = s.open_table("s", name).await.unwrap();
            for id in 0..10 {
                s.insert(&t, &row(id, 0, 1, 10)).await.unwrap();
            }
            s.commit().await.unwrap();
        }
    });
    e
}

/// A session that waits for as long as it takes.
fn session(e: &Arc<Engine>) -> Session {
    let mut s = e.session();
    s.set_lock_wait_timeout(FOR_EVER);
    s.set_table_wait_timeout(FOR_EVER);
    s
}

/// One in a transaction that uses the table.
fn user(e: &Arc<Engine>, name: &str) -> (Session, Arc<Table>) {
    let mut s = session(e);
    s.begin(Isolation::ReadCommitted, false);
    let t = block_on(s.open_table("s", name)).unwrap();
    (s, t)
}

/// Locks a row by its key.
async fn lock(s: &mut Session, t: &Table, id: i64, mode: ReadMode) -> Result<(), SqlError> {
    s.get(t, &key(t, id), mode, |_| ()).await
}

/// Does something on a thread of its own, held up by this seed, and gives the session back with the outcome.
fn behind<T: Send + 'static>(
    mut s: Session,
    seed: u64,
    f: impl FnOnce(&mut Session) -> Result<T, SqlError> + Send + 'static,
) -> JoinHandle<(Session, Result<T, SqlError>)> {
    thread::spawn(move || {
        let seed = base::seed::nth("woken", seed);
        let done = base::perturb::perturbed(seed, || f(&mut s));
        (s, done)
    })
}

/// A moment, in which whoever was begun comes to wait.
fn a_moment() {
    thread::sleep(Duration::from_millis(30));
}

/// Looks until it is so.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !so() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn close(e: &Arc<Engine>) {
    block_on(e.close()).unwrap();
}
