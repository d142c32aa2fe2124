//! Sessions that change rows and definitions, and what must be in a backup taken beside them.

use crate::{SPAN, WRITERS, all_rows, open_at};
use base::mem::MemDisk;
use base::{SplitMix64, block_on};
use engine::backup::*;
use engine::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::Rows;
use crate::world::{create, def, key, row, sound};

/// What a row has beside its key.
type Row = (i64, u8, usize);

/// What a transaction does: rows put and rows taken away.
pub(crate) fn work(seed: u64, of: u64, k: u64) -> Vec<(i64, Option<Row>)> {
    let mut rng = SplitMix64::new(seed ^ (of << 40) ^ k.wrapping_mul(0x9e37));
    let first = of as i64 * SPAN;
    let mut all = vec![(first, Some((k as i64, 1, 1)))];
    for _ in 0..1 + rng.below(4) {
        let id = first + 1 + rng.below(300) as i64;
        let long = rng.one_in(20);
        let len = match long {
            true => 9_000 + rng.below(20_000) as usize,
            false => 1 + rng.below(900) as usize,
        };
        let v = (rng.below(50) as i64, rng.below(250) as u8, len);
        all.push((id, (!rng.one_in(4)).then_some(v)));
    }
    all
}

/// What the rows of a session are after so many transactions.
pub(crate) fn model(seed: u64, of: u64, done: u64) -> Rows {
    let mut rows = Rows::new();
    for k in 1..=done {
        for (id, v) in work(seed, of, k) {
            match v {
                Some(v) => rows.insert(id, v),
                None => rows.remove(&id),
            };
        }
    }
    rows
}

