//! Those who look: every snapshot must add up, through every index.

use super::*;

/// What a reader found: id → (balance, count, length of the long column).
pub(crate) type Seen = BTreeMap<i64, (i64, i64, usize)>;

pub(crate) async fn read_all(
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
            let new = (int(&r, 1), int(&r, 2), long);
            if let Some(old) = seen.insert(int(&r, 0), new) {
                let id = int(&r, 0);
                let e = format!("row {id} twice through index {index}: {old:?} {new:?}");
                return Err(SqlError::new(9999, e));
            }
        }
        if !more {
            return Ok(seen);
        }
    }
}

pub(crate) async fn read_once(
    sh: &Shared,
    rng: &mut SplitMix64,
    hold: &mut Option<Session>,
) -> Result<(), String> {
    let mut s = match hold.take() {
        Some(s) => s,
        None => {
            let mut s = sh.engine.session();
            s.begin(Isolation::Snapshot, true);
            s
        }
    };
    let fail = |e: SqlError| format!("reader: {e:?}");
    let t = s.open_table("s", "a").await.map_err(fail)?;
    let j = s.open_table("s", "j").await.map_err(fail)?;
    s.statement_begin(Isolation::Snapshot);
    let by_id = read_all(&mut s, &t, 0, rng.one_in(2), 1 + rng.below(60) as usize)
        .await
        .map_err(fail)?;
    let total: i64 = by_id.values().map(|v| v.0).sum();
    if by_id.len() as i64 != ACCOUNTS || total != ACCOUNTS * START {
        return Err(format!("{} accounts hold {total}", by_id.len()));
    }
    for index in 1..t.def.indexes.len() {
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

pub(crate) async fn journal_rows(
    s: &mut Session,
    j: &Arc<Table>,
) -> Result<Vec<(i64, i64, i64)>, SqlError> {
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

pub(crate) fn reader(sh: &Arc<Shared>, seed: u64) {
    let mut rng = seeded(seed);
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
pub(crate) fn dirty_reader(sh: &Arc<Shared>, seed: u64) {
    let mut rng = seeded(seed);
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
pub(crate) fn verify(e: &Arc<Engine>, acked: &BTreeSet<i64>, what: &str) -> i64 {
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
        s.begin(Isolation::Snapshot, true);
        let t = s.open_table("s", "a").await.unwrap();
        let j = s.open_table("s", "j").await.unwrap();
        let rows = read_all(&mut s, &t, 0, false, 50).await.unwrap();
        let total: i64 = rows.values().map(|v| v.0).sum();
        assert_eq!(
            (rows.len() as i64, total),
            (ACCOUNTS, ACCOUNTS * START),
            "{what}"
        );
        for index in 1..t.def.indexes.len() {
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
