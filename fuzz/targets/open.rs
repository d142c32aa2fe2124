//! A database that a crash left behind, with bytes of its log, its control file or its pages changed and their checksums put
//! right: it opens or says why not, and what opens can be checked, read and left again.

#![no_main]

mod steps;

use base::mem::{self, MemDisk};
use base::{PageNo, block_on, le};
use engine::{
    ColumnDef, Engine, EngineOptions, IndexDef, IndexKind, IndexPart, Isolation, KeyBound,
    PagerOptions, ReadMode, RowBatch, ScanSpec, SchemaDef, Session, TableDef, TableOptions,
};
use libfuzzer_sys::fuzz_target;
use pager::PAGE_SIZE;
use pager::log::record;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use types::{CollationId, DataType, LobSize, SqlError, Value};

/// Steps of an input: more damage finds no more.
const MOST_STEPS: usize = 8;
/// Bytes in front of the log's in a segment file.
const SEGMENT_HEADER: u64 = 4096;
/// A slot of the control file, the last four bytes of which are its checksum.
const SLOT: usize = 4096;

fuzz_target!(|data: &[u8]| {
    let left = &*LEFT;
    let disk = left.disk.crash(true);
    for (kind, bytes) in steps::steps(data).take(MOST_STEPS) {
        match kind % 5 {
            0 | 1 => left.change_record(&disk, bytes),
            2 => left.change_control(&disk, bytes),
            3 => left.change_page(&disk, bytes, kind & 8 != 0),
            _ => left.change_map(&disk, bytes, kind >> 4),
        }
    }
    // A record may name any page of a table.
    disk.set_room(4 << 20);
    block_on(async {
        let Ok(engine) = open(Arc::new(disk)).await else {
            return;
        };
        let mut session = engine.session();
        for name in ["a", "b", "c"] {
            // An error is an answer.
            let _ = look(&mut session, name).await;
            let _ = session.rollback().await;
        }
        drop(session);
        engine.abandon().await;
    });
});

/// What every input begins with.
struct Left {
    disk: MemDisk,
    /// Positions and lengths of the log's records that recovery reads.
    records: Vec<(u64, usize)>,
    segment: u64,
    tables: Vec<PathBuf>,
    /// The file of the compressed one.
    compressed: PathBuf,
}

static LEFT: LazyLock<Left> = LazyLock::new(|| {
    let disk = Arc::new(MemDisk::default());
    let engine = block_on(open(disk.clone())).expect("an empty folder in memory");
    block_on(fill(&engine)).expect("a few rows");
    let log = engine.pager().log();
    block_on(log.wait_durable(log.complete())).expect("the log is written");
    let spaces = engine.pager().spaces();
    let tables = spaces.iter().map(|s| s.path()).collect();
    let compressed = spaces.iter().find(|s| s.compressed_format().is_some());
    let compressed = compressed.expect("a compressed table").path();
    let disk = disk.crash(true);
    let roots = bytes_of(&disk, &compressed);
    assert!(
        le::get_u32(&roots, 32) > 0,
        "no page of the compressed table was written"
    );
    let control = bytes_of(&disk, &control());
    let newest = usize::from(le::get_u64(&control, 16) < le::get_u64(&control, SLOT + 16)) * SLOT;
    let (segment, mut at) = (
        le::get_u64(&control, newest + 32),
        le::get_u64(&control, newest + 40),
    );
    let mut records = Vec::new();
    let bytes = bytes_of(&disk, &segment_of(at / segment));
    while let Some(rest) = bytes.get((SEGMENT_HEADER + at % segment) as usize..)
        && let Some(record) = record::Record::verify(rest, base::Lsn(at))
    {
        let len = record.header().len as usize;
        records.push((at, len));
        at += len as u64;
    }
    assert!(records.len() > 50, "{} records", records.len());
    Left {
        disk,
        records,
        segment,
        tables,
        compressed,
    }
});

