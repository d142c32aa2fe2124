//! Guarded ranges: inserts into them, rows that are locked with them, and both beside the queues of rows.

use super::rules::world;
use super::*;
use base::lock::RwLock;
use base::{SplitMix64, block_on};
use std::sync::atomic::AtomicI64;

use Mode::{Exclusive, Shared};

#[test]
fn ranges_stop_inserts_of_others_only_and_only_inside() {
    let (w, t, _c) = world(3);
    let fail = OnConflict::Fail;
    granted(w.table.check_insert(t[1], 7, b"d", fail));
    for (who, low, high) in [
        (t[0], b"b\0".as_slice(), Some(b"f\0".as_slice())),
        (t[0], b"c", Some(b"e")),
        (t[2], b"", Some(b"d")),
    ] {
        granted(
            w.table
                .guard_range(who, 7, &Span::new(low, high), None, fail),
        );
    }
    granted(w.table.check_insert(t[0], 7, b"e", fail));
    granted(w.table.check_insert(t[1], 8, b"e", fail));
    granted(w.table.check_insert(t[1], 7, b"f\0", fail));
    assert!(matches!(
        w.table.check_insert(t[1], 7, b"f", fail),
        Acquired::Conflict
    ));
    assert!(matches!(
        w.table.check_insert(t[0], 7, b"b", fail),
        Acquired::Conflict
    ));
    let wait = OnConflict::Wait {
        weight: 0,
        timeout_us: None,
    };
    let both = waits(w.table.check_insert(t[1], 7, b"c", wait));
    w.end(t[2]);
    assert_eq!(both.ended(), None);
    w.end(t[0]);
    assert_eq!(both.ended(), Some(WaitEnd::Granted));
    granted(w.table.check_insert(t[1], 7, b"c", fail));
    w.end(t[1]);
    assert!(w.table.is_empty());
}

fn all() -> Span {
    Span::all()
}

#[test]
fn who_guards_a_range_goes_behind_those_who_wait_to_insert_into_it() {
    let (w, t, _c) = world(5);
    let wait = OnConflict::Wait {
        weight: 0,
        timeout_us: None,
    };
    granted(w.table.guard_range(t[0], 7, &all(), None, wait));
    let insert = waits(w.table.check_insert(t[1], 7, b"k", wait));
    // Elsewhere nobody is in the way; whoever the insert waits for is not held up by it, nor is who does not want to wait.
    let below = Span::new(b"", Some(b"k"));
    granted(w.table.guard_range(t[2], 7, &below, None, wait));
    let one = || Span::point(b"k");
    granted(w.table.guard_range(t[0], 7, &one(), None, wait));
    granted(w.table.guard_range(t[4], 7, &one(), None, OnConflict::Fail));
    w.end(t[4]);
    let reader = waits(w.table.guard_range(t[3], 7, &all(), None, wait));
    w.end(t[0]);
    assert_eq!(
        (insert.ended(), reader.ended()),
        (Some(WaitEnd::Granted), None)
    );
    // Let go, but not there yet: it keeps its place, until it has asked again and its row is there.
    granted(w.table.check_insert(t[1], 7, b"k", wait));
    assert_eq!(reader.ended(), Some(WaitEnd::Granted));
    granted(w.table.guard_range(t[3], 7, &all(), None, wait));
    // An insert that is given up, before and after it was let go, is in nobody's way.
    let killed = waits(w.table.check_insert(t[1], 7, b"n", wait));
    let behind = waits(w.table.guard_range(t[2], 7, &all(), None, wait));
    assert!(w.table.kill(t[1]));
    assert_eq!(
        (killed.ended(), behind.ended()),
        (Some(WaitEnd::Killed), Some(WaitEnd::Granted))
    );
    let let_go = waits(w.table.check_insert(t[1], 7, b"n", wait));
    let behind = waits(w.table.guard_range(t[2], 7, &all(), None, wait));
    w.end(t[3]);
    assert_eq!(
        (let_go.ended(), behind.ended()),
        (Some(WaitEnd::Granted), None)
    );
    w.end(t[1]);
    assert_eq!(behind.ended(), Some(WaitEnd::Granted));
    w.end(t[2]);
    assert!(w.table.is_empty());
}

