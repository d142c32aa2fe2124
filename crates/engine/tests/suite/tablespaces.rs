//! Tables that are exported, discarded and imported: what comes over, what is refused, and what a crash at any step leaves.

use crate::sim::{Cut, SimDisk, environment, seeded};
use crate::world::{column, create, def, index, key, open_with, row, sound, table, within};
use base::{OpenMode, block_on};
use engine::*;
use std::path::Path;
use std::sync::Arc;
use types::{DataType, SqlError, Value, ValueRef};

const FILE: &str = "/db/data/s/t.tdb";
const DESCRIPTION: &str = "/db/data/s/t.cfg";
const IMPORT: &str = "/db/data/s/t.import";

fn start(disk: &Arc<SimDisk>) -> Arc<Engine> {
    open_with(environment(disk), 512)
}

fn read(disk: &Arc<SimDisk>, path: &str) -> Vec<u8> {
    let file = environment(disk)
        .disk
        .open(Path::new(path), OpenMode::Buffered, false);
    let file = file.unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut bytes = vec![0; file.len().unwrap() as usize];
    let n = file.read_now(&mut bytes, 0).unwrap();
    bytes.truncate(n);
    bytes
}

fn write(disk: &Arc<SimDisk>, path: &str, bytes: &[u8]) {
    let disk = environment(disk).disk;
    let file = disk
        .open(Path::new(path), OpenMode::Buffered, true)
        .unwrap();
    file.truncate(0).unwrap();
    file.write_now(bytes, 0).unwrap();
    file.sync_now().unwrap();
}

fn exists(disk: &Arc<SimDisk>, path: &str) -> bool {
    disk.paths().iter().any(|p| p == Path::new(path))
}

/// The file and the description of an exported table.
struct Export {
    file: Vec<u8>,
    description: Vec<u8>,
}

impl Export {
    fn put(&self, disk: &Arc<SimDisk>) {
        write(disk, IMPORT, &self.file);
        write(disk, DESCRIPTION, &self.description);
    }
}

async fn export(s: &mut Session, disk: &Arc<SimDisk>) -> Export {
    let t = s.open_table("s", "t").await.unwrap();
    s.commit().await.unwrap();
    s.lock_tables(&[(t.clone(), TableLockMode::Read)])
        .await
        .unwrap();
    s.export_tables(&[t]).await.unwrap();
    let (file, description) = (read(disk, FILE), read(disk, DESCRIPTION));
    s.unlock_tables();
    assert!(!exists(disk, DESCRIPTION), "its time is over");
    Export { file, description }
}

async fn import(s: &mut Session) -> Result<u64, SqlError> {
    let as_it_is =
        &mut |row: &[ValueRef<'_>]| Ok(row.iter().copied().map(ValueRef::to_owned).collect());
    s.import_table("s", "t", as_it_is).await
}

/// All rows, as of now.
async fn all(s: &mut Session) -> Vec<String> {
    let t = s.open_table("s", "t").await.unwrap();
    s.begin(Isolation::ReadCommitted, true);
    let spec = ScanSpec {
        index: 0,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward: false,
        mode: ReadMode::Consistent,
    };
    let mut scan = s.scan(&t, spec);
    let (mut rows, mut batch) = (Vec::new(), RowBatch::new());
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut scan, &mut batch, 50, &mut |_| Ok(true))
            .await
            .unwrap();
        rows.extend((0..batch.len()).map(|i| format!("{:?}", batch.row(i).to_values())));
        if !more {
            break;
        }
    }
    s.commit().await.unwrap();
    rows
}

