//! Servers that do not live long: each is killed before a checkpoint that comes behind its purge. What one has purged the next need not find again,
//! or the log would be kept from the first deleted row on.

use crate::world::{key, row, sound};
use base::environment::Task;
use base::mem::{self, MemDisk};
use base::{Event, Spawn, block_on};
use engine::*;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

const CAPACITY: u64 = 8 << 20;

/// Lets a task work while it is open.
#[derive(Default)]
struct Gate {
    open: AtomicBool,
    changed: Event,
}

impl Gate {
    fn set(&self, open: bool) {
        self.open.store(open, Ordering::SeqCst);
        self.changed.fire();
    }
}

/// Threads, two of which are behind gates.
#[derive(Default)]
struct Gated {
    cleaner: Arc<Gate>,
    purge: Arc<Gate>,
}

impl Spawn for Gated {
    fn spawn(&self, name: &str, mut task: Task) {
        let gate = match name {
            "cleaner" => self.cleaner.clone(),
            "purge" => self.purge.clone(),
            _ => return base::real::Threads.spawn(name, task),
        };
        let turn = poll_fn(move |cx| {
            gate.changed.park(cx);
            match gate.open.load(Ordering::SeqCst) {
                true => task.as_mut().poll(cx),
                false => Poll::Pending,
            }
        });
        base::real::Threads.spawn(name, Box::pin(turn));
    }
}

fn options() -> EngineOptions {
    EngineOptions {
        pager: PagerOptions {
            log_capacity_bytes: CAPACITY,
            log_buffer_bytes: 1 << 20,
            log_unit_bytes: 512 << 10,
            ..crate::world::pager_options(512)
        },
        ..EngineOptions::default()
    }
}

fn log_bytes(disk: &MemDisk) -> u64 {
    let dir = Path::new("/db/log");
    let names = base::Disk::read_dir(disk, dir).unwrap();
    let logs = names.iter().filter(|(n, _)| n.ends_with(".log"));
    logs.map(|(n, _)| {
        let f = base::Disk::open(disk, &dir.join(n), base::OpenMode::Buffered, false);
        f.unwrap().len().unwrap()
    })
    .sum()
}

/// A checkpoint, then the purge of what the life before deleted, then a row is deleted, then the end.
fn life(disk: &Arc<MemDisk>, n: i64) -> Arc<MemDisk> {
    let gated = Arc::new(Gated::default());
    let mut environment = mem::environment(disk.clone());
    environment.spawn = gated.clone();
    gated.cleaner.set(true);
    let e = block_on(Engine::open(environment, Path::new("/db"), options())).unwrap();
    let found = e.counters().purge_queue;
    assert!(found > 0 || n == 0, "life {n}");
    // What one did not come to say is said by the next.
    assert!(found <= 5, "life {n} finds {found} that are to be purged");
    block_on(e.pager().flush_all()).unwrap();
    gated.cleaner.set(false);
    let end = e.pager().log().end();
    gated.purge.set(true);
    let until = Instant::now() + Duration::from_secs(30);
    while n > 0 && (e.counters().purge_queue > 0 || e.pager().log().end() == end) {
        assert!(Instant::now() < until, "life {n}: nothing is purged");
        std::thread::sleep(Duration::from_millis(1));
    }
    // Time for the word that it is done.
    std::thread::sleep(Duration::from_millis(5));
    gated.purge.set(false);
    let mut s = e.session();
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        let mut yes = |_: RowRef<'_>| Ok(true);
        assert!(s.delete_key(&t, &key(&t, n), &mut yes).await.unwrap());
        s.commit().await.unwrap();
    });
    drop(s);
    e.pager().halt();
    gated.cleaner.set(true);
    gated.purge.set(true);
    block_on(e.abandon());
    Arc::new(disk.crash(n % 2 == 0))
}

#[test]
fn what_was_purged_is_not_kept_for_the_next_start() {
    let mut disk = Arc::new(MemDisk::default());
    let e = block_on(Engine::open(
        mem::environment(disk.clone()),
        Path::new("/db"),
        options(),
    ));
    let e = e.unwrap();
    let mut s = e.session();
    block_on(async {
        crate::world::create(&mut s, crate::world::def("t")).await;
        let t = s.open_table("s", "t").await.unwrap();
        for id in 0..60 {
            s.insert(&t, &row(id, id % 7, 1, 100)).await.unwrap();
        }
        s.commit().await.unwrap();
    });
    drop(s);
    block_on(e.close()).unwrap();
    for n in 0..50 {
        disk = life(&disk, n);
        let bytes = log_bytes(&disk);
        assert!(bytes <= CAPACITY + CAPACITY / 5, "life {n}: {bytes} bytes");
    }
    let e = block_on(Engine::open(
        mem::environment(disk.clone()),
        Path::new("/db"),
        options(),
    ));
    let e = e.unwrap();
    sound(&e, "t");
    let mut s = e.session();
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        for id in 0..60 {
            let k = key(&t, id);
            let there = s.get(&t, &k, ReadMode::Consistent, |r| r.is_some());
            assert_eq!(there.await.unwrap(), id >= 50, "{id}");
        }
        s.commit().await.unwrap();
    });
}
