//! A bank on a hostile disk: threads move money, open and close accounts, roll back and are cut short, while readers check
//! that their snapshot adds up through every index; then the power goes or the process is killed, and what comes back
//! must be all of what was acknowledged and nothing by halves. Round after round on the same directory.

#[path = "../../pager/tests/sim/mod.rs"]
mod sim;

use base::block_on;
use engine::*;
use sim::{Cut, Rng, SimDisk, seams};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use types::{CollationId, DataType, LobSize, SqlError, Value, ValueRef};

fn options(frames: u64, flush_at_commit: u8) -> EngineOptions {
    EngineOptions {
        pager: PagerOptions {
            pool_bytes: frames * 16384,
            log_capacity_bytes: 32 << 20,
            log_buffer_bytes: 8 << 20,
            ..Default::default()
        },
        flush_at_commit,
    }
}

fn open(disk: &Arc<SimDisk>, frames: u64) -> (Arc<Engine>, engine_report::Report) {
    block_on(Engine::open_with_report(
        seams(disk),
        Path::new("/db"),
        options(frames, 1),
    ))
    .expect("open")
}

mod engine_report {
    pub type Report = engine::OpenReport;
}

fn column(name: &str, ty: DataType) -> ColumnDef {
    ColumnDef {
        name: name.into(),
        ty,
        nullable: false,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        comment: String::new(),
        generated: None,
        invisible: false,
    }
}

fn index(name: &str, kind: IndexKind, columns: &[u16]) -> IndexDef {
    IndexDef {
        id: 0,
        name: name.into(),
        kind,
        parts: columns
            .iter()
            .map(|c| IndexPart {
                column: *c,
                prefix: 0,
                descending: false,
            })
            .collect(),
        comment: String::new(),
        root: base::PageNo(0),
        invisible: false,
    }
}

fn table(name: &str, columns: Vec<ColumnDef>, indexes: Vec<IndexDef>) -> TableDef {
    TableDef {
        id: 0,
        schema: "s".into(),
        name: name.into(),
        columns,
        indexes,
        options: TableOptions {
            collation: CollationId::DEFAULT,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: vec![],
            created_us: 0,
        },
    }
}

/// id, balance (indexed), number of journal entries, unique tag, text, long.
fn accounts() -> TableDef {
    table(
        "a",
        vec![
            column("id", DataType::INT),
            column("bal", DataType::INT),
            column("cnt", DataType::INT),
            column("tag", DataType::varchar(60, CollationId::DEFAULT)),
            column("pad", DataType::varchar(400, CollationId::DEFAULT)),
            column("long", DataType::Blob(LobSize::Long)),
        ],
        vec![
            index("PRIMARY", IndexKind::Primary, &[0]),
            index("bal", IndexKind::Plain, &[1]),
            index("tag", IndexKind::Unique, &[3]),
        ],
    )
}

/// seq, from, to, amount.
fn journal() -> TableDef {
    table(
        "j",
        vec![
            column("seq", DataType::INT),
            column("a", DataType::INT),
            column("b", DataType::INT),
            column("amount", DataType::INT),
        ],
        vec![
            index("PRIMARY", IndexKind::Primary, &[0]),
            index("a", IndexKind::Plain, &[1]),
        ],
    )
}

fn key(t: &Table, id: i64) -> Vec<u8> {
    let mut b = Vec::new();
    types::keyenc::encode_key(t.key_parts(0), [ValueRef::Int(id)], &mut b);
    b
}

fn int(r: &RowRef<'_>, c: usize) -> i64 {
    match r.column(c) {
        ValueRef::Int(v) => v,
        v => panic!("{v:?}"),
    }
}

const ACCOUNTS: i64 = 120;
const START: i64 = 1000;

fn long_bytes(rng: &mut Rng) -> Vec<u8> {
    // Often short, sometimes on overflow pages, one of them or several.
    let n = match rng.below(12) {
        0 => 5_000 + rng.below(9_000),
        1 => 20_000 + rng.below(30_000),
        _ => rng.below(40),
    };
    vec![b'x'; n as usize]
}

fn account(id: i64, bal: i64, cnt: i64, rng: &mut Rng) -> Vec<Value> {
    vec![
        Value::Int(id),
        Value::Int(bal),
        Value::Int(cnt),
        // Spelt in different ways: what is equal for the unique index is not equal byte by byte.
        Value::text(&if rng.one_in(2) {
            format!("tag{id}")
        } else {
            format!("TAG{id}")
        }),
        Value::text(&"p".repeat(rng.below(400) as usize)),
        Value::Bytes(long_bytes(rng)),
    ]
}

