//! The mix of sysbench's oltp_read_write on few rows and many threads: rows change their secondary key, go and come back,
//! transactions collide and are rolled back; afterwards every index agrees with its table.

use base::block_on;
use base::mem::{self, MemDisk};
use engine::*;
use std::path::Path;
use std::sync::Arc;
use types::{CollationId, DataType, Value};

fn index(name: &str, kind: IndexKind, column: u16) -> IndexDef {
    let parts = vec![IndexPart {
        column,
        prefix: 0,
        descending: false,
    }];
    let (name, comment) = (name.to_string(), String::new());
    IndexDef {
        id: 0,
        name,
        kind,
        parts,
        comment,
        root: base::PageNo(0),
        invisible: false,
        asked: Default::default(),
    }
}

fn def() -> TableDef {
    TableDef {
        id: 0,
        schema: "s".into(),
        name: "t".into(),
        columns: vec![
            ColumnDef::new("id", DataType::INT),
            ColumnDef::new("k", DataType::INT),
            ColumnDef::new("c", DataType::varchar(120, CollationId::DEFAULT)),
        ],
        indexes: vec![index("PRIMARY", IndexKind::Primary, 0)],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: CollationId::DEFAULT,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: vec![],
            created_us: 0,
            discarded: false,
        },
    }
}

fn row(id: i64, k: i64, c: &str) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(k), Value::text(c)]
}

fn key(t: &Table, id: i64) -> Vec<u8> {
    let mut b = Vec::new();
    types::keyenc::encode_key(t.key_parts(0), [types::ValueRef::Int(id)], &mut b);
    b
}

async fn transaction(
    s: &mut Session,
    rnd: &mut impl FnMut() -> u64,
    rows: u64,
) -> Result<(), types::SqlError> {
    let t = s.open_table("s", "t").await?;
    let (a, b) = ((rnd() % rows) as i64, (rnd() % rows) as i64);
    let text = "x".repeat((rnd() % 100) as usize);
    if rnd().is_multiple_of(2) {
        s.get(&t, &key(&t, b), ReadMode::Consistent, |_| ()).await?;
    }
    s.update_key(&t, &key(&t, a), &mut |r| {
        let types::ValueRef::Int(k) = r.column(1) else {
            panic!()
        };
        Ok(Some(row(a, k + 1, &text)))
    })
    .await?;
    s.delete_key(&t, &key(&t, b), &mut |_| Ok(true)).await?;
    let done = s.insert(&t, &row(b, (rnd() % 20) as i64, &text)).await?;
    if s.isolation() == Isolation::Snapshot {
        // The deletion has found the row or kept its place free for us.
        assert_eq!(done, Inserted::Done);
    }
    if rnd().is_multiple_of(10) {
        s.rollback().await
    } else {
        s.commit().await
    }
}

#[test]
fn indexes_agree_with_their_table_after_collisions() {
    for (rows, isolation) in [
        (6u64, Isolation::Snapshot),
        (40, Isolation::ReadCommitted),
        (200, Isolation::Snapshot),
    ] {
        let disk = Arc::new(MemDisk::default());
        let options = EngineOptions {
            flush_at_commit: 2,
            ..Default::default()
        };
        let e = block_on(Engine::open(
            mem::environment(disk),
            Path::new("/db"),
            options,
        ))
        .unwrap();
        let mut s = e.session();
        block_on(async {
            s.create_schema(SchemaDef {
                name: "s".into(),
                collation: CollationId::DEFAULT,
            })
            .await
            .unwrap();
            s.create_table(def()).await.unwrap();
            let t = s.open_table("s", "t").await.unwrap();
            for i in (0..rows as i64).step_by(2) {
                s.insert(&t, &row(i, i % 7, "first")).await.unwrap();
            }
            s.commit().await.unwrap();
            // Built from the rows there are: its entries were written by nobody.
            s.create_index("s", "t", index("k", IndexKind::Plain, 1))
                .await
                .unwrap();
        });
        std::thread::scope(|sc| {
            for w in 0..4u64 {
                let e = e.clone();
                sc.spawn(move || {
                    let mut s = e.session();
                    let mut rng = base::SplitMix64::new(base::seed::nth("oltp", w));
                    let mut rnd = move || rng.next();
                    for _ in 0..3000 {
                        s.begin(isolation, false);
                        if let Err(e) = block_on(transaction(&mut s, &mut rnd, rows)) {
                            assert!(e.code == 1213, "{e:?}");
                            assert!(!s.in_transaction());
                        }
                    }
                });
            }
        });
        block_on(async {
            let t = s.open_table("s", "t").await.unwrap();
            assert_eq!(s.check_table(&t).await.unwrap(), Vec::<String>::new());
            s.commit().await.unwrap();
            e.close().await.unwrap();
        });
    }
}
