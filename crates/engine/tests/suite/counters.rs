//! AUTO_INCREMENT over crashes: nothing is skipped and nothing is given twice, whatever became of the rows.

use crate::world::{column, create, index, key, open};
use base::block_on;
use base::mem::MemDisk;
use engine::*;
use std::sync::Arc;
use types::datatype::IntWidth;
use types::{DataType, Value};

/// How the table's numbers are indexed.
#[derive(Clone, Copy, Debug)]
enum By {
    Primary,
    Descending,
    Secondary,
}

fn def(ty: DataType, by: By) -> TableDef {
    let mut id = column("id", ty);
    id.auto_increment = true;
    let primary = |column| index("PRIMARY", IndexKind::Primary, &[column]);
    let mut descending = index("id", IndexKind::Unique, &[0]);
    descending.parts[0].descending = true;
    let indexes = match by {
        By::Primary => vec![primary(0)],
        By::Descending => vec![primary(1), descending],
        By::Secondary => vec![primary(1), index("id", IndexKind::Plain, &[0])],
    };
    crate::world::table("t", vec![id, column("k", DataType::INT)], indexes)
}

fn setup(ty: DataType, by: By) -> (Arc<MemDisk>, Arc<Engine>) {
    let disk = Arc::new(MemDisk::default());
    let e = open(&disk);
    block_on(create(&mut e.session(), def(ty, by)));
    (disk, e)
}

fn tiny() -> DataType {
    DataType::int(IntWidth::Tiny, false)
}

async fn table(s: &mut Session) -> Arc<Table> {
    s.open_table("s", "t").await.unwrap()
}

/// Inserts a row with the next number; the primary key of the other shapes is the number as well.
async fn insert(s: &mut Session) -> u64 {
    let t = table(s).await;
    let v = s.auto_increment(&t, 1).unwrap();
    let row = [Value::Int(v as i64), Value::Int(v as i64)];
    assert_eq!(s.insert(&t, &row).await.unwrap(), Inserted::Done);
    v
}

async fn delete(s: &mut Session, id: u64) {
    let t = table(s).await;
    let k = key(&t, id as i64);
    assert!(s.delete_key(&t, &k, &mut |_| Ok(true)).await.unwrap());
}

#[test]
fn a_tinyint_table_gives_all_its_numbers_over_many_crashes() {
    for by in [By::Primary, By::Descending, By::Secondary] {
        // All of them once, the last ones in the other shapes.
        let first = match by {
            By::Primary => 1,
            _ => 110,
        };
        let (mut disk, mut e) = setup(tiny(), by);
        block_on(set_counter(&mut e.session(), first));
        for expected in first..=127 {
            block_on(async {
                let mut s = e.session();
                assert_eq!(insert(&mut s).await, expected, "{by:?}");
                s.commit().await.unwrap();
                // Its row does not tell of it.
                if expected % 3 > 0 {
                    delete(&mut s, expected).await;
                    s.commit().await.unwrap();
                }
                match expected % 5 {
                    // Nor does the log in front of the checkpoint.
                    0 => e.close().await.unwrap(),
                    1 => {
                        e.pager().flush_all().await.unwrap();
                        e.abandon().await;
                    }
                    _ => e.abandon().await,
                }
            });
            if expected % 4 > 0 {
                disk = Arc::new(disk.crash(expected % 2 == 0));
            }
            e = open(&disk);
        }
        let mut s = e.session();
        block_on(async {
            let t = table(&mut s).await;
            assert_eq!(s.auto_increment(&t, 1).unwrap_err().code, 1467);
        });
    }
}

#[test]
fn a_number_that_was_taken_back_is_not_given_again_if_its_record_is_there() {
    let (disk, e) = setup(DataType::BIGINT, By::Primary);
    block_on(async {
        let mut s = e.session();
        assert_eq!(insert(&mut s).await, 1);
        s.rollback().await.unwrap();
        assert_eq!(insert(&mut s).await, 2);
        s.commit().await.unwrap();
        // A loser of the crash.
        assert_eq!(insert(&mut s).await, 3);
        let end = e.pager().log().end();
        e.pager().log().wait_durable(end).await.unwrap();
        std::mem::forget(s);
    });
    let e = open(&Arc::new(disk.crash(false)));
    block_on(async {
        let mut s = e.session();
        assert_eq!(insert(&mut s).await, 4);
        s.commit().await.unwrap();
    });
}

#[test]
fn an_update_above_the_counter_moves_it() {
    for by in [By::Primary, By::Secondary] {
        let (disk, e) = setup(DataType::BIGINT, by);
        block_on(async {
            let mut s = e.session();
            insert(&mut s).await;
            let t = table(&mut s).await;
            let r = s
                .update_key(&t, &key(&t, 1), &mut |_| {
                    Ok(Some(vec![Value::Int(50), Value::Int(1)]))
                })
                .await;
            assert_eq!(r.unwrap(), Updated::Done);
            s.commit().await.unwrap();
            assert_eq!(insert(&mut s).await, 51, "{by:?}");
            s.rollback().await.unwrap();
        });
        let e = open(&Arc::new(disk.crash(false)));
        block_on(async {
            // What was rolled back need not have been durable.
            let next = insert(&mut e.session()).await;
            assert!((51..=52).contains(&next), "{by:?}: {next}");
        });
    }
}

async fn set_counter(s: &mut Session, to: u64) {
    let t = table(s).await;
    s.commit().await.unwrap();
    let mut def = t.def.clone();
    def.options.auto_increment = to;
    assert!(s.alter_table(&t, def).await.unwrap());
}