impl Left {
    /// Which record u16, where in it u8, bytes.
    fn change_record(&self, disk: &MemDisk, bytes: &[u8]) {
        let Some((&[n0, n1, at], bytes)) = bytes.split_first_chunk() else {
            return;
        };
        let n = usize::from(u16::from_le_bytes([n0, n1])) % self.records.len();
        let (lsn, len) = self.records[n];
        let start = (SEGMENT_HEADER + lsn % self.segment) as usize;
        disk.damage(&segment_of(lsn / self.segment), |file| {
            let record = &mut file[start..start + len];
            put(record, usize::from(at), bytes);
            if let Some(len) = record::claimed_len(record).filter(|l| *l <= len) {
                record::seal(&mut record[..len], base::Lsn(lsn));
            }
        });
    }

    /// Where in the slot u16, bytes.
    fn change_control(&self, disk: &MemDisk, bytes: &[u8]) {
        let Some((at, bytes)) = bytes.split_first_chunk() else {
            return;
        };
        disk.damage(&control(), |file| {
            for slot in file.chunks_exact_mut(SLOT) {
                put(slot, usize::from(u16::from_le_bytes(*at)), bytes);
                let sum = base::checksum::crc32c(&slot[..SLOT - 4]);
                le::put_u32(slot, SLOT - 4, sum);
            }
        });
    }

    /// Which table u8, which page u8, where in it u16, bytes.
    fn change_page(&self, disk: &MemDisk, bytes: &[u8], seal: bool) {
        let Some((&[table, page, a0, a1], bytes)) = bytes.split_first_chunk() else {
            return;
        };
        let path = &self.tables[usize::from(table) % self.tables.len()];
        disk.damage(path, |file| {
            let pages = (file.len() / PAGE_SIZE).max(1);
            let start = usize::from(page) % pages * PAGE_SIZE;
            let Some(page) = file.get_mut(start..start + PAGE_SIZE) else {
                return;
            };
            put(page, usize::from(u16::from_le_bytes([a0, a1])), bytes);
            if seal {
                pager::page::seal(page);
            }
        });
    }

    /// Where u16, bytes: in the root of the compressed table, in a directory of its map or in a chunk, with all checksums above put right.
    fn change_map(&self, disk: &MemDisk, bytes: &[u8], what: u8) {
        let Some((at, bytes)) = bytes.split_first_chunk() else {
            return;
        };
        let at = usize::from(u16::from_le_bytes(*at));
        disk.damage(&self.compressed, |file| {
            let unit = le::get_u32(file, 24) as usize;
            let part = |file: &[u8], at: usize| -> Option<usize> {
                let start = (le::get_u64(file, at) as usize).checked_mul(unit)?;
                (start > 0 && start.checked_add(PAGE_SIZE)? <= file.len()).then_some(start)
            };
            let sum =
                |file: &[u8], start: usize| base::checksum::crc32c(&file[start..start + PAGE_SIZE]);
            if let Some(directory) = part(file, 64) {
                if let Some(chunk) = part(file, directory) {
                    if what % 3 == 2 {
                        put(&mut file[chunk..chunk + PAGE_SIZE], at, bytes);
                    }
                    let crc = sum(file, chunk);
                    le::put_u32(file, directory + 8, crc);
                }
                if what % 3 == 1 {
                    put(&mut file[directory..directory + PAGE_SIZE], at, bytes);
                }
                let crc = sum(file, directory);
                le::put_u32(file, 64 + 8, crc);
            }
            if what.is_multiple_of(3) {
                put(&mut file[..SLOT - 4], at, bytes);
            }
            let crc = base::checksum::crc32c(&file[..SLOT - 4]);
            le::put_u32(file, SLOT - 4, crc);
            file.copy_within(..SLOT, SLOT);
        });
    }
}

fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    let at = at.min(to.len());
    let n = bytes.len().min(to.len() - at);
    to[at..at + n].copy_from_slice(&bytes[..n]);
}

fn control() -> PathBuf {
    PathBuf::from("/db/log/control")
}

fn segment_of(n: u64) -> PathBuf {
    PathBuf::from(format!("/db/log/{n:012}.log"))
}

fn bytes_of(disk: &MemDisk, path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(disk.damage(path, |file| bytes.clone_from(file)), "{path:?}");
    bytes
}

