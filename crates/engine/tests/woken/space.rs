//! The waits of the task that gives space back, and for it.

use super::*;
use std::path::Path;

const ROWS: i64 = 3_000;

/// An engine with a table `t`, that looks often for what it can give back.
fn space() -> Arc<Engine> {
    space_on(&Arc::new(MemDisk::default()))
}

fn space_on(disk: &Arc<MemDisk>) -> Arc<Engine> {
    let options = EngineOptions {
        pager: crate::world::pager_options(2048),
        defragment: DefragmentOptions {
            on: true,
            tick_us: 1_000,
            least_pages: 1,
        },
        ..EngineOptions::default()
    };
    let environment = mem::environment(disk.clone());
    let e = block_on(Engine::open(environment, Path::new("/db"), options)).expect("open");
    block_on(create(&mut e.session(), def("t")));
    e
}

/// Rows come and go, and leave an empty table in a large file.
fn come_and_go(s: &mut Session) {
    block_on(async {
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table("s", "t").await.unwrap();
        for id in 0..ROWS {
            s.insert(&t, &row(id, id, 1, 300)).await.unwrap();
        }
        for id in 0..ROWS {
            assert!(
                s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                    .await
                    .unwrap()
            );
        }
        s.commit().await.unwrap();
    });
}

fn pages(e: &Engine) -> u64 {
    e.catalog().table("s", "t").unwrap().data_pages()
}

/// The bytes of the table's file.
fn file(disk: &MemDisk) -> Vec<u8> {
    let mut bytes = Vec::new();
    let there = disk.damage(Path::new("/db/data/s/t.tdb"), |all| bytes.clone_from(all));
    assert!(there && !bytes.is_empty(), "the table's file");
    bytes
}

/// One change after the other wakes it, each time when it has come to rest.
#[test]
fn what_is_left_behind_is_given_back_each_time() {
    within(LIMIT, "space", || {
        let e = space();
        let mut s = session(&e);
        for _ in 0..6 {
            come_and_go(&mut s);
            until("the file stays as large", || pages(&e) <= 16);
            a_moment();
        }
        drop(s);
        close(&e);
    });
}

/// It rests while tables are exported, and who exports them waits for it to come to rest.
#[test]
fn those_who_export_tables_wait_for_it_and_it_for_them() {
    within(LIMIT, "an export", || {
        let disk = Arc::new(MemDisk::default());
        let e = space_on(&disk);
        let t = e.catalog().table("s", "t").unwrap();
        let mut s = session(&e);
        for round in 0..8 {
            come_and_go(&mut s);
            // In the midst of it, or before.
            thread::sleep(Duration::from_millis(2 * round));
            let lock = t.clone();
            let exporting = behind(session(&e), round, move |s| {
                block_on(async {
                    s.lock_tables(&[(lock.clone(), TableLockMode::Read)])
                        .await?;
                    s.export_tables(&[lock]).await
                })
            });
            let (mut exporting, exported) = exporting.join().unwrap();
            exported.unwrap();
            let then = (file(&disk), pages(&e));
            a_moment();
            // Other tasks log what they do to other files.
            assert!((file(&disk), pages(&e)) == then, "a file is changed");
            exporting.unlock_tables();
            until("the file stays as large", || pages(&e) <= 16);
        }
        drop((s, t));
        close(&e);
    });
}
