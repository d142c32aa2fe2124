//! Statistics of tables: exact on small ones, near on large ones, kept over crashes, made without being asked for.

use crate::world::{column, create, index, key, pager_options, table};
use base::lock::Mutex;
use base::mem::{self, MemDisk};
use base::{SplitMix64, block_on};
use engine::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use types::{CollationId, DataType, Value};

/// The same samples in every run.
struct Fixed(Mutex<SplitMix64>);

impl base::environment::Random for Fixed {
    fn next_u64(&self) -> u64 {
        self.0.lock().next()
    }
}

fn open(disk: &Arc<MemDisk>) -> Arc<Engine> {
    let options = EngineOptions {
        pager: pager_options(4096),
        ..EngineOptions::default()
    };
    let seed = base::seed::of("samples");
    let environment = base::environment::Environment {
        random: Arc::new(Fixed(Mutex::new(SplitMix64::new(seed)))),
        ..mem::environment(disk.clone())
    };
    block_on(Engine::open(environment, Path::new("/db"), options)).expect("open")
}

/// Columns: a number for each row, few values, skewed ones, text of a thousand values, half NULL.
fn def() -> TableDef {
    let mut half = column("half", DataType::INT);
    half.nullable = true;
    let columns = vec![
        column("id", DataType::INT),
        column("few", DataType::INT),
        column("skewed", DataType::INT),
        column("name", DataType::varchar(100, CollationId::DEFAULT)),
        half,
    ];
    let indexes = vec![
        index("PRIMARY", IndexKind::Primary, &[0]),
        index("few_name", IndexKind::Plain, &[1, 3]),
        index("skewed", IndexKind::Plain, &[2]),
    ];
    table("t", columns, indexes)
}

/// Zipf's law, about: value `v` of a thousand is 1/v as likely as the first.
fn zipf(random: &mut SplitMix64) -> i64 {
    let u = random.below(1 << 30) as f64 / (1u64 << 30) as f64;
    (1000f64.powf(u)) as i64
}

fn row(id: i64, random: &mut SplitMix64) -> Vec<Value> {
    let name = format!("name number {}", random.below(1000));
    let half = match random.one_in(2) {
        true => Value::Null,
        false => Value::Int(random.below(100_000) as i64),
    };
    vec![
        Value::Int(id),
        Value::Int(random.below(5) as i64),
        Value::Int(zipf(random)),
        Value::text(&name),
        half,
    ]
}

fn fill(s: &mut Session, from: i64, to: i64, rows: &mut Vec<Vec<Value>>) -> Arc<Table> {
    let mut random = SplitMix64::new(base::seed::of("statistics"));
    block_on(async {
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table("s", "t").await.unwrap();
        for id in from..to {
            let r = row(id, &mut random);
            assert_eq!(s.insert(&t, &r).await.unwrap(), Inserted::Done);
            rows.push(r);
        }
        s.commit().await.unwrap();
        t
    })
}

fn analyze(s: &mut Session) -> Arc<TableStats> {
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        s.analyze_table(&t).await.unwrap();
        s.commit().await.unwrap();
        t.stats().expect("figures")
    })
}

fn setup(disk: &Arc<MemDisk>) -> (Arc<Engine>, Session) {
    let e = open(disk);
    e.set_auto_stats(false);
    let mut s = e.session();
    block_on(create(&mut s, def()));
    (e, s)
}

fn share(rows: &[Vec<Value>], f: impl Fn(&Vec<Value>) -> bool) -> f64 {
    rows.iter().filter(|r| f(r)).count() as f64 / rows.len() as f64
}

fn number(r: &[Value], c: usize) -> i64 {
    match r[c] {
        Value::Int(v) => v,
        _ => i64::MIN,
    }
}

fn different(rows: &[Vec<Value>], columns: &[usize]) -> f64 {
    let of = |r: &Vec<Value>| columns.iter().map(|c| format!("{:?}", r[*c])).collect();
    let all: std::collections::BTreeSet<Vec<String>> = rows.iter().map(of).collect();
    all.len() as f64
}