/// A table with rows of all kinds: changed, deleted, with long columns, rolled back, and some that lack the last column.
async fn filled(s: &mut Session, mut of: TableDef) {
    of.columns[0].auto_increment = true;
    create(s, of).await;
    put(s, 0..600, 20, false).await;
    put(s, 600..620, 40_000, false).await;
    let old = s.engine().catalog().table("s", "t").unwrap();
    let mut grown = old.def.clone();
    grown.columns.push(ColumnDef {
        fill: Some(Value::Int(77)),
        ..column("late", DataType::INT)
    });
    assert!(s.alter_table(&old, grown).await.unwrap());
    put(s, 620..700, 20, true).await;
    let t = s.open_table("s", "t").await.unwrap();
    for id in (0..700).step_by(3) {
        s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
            .await
            .unwrap();
    }
    s.commit().await.unwrap();
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "t").await.unwrap();
    for id in 2000..2100 {
        s.insert(&t, &wide(id, 30_000, true)).await.unwrap();
    }
    s.rollback().await.unwrap();
}

fn wide(id: i64, len: usize, late: bool) -> Vec<Value> {
    let mut r = row(id, id % 7, id as u8, len);
    if late {
        r.push(Value::Int(id * 2));
    }
    r
}

async fn put(s: &mut Session, ids: std::ops::Range<i64>, len: usize, late: bool) {
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "t").await.unwrap();
    for id in ids {
        s.insert(&t, &wide(id, len, late)).await.unwrap();
    }
    s.commit().await.unwrap();
}

fn compressed(method: &str) -> TableDef {
    let mut d = def("t");
    let option = ("COMPRESSION".to_string(), method.to_string());
    d.options.others.push(option);
    d
}

/// An empty table of the same definition, discarded.
async fn discarded(s: &mut Session, of: TableDef, from: &Table) {
    let mut d = of;
    d.columns.clone_from(&from.def.columns);
    d.columns.iter_mut().for_each(|c| c.fill = None);
    create(s, d).await;
    assert!(!s.discard_table("s", "t").await.unwrap());
}

fn number(e: SqlError) -> u16 {
    e.code
}

#[test]
fn rows_come_over_whatever_the_files_are() {
    within(300, "an import", || {
        for (from, to) in [
            (def("t"), def("t")),
            (compressed("zstd"), def("t")),
            (def("t"), compressed("lz4")),
            (compressed("zlib"), compressed("zlib")),
        ] {
            let (a, b) = (SimDisk::new(), SimDisk::new());
            let (source, target) = (start(&a), start(&b));
            let (mut s, mut d) = (source.session(), target.session());
            block_on(async {
                filled(&mut s, from).await;
                let before = all(&mut s).await;
                assert!(before.len() > 400 && before.iter().any(|r| r.contains("77")));
                let out = export(&mut s, &a).await;
                let t = source.catalog().table("s", "t").unwrap();
                discarded(&mut d, to, &t).await;
                assert_eq!(d.open_table("s", "t").await.err().map(number), Some(1814));
                assert_eq!(number(import(&mut d).await.unwrap_err()), 1812);
                write(&b, IMPORT, &out.file);
                assert_eq!(number(import(&mut d).await.unwrap_err()), 1810);
                out.put(&b);
                let rows = import(&mut d).await.unwrap();
                assert_eq!(rows, before.len() as u64);
                assert_eq!(all(&mut d).await, before);
                assert_eq!(number(import(&mut d).await.unwrap_err()), 1813);
                let next = target.catalog().table("s", "t").unwrap();
                assert_eq!(next.auto_increment_next(), t.auto_increment_next());
                assert!(!exists(&b, IMPORT));
            });
            sound(&target, "t");
            drop((s, d));
            block_on(source.close()).unwrap();
            block_on(target.close()).unwrap();
            let target = start(&b);
            let mut d = target.session();
            let rows = block_on(all(&mut d));
            assert!(rows.len() > 400);
            sound(&target, "t");
        }
    });
}

