//! Rows that entries of a secondary index hold by themselves are those that the clustered index has: of every type that can be turned
//! back, and for every snapshot while others write.

use crate::world::{create, index, key, open, table};
use base::block_on;
use base::mem::MemDisk;
use engine::*;
use std::sync::Arc;
use types::datatype::Labels;
use types::{CollationId, DataType, Date, DateTime, Decimal, IntWidth, Time, Value};

/// Everything that the index shows of these columns, with and without its entries standing for the rows.
async fn read(
    s: &mut Session,
    t: &Arc<Table>,
    index: usize,
    cover: Option<&Arc<Cover>>,
    columns: &[u16],
) -> Vec<Vec<Value>> {
    let spec = ScanSpec {
        index,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward: false,
        mode: ReadMode::Consistent,
    };
    let mut scan = s.scan(t, spec).covered(cover);
    let mut batch = RowBatch::new();
    let mut out = Vec::new();
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut scan, &mut batch, 7, &mut |_| Ok(true))
            .await
            .unwrap();
        for i in 0..batch.len() {
            let row = batch.row(i);
            let values = columns.iter().map(|c| row.column(usize::from(*c)));
            out.push(values.map(|v| v.to_owned()).collect());
        }
        if !more {
            return out;
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
}

fn types() -> Vec<DataType> {
    let int = |width, unsigned| DataType::Int {
        width,
        unsigned,
        zerofill: false,
        display: 0,
    };
    let labels = Arc::new(Labels {
        names: ["a", "b", "c"].map(|n| n.as_bytes().into()).into(),
        collation: CollationId::DEFAULT,
    });
    vec![
        int(IntWidth::Tiny, false),
        int(IntWidth::Small, true),
        int(IntWidth::Medium, false),
        int(IntWidth::Int, true),
        int(IntWidth::Big, false),
        int(IntWidth::Big, true),
        DataType::Decimal {
            precision: 20,
            scale: 4,
            zerofill: false,
            unsigned: false,
        },
        DataType::Date,
        DataType::Time(3),
        DataType::DateTime(6),
        DataType::Timestamp(0),
        DataType::Year,
        DataType::Bit(11),
        DataType::Enum(Arc::clone(&labels)),
        DataType::Set(labels),
    ]
}