fn near(is: f64, want: f64, factor: f64, what: &str) {
    assert!(
        is <= want * factor && is >= want / factor,
        "{what}: {is} instead of {want}"
    );
}

#[test]
fn of_a_small_table_the_figures_are_exact() {
    let (e, mut s) = setup(&Arc::default());
    let mut rows = Vec::new();
    let t = fill(&mut s, 0, 3000, &mut rows);
    // What is deleted and not yet purged is no row. A snapshot keeps it from being purged until the figures are made.
    let mut reader = e.session();
    block_on(async {
        reader.begin(Isolation::Snapshot, true);
        reader.statement_begin(Isolation::Snapshot);
        let there = reader
            .get(&t, &key(&t, 0), ReadMode::Consistent, |r| r.is_some())
            .await;
        assert!(there.unwrap());
        s.begin(Isolation::ReadCommitted, false);
        for id in 0..1000 {
            assert!(
                s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                    .await
                    .unwrap()
            );
        }
        s.commit().await.unwrap();
    });
    rows.drain(..1000);
    let stats = analyze(&mut s);
    block_on(reader.commit()).unwrap();
    assert_eq!((stats.rows, stats.sampled, stats.version), (2000, 2000, 1));
    assert_eq!(t.row_count_estimate(), 2000);
    assert_eq!(stats.indexes[0].distinct, [2000.0]);
    assert_eq!(
        stats.indexes[1].distinct,
        [different(&rows, &[1]), different(&rows, &[1, 3])]
    );
    assert_eq!(stats.indexes[2].distinct, [different(&rows, &[2])]);
    for c in [0, 1, 2, 3] {
        assert_eq!(stats.columns[c].distinct, different(&rows, &[c]), "{c}");
        assert_eq!(stats.columns[c].nulls, 0.0);
    }
    let nulls = share(&rows, |r| r[4].is_null());
    assert!((stats.columns[4].nulls - nulls).abs() < 1e-9);
    for few in 0..5 {
        let v = Value::Int(few);
        let key = column_key(&t.def.columns[1], v.as_ref()).unwrap();
        let is = stats.equal(1, &key);
        assert!(
            (is - share(&rows, |r| number(r, 1) == few)).abs() < 1e-9,
            "{few}"
        );
    }
    assert!(column_key(&t.def.columns[4], Value::Null.as_ref()).is_none());
    block_on(e.close()).unwrap();
}

fn check_large(stats: &TableStats, t: &Table, rows: &[Vec<Value>]) {
    near(stats.rows as f64, rows.len() as f64, 1.001, "rows");
    near(stats.columns[0].distinct, rows.len() as f64, 1.05, "id");
    for c in [1, 2, 3] {
        let name = &t.def.columns[c].name;
        near(stats.columns[c].distinct, different(rows, &[c]), 1.3, name);
    }
    near(
        stats.columns[4].distinct,
        different(rows, &[4]) - 1.0,
        1.5,
        "half",
    );
    near(stats.columns[4].nulls, 0.5, 1.05, "nulls");
    near(
        stats.indexes[0].distinct[0],
        rows.len() as f64,
        1.001,
        "primary",
    );
    near(stats.indexes[1].distinct[0], 5.0, 1.01, "few");
    near(stats.indexes[1].distinct[1], 5000.0, 1.2, "few, name");
    near(
        stats.indexes[2].distinct[0],
        different(rows, &[2]),
        1.3,
        "skewed",
    );
    let get = |c: usize, v: i64| column_key(&t.def.columns[c], Value::Int(v).as_ref()).unwrap();
    for v in [1, 2, 3, 10, 50] {
        let is = stats.equal(2, &get(2, v));
        near(
            is,
            share(rows, |r| number(r, 2) == v),
            1.3,
            "one of the skewed",
        );
    }
    for (c, from, to) in [
        (0, 100, 60_000),
        (2, 5, 40),
        (4, 10_000, 30_000),
        (0, 7, 700),
    ] {
        let is = stats.between(c, Some((&get(c, from), true)), Some((&get(c, to), false)));
        let want = share(rows, |r| (from..to).contains(&number(r, c)));
        near(is, want, 1.3, &format!("{c}: {from} to {to}"));
        let below = stats.between(c, None, Some((&get(c, to), true)));
        let want = share(rows, |r| !r[c].is_null() && number(r, c) <= to);
        near(below, want, 1.3, &format!("{c}: up to {to}"));
    }
    let text = |v: &str| column_key(&t.def.columns[3], Value::text(v).as_ref()).unwrap();
    near(stats.equal(3, &text("name number 77")), 0.001, 1.3, "name");
    let is = stats.between(3, Some((&text("name number 3"), true)), None);
    let want = share(rows, |r| {
        r[3].as_ref()
            .as_bytes()
            .is_some_and(|b| b >= b"name number 3")
    });
    near(is, want, 1.3, "names");
}