#[test]
fn nothing_changes_in_the_file_while_it_may_be_copied() {
    within(120, "an export", || {
        let disk = SimDisk::new();
        let e = start(&disk);
        let (mut s, mut old) = (e.session(), e.session());
        block_on(async {
            filled(&mut s, def("t")).await;
            // Somebody may still see what is deleted now: purge has work when he goes.
            old.begin(Isolation::RepeatableRead, true);
            old.open_snapshot();
            let t = s.open_table("s", "t").await.unwrap();
            for id in (1..700).step_by(3) {
                s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                    .await
                    .unwrap();
            }
            s.commit().await.unwrap();
            s.lock_tables(&[(t.clone(), TableLockMode::Read)])
                .await
                .unwrap();
            s.export_tables(&[t]).await.unwrap();
            let before = read(&disk, FILE);
            old.commit().await.unwrap();
            std::thread::sleep(std::time::Duration::from_millis(300));
            e.pager().flush_all().await.unwrap();
            assert!(before == read(&disk, FILE), "the file has changed");
            assert!(e.counters().purge_queue > 0, "nothing waited");
            s.unlock_tables();
        });
        drop(old);
        sound(&e, "t");
    });
}

/// Sets the checksum of a page of a plain file.
fn seal(file: &mut [u8], page: usize) {
    let b = &mut file[page * 16384..(page + 1) * 16384];
    let crc = base::checksum::crc32c(&b[4..]);
    b[..4].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn what_is_not_an_export_is_refused_and_nothing_has_changed() {
    within(300, "hostile files", || {
        let (a, b) = (SimDisk::new(), SimDisk::new());
        let (source, target) = (start(&a), start(&b));
        let (mut s, mut d) = (source.session(), target.session());
        block_on(async {
            filled(&mut s, def("t")).await;
            let out = export(&mut s, &a).await;
            let t = source.catalog().table("s", "t").unwrap();
            discarded(&mut d, def("t"), &t).await;
            let mut refused = async |file: &[u8], description: &[u8], why: &str| {
                write(&b, IMPORT, file);
                write(&b, DESCRIPTION, description);
                let e = import(&mut d).await.expect_err(why);
                assert!(matches!(e.code, 1062 | 1808 | 1810 | 1815), "{why}: {e:?}");
                let files = b
                    .paths()
                    .iter()
                    .filter(|p| p.ends_with("t.new.tdb"))
                    .count();
                assert_eq!(files, 0, "{why}");
                e.message
            };
            let (file, cfg) = (&out.file[..], &out.description[..]);
            for cut in [0, 1, 4096, 16384, 3 * 16384] {
                refused(&file[..cut], cfg, "a file that was cut short").await;
            }
            for cut in 0..cfg.len().min(200) {
                refused(file, &cfg[..cut], "a description that was cut short").await;
            }
            refused(&vec![0; file.len()], cfg, "zeros").await;
            // Another table's file.
            let mut other = file.to_vec();
            other[8] ^= 1;
            seal(&mut other, 0);
            let why = refused(&other, cfg, "another tablespace").await;
            assert!(why.contains("not the one"), "{why}");
            // A flipped bit in each page that is read.
            let pages = file.len() / 16384;
            let kind = |p: usize| file[p * 16384 + 12];
            let root = (1..pages).find(|p| kind(*p) == 2).expect("an inner page");
            for p in (1..pages).filter(|p| matches!(kind(*p), 2 | 3)).take(5) {
                let mut bad = file.to_vec();
                bad[p * 16384 + 9000] ^= 4;
                if file[p * 16384 + 24..p * 16384 + 28]
                    != file[root * 16384 + 24..root * 16384 + 28]
                {
                    // Of a secondary index, which nobody reads.
                    continue;
                }
                let why = refused(&bad, cfg, "a flipped bit").await;
                assert!(why.contains("checksum"), "{why}");
            }
            // The inner page leads to its first child twice: a leaf reached twice, and one not at all.
            let mut cycle = file.to_vec();
            let at = root * 16384;
            let (low, high) = (at + 40, at + 42);
            let fences = u16::from_le_bytes([cycle[low], cycle[low + 1]]) as usize
                + u16::from_le_bytes([cycle[high], cycle[high + 1]]) as usize;
            let slot = |n: usize| at + 112 + fences + 10 * n + 4;
            let first: [u8; 4] = cycle[slot(0)..slot(0) + 4].try_into().unwrap();
            cycle[slot(1)..slot(1) + 4].copy_from_slice(&first);
            seal(&mut cycle, root);
            let why = refused(&cycle, cfg, "a page twice").await;
            assert!(why.contains("fences"), "{why}");
            cycle.copy_from_slice(file);
            cycle[slot(1)..slot(1) + 4].copy_from_slice(&(root as u32).to_le_bytes());
            seal(&mut cycle, root);
            let why = refused(&cycle, cfg, "a page that leads to itself").await;
            assert!(why.contains("level"), "{why}");
            // A chain that leads back into itself, or into another's.
            // All of them: the first may be that of a deleted row, which is gone or is not, as purge went.
            let mut looped = file.to_vec();
            let mut chains = 0;
            for chain in (1..pages).filter(|p| kind(*p) == 4) {
                if file[chain * 16384 + 32..][..4] != [0; 4] {
                    looped[chain * 16384 + 32..][..4]
                        .copy_from_slice(&(chain as u32).to_le_bytes());
                    seal(&mut looped, chain);
                    chains += 1;
                }
            }
            assert!(chains > 0, "no chain of pages");
            refused(&looped, cfg, "a chain that leads back").await;
            // Pages that are younger than the description.
            let mut young = file.to_vec();
            young[root * 16384 + 16 + 7] = 0x10;
            seal(&mut young, root);
            let why = refused(&young, cfg, "a page that has changed").await;
            assert!(why.contains("changed since"), "{why}");
            out.put(&b);
            assert!(import(&mut d).await.unwrap() > 400);
        });
        sound(&target, "t");
    });
}

#[test]
fn another_definition_is_a_mismatch() {
    within(120, "definitions", || {
        let (a, b) = (SimDisk::new(), SimDisk::new());
        let (source, target) = (start(&a), start(&b));
        let (mut s, mut d) = (source.session(), target.session());
        let columns =
            |ty: DataType, name: &str| vec![column("id", DataType::INT), column(name, ty)];
        let primary = || index("PRIMARY", IndexKind::Primary, &[0]);
        block_on(async {
            create(
                &mut s,
                table("t", columns(DataType::INT, "a"), vec![primary()]),
            )
            .await;
            let out = export(&mut s, &a).await;
            let mut made = false;
            for (def, why) in [
                (
                    table("t", columns(DataType::UBIGINT, "a"), vec![primary()]),
                    "precise type",
                ),
                (
                    table("t", columns(DataType::INT, "b"), vec![primary()]),
                    "not found",
                ),
                (
                    table("t", vec![column("id", DataType::INT)], vec![primary()]),
                    "Number of columns",
                ),
                (
                    table(
                        "t",
                        columns(DataType::INT, "a"),
                        vec![primary(), index("a", IndexKind::Plain, &[1])],
                    ),
                    "Number of indexes",
                ),
                (
                    table("t", columns(DataType::INT, "a"), vec![]),
                    "Index GEN_CLUST_INDEX",
                ),
            ] {
                if made {
                    d.drop_table("s", "t").await.unwrap();
                    d.create_table(def).await.unwrap();
                } else {
                    create(&mut d, def).await;
                }
                made = true;
                d.discard_table("s", "t").await.unwrap();
                out.put(&b);
                let e = import(&mut d).await.unwrap_err();
                assert!(e.code == 1808 && e.message.contains(why), "{e:?}");
            }
        });
    });
}

/// Random bytes in pages whose checksums are right: whatever comes of it, it is an answer.
#[test]
fn pages_that_lie_are_answered() {
    within(900, "lies", || {
        let (a, b) = (SimDisk::new(), SimDisk::new());
        let (source, target) = (start(&a), start(&b));
        let (mut s, mut d) = (source.session(), target.session());
        let mut rng = seeded(54);
        block_on(async {
            filled(&mut s, def("t")).await;
            let out = export(&mut s, &a).await;
            let t = source.catalog().table("s", "t").unwrap();
            discarded(&mut d, def("t"), &t).await;
            let pages = 1..out.file.len() / 16384;
            let read: Vec<usize> = pages.filter(|p| out.file[p * 16384 + 12] > 1).collect();
            let (mut refused, mut taken) = (0, 0);
            for _ in 0..400 {
                let mut file = out.file.clone();
                for _ in 0..1 + rng.below(3) {
                    let page = read[rng.below(read.len() as u64) as usize];
                    for _ in 0..1 + rng.below(4) {
                        // Most lies in headers and slots, where lengths and numbers stand.
                        let within = match rng.below(3) {
                            0 => 12 + rng.below(100),
                            1 => 112 + rng.below(400),
                            _ => rng.below(16384),
                        };
                        file[page * 16384 + within as usize] = rng.next() as u8;
                    }
                    seal(&mut file, page);
                }
                write(&b, IMPORT, &file);
                write(&b, DESCRIPTION, &out.description);
                match import(&mut d).await {
                    Ok(_) => {
                        taken += 1;
                        d.discard_table("s", "t").await.unwrap();
                    }
                    Err(e) => {
                        refused += 1;
                        assert!(matches!(e.code, 1062 | 1815), "{e:?}");
                    }
                }
            }
            assert!(
                refused > 50 && taken > 50,
                "{refused} refused, {taken} taken"
            );
        });
    });
}

#[test]
fn a_crash_leaves_the_table_discarded_or_imported() {
    within(600, "crashes", || {
        let a = SimDisk::new();
        let source = start(&a);
        let mut s = source.session();
        let (out, t, rows) = block_on(async {
            filled(&mut s, def("t")).await;
            let out = export(&mut s, &a).await;
            let t = source.catalog().table("s", "t").unwrap();
            (out, t, all(&mut s).await)
        });
        let mut rng = seeded(55);
        let (mut before, mut after) = (0, 0);
        let mut n = 1;
        loop {
            let b = SimDisk::new();
            let target = start(&b);
            let mut d = target.session();
            block_on(discarded(&mut d, def("t"), &t));
            out.put(&b);
            let cut = match rng.below(3) {
                0 => Cut::Nothing,
                1 => Cut::All,
                _ => Cut::Some(50),
            };
            b.arm(n, cut, &rng);
            block_on(import(&mut d)).unwrap();
            // So that there is something to be cut behind it as well.
            block_on(d.create_table(def("later"))).unwrap();
            drop(d);
            block_on(target.abandon());
            let Some(left) = b.sprung() else { break };
            let target = start(&left);
            let mut d = target.session();
            let imported = !target
                .catalog()
                .table("s", "t")
                .unwrap()
                .def
                .options
                .discarded;
            block_on(async {
                if imported {
                    after += 1;
                } else {
                    before += 1;
                    assert_eq!(d.open_table("s", "t").await.err().map(number), Some(1814));
                    import(&mut d).await.unwrap();
                }
                assert_eq!(all(&mut d).await, rows, "cut {n}");
            });
            sound(&target, "t");
            drop(d);
            block_on(target.abandon());
            n += 1 + n / 8;
        }
        assert!(before > 5 && after > 0, "{before} before, {after} after");
    });
}

#[test]
fn a_crash_leaves_the_rows_or_none() {
    within(300, "crashes", || {
        let mut rng = seeded(56);
        let (mut kept, mut gone) = (0, 0);
        let mut n = 1;
        loop {
            let disk = SimDisk::new();
            let e = start(&disk);
            let mut s = e.session();
            block_on(async {
                create(&mut s, def("t")).await;
                put(&mut s, 0..50, 20, false).await;
            });
            let cut = if rng.one_in(2) {
                Cut::Nothing
            } else {
                Cut::Some(50)
            };
            disk.arm(n, cut, &rng);
            block_on(s.discard_table("s", "t")).unwrap();
            drop(s);
            block_on(e.abandon());
            let Some(left) = disk.sprung() else { break };
            let e = start(&left);
            let mut s = e.session();
            match e.catalog().table("s", "t").unwrap().def.options.discarded {
                true => gone += 1,
                false => {
                    kept += 1;
                    assert_eq!(block_on(all(&mut s)).len(), 50, "cut {n}");
                }
            }
            drop(s);
            block_on(e.abandon());
            n += 1;
        }
        assert!(kept > 2 && gone > 0, "{kept} kept, {gone} gone");
    });
}
