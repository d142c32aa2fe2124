//! A bank on a hostile disk: threads move money, open and close accounts, roll back and are cut short, while readers check
//! that their snapshot adds up through every index; then the power goes or the process is killed, and what comes back
//! must be all of what was acknowledged and nothing by halves. Round after round on the same directory.

use crate::bank::readers::*;
use crate::bank::*;

use crate::sim::{Cut, SimDisk, seeded};
use crate::world::index;
use base::SplitMix64;
use base::block_on;
use engine::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use types::{SqlError, Value};

async fn change(
    s: &mut Session,
    t: &Arc<Table>,
    id: i64,
    by: i64,
    rng: &mut SplitMix64,
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
async fn transfer(
    sh: &Shared,
    s: &mut Session,
    rng: &mut SplitMix64,
) -> Result<Option<i64>, SqlError> {
    let isolation = match rng.below(4) {
        0 => Isolation::ReadCommitted,
        1 if rng.one_in(4) => Isolation::Serializable,
        _ => Isolation::Snapshot,
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
    let mut rng = seeded(seed);
    let mut s = sh.engine.session();
    s.set_lock_wait_timeout(2);
    s.set_table_wait_timeout(2);
    while !sh.stop.load(Ordering::Relaxed) {
        if rng.one_in(30) {
            // The client goes away, perhaps in the middle of a transaction.
            s = sh.engine.session();
            s.set_lock_wait_timeout(2);
            s.set_table_wait_timeout(2);
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
                    s.set_table_wait_timeout(2);
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

struct Plan {
    seed: u64,
    frames: u64,
    rounds: u64,
    millis: u64,
    writers: u64,
    ddl: bool,
}

fn run(plan: &Plan) -> (u64, u64) {
    let mut rng = seeded(plan.seed);
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
    let mut rng = seeded(seed);
    let mut s = sh.engine.session();
    s.set_lock_wait_timeout(1);
    s.set_table_wait_timeout(1);
    let mut n = 0;
    while !sh.stop.load(Ordering::Relaxed) {
        n += 1;
        let name = format!("extra{n}");
        let r = block_on(async {
            let t = s.open_table("s", "a").await?;
            let extra = t.def.indexes.iter().find(|x| x.name.starts_with("extra"));
            let extra = extra.map(|x| x.name.clone());
            s.commit().await?;
            match (rng.below(4), extra) {
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
                (2, _) => {
                    let def = t.def.clone();
                    s.rebuild_table(&t, def, Rewrite::Same, true, true)
                        .await
                        .map(drop)
                }
                _ => {
                    s.alter_as("s", "a", |d| {
                        d.options.comment = name.clone();
                        Ok(())
                    })
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

/// Which runs of a test: the first, or as many as `STRESS_RUNS` says.
fn seeds() -> std::ops::Range<u64> {
    let runs = std::env::var("STRESS_RUNS").ok();
    1..1 + runs.and_then(|v| v.parse().ok()).unwrap_or(1)
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
