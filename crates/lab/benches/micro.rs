//! The small things that every statement does, one at a time and without anybody beside: what they cost when nothing is
//! in their way. `cargo bench -p lab`.
//!
//! A figure from here says where time can go, not where it goes; that is for the experiments (`cargo xtask lab`).

use base::mem::{self, MemDisk};
use base::{Lsn, PageNo, SpaceId, TxnId, block_on, le};
use btree::node::view::Entry;
use btree::node::{Bytes, LeafNode, edit};
use criterion::{Criterion, criterion_group, criterion_main};
use engine::record::{RowBuilder, RowLayout};
use engine::txn::TxnSystem;
use pager::compressed::{CompressedFormat, Method, PageCompressor, decompress};
use pager::log::{RecordKind, Ring, record};
use pager::{PAGE_SIZE, Page, Pager, PagerOptions, RedoTable, Space};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use types::{CollationId, DataType, Value, ValueRef};
use wire::capability;
use wire::response::{self, BinaryRow, OkPacket, TextRow};
use wire::{PacketWriter, status};

/// Why a bench cannot run; there is nobody to hand an error to.
type Bench = Result<(), String>;

fn must(bench: Bench) {
    if let Err(why) = bench {
        panic!("{why}");
    }
}

/// A leaf of sysbench's table: 75 rows of 200 bytes under keys of 4.
fn page_search(c: &mut Criterion) {
    must(search(c));
}

fn search(c: &mut Criterion) -> Bench {
    let keys: Vec<[u8; 4]> = (0..75u32)
        .map(|i| (0x8000_0000 + 3 * i).to_be_bytes())
        .collect();
    let row = [7; 200];
    let entries = keys.iter().map(|key| {
        Ok(Entry {
            suffix: key,
            value: &row,
        })
    });
    let shape = edit::Shape {
        level: 0,
        index_id: 1,
        low: &[],
        high: &[],
    };
    let mut page: Box<Bytes> = Box::new([0; PAGE_SIZE]);
    edit::image(&mut page, &shape, entries)?;
    let leaf = LeafNode::new(&page);
    let mut at = 0;
    c.bench_function("page search", |b| {
        b.iter(|| {
            at = (at + 31) % keys.len();
            black_box(leaf.lower_bound(&keys[at]))
        });
    });
    Ok(())
}

/// A leaf of sysbench's table as it goes to a compressed tablespace and comes from there.
fn compression(c: &mut Criterion) {
    must(compressed(c));
}