async fn setup(e: &Arc<Engine>) {
    let mut s = e.session();
    s.create_schema(SchemaDef {
        name: "s".into(),
        collation: CollationId::DEFAULT,
    })
    .await
    .unwrap();
    s.create_table(accounts()).await.unwrap();
    s.create_table(journal()).await.unwrap();
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "a").await.unwrap();
    let mut rng = Rng(99);
    for id in 0..ACCOUNTS {
        s.insert(&t, &account(id, START, 0, &mut rng))
            .await
            .unwrap();
    }
    s.commit().await.unwrap();
}

/// Errors that a client answers by trying again.
fn again(e: &SqlError) -> bool {
    matches!(e.code, 1213 | 1205 | 1020 | 1317)
}

/// What the threads share.
struct Shared {
    engine: Arc<Engine>,
    stop: AtomicBool,
    seq: AtomicU64,
    acked: Mutex<BTreeSet<i64>>,
    failures: Mutex<Vec<String>>,
    done: AtomicU64,
    retries: AtomicU64,
}

async fn change(
    s: &mut Session,
    t: &Arc<Table>,
    id: i64,
    by: i64,
    rng: &mut Rng,
) -> Result<bool, SqlError> {
    let k = key(t, id);
    let new_pad = rng.one_in(3).then(|| "q".repeat(rng.below(400) as usize));
    let new_long = rng.one_in(6).then(|| long_bytes(rng));
    if rng.one_in(8) {
        // Closed and opened anew.
        let mut old = None;
        let there = s
            .delete_key(t, &k, &mut |r| {
                old = Some((int(&r, 1), int(&r, 2)));
                Ok(true)
            })
            .await?;
        let (Some((bal, cnt)), true) = (old, there) else {
            return Ok(false);
        };
        let row = account(id, bal + by, cnt + 1, rng);
        return match s.insert(t, &row).await? {
            Inserted::Done => Ok(true),
            Inserted::Duplicate { index, .. } => {
                Err(SqlError::new(9999, format!("duplicate in {index} of {id}")))
            }
        };
    }
    let r = s
        .update_key(t, &k, &mut |r| {
            let mut v = r.to_values();
            v[1] = Value::Int(int(&r, 1) + by);
            v[2] = Value::Int(int(&r, 2) + 1);
            if let Some(p) = &new_pad {
                v[4] = Value::text(p);
            }
            if let Some(l) = &new_long {
                v[5] = Value::Bytes(l.clone());
            }
            Ok(Some(v))
        })
        .await?;
    match r {
        Updated::Done => Ok(true),
        Updated::NotFound => Ok(false),
        r => Err(SqlError::new(9999, format!("{r:?}"))),
    }
}