#[test]
fn a_cycle_through_an_insert_that_was_let_go_is_found() {
    let (w, t, _c) = world(3);
    let wait = OnConflict::Wait {
        weight: 0,
        timeout_us: None,
    };
    granted(w.table.guard_range(t[0], 7, &all(), None, wait));
    granted(w.ask(t[2], b"row", Exclusive));
    let insert = waits(w.table.check_insert(t[1], 7, b"k", wait));
    let reader = waits(w.table.guard_range(t[2], 7, &all(), None, wait));
    w.end(t[0]);
    assert_eq!(insert.ended(), Some(WaitEnd::Granted));
    // It holds nothing, but somebody waits for it, and it comes to wait for that one.
    let row = waits(w.ask(t[1], b"row", Exclusive));
    assert_eq!(
        (row.ended(), reader.ended()),
        (Some(WaitEnd::Deadlock), None)
    );
    w.end(t[1]);
    assert_eq!(reader.ended(), Some(WaitEnd::Granted));
    w.end(t[2]);
    assert!(w.table.is_empty());
}

const WAIT: OnConflict = OnConflict::Wait {
    weight: 0,
    timeout_us: None,
};

/// A scan by `owner` comes from `from` to the row `key`.
fn scan(w: &World, owner: TxnId, from: &[u8], key: &[u8], mode: Mode) -> Acquired {
    w.table.register_guard(owner, 7);
    let req = Request {
        hold: Hold::Row,
        on_conflict: WAIT,
        ..request(owner, key, mode, 0)
    };
    w.table.guard_row(&req, &Span::through(from, key))
}

fn write(w: &World, owner: TxnId, key: &[u8]) -> Acquired {
    let req = Request {
        hold: Hold::Row,
        on_conflict: WAIT,
        ..request(owner, key, Exclusive, 0)
    };
    w.table.lock(&req)
}

#[test]
fn rows_of_a_guarded_range_are_locked_with_it() {
    let (w, t, _c) = world(4);
    granted(scan(&w, t[0], b"a", b"c", Shared));
    granted(scan(&w, t[1], b"a", b"f", Shared));
    // Above what was scanned, in another index, and for readers nothing is locked.
    granted(write(&w, t[2], b"f\0"));
    granted(w.table.lock(&Request {
        index: 8,
        ..request(t[2], b"b", Exclusive, 0)
    }));
    granted(w.ask(t[2], b"c", Shared));
    let nowait = Request {
        on_conflict: OnConflict::Fail,
        ..request(t[3], b"b", Exclusive, 0)
    };
    assert!(matches!(w.table.lock(&nowait), Acquired::Conflict));
    let writer = waits(write(&w, t[3], b"b"));
    w.end(t[1]);
    assert_eq!(writer.ended(), None);
    w.end(t[0]);
    assert_eq!(writer.ended(), Some(WaitEnd::Granted));
    w.end(t[2]);
    w.end(t[3]);
    assert!(w.table.is_empty());
}

#[test]
fn a_scan_waits_for_a_row_and_guards_nothing_until_it_has_it() {
    let (w, t, _c) = world(3);
    granted(w.ask(t[0], b"c", Exclusive));
    let row = waits(scan(&w, t[1], b"a", b"c", Shared));
    granted(w.table.check_insert(t[2], 7, b"b", OnConflict::Fail));
    w.end(t[0]);
    assert_eq!(row.ended(), Some(WaitEnd::Granted));
    granted(scan(&w, t[1], b"a", b"c", Shared));
    assert!(matches!(
        w.table.check_insert(t[2], 7, b"b", OnConflict::Fail),
        Acquired::Conflict
    ));
    w.end(t[1]);
    w.end(t[2]);
    assert!(w.table.is_empty());
}

#[test]
fn a_scan_stands_behind_those_who_wait_for_a_row() {
    let (w, t, _c) = world(3);
    granted(scan(&w, t[0], b"a", b"c", Shared));
    let writer = waits(write(&w, t[1], b"b"));
    let reader = waits(scan(&w, t[2], b"a", b"b", Shared));
    w.end(t[0]);
    assert_eq!(
        (writer.ended(), reader.ended()),
        (Some(WaitEnd::Granted), None)
    );
    w.end(t[1]);
    assert_eq!(reader.ended(), Some(WaitEnd::Granted));
    w.end(t[2]);
    assert!(w.table.is_empty());
}

#[test]
fn two_who_guard_a_row_and_want_to_write_it_deadlock() {
    let (w, t, _c) = world(2);
    granted(scan(&w, t[0], b"a", b"c", Shared));
    granted(scan(&w, t[1], b"b", b"d", Shared));
    let first = waits(write(&w, t[0], b"c"));
    let second = waits(write(&w, t[1], b"c"));
    assert_eq!(
        (first.ended(), second.ended()),
        (None, Some(WaitEnd::Deadlock))
    );
    w.end(t[1]);
    assert_eq!(first.ended(), Some(WaitEnd::Granted));
    w.end(t[0]);
    assert!(w.table.is_empty());
}