pub(crate) async fn put(s: &mut Session, t: &Arc<Table>, id: i64, v: (i64, u8, usize)) {
    let values = row(id, v.0, v.1, v.2);
    let (key, new) = (key(t, id), &mut |_: RowRef<'_>| Ok(Some(values.clone())));
    let there = s.update_key(t, &key, new).await.unwrap();
    if matches!(there, Updated::NotFound) {
        assert_eq!(s.insert(t, &values).await.unwrap(), Inserted::Done);
    }
}

/// How far somebody has come: begun and acknowledged.
#[derive(Default)]
pub(crate) struct Progress {
    begun: AtomicU64,
    done: AtomicU64,
}

pub(crate) fn writer(e: &Arc<Engine>, seed: u64, of: u64, p: &Progress, stop: &AtomicBool) {
    let mut s = e.session();
    let mut k = p.done.load(Ordering::SeqCst);
    while !stop.load(Ordering::SeqCst) {
        k += 1;
        p.begun.store(k, Ordering::SeqCst);
        block_on(async {
            // One that is taken back, and leaves nothing.
            let name = if of.is_multiple_of(2) { "t" } else { "c" };
            for keep in [false, true] {
                if !keep && !k.is_multiple_of(5) {
                    continue;
                }
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", name).await.unwrap();
                for (id, v) in work(seed, of, if keep { k } else { k + 7_000_000 }) {
                    match v {
                        Some(v) => put(&mut s, &t, id, v).await,
                        None => {
                            let any = &mut |_: RowRef<'_>| Ok(true);
                            s.delete_key(&t, &key(&t, id), any).await.unwrap();
                        }
                    }
                }
                match keep {
                    true => s.commit().await.unwrap(),
                    false => s.rollback().await.unwrap(),
                }
            }
        });
        p.done.store(k, Ordering::SeqCst);
    }
}

/// What a definition's session does as its k-th step, and what its tables are then.
pub(crate) type Tables = BTreeMap<String, Rows>;

pub(crate) fn definitions(e: Option<&Arc<Engine>>, seed: u64, k: u64, tables: &mut Tables) {
    let mut rng = SplitMix64::new(seed ^ 0xddd ^ k.wrapping_mul(0x9e37));
    let name = format!("d{}", rng.below(5));
    let other = format!("d{}", 5 + rng.below(3));
    let compressed = rng.one_in(3);
    let n = 1 + rng.below(120) as i64;
    let what = rng.below(6);
    let mut s = e.map(|e| e.session());
    let there = tables.contains_key(&name);
    block_on(async {
        match what {
            _ if !there => {
                tables.insert(name.clone(), Rows::new());
                if let Some(s) = &mut s {
                    let mut def = def(&name);
                    if compressed {
                        def.options.row_format = "COMPRESSED".into();
                    }
                    s.create_table(def).await.unwrap();
                }
            }
            0 => {
                tables.remove(&name);
                if let Some(s) = &mut s {
                    s.drop_table("s", &name).await.unwrap();
                }
            }
            1 => {
                tables.insert(name.clone(), Rows::new());
                if let Some(s) = &mut s {
                    s.truncate_table("s", &name).await.unwrap();
                }
            }
            2 if !tables.contains_key(&other) => {
                let rows = tables.remove(&name).unwrap();
                tables.insert(other.clone(), rows);
                if let Some(s) = &mut s {
                    let of = |n: &str| ("s".to_owned(), n.to_owned());
                    s.rename_tables(&[(of(&name), of(&other))]).await.unwrap();
                }
            }
            2 => {
                tables.remove(&other);
                if let Some(s) = &mut s {
                    s.drop_table("s", &other).await.unwrap();
                }
            }
            3 => {
                if let Some(s) = &mut s {
                    let t = s.open_table("s", &name).await.unwrap();
                    let same = Rewrite::Same;
                    let rebuilt = s.rebuild_table(&t, t.def.clone(), same, true, true);
                    assert!(rebuilt.await.unwrap().is_some());
                }
            }
            _ => {
                let rows = tables.get_mut(&name).unwrap();
                let from = rows.keys().last().map_or(0, |id| id + 1);
                if let Some(s) = &mut s {
                    s.begin(Isolation::ReadCommitted, false);
                    let t = s.open_table("s", &name).await.unwrap();
                    for id in from..from + n {
                        let values = row(id, k as i64, 3, 400);
                        s.insert(&t, &values).await.unwrap();
                    }
                    s.commit().await.unwrap();
                }
                rows.extend((from..from + n).map(|id| (id, (k as i64, 3, 400))));
            }
        }
    });
}

pub(crate) struct Load {
    pub(crate) engine: Arc<Engine>,
    writers: Arc<Vec<Progress>>,
    ddl: Arc<Progress>,
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

pub(crate) fn load(seed: u64) -> Load {
    let disk = Arc::new(MemDisk::default());
    let engine = open_at(&disk, "/db");
    let mut compressed = def("c");
    compressed.options.row_format = "COMPRESSED".into();
    block_on(async {
        let mut s = engine.session();
        create(&mut s, def("t")).await;
        s.create_table(compressed).await.unwrap();
    });
    let writers: Vec<_> = (0..WRITERS).map(|_| Progress::default()).collect();
    let (writers, ddl) = (Arc::new(writers), Arc::new(Progress::default()));
    let stop = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for of in 0..WRITERS {
        let (e, w, stop) = (engine.clone(), writers.clone(), stop.clone());
        threads.push(std::thread::spawn(move || {
            writer(&e, seed, of, &w[of as usize], &stop);
        }));
    }
    let (e, p, ended) = (engine.clone(), ddl.clone(), stop.clone());
    threads.push(std::thread::spawn(move || {
        let mut tables = Tables::new();
        let mut k = 0;
        while !ended.load(Ordering::SeqCst) {
            k += 1;
            p.begun.store(k, Ordering::SeqCst);
            definitions(Some(&e), seed, k, &mut tables);
            p.done.store(k, Ordering::SeqCst);
        }
    }));
    Load {
        engine,
        writers,
        ddl,
        stop,
        threads,
    }
}

/// From where to where each of them must be in a backup.
pub(crate) type Bounds = (Vec<(u64, u64)>, (u64, u64));

impl Load {
    fn bounds_low(&self) -> (Vec<u64>, u64) {
        let done = |p: &Progress| p.done.load(Ordering::SeqCst);
        (self.writers.iter().map(done).collect(), done(&self.ddl))
    }

    fn bounds_high(&self) -> (Vec<u64>, u64) {
        let begun = |p: &Progress| p.begun.load(Ordering::SeqCst);
        (self.writers.iter().map(begun).collect(), begun(&self.ddl))
    }

    /// A backup, and what must be in it: all that was acknowledged before its last page was read, nothing that began behind its end.
    pub(crate) fn back_up(&self, since: Option<SinceToken>) -> (Vec<u8>, Manifest, Bounds) {
        // The last pages may have been read long after the first: what is asked of it is looked at as late as can be.
        let low = std::cell::RefCell::new(self.bounds_low());
        let taking = Taking {
            since,
            ..Taking::default()
        };
        let (all, manifest) = block_on(async {
            let mut backup = self.engine.begin_backup(taking).await.unwrap();
            let mut all = Vec::new();
            loop {
                let now = self.bounds_low();
                match backup.next().await.unwrap() {
                    // All that was acknowledged before the end was looked for.
                    None => {
                        *low.borrow_mut() = now;
                        break;
                    }
                    Some(chunk) => all.extend(chunk),
                }
            }
            backup.finish(backup.least_end(), None, None).await.unwrap();
            while let Some(chunk) = backup.next().await.unwrap() {
                all.extend(chunk);
            }
            (all, backup.manifest().clone())
        });
        let (low, high) = (low.into_inner(), self.bounds_high());
        let each = low.0.into_iter().zip(high.0).collect();
        (all, manifest, (each, (low.1, high.1)))
    }

    pub(crate) fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        for t in self.threads {
            t.join().unwrap();
        }
        block_on(self.engine.close()).unwrap();
    }
}

pub(crate) fn is_a_moment(e: &Arc<Engine>, seed: u64, bounds: &Bounds) {
    let mut s = e.session();
    // Losers are rolled back behind the start.
    s.begin(Isolation::RepeatableRead, true);
    let mut found = BTreeMap::new();
    for name in ["t", "c"] {
        let t = block_on(s.open_table("s", name)).unwrap();
        found.insert(name, block_on(all_rows(&mut s, &t)));
    }
    for (of, (low, high)) in (0u64..).zip(&bounds.0) {
        let rows = &found[if of.is_multiple_of(2) { "t" } else { "c" }];
        let first = of as i64 * SPAN;
        let mine: Rows = rows
            .range(first..first + SPAN)
            .map(|(id, v)| (*id, *v))
            .collect();
        let done = mine.get(&first).map_or(0, |v| v.0 as u64);
        assert!(
            (*low..=*high).contains(&done),
            "session {of}: {done} transactions, not {low} to {high}"
        );
        let expected = model(seed, of, done);
        assert!(mine == expected, "session {of}: other rows after {done}");
    }
    let catalog = e.catalog();
    let names = catalog.tables().map(|t| t.def.name.clone());
    let names: Vec<_> = names.filter(|n| n.starts_with('d')).collect();
    let mut tables = Tables::new();
    for name in names {
        let t = block_on(s.open_table("s", &name)).unwrap();
        tables.insert(name, block_on(all_rows(&mut s, &t)));
    }
    let (low, high) = bounds.1;
    let mut expected = Tables::new();
    let mut same = low == 0 && expected == tables;
    for k in 1..=high {
        definitions(None, seed, k, &mut expected);
        same |= k >= low && expected == tables;
    }
    assert!(same, "the tables are not as between steps {low} and {high}");
    block_on(s.commit()).unwrap();
    let t: Vec<_> = catalog.tables().cloned().collect();
    for t in t {
        sound(e, &t.def.name);
    }
}