/// One transaction. Gives its number when it committed.
async fn transfer(sh: &Shared, s: &mut Session, rng: &mut Rng) -> Result<Option<i64>, SqlError> {
    let isolation = match rng.below(4) {
        0 => Isolation::ReadCommitted,
        1 if rng.one_in(4) => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    };
    s.begin(isolation, false);
    let a = s.open_table("s", "a").await?;
    let j = s.open_table("s", "j").await?;
    s.statement_begin(isolation);
    if rng.one_in(3) {
        s.open_snapshot();
    }
    let seq = sh.seq.fetch_add(1, Ordering::Relaxed) as i64;
    let from = rng.below(ACCOUNTS as u64) as i64;
    let to = (from + 1 + rng.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
    let amount = rng.below(50) as i64;
    if rng.one_in(5) {
        // Something that is taken back at once.
        s.savepoint("p");
        s.statement_begin(isolation);
        change(s, &a, from, 77, rng).await?;
        change(s, &a, to, 13, rng).await?;
        s.rollback_to("p").await?;
    }
    if rng.one_in(5) {
        // A statement that fails in the middle.
        s.statement_begin(isolation);
        change(s, &a, to, 5, rng).await?;
        let mut taken = account(ACCOUNTS + 1 + seq, 1, 0, rng);
        taken[3] = Value::text(&format!("tag{from}"));
        match s.insert(&a, &taken).await? {
            Inserted::Duplicate { index: 2, .. } => {}
            other => return Err(SqlError::new(9999, format!("{other:?}"))),
        }
        s.statement_rollback().await?;
    }
    for (id, by) in [(from, -amount), (to, amount)] {
        s.statement_begin(isolation);
        if !change(s, &a, id, by, rng).await? {
            return Err(SqlError::new(9999, format!("account {id} is gone")));
        }
    }
    s.statement_begin(isolation);
    let entry = [seq, from, to, amount].map(Value::Int);
    if s.insert(&j, &entry).await? != Inserted::Done {
        return Err(SqlError::new(9999, "journal entry is there".to_string()));
    }
    if rng.one_in(10) {
        s.rollback().await?;
        return Ok(None);
    }
    s.commit().await?;
    Ok(Some(seq))
}

fn worker(sh: &Arc<Shared>, seed: u64) {
    let mut rng = Rng(seed);
    let mut s = sh.engine.session();
    s.set_lock_wait_timeout(2);
    while !sh.stop.load(Ordering::Relaxed) {
        if rng.one_in(30) {
            // The client goes away, perhaps in the middle of a transaction.
            s = sh.engine.session();
            s.set_lock_wait_timeout(2);
        }
        let cut_short = rng.one_in(12);
        let r = if cut_short {
            // The future is dropped at some await.
            let polls = rng.below(6);
            let f = transfer(sh, &mut s, &mut rng);
            match block_on(poll_at_most(f, polls)) {
                Some(r) => r,
                None => {
                    s = sh.engine.session();
                    s.set_lock_wait_timeout(2);
                    continue;
                }
            }
        } else {
            block_on(transfer(sh, &mut s, &mut rng))
        };
        match r {
            Ok(Some(seq)) => {
                sh.acked.lock().unwrap().insert(seq);
                sh.done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(None) => {}
            Err(e) if again(&e) => {
                sh.retries.fetch_add(1, Ordering::Relaxed);
                block_on(s.rollback()).unwrap();
            }
            Err(e) => {
                sh.failures.lock().unwrap().push(format!("transfer: {e:?}"));
                return;
            }
        }
    }
}

/// Polls a future a few times (each after a wake-up) and then gives up.
async fn poll_at_most<F: Future>(f: F, mut polls: u64) -> Option<F::Output> {
    let mut f = std::pin::pin!(f);
    std::future::poll_fn(move |cx| {
        if polls == 0 {
            return std::task::Poll::Ready(None);
        }
        polls -= 1;
        match f.as_mut().poll(cx) {
            std::task::Poll::Ready(v) => std::task::Poll::Ready(Some(v)),
            std::task::Poll::Pending if polls == 0 => std::task::Poll::Ready(None),
            std::task::Poll::Pending => std::task::Poll::Pending,
        }
    })
    .await
}

/// What a reader found: id → (balance, count, length of the long column).
type Seen = BTreeMap<i64, (i64, i64, usize)>;

async fn read_all(
    s: &mut Session,
    t: &Arc<Table>,
    index: usize,
    backward: bool,
    batch_rows: usize,
) -> Result<Seen, SqlError> {
    let mut sc = s.scan(
        t,
        ScanSpec {
            index,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward,
            mode: ReadMode::Consistent,
        },
    );
    let mut seen = Seen::new();
    let mut batch = RowBatch::new();
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut sc, &mut batch, batch_rows, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            let r = batch.row(i);
            let long = r.column(5).as_bytes().map_or(0, |b| {
                assert!(b.iter().all(|x| *x == b'x'), "bytes of something else");
                b.len()
            });
            let old = seen.insert(int(&r, 0), (int(&r, 1), int(&r, 2), long));
            assert!(
                old.is_none(),
                "row {} twice through index {index}",
                int(&r, 0)
            );
        }
        if !more {
            return Ok(seen);
        }
    }
}