async fn open(disk: Arc<MemDisk>) -> Result<Arc<Engine>, pager::OpenError> {
    let options = EngineOptions {
        pager: PagerOptions {
            pool_bytes: 64 * PAGE_SIZE as u64,
            log_capacity_bytes: 4 << 20,
            log_buffer_bytes: 1 << 20,
            log_unit_bytes: 512 << 10,
            doublewrite: false,
            ..PagerOptions::default()
        },
        flush_at_commit: 1,
        ..EngineOptions::default()
    };
    Engine::open(mem::environment(disk), Path::new("/db"), options).await
}

/// Three tables, one of them compressed, a few committed rows, and a transaction that the crash interrupts.
async fn fill(engine: &Arc<Engine>) -> Result<(), SqlError> {
    let mut s = engine.session();
    s.create_schema(SchemaDef {
        name: "s".into(),
        collation: CollationId::DEFAULT,
    })
    .await?;
    for name in ["c", "a", "b"] {
        s.create_table(table(name)).await?;
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table("s", name).await?;
        for id in 0..12 {
            s.insert(&t, &row(id, 40 * id as usize)).await?;
        }
        s.insert(&t, &row(12, 20_000)).await?;
        s.commit().await?;
        if name == "c" {
            // Its pages are to be in the file, and the others' changes in the log that is read.
            let written = engine.pager().flush_all().await;
            written.map_err(|e| SqlError::internal(&format!("{e:?}")))?;
        }
    }
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "a").await?;
    for id in 5..8 {
        let key = key(&t, id);
        s.delete_key(&t, &key, &mut |_| Ok(true)).await?;
    }
    s.update_key(&t, &key(&t, 3), &mut |_| Ok(Some(row(3, 17_000))))
        .await?;
    s.insert(&t, &row(20, 9)).await?;
    // It is never heard of again.
    std::mem::forget(s);
    Ok(())
}

fn key(t: &engine::Table, id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    types::keyenc::encode_key(t.key_parts(0), [types::ValueRef::Int(id)], &mut key);
    key
}

fn row(id: i64, len: usize) -> Vec<Value> {
    vec![
        Value::Int(id),
        Value::Int(id % 5),
        Value::Bytes(vec![id as u8; len]),
    ]
}

fn table(name: &str) -> TableDef {
    let column = |name: &str, ty| ColumnDef {
        nullable: name != "id",
        auto_increment: name == "id",
        ..ColumnDef::new(name, ty)
    };
    let index = |name: &str, kind, column| IndexDef {
        id: 0,
        name: name.into(),
        kind,
        parts: vec![IndexPart {
            column,
            prefix: 0,
            descending: false,
        }],
        comment: String::new(),
        root: PageNo(0),
        invisible: false,
        asked: Default::default(),
    };
    TableDef {
        id: 0,
        schema: "s".into(),
        name: name.into(),
        columns: vec![
            column("id", DataType::INT),
            column("k", DataType::INT),
            column("b", DataType::Blob(LobSize::Long)),
        ],
        indexes: vec![
            index("PRIMARY", IndexKind::Primary, 0),
            index("k", IndexKind::Plain, 1),
        ],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: CollationId::DEFAULT,
            comment: String::new(),
            row_format: if name == "c" {
                "COMPRESSED".into()
            } else {
                String::new()
            },
            auto_increment: 0,
            others: Vec::new(),
            created_us: 0,
            discarded: false,
        },
    }
}

async fn look(s: &mut Session, name: &str) -> Result<(), SqlError> {
    let t = s.open_table("s", name).await?;
    s.check_table(&t).await?;
    s.begin(Isolation::RepeatableRead, true);
    for index in 0..t.indexes.len() {
        let spec = ScanSpec {
            index,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: index == 1,
            mode: ReadMode::Consistent,
        };
        let mut scan = s.scan(&t, spec);
        let mut batch = RowBatch::new();
        let mut more = true;
        while more {
            batch.clear();
            more = s
                .next_batch(&mut scan, &mut batch, 16, &mut |_| Ok(true))
                .await?;
            for i in 0..batch.len() {
                batch.row(i).to_values();
            }
        }
    }
    Ok(())
}