#[test]
fn a_counter_is_lowered_to_above_the_rows_that_are_there() {
    for by in [By::Primary, By::Descending, By::Secondary] {
        let (mut disk, e) = setup(tiny(), by);
        block_on(async {
            let mut s = e.session();
            for _ in 1..=127 {
                insert(&mut s).await;
            }
            for id in 11..=127 {
                delete(&mut s, id).await;
            }
            s.commit().await.unwrap();
            set_counter(&mut s, 3).await;
            assert_eq!(insert(&mut s).await, 11, "{by:?}");
            delete(&mut s, 11).await;
            s.commit().await.unwrap();
            set_counter(&mut s, 3).await;
        });
        disk = Arc::new(disk.crash(false));
        for expected in 11..20 {
            let e = open(&disk);
            block_on(async {
                let mut s = e.session();
                assert_eq!(insert(&mut s).await, expected, "{by:?}");
                s.commit().await.unwrap();
                if expected == 15 {
                    e.pager().flush_all().await.unwrap();
                }
                e.abandon().await;
            });
            disk = Arc::new(disk.crash(expected % 2 == 0));
        }
        let e = open(&disk);
        block_on(async {
            let mut s = e.session();
            // Another change of the definition leaves it where it is, and so does asking for the same again but for the rows.
            let index = def(tiny(), By::Secondary).indexes.remove(1);
            let more = IndexDef {
                name: "more".into(),
                ..index
            };
            s.create_index("s", "t", more).await.unwrap();
            delete(&mut s, 19).await;
            s.commit().await.unwrap();
            s.drop_index("s", "t", "more").await.unwrap();
            assert_eq!(insert(&mut s).await, 20, "{by:?}");
            s.commit().await.unwrap();
            set_counter(&mut s, 60).await;
            assert_eq!(insert(&mut s).await, 60, "{by:?}");
            s.rollback().await.unwrap();
        });
    }
}

#[test]
fn a_rebuild_takes_the_counter_along_and_may_lower_it() {
    let (disk, e) = setup(DataType::BIGINT, By::Primary);
    block_on(async {
        let mut s = e.session();
        for _ in 0..9 {
            insert(&mut s).await;
        }
        delete(&mut s, 9).await;
        delete(&mut s, 8).await;
        s.commit().await.unwrap();
    });
    drop(e);
    let disk = Arc::new(disk.crash(false));
    let e = open(&disk);
    // Nobody has used the table since the start.
    let rebuild = |next: u64| {
        let t = e.catalog().table("s", "t").unwrap();
        let mut def = t.def.clone();
        def.options.auto_increment = next;
        let mut s = e.session();
        let r = block_on(s.rebuild_table(&t, def, Rewrite::Same, true, true));
        assert!(r.unwrap().is_some());
    };
    rebuild(0);
    let mut s = e.session();
    block_on(async {
        assert_eq!(insert(&mut s).await, 10);
        s.rollback().await.unwrap();
    });
    rebuild(2);
    block_on(async {
        assert_eq!(insert(&mut s).await, 8);
        s.rollback().await.unwrap();
    });
}

/// A directory as the version left it that knew no notes and no field for what is needed of the log: the control file has zeros there, and
/// the log behind its start tells nothing of counters.
fn as_before_the_notes(disk: &MemDisk) {
    const SLOT: usize = 4096;
    let made = disk.damage(std::path::Path::new("/db/log/control"), |b| {
        for slot in b.chunks_exact_mut(SLOT) {
            let end = base::le::get_u64(slot, 56);
            // Redo begins where the log was closed, there is no checkpoint, and nothing is said of what is needed.
            base::le::put_u64(slot, 40, end);
            base::le::put_u64(slot, 48, 0);
            base::le::put_u64(slot, 4080, 0);
            let crc = base::checksum::crc32c(&slot[..SLOT - 4]);
            base::le::put_u32(slot, SLOT - 4, crc);
        }
    });
    assert!(made, "a control file");
}

#[test]
fn a_directory_without_notes_counts_from_its_rows() {
    for by in [By::Primary, By::Descending, By::Secondary] {
        let (disk, e) = setup(tiny(), by);
        block_on(async {
            let mut s = e.session();
            for _ in 0..9 {
                insert(&mut s).await;
            }
            delete(&mut s, 8).await;
            delete(&mut s, 9).await;
            s.commit().await.unwrap();
        });
        // What is only marked as deleted counts too.
        let began = std::time::Instant::now();
        while e.counters().purge_queue > 0 {
            assert!(began.elapsed().as_secs() < 60, "purge does not end");
            std::thread::yield_now();
        }
        block_on(e.close()).unwrap();
        drop(e);
        // Both copies, the one of the clean end last.
        let e = open(&disk);
        block_on(e.close()).unwrap();
        drop(e);
        let as_it_is = Arc::new(disk.crash(true));
        as_before_the_notes(&disk);
        let e = open(&disk);
        block_on(async {
            let mut s = e.session();
            for id in 1..=7 {
                delete(&mut s, id).await;
            }
            s.rollback().await.unwrap();
            assert_eq!(insert(&mut s).await, 8, "{by:?}");
            delete(&mut s, 8).await;
            s.commit().await.unwrap();
            drop(s);
            e.abandon().await;
        });
        // From here on it is kept.
        let e = open(&Arc::new(disk.crash(false)));
        assert_eq!(block_on(insert(&mut e.session())), 9, "{by:?}");
        // With its notes the directory knows better.
        let e = open(&as_it_is);
        assert_eq!(block_on(insert(&mut e.session())), 10, "{by:?}");
    }
}