fn value(ty: &DataType, r: &mut Random) -> Value {
    let n = r.below(200) as i64;
    match ty {
        DataType::Int { unsigned: true, .. } => Value::UInt(n as u64),
        DataType::Int { .. } => Value::Int(n - 100),
        DataType::Decimal { .. } => {
            Value::Decimal(Decimal::from_i128(i128::from((n - 100) * 12_345_678), 4))
        }
        DataType::Date => Value::Date(Date::from_parts(1900 + n as u16, 12, 31)),
        DataType::Time(f) => Value::Time(Time::from_micros((n - 100) * 1_234_567_000, *f)),
        DataType::DateTime(f) | DataType::Timestamp(f) => {
            let micros = match f {
                0 => n * 86_400_000_000,
                _ => n * 86_400_123_456,
            };
            Value::DateTime(DateTime::from_unix_micros(micros + 1_000_000, *f).unwrap())
        }
        DataType::Year => Value::UInt(1901 + n as u64),
        DataType::Bit(width) => Value::Bit(n as u64, *width),
        DataType::Enum(l) => Value::Enum(1 + (n % 3) as u16, Arc::clone(l)),
        DataType::Set(l) => Value::Set((n % 8) as u64, Arc::clone(l)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn entries_give_back_what_rows_have() {
    let mut r = Random(7);
    for nullable in [false, true] {
        for descending in [false, true] {
            let disk = Arc::new(MemDisk::default());
            let e = open(&disk);
            let mut s = e.session();
            let mut columns = vec![ColumnDef::new("id", DataType::BIGINT)];
            columns.extend(types().into_iter().enumerate().map(|(n, ty)| ColumnDef {
                nullable,
                ..ColumnDef::new(&format!("c{n}"), ty)
            }));
            let text = DataType::varchar(20, CollationId::DEFAULT);
            columns.push(ColumnDef::new("t", text));
            let last = columns.len() as u16 - 1;
            let mut indexes = vec![index("PRIMARY", IndexKind::Primary, &[0])];
            // One of each type, and all of them behind a text, which cannot be turned back.
            for c in 1..last {
                let mut x = index(&format!("c{c}"), IndexKind::Plain, &[c]);
                x.parts[0].descending = descending;
                indexes.push(x);
            }
            let all: Vec<u16> = std::iter::once(last).chain(1..last).collect();
            indexes.push(index("all", IndexKind::Plain, &all));
            block_on(create(&mut s, table("t", columns, indexes)));
            let t = block_on(s.open_table("s", "t")).unwrap();
            for id in 0..60 {
                let mut row = vec![Value::Int(id)];
                row.extend(types().iter().map(|ty| match nullable && r.below(4) == 0 {
                    true => Value::Null,
                    false => value(ty, &mut r),
                }));
                row.push(Value::text(["Ä", "bcd", ""][r.below(3) as usize]));
                block_on(s.insert(&t, &row)).unwrap();
            }
            block_on(s.commit()).unwrap();
            for (i, x) in t.def.indexes.iter().enumerate().skip(1) {
                let mut columns: Vec<u16> = x.parts.iter().map(|p| p.column).collect();
                columns.retain(|c| *c != last);
                columns.push(0);
                let cover = Arc::new(t.cover(i, &columns).expect(&x.name));
                let (whole, covered) = block_on(async {
                    (
                        read(&mut s, &t, i, None, &columns).await,
                        read(&mut s, &t, i, Some(&cover), &columns).await,
                    )
                });
                assert_eq!(whole.len(), 60);
                assert_eq!(format!("{whole:?}"), format!("{covered:?}"), "{}", x.name);
                assert!(t.cover(i, &[last]).is_none(), "a text's weights");
            }
            assert!(t.cover(1, &[2]).is_none(), "another index's column");
            assert!(t.cover(0, &[0]).is_none(), "the clustered index");
            block_on(e.close()).unwrap();
        }
    }
}

#[test]
fn every_snapshot_sees_its_own_rows_in_entries() {
    let mut r = Random(3);
    let disk = Arc::new(MemDisk::default());
    let e = open(&disk);
    let mut s = e.session();
    let columns = ["id", "k", "v"].map(|n| ColumnDef::new(n, DataType::INT));
    let indexes = vec![
        index("PRIMARY", IndexKind::Primary, &[0]),
        index("k", IndexKind::Plain, &[1]),
    ];
    block_on(create(&mut s, table("t", columns.into(), indexes)));
    let t = block_on(s.open_table("s", "t")).unwrap();
    let cover = Arc::new(t.cover(1, &[1, 0]).unwrap());
    let mut readers: Vec<Session> = (0..3).map(|_| e.session()).collect();
    let mut writers: Vec<Session> = (0..2).map(|_| e.session()).collect();
    let mut compared = 0;
    for round in 0..4000 {
        let w = r.below(2) as usize;
        let writer = &mut writers[w];
        if !writer.in_transaction() {
            writer.begin(Isolation::Snapshot, false);
        }
        // Each writer has rows of its own: they never wait for one another.
        let id = (r.below(20) * 2) as i64 + w as i64;
        let row = vec![
            Value::Int(id),
            Value::Int(r.below(5) as i64),
            Value::Int(round),
        ];
        let k = key(&t, id);
        block_on(async {
            writer.open_table("s", "t").await.unwrap();
            match r.below(12) {
                0..4 => drop(writer.insert(&t, &row).await),
                4..7 => drop(
                    writer
                        .update_key(&t, &k, &mut |_| Ok(Some(row.clone())))
                        .await,
                ),
                7..9 => drop(writer.delete_key(&t, &k, &mut |_| Ok(true)).await),
                9 => drop(writer.rollback().await),
                _ => writer.commit().await.unwrap(),
            }
        });
        let n = r.below(4) as usize;
        let reader = match readers.get_mut(n) {
            Some(reader) => reader,
            None => &mut writers[w],
        };
        block_on(async {
            if !reader.in_transaction() {
                reader.begin(Isolation::Snapshot, false);
            }
            reader.open_table("s", "t").await.unwrap();
            let whole = read(reader, &t, 1, None, &[1, 0]).await;
            let covered = read(reader, &t, 1, Some(&cover), &[1, 0]).await;
            assert_eq!(
                format!("{whole:?}"),
                format!("{covered:?}"),
                "round {round}"
            );
            compared += whole.len();
            if n < 3 && r.below(30) == 0 {
                reader.commit().await.unwrap();
            }
        });
    }
    assert!(compared > 10_000, "{compared}");
    drop((readers, writers, s));
    block_on(e.close()).unwrap();
}