#[test]
fn the_place_of_a_row_that_is_not_there_is_locked_beside_guards() {
    let (w, t, _c) = world(3);
    granted(scan(&w, t[0], b"a", b"f", Exclusive));
    granted(w.table.lock_absent(&request(t[1], b"c", Exclusive, 0)));
    let other = waits(w.table.lock_absent(&request(t[2], b"c", Exclusive, 0)));
    w.end(t[1]);
    assert_eq!(other.ended(), Some(WaitEnd::Granted));
    w.end(t[0]);
    w.end(t[2]);
    assert!(w.table.is_empty());
}

const KEYS: u8 = 6;

/// One leaf of rows: its latch, and in it who writes each row.
struct Leaf {
    w: World,
    writers: RwLock<[TxnId; KEYS as usize]>,
    /// Readers of a row (positive), or its one writer (-1,000).
    inside: Vec<AtomicI64>,
}

impl Leaf {
    fn enter(&self, held: &mut [i64], key: u8, mode: Mode) {
        let i = usize::from(key);
        let more = match mode {
            Shared if held[i] == 0 => 1,
            Exclusive if held[i] > -1000 => -1000 - held[i],
            _ => 0,
        };
        let now = self.inside[i].fetch_add(more, Ordering::SeqCst) + more;
        held[i] += more;
        assert!(
            now == -1000 || held[i] >= 0 && now > 0,
            "{now} of which {} are mine",
            held[i]
        );
    }

    /// What one transaction does to one key: a scan from `from`, a locking read, or a write.
    fn step(&self, me: TxnId, held: &mut [i64], from: u8, key: u8, mode: Mode, how: u64) -> bool {
        loop {
            let name = [key];
            let writer_of = |rows: &[TxnId; KEYS as usize]| {
                let w = rows[usize::from(key)];
                (w != me && self.w.txns.is_active(w)).then_some(w)
            };
            let mut req = Request {
                on_conflict: WAIT,
                ..request(me, &name, mode, 0)
            };
            let answer = if how == 0 {
                let mut rows = self.writers.write();
                (req.writer, req.mode, req.hold) = (writer_of(&rows), Exclusive, Hold::Row);
                let answer = self.w.table.lock(&req);
                if matches!(answer, Acquired::Granted | Acquired::Held) {
                    rows[usize::from(key)] = me;
                    self.enter(held, key, Exclusive);
                }
                answer
            } else {
                let rows = self.writers.read();
                req.writer = writer_of(&rows);
                let answer = match how {
                    1 => self.w.table.lock(&req),
                    _ => {
                        req.hold = Hold::Row;
                        self.w.table.guard_row(&req, &Span::through(&[from], &name))
                    }
                };
                if matches!(answer, Acquired::Granted | Acquired::Held) {
                    self.enter(held, key, mode);
                }
                answer
            };
            match answer {
                Acquired::Granted | Acquired::Held => return true,
                Acquired::Retry => {}
                Acquired::Conflict | Acquired::Full => panic!("asked to wait"),
                Acquired::Wait(wait) => match block_on(wait) {
                    WaitEnd::Granted => {}
                    WaitEnd::Deadlock => return false,
                    end => panic!("{end:?}"),
                },
            }
        }
    }

    fn run(&self, seed: u64, rounds: usize) {
        let mut rng = SplitMix64::new(base::seed::nth("guards", seed));
        let cell = self.w.txns.register();
        for _ in 0..rounds {
            let me = self.w.begin(&cell);
            let mut held = [0i64; KEYS as usize];
            for _ in 0..1 + rng.below(3) {
                let (from, how) = (rng.below(u64::from(KEYS)) as u8, rng.below(3));
                let mode = [Shared, Exclusive][usize::from(rng.below(3) == 0)];
                let to = match how {
                    2 => (from + rng.below(4) as u8).min(KEYS - 1),
                    _ => from,
                };
                if how == 2 {
                    self.w.table.register_guard(me, 7);
                }
                let mut keys = from..=to;
                if !keys.all(|k| self.step(me, &mut held, k, k, mode, how)) {
                    break;
                }
            }
            for (inside, held) in self.inside.iter().zip(held) {
                inside.fetch_sub(held, Ordering::SeqCst);
            }
            self.w.end(me);
        }
    }
}

#[test]
fn scans_reads_and_writes_of_threads_share_no_row_that_one_has_alone() {
    let leaf = Leaf {
        w: World::new(),
        writers: RwLock::new([TxnId::NONE; KEYS as usize]),
        inside: (0..KEYS).map(|_| AtomicI64::new(0)).collect(),
    };
    std::thread::scope(|scope| {
        for seed in 1..=6u64 {
            let leaf = &leaf;
            scope.spawn(move || leaf.run(seed, 4000));
        }
    });
    assert!(leaf.w.table.is_empty());
}