fn compressed(c: &mut Criterion) -> Bench {
    let digit =
        |i: usize| b'0' + ((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8 % 10;
    let keys: Vec<[u8; 4]> = (0..75u32)
        .map(|i| (0x8000_0000 + i).to_be_bytes())
        .collect();
    let row = |i: usize| -> Vec<u8> {
        let sign = |c: usize| {
            if c % 12 == 11 {
                b'-'
            } else {
                digit(i * 300 + c)
            }
        };
        (0..200).map(sign).collect()
    };
    let rows: Vec<Vec<u8>> = (0..keys.len()).map(row).collect();
    let entries = keys.iter().zip(&rows).map(|(key, row)| {
        Ok(Entry {
            suffix: key,
            value: row,
        })
    });
    let shape = edit::Shape {
        level: 0,
        index_id: 1,
        low: &[],
        high: &[],
    };
    let (space, no) = (SpaceId(5), PageNo(9));
    let mut page = Page::boxed();
    let bytes: &mut Bytes = page.bytes_mut();
    edit::image(bytes, &shape, entries)?;
    le::put_u32(bytes, 4, no.0);
    le::put_u32(bytes, 8, space.0);
    pager::page::seal(bytes);
    for (name, method) in [("LZ4", Method::Lz4), ("zstd", Method::Zstd)] {
        let format = CompressedFormat {
            unit: 512,
            block: 512,
            method,
            level: 6,
        };
        let mut compressor = PageCompressor::new(btree::node::cells);
        c.bench_function(&format!("page compress: {name}"), |b| {
            b.iter(|| {
                compressor
                    .compress(black_box(&bytes[..]), format, None)
                    .is_ok()
            });
        });
        let compressed = compressor
            .compress(&bytes[..], format, None)
            .map_err(|e| e.to_string())?;
        let mut out = vec![0; PAGE_SIZE];
        c.bench_function(&format!("page decompress: {name}"), |b| {
            b.iter(|| {
                decompress(
                    &compressed.bytes,
                    (space, no),
                    (btree::node::cells, None),
                    &mut out,
                )
                .is_ok()
            });
        });
    }
    Ok(())
}

/// A record of an update: header, one page operation, 100 bytes of before-image.
fn log_append(c: &mut Criterion) {
    let ring = Ring::new(16 << 20, 1 << 20, Lsn(4096));
    let body = [0x5a; 32 + 24 + 120 + 100];
    let mut buf = Vec::new();
    c.bench_function("log append", |b| {
        b.iter(|| {
            buf.clear();
            buf.extend_from_slice(&body);
            record::finish(&mut buf, RecordKind::Change, 1, 100, TxnId(77), Lsn(4096));
            let start = ring.reserve(buf.len());
            record::seal(&mut buf, start);
            ring.fill(start, &buf);
            ring.link(start, Lsn(start.0 + buf.len() as u64));
            black_box(ring.advance())
        });
    });
}

/// A page in the pool of a pager in memory.
fn resident_page() -> Result<(Arc<Pager>, Arc<Space>, PageNo), String> {
    const FORMAT: u8 = 32;
    fn apply(_: u8, _: &mut Page, _: &[u8], _: Lsn) -> Result<(), &'static str> {
        Ok(())
    }
    let mut redo = RedoTable::default();
    redo.register(FORMAT..FORMAT + 1, apply);
    let disk = Arc::new(MemDisk::default());
    let options = PagerOptions {
        pool_bytes: 16 << 20,
        ..PagerOptions::default()
    };
    let mut nothing = |_: Lsn, _: Lsn, _: &pager::Record<'_>| {};
    let opened = pager::open(
        mem::environment(disk),
        options,
        Path::new("/db"),
        redo,
        &mut nothing,
    );
    let (pager, _) = block_on(opened).map_err(|e| format!("{e:?}"))?;
    let dir = Path::new("/db/data/bench");
    let made = pager.environment().disk.create_dir_all(dir);
    made.map_err(|e| e.to_string())?;
    let space = pager.create_space(SpaceId(5), &dir.join("t.tdb"), None);
    let space = space.map_err(|e| format!("{e:?}"))?;
    let page = block_on(pager.run(|| {
        let mut mtr = pager.mtr()?;
        let at = pager.alloc_page(&mut mtr, &space)?;
        mtr.op_init(at, FORMAT, &[]);
        let page = mtr.page_no(at);
        mtr.commit();
        Ok(page)
    }));
    let page = page.map_err(|e| format!("{e:?}"))?;
    Ok((pager, space, page))
}

fn latch(c: &mut Criterion) {
    must(latches(c));
}

fn latches(c: &mut Criterion) -> Bench {
    let (pager, space, page) = resident_page()?;
    let pool = pager.pool();
    c.bench_function("latch: optimistic read", |b| {
        b.iter(|| black_box(pool.optimistic(&space, page, |p| p.bytes()[100])).is_ok());
    });
    c.bench_function("latch: shared", |b| {
        b.iter(|| black_box(pool.shared(&space, page)).is_ok());
    });
    c.bench_function("latch: exclusive", |b| {
        b.iter(|| black_box(pool.exclusive(&space, page)).is_ok());
    });
    pager.halt();
    Ok(())
}

fn snapshot_check(c: &mut Criterion) {
    let txns = TxnSystem::new(TxnId(1000));
    let writing = txns.register();
    let reading = txns.register();
    let complete = || Lsn(1 << 20);
    let committed = txns.begin(&writing, complete);
    txns.committed(committed, Lsn(1 << 16));
    let active = txns.begin(&writing, complete);
    c.bench_function("snapshot: taken", |b| {
        b.iter(|| black_box(txns.open_snapshot(&reading, complete)));
    });
    let (snapshot, _) = txns.open_snapshot(&reading, complete);
    for (name, writer) in [
        ("snapshot: an old row", TxnId(10)),
        ("snapshot: a committed row", committed),
        ("snapshot: a row being changed", active),
    ] {
        c.bench_function(name, |b| {
            b.iter(|| black_box(txns.visible(&snapshot, black_box(writer), TxnId(0))));
        });
    }
}

/// A row of sysbench's table.
fn row_encode(c: &mut Criterion) {
    let collation = CollationId::DEFAULT;
    let char = |chars| DataType::Char { chars, collation };
    let layout = RowLayout::new(vec![DataType::INT, DataType::INT, char(120), char(60)]);
    let text = |len| Value::Str(vec![b'7'; len], collation);
    let values = [Value::Int(4711), Value::Int(815), text(119), text(59)];
    let mut builder = RowBuilder::default();
    let mut out = Vec::new();
    c.bench_function("row encode", |b| {
        b.iter(|| {
            out.clear();
            black_box(builder.build(&layout, &values, (8000, 8000), &mut out))
        });
    });
    let row = layout.row(&out);
    c.bench_function("row decode: one column", |b| {
        b.iter(|| matches!(black_box(row.column(2)), ValueRef::Str(..)));
    });
}

fn wire_encode(c: &mut Criterion) {
    const C: &[u8] = &[b'7'; 119];
    let mut out = PacketWriter::new();
    let sent = |out: &mut PacketWriter| {
        let n = black_box(out.pending()).len();
        out.advance(n);
    };
    c.bench_function("wire encode: binary row", |b| {
        b.iter(|| {
            let mut row = BinaryRow::begin(2, &mut out);
            row.long(4711);
            row.bytes(C);
            row.end();
            sent(&mut out);
        });
    });
    c.bench_function("wire encode: text row", |b| {
        b.iter(|| {
            let mut row = TextRow::begin(&mut out);
            row.int(4711);
            row.bytes(C);
            row.end();
            sent(&mut out);
        });
    });
    c.bench_function("wire encode: OK", |b| {
        b.iter(|| {
            let ok = OkPacket {
                affected_rows: 1,
                status: status::AUTOCOMMIT,
                ..OkPacket::default()
            };
            response::write_ok(&ok, capability::SERVER, &mut out);
            sent(&mut out);
        });
    });
}

criterion_group!(
    benches,
    page_search,
    compression,
    log_append,
    latch,
    snapshot_check,
    row_encode,
    wire_encode
);
criterion_main!(benches);
