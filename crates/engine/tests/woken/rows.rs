//! Waits for rows, and for a turn to commit.

use super::*;

/// Begins to wait for a row of `t` that somebody has locked.
fn waits_for_row(
    e: &Arc<Engine>,
    seed: u64,
    id: i64,
    mode: ReadMode,
    seconds: u32,
) -> JoinHandle<(Session, Result<(), SqlError>)> {
    let before = e.counters().row_lock_waits;
    let (mut s, t) = user(e, "t");
    s.set_lock_wait_timeout(seconds);
    let waiting = behind(s, seed, move |s| block_on(lock(s, &t, id, mode)));
    until("nobody waits", || e.counters().row_lock_waits > before);
    waiting
}

/// Each of them waits for another row, as one that ends is woken by more than its own end where they stand in one queue.
#[test]
fn who_is_killed_while_it_waits_for_a_row_hears_of_it() {
    within(LIMIT, "a kill", || {
        let e = stage();
        let (mut owner, t) = user(&e, "t");
        for id in 0..4 {
            block_on(lock(&mut owner, &t, id, FOR_UPDATE)).unwrap();
        }
        for round in 0..4u32 {
            let (s, _) = user(&e, "t");
            let interrupt = s.interrupt();
            let before = e.counters().row_lock_waits;
            let t = t.clone();
            let seed = u64::from(round);
            let waiting = behind(s, seed, move |s| {
                block_on(lock(s, &t, i64::from(round), FOR_UPDATE))
            });
            until("nobody waits", || e.counters().row_lock_waits > before);
            a_moment();
            interrupt.kill_query();
            let (mut s, done) = waiting.join().unwrap();
            assert_eq!(done.unwrap_err().code, 1317);
            interrupt.clear_query();
            block_on(s.rollback()).unwrap();
        }
        block_on(owner.commit()).unwrap();
        drop((owner, t));
        close(&e);
    });
}

/// A reader has the row, a writer waits for it, and another reader behind the writer. The writer gives up.
#[test]
fn who_gives_up_lets_those_go_who_stood_behind_it() {
    within(LIMIT, "a reader behind a writer", || {
        let e = stage();
        let (mut owner, t) = user(&e, "t");
        block_on(lock(&mut owner, &t, 1, FOR_SHARE)).unwrap();
        let writer = waits_for_row(&e, 1, 1, FOR_UPDATE, 1);
        let reader = waits_for_row(&e, 2, 1, FOR_SHARE, FOR_EVER);
        let (writer, gave_up) = writer.join().unwrap();
        assert_eq!(gave_up.unwrap_err().code, 1205);
        let (reader, got) = reader.join().unwrap();
        got.unwrap();
        drop((writer, reader, owner, t));
        close(&e);
    });
}

/// The clock is set for the first of several timeouts, and for the next when it has rung.
#[test]
fn every_timeout_comes() {
    within(LIMIT, "a timeout", || {
        let e = stage();
        let (mut owner, t) = user(&e, "t");
        block_on(lock(&mut owner, &t, 1, FOR_UPDATE)).unwrap();
        let waiting = [1, 2, 2].map(|s| waits_for_row(&e, u64::from(s), 1, FOR_UPDATE, s));
        for w in waiting {
            let (mut s, done) = w.join().unwrap();
            assert_eq!(done.unwrap_err().code, 1205);
            block_on(s.rollback()).unwrap();
        }
        drop((owner, t));
        close(&e);
    });
}

/// The lock of a row goes from one to the next, whatever holds them up between a look and what follows from it.
#[test]
fn a_rows_lock_goes_from_one_to_the_next() {
    within(LIMIT, "a row", || {
        let e = stage();
        let all: Vec<_> = (0..6)
            .map(|n| {
                behind(session(&e), n, move |s| {
                    block_on(async {
                        for _ in 0..60 {
                            s.begin(Isolation::ReadCommitted, false);
                            let t = s.open_table("s", "t").await?;
                            lock(s, &t, 1, FOR_UPDATE).await?;
                            s.commit().await?;
                        }
                        Ok(())
                    })
                })
            })
            .collect();
        for one in all {
            one.join().unwrap().1.unwrap();
        }
        close(&e);
    });
}

/// Turns are taken by those whose numbers are the highest first, so that nearly everybody waits.
#[test]
fn a_turn_goes_from_one_to_the_next() {
    const TURNS: u64 = 12;
    within(LIMIT, "a turn", || {
        let e = stage();
        let order = e.begin_commit_order();
        let all: Vec<_> = (1..=TURNS)
            .rev()
            .map(|n| {
                let (mut s, t) = user(&e, "t");
                s.stand_in_order(Some(order.turn(n)));
                behind(s, n, move |s| {
                    block_on(async {
                        s.insert(&t, &row(100 + n as i64, 0, 1, 10)).await?;
                        s.wait_turn().await?;
                        let committing = s.commit_in_memory().await?;
                        s.pass_turn();
                        s.wait_durable(committing).await
                    })
                })
            })
            .collect();
        for one in all {
            one.join().unwrap().1.unwrap();
        }
        drop(order);
        close(&e);
    });
}