#[test]
fn of_a_large_table_the_figures_are_near_and_ranges_are_counted_by_dives() {
    let disk: Arc<MemDisk> = Arc::default();
    let (e, mut s) = setup(&disk);
    let mut rows = Vec::new();
    let t = fill(&mut s, 0, 90_000, &mut rows);
    let stats = analyze(&mut s);
    check_large(&stats, &t, &rows);
    let mut random = SplitMix64::new(base::seed::of("dives"));
    for _ in 0..200 {
        let from = random.below(90_000) as i64;
        let to = from + random.log_up_to(90_000 - from as u64 + 1) as i64;
        let (lower, upper) = (
            KeyBound::Included(key(&t, from)),
            KeyBound::Excluded(key(&t, to)),
        );
        let want = (to.min(90_000) - from) as f64;
        let is = e.rows_between(&t, 0, &lower, &upper).expect("in memory");
        if want < 50.0 {
            assert_eq!(is, want, "{from} to {to}");
        } else {
            near(is, want, 1.15, "a dive");
        }
    }
    for v in [1i64, 3, 20, 900] {
        let mut k = Vec::new();
        types::keyenc::encode_key(t.key_parts(2), [types::ValueRef::Int(v)], &mut k);
        let bound = KeyBound::Included(k);
        let want = share(&rows, |r| number(r, 2) == v) * rows.len() as f64;
        let is = e.rows_between(&t, 2, &bound, &bound).expect("in memory");
        near(is, want, 1.2, "equal entries");
    }
    let all = e.rows_between(&t, 1, &KeyBound::None, &KeyBound::None);
    near(all.unwrap(), 90_000.0, 1.1, "all");

    // They were asked for: a crash keeps them.
    drop((s, t));
    block_on(e.abandon());
    let disk = Arc::new(disk.crash(false));
    let e = open(&disk);
    let t = e.catalog().table("s", "t").unwrap();
    assert_eq!(t.stats().as_deref(), Some(&*stats));
    assert_eq!(t.row_count_estimate(), 90_000);
    block_on(e.close()).unwrap();
}

#[test]
fn what_was_asked_for_survives_a_crash() {
    let disk: Arc<MemDisk> = Arc::default();
    let (e, mut s) = setup(&disk);
    let mut rows = Vec::new();
    let t = fill(&mut s, 0, 100, &mut rows);
    let made = |json: &str| {
        vec![engine::Histogram {
            column: "few".into(),
            json: json.into(),
        }]
    };
    block_on(s.set_histograms(&t, made("{\"buckets\": []}"))).unwrap();
    drop((s, t));
    block_on(e.abandon());
    let disk = Arc::new(disk.crash(false));
    let e = open(&disk);
    let mut s = e.session();
    let t = block_on(s.open_table("s", "t")).unwrap();
    assert_eq!(t.row_count_estimate(), 100);
    assert_eq!(t.histograms().len(), 1);
    // And taken away again.
    block_on(s.set_histograms(&t, made(""))).unwrap();
    block_on(s.commit()).unwrap();
    drop((s, t));
    block_on(e.abandon());
    let e = open(&Arc::new(disk.crash(false)));
    let t = e.catalog().table("s", "t").unwrap();
    assert!(t.stats().is_some() && t.histograms().is_empty());
    block_on(e.close()).unwrap();
}

fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !ready() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nobody_has_to_ask_for_them() {
    let (e, mut s) = setup(&Arc::default());
    e.set_auto_stats(true);
    let mut rows = Vec::new();
    let t = fill(&mut s, 0, 500, &mut rows);
    until("no figures", || t.stats().is_some_and(|x| x.rows == 500));
    let version = t.stats_version();
    // A few changes are not enough, many are.
    fill(&mut s, 500, 510, &mut rows);
    assert_eq!(t.stats_version(), version);
    fill(&mut s, 510, 2000, &mut rows);
    until("old figures", || t.stats().is_some_and(|x| x.rows == 2000));
    assert!(t.stats().is_some_and(|x| x.version > version));
    // A new index and a new column are looked at without more changes.
    block_on(s.create_index("s", "t", index("half", IndexKind::Plain, &[4]))).unwrap();
    let t = e.catalog().table("s", "t").unwrap();
    assert_eq!(t.stats().unwrap().indexes.len(), 4);
    until("no figures of the index", || {
        t.stats().is_some_and(|x| x.indexes[3].sampled > 0)
    });
    block_on(e.close()).unwrap();
}

#[test]
fn writers_and_a_drop_do_not_mind() {
    let (e, mut s) = setup(&Arc::default());
    let mut rows = Vec::new();
    let t = fill(&mut s, 0, 20_000, &mut rows);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut s = e.session();
            block_on(async {
                let mut id = 20_000;
                while !stop.load(Ordering::Relaxed) {
                    let t = s.open_table("s", "t").await.unwrap();
                    let r = row(id, &mut SplitMix64::new(id as u64));
                    s.insert(&t, &r).await.unwrap();
                    let old = key(&t, id - 20_000);
                    s.delete_key(&t, &old, &mut |_| Ok(true)).await.unwrap();
                    s.commit().await.unwrap();
                    id += 1;
                }
            });
        });
        let found: Vec<u64> = (0..10).map(|_| analyze(&mut s).rows).collect();
        stop.store(true, Ordering::Relaxed);
        for rows in found {
            near(rows as f64, 20_000.0, 1.02, "rows");
        }
    });
    // In the background a look gives way to a drop.
    e.set_auto_stats(true);
    e.want_stats(&t);
    std::thread::sleep(Duration::from_millis(205));
    block_on(s.drop_table("s", "t")).unwrap();
    drop((s, t));
    block_on(e.close()).unwrap();
}

#[test]
fn a_table_that_is_made_again_is_another() {
    let disk = Arc::default();
    let (e, mut s) = setup(&disk);
    let mut rows = Vec::new();
    fill(&mut s, 0, 100, &mut rows);
    analyze(&mut s);
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        let h = |json: &str| Histogram {
            column: "few".into(),
            json: json.into(),
        };
        s.set_histograms(&t, vec![h("{}")]).await.unwrap();
        s.commit().await.unwrap();
    });
    block_on(e.close()).unwrap();
    drop((s, e));
    let e = open(&disk);
    let mut s = e.session();
    let t = e.catalog().table("s", "t").unwrap();
    assert_eq!(t.histograms().len(), 1);
    assert_eq!(t.stats().unwrap().rows, 100);
    block_on(s.truncate_table("s", "t")).unwrap();
    let t = e.catalog().table("s", "t").unwrap();
    assert!(t.stats().is_none() && t.histograms().is_empty());
    block_on(s.drop_table("s", "t")).unwrap();
    block_on(s.create_table(def())).unwrap();
    assert!(e.catalog().table("s", "t").unwrap().stats().is_none());
    drop((s, t));
    block_on(e.close()).unwrap();
}