async fn read_once(sh: &Shared, rng: &mut Rng, hold: &mut Option<Session>) -> Result<(), String> {
    let mut s = match hold.take() {
        Some(s) => s,
        None => {
            let mut s = sh.engine.session();
            s.begin(Isolation::RepeatableRead, true);
            s
        }
    };
    let fail = |e: SqlError| format!("reader: {e:?}");
    let t = s.open_table("s", "a").await.map_err(fail)?;
    let j = s.open_table("s", "j").await.map_err(fail)?;
    s.statement_begin(Isolation::RepeatableRead);
    let by_id = read_all(&mut s, &t, 0, rng.one_in(2), 1 + rng.below(60) as usize)
        .await
        .map_err(fail)?;
    let total: i64 = by_id.values().map(|v| v.0).sum();
    if by_id.len() as i64 != ACCOUNTS || total != ACCOUNTS * START {
        return Err(format!("{} accounts hold {total}", by_id.len()));
    }
    for index in 1..t.indexes.len() {
        let other = read_all(&mut s, &t, index, rng.one_in(2), 1 + rng.below(60) as usize)
            .await
            .map_err(fail)?;
        if other != by_id {
            let diff: Vec<_> = by_id
                .iter()
                .filter(|(k, v)| other.get(k) != Some(v))
                .map(|(k, v)| format!("{k}: {v:?} or {:?}", other.get(k)))
                .collect();
            return Err(format!("index {index} shows other rows: {diff:?}"));
        }
    }
    // Each account's count is the number of journal entries that this same snapshot sees.
    let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
    for (_, from, to) in journal_rows(&mut s, &j).await.map_err(fail)? {
        *counts.entry(from).or_default() += 1;
        *counts.entry(to).or_default() += 1;
    }
    for (id, (_, cnt, _)) in &by_id {
        let n = counts.get(id).copied().unwrap_or(0);
        if n != *cnt {
            return Err(format!("account {id} counts {cnt}, the journal has {n}"));
        }
    }
    if rng.one_in(2) {
        *hold = Some(s);
    } else {
        s.commit().await.map_err(fail)?;
    }
    Ok(())
}

async fn journal_rows(s: &mut Session, j: &Arc<Table>) -> Result<Vec<(i64, i64, i64)>, SqlError> {
    let mut sc = s.scan(
        j,
        ScanSpec {
            index: 0,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: false,
            mode: ReadMode::Consistent,
        },
    );
    let mut out = Vec::new();
    let mut batch = RowBatch::new();
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut sc, &mut batch, 100, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            let r = batch.row(i);
            out.push((int(&r, 0), int(&r, 1), int(&r, 2)));
        }
        if !more {
            return Ok(out);
        }
    }
}

fn reader(sh: &Arc<Shared>, seed: u64) {
    let mut rng = Rng(seed);
    let mut hold = None;
    while !sh.stop.load(Ordering::Relaxed) {
        if let Err(e) = block_on(read_once(sh, &mut rng, &mut hold)) {
            sh.failures.lock().unwrap().push(e);
            return;
        }
        std::thread::sleep(Duration::from_millis(rng.below(30)));
    }
}

/// Reads at the other levels: no sums hold, but no error may come and no bytes of something else.
fn dirty_reader(sh: &Arc<Shared>, seed: u64) {
    let mut rng = Rng(seed);
    let mut s = sh.engine.session();
    while !sh.stop.load(Ordering::Relaxed) {
        let level = [Isolation::ReadUncommitted, Isolation::ReadCommitted][rng.below(2) as usize];
        let mode = [ReadMode::Consistent, ReadMode::Current][rng.below(2) as usize];
        let id = rng.below(ACCOUNTS as u64) as i64;
        let r = block_on(async {
            s.statement_begin(level);
            let t = s.open_table("s", "a").await?;
            let k = key(&t, id);
            let mut ok = true;
            s.get(&t, &k, mode, |r| {
                let long = r.and_then(|r| r.column(5).as_bytes().map(<[u8]>::to_vec));
                ok = long.is_none_or(|b| b.iter().all(|x| *x == b'x'));
            })
            .await?;
            assert!(ok, "bytes of something else");
            let mut sc = s.scan(
                &t,
                ScanSpec {
                    index: rng.below(3) as usize,
                    lower: KeyBound::None,
                    upper: KeyBound::None,
                    backward: false,
                    mode,
                },
            );
            let mut batch = RowBatch::new();
            let filter = &mut |r: RowRef<'_>| {
                assert!(
                    r.column(5)
                        .as_bytes()
                        .is_none_or(|b| b.iter().all(|x| *x == b'x'))
                );
                Ok(true)
            };
            while s.next_batch(&mut sc, &mut batch, 20, filter).await? {
                batch.clear();
            }
            s.commit().await
        });
        match r {
            Ok(()) => {}
            Err(e) if again(&e) => block_on(s.rollback()).unwrap(),
            Err(e) => {
                sh.failures
                    .lock()
                    .unwrap()
                    .push(format!("{level:?} {mode:?}: {e:?}"));
                return;
            }
        }
    }
}

/// Waits until rollback of losers and purge are through, then checks everything.
fn verify(e: &Arc<Engine>, acked: &BTreeSet<i64>, what: &str) -> i64 {
    let until = Instant::now() + Duration::from_secs(40);
    let mut s = e.session();
    block_on(async {
        loop {
            let t = s.open_table("s", "a").await.unwrap();
            let j = s.open_table("s", "j").await.unwrap();
            let idle = e.counters().purge_queue == 0;
            // A rollback that still runs holds its rows: a locking read waits for it.
            for (t, mode) in [(&t, ReadMode::Current), (&j, ReadMode::Current)] {
                s.statement_begin(Isolation::ReadCommitted);
                let mut sc = s.scan(
                    t,
                    ScanSpec {
                        index: 0,
                        lower: KeyBound::None,
                        upper: KeyBound::None,
                        backward: false,
                        mode,
                    },
                );
                let mut batch = RowBatch::new();
                while s
                    .next_batch(&mut sc, &mut batch, 100, &mut |_| Ok(true))
                    .await
                    .unwrap_or_else(|e| panic!("{what}: {e:?}"))
                {
                    batch.clear();
                }
            }
            let problems = [
                s.check_table(&t).await.unwrap(),
                s.check_table(&j).await.unwrap(),
            ]
            .concat();
            s.commit().await.unwrap();
            if problems.is_empty() && idle {
                break;
            }
            assert!(
                Instant::now() < until,
                "{what}: {problems:?}, purge queue {}",
                e.counters().purge_queue
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        s.begin(Isolation::RepeatableRead, true);
        let t = s.open_table("s", "a").await.unwrap();
        let j = s.open_table("s", "j").await.unwrap();
        let rows = read_all(&mut s, &t, 0, false, 50).await.unwrap();
        let total: i64 = rows.values().map(|v| v.0).sum();
        assert_eq!(
            (rows.len() as i64, total),
            (ACCOUNTS, ACCOUNTS * START),
            "{what}"
        );
        for index in 1..t.indexes.len() {
            let other = read_all(&mut s, &t, index, index == 2, 50).await.unwrap();
            assert!(other == rows, "{what}: index {index}");
        }
        let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
        let mut have = BTreeSet::new();
        for (seq, from, to) in journal_rows(&mut s, &j).await.unwrap() {
            have.insert(seq);
            *counts.entry(from).or_default() += 1;
            *counts.entry(to).or_default() += 1;
        }
        for (id, (_, cnt, _)) in &rows {
            assert_eq!(
                counts.get(id).copied().unwrap_or(0),
                *cnt,
                "{what}: account {id}"
            );
        }
        let lost: Vec<_> = acked.difference(&have).take(5).collect();
        assert!(lost.is_empty(), "{what}: acknowledged and lost: {lost:?}");
        s.commit().await.unwrap();
        have.last().copied().unwrap_or(0)
    })
}

struct Plan {
    seed: u64,
    frames: u64,
    rounds: u64,
    millis: u64,
    writers: u64,
    ddl: bool,
}

fn run(plan: &Plan) -> (u64, u64) {
    let mut rng = Rng(plan.seed);
    let mut disk = SimDisk::new();
    let (e, _) = open(&disk, plan.frames);
    block_on(setup(&e));
    block_on(e.close()).unwrap();
    drop(e);
    let mut acked = BTreeSet::new();
    let mut seq = 0;
    let mut total = (0, 0);
    for round in 0..plan.rounds {
        let (e, report) = open(&disk, plan.frames);
        assert!(
            report.pages.damaged.is_empty() && report.missing.is_empty(),
            "seed {} round {round}: {report:?}",
            plan.seed
        );
        if round % 2 == 1 {
            // Every other time work begins beside what recovery left to do in the background.
            seq = seq.max(verify(&e, &acked, &format!("seed {} round {round}", plan.seed)) as u64);
        }
        let sh = Arc::new(Shared {
            engine: e.clone(),
            stop: AtomicBool::new(false),
            seq: AtomicU64::new(seq + 1),
            acked: Mutex::new(acked.clone()),
            failures: Mutex::new(Vec::new()),
            done: AtomicU64::new(0),
            retries: AtomicU64::new(0),
        });
        let mut threads = Vec::new();
        for w in 0..plan.writers {
            let (sh, seed) = (sh.clone(), rng.next());
            threads.push(std::thread::spawn(move || match w % 4 {
                0 | 1 => worker(&sh, seed),
                2 => reader(&sh, seed),
                _ => {
                    if seed % 2 == 0 {
                        dirty_reader(&sh, seed)
                    } else {
                        worker(&sh, seed)
                    }
                }
            }));
        }
        if plan.ddl {
            let (sh, seed) = (sh.clone(), rng.next());
            threads.push(std::thread::spawn(move || definer(&sh, seed)));
        }
        std::thread::sleep(Duration::from_millis(
            plan.millis / 2 + rng.below(plan.millis),
        ));
        acked = sh.acked.lock().unwrap().clone();
        let cut = match rng.below(5) {
            0 => Cut::Nothing,
            1 => Cut::All,
            _ => Cut::Some(20 + rng.below(70)),
        };
        disk = match rng.below(4) {
            // Killed, and started again on the same machine.
            0 => disk.killed(),
            _ => disk.cut(cut, &mut rng),
        };
        sh.stop.store(true, Ordering::Relaxed);
        for t in threads {
            t.join().unwrap();
        }
        seq = sh.seq.load(Ordering::Relaxed);
        total.0 += sh.done.load(Ordering::Relaxed);
        total.1 += sh.retries.load(Ordering::Relaxed);
        let failures = sh.failures.lock().unwrap().clone();
        assert!(
            failures.is_empty(),
            "seed {} round {round}: {failures:?}",
            plan.seed
        );
        block_on(e.abandon());
    }
    let (e, _) = open(&disk, plan.frames);
    verify(&e, &acked, &format!("seed {} at the end", plan.seed));
    block_on(e.close()).unwrap();
    total
}

/// Changes definitions under the others.
fn definer(sh: &Arc<Shared>, seed: u64) {
    let mut rng = Rng(seed);
    let mut s = sh.engine.session();
    s.set_lock_wait_timeout(1);
    let mut n = 0;
    while !sh.stop.load(Ordering::Relaxed) {
        n += 1;
        let name = format!("extra{n}");
        let r = block_on(async {
            let t = s.open_table("s", "a").await?;
            let extra = t.def.indexes.iter().find(|x| x.name.starts_with("extra"));
            let extra = extra.map(|x| x.name.clone());
            s.commit().await?;
            match (rng.below(3), extra) {
                (0, None) => {
                    let x = index(&name, IndexKind::Plain, &[2, 1]);
                    s.create_index("s", "a", x).await
                }
                (0, Some(x)) => s.drop_index("s", "a", &x).await,
                (1, _) => {
                    let mut def = journal();
                    def.name = name.clone();
                    s.create_table(def).await?;
                    s.rename_tables(&[(
                        ("s".into(), name.clone()),
                        ("s".into(), format!("{name}.b")),
                    )])
                    .await?;
                    s.truncate_table("s", &format!("{name}.b")).await?;
                    s.drop_table("s", &format!("{name}.b")).await
                }
                _ => {
                    s.alter_table_meta("s", "a", |d| d.options.comment = name.clone())
                        .await
                }
            }
        });
        if let Err(e) = r
            && !again(&e)
            && e.code != 1050
        {
            sh.failures.lock().unwrap().push(format!("ddl: {e:?}"));
            return;
        }
    }
}

fn seeds() -> std::ops::Range<u64> {
    let of = |n: &str| std::env::var(n).ok().and_then(|v| v.parse::<u64>().ok());
    match of("STRESS_SEED") {
        Some(s) => s..s + of("STRESS_RUNS").unwrap_or(1),
        None => 1..2,
    }
}

#[test]
fn money_is_conserved_in_a_tiny_pool() {
    for seed in seeds() {
        let t = run(&Plan {
            seed,
            frames: 64,
            rounds: 4,
            millis: 500,
            writers: 6,
            ddl: false,
        });
        eprintln!("tiny {seed}: {t:?}");
    }
}

#[test]
fn money_is_conserved_under_changing_definitions() {
    for seed in seeds() {
        let t = run(&Plan {
            seed: seed + 1000,
            frames: 256,
            rounds: 4,
            millis: 500,
            writers: 5,
            ddl: true,
        });
        eprintln!("ddl {seed}: {t:?}");
    }
}
