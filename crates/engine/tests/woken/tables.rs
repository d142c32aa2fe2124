//! Waits for tables, and for the locks of the whole server.

use super::*;

fn locks(s: &mut Session, t: &Arc<Table>, mode: TableLockMode) -> Result<(), SqlError> {
    block_on(s.lock_tables(&[(t.clone(), mode)]))
}

/// Begins to do something, and comes back when it waits for a table.
fn waits_for_table(
    s: Session,
    seed: u64,
    f: impl FnOnce(&mut Session) -> Result<(), SqlError> + Send + 'static,
) -> JoinHandle<(Session, Result<(), SqlError>)> {
    let interrupt = s.interrupt();
    let waiting = behind(s, seed, f);
    until("nobody waits", || interrupt.tables.waits().is_some());
    waiting
}

fn uses(s: &mut Session) -> Result<(), SqlError> {
    s.begin(Isolation::ReadCommitted, false);
    let used = block_on(s.open_table("s", "t"));
    block_on(s.commit())?;
    used.map(drop)
}

#[test]
fn who_waits_for_a_table_has_it_when_it_is_given_back() {
    within(LIMIT, "a locked table", || {
        let e = stage();
        let t = e.catalog().table("s", "t").unwrap();
        for (seed, mode) in [(1, TableLockMode::Write), (2, TableLockMode::Change)] {
            let mut owner = session(&e);
            locks(&mut owner, &t, mode).unwrap();
            let one = waits_for_table(session(&e), seed, uses);
            let lock = t.clone();
            let another = waits_for_table(session(&e), seed, move |s| {
                locks(s, &lock, TableLockMode::Read)?;
                s.unlock_tables();
                Ok(())
            });
            a_moment();
            owner.unlock_tables();
            one.join().unwrap().1.unwrap();
            another.join().unwrap().1.unwrap();
        }
        drop(t);
        close(&e);
    });
}

/// Somebody uses the table and stays. Who wants it alone keeps others off it for a moment, and then lets them pass.
#[test]
fn who_was_kept_off_for_a_moment_goes_on() {
    within(LIMIT, "a table that was asked for", || {
        let e = stage();
        let (stays, t) = user(&e, "t");
        let lock = t.clone();
        let wants = waits_for_table(session(&e), 1, move |s| {
            locks(s, &lock, TableLockMode::Write)
        });
        waits_for_table(session(&e), 2, uses)
            .join()
            .unwrap()
            .1
            .unwrap();
        drop((stays, t));
        wants.join().unwrap().1.unwrap();
        close(&e);
    });
}

#[test]
fn who_waits_for_a_table_is_told_that_it_is_free() {
    within(LIMIT, "a table in use", || {
        let e = stage();
        for seed in 0..3 {
            let (mut one, t) = user(&e, "t");
            let lock = t.clone();
            let wants = waits_for_table(session(&e), seed, move |s| {
                locks(s, &lock, TableLockMode::Write)
            });
            // It has let others pass by then, and waits for the end of those who are there.
            thread::sleep(Duration::from_millis(80));
            block_on(one.commit()).unwrap();
            drop((one, t));
            let (mut s, got) = wants.join().unwrap();
            got.unwrap();
            s.unlock_tables();
        }
        close(&e);
    });
}

/// A change has a claim to a table that is free by now, and waits for another one. It is killed.
#[test]
fn who_waits_behind_a_claim_goes_on_when_it_is_given_up() {
    within(LIMIT, "a claim", || {
        let e = stage();
        let (stays, _) = user(&e, "other");
        let t = e.catalog().table("s", "t").unwrap();
        let mut owner = session(&e);
        locks(&mut owner, &t, TableLockMode::Write).unwrap();
        let changes = session(&e);
        let interrupt = changes.interrupt();
        let change = waits_for_table(changes, 1, |s| {
            let both = ["t", "other"].map(|name| ("s".to_owned(), name.to_owned()));
            block_on(s.drop_tables(&both, false))
        });
        let waiting = waits_for_table(session(&e), 2, uses);
        owner.unlock_tables();
        // Until it has come to the other table.
        thread::sleep(Duration::from_millis(100));
        assert!(!waiting.is_finished());
        interrupt.kill_query();
        assert_eq!(change.join().unwrap().1.unwrap_err().code, 1317);
        waiting.join().unwrap().1.unwrap();
        drop((owner, stays, t));
        close(&e);
    });
}

#[test]
fn who_is_killed_while_it_waits_for_a_table_hears_of_it() {
    within(LIMIT, "a kill", || {
        let e = stage();
        let t = e.catalog().table("s", "t").unwrap();
        let mut owner = session(&e);
        locks(&mut owner, &t, TableLockMode::Write).unwrap();
        let s = session(&e);
        let interrupt = s.interrupt();
        let waiting = waits_for_table(s, 1, uses);
        a_moment();
        interrupt.kill_query();
        assert_eq!(waiting.join().unwrap().1.unwrap_err().code, 1317);
        drop((owner, t));
        close(&e);
    });
}

/// Who is to lock the server waits for a statement that writes; another that is to write waits for the server.
#[test]
fn the_server_goes_from_one_to_the_next() {
    within(LIMIT, "the server", || {
        let e = stage();
        for round in 0..3 {
            let mut writer = session(&e);
            writer.answer_to_server_locks();
            block_on(writer.begin_writing()).unwrap();
            let reader = behind(session(&e), round, |s| {
                block_on(s.lock_server_for_reading())
            });
            // It has let others pass by then, and waits for the end of those who write.
            thread::sleep(Duration::from_millis(80));
            writer.end_writing();
            let (mut reader, locked) = reader.join().unwrap();
            locked.unwrap();
            assert!(!writer.begin_writing_now());
            let waiting = behind(writer, round + 10, |s| block_on(s.begin_writing()));
            a_moment();
            assert!(!waiting.is_finished());
            assert!(reader.unlock_server_for_reading());
            let (writer, begun) = waiting.join().unwrap();
            begun.unwrap();
            writer.end_writing();
        }
        close(&e);
    });
}

/// Who has the server wants a table that somebody has written, who cannot commit before he has the server.
#[test]
fn who_keeps_the_server_from_a_table_and_waits_for_it_is_told() {
    within(LIMIT, "a circle", || {
        let e = stage();
        let (mut writer, t) = user(&e, "t");
        writer.answer_to_server_locks();
        block_on(async {
            writer.begin_writing().await.unwrap();
            writer.insert(&t, &row(100, 0, 1, 10)).await.unwrap();
            writer.end_writing();
        });
        let mut reader = session(&e);
        block_on(reader.lock_server_for_reading()).unwrap();
        let lock = t.clone();
        let wants = waits_for_table(reader, 1, move |s| locks(s, &lock, TableLockMode::Read));
        let refused = block_on(writer.commit()).unwrap_err();
        assert_eq!(refused.code, 1213);
        let (reader, got) = wants.join().unwrap();
        got.unwrap();
        // The other way round: he waits already.
        drop((reader, writer, t));
        let (mut writer, t) = user(&e, "t");
        writer.answer_to_server_locks();
        block_on(writer.insert(&t, &row(100, 0, 1, 10))).unwrap();
        let mut reader = session(&e);
        block_on(reader.lock_server_for_reading()).unwrap();
        let commits = behind(writer, 2, |s| block_on(s.commit()));
        a_moment();
        locks(&mut reader, &t, TableLockMode::Read).unwrap();
        assert_eq!(commits.join().unwrap().1.unwrap_err().code, 1213);
        drop((reader, t));
        close(&e);
    });
}

/// Who has the server and is refused a table waits for nobody: nobody loses his transaction for it.
#[test]
fn who_is_refused_a_table_is_in_nobodys_way() {
    within(LIMIT, "no circle", || {
        let e = stage();
        for n in 0..20 {
            let (mut writer, t) = user(&e, "t");
            writer.answer_to_server_locks();
            block_on(writer.insert(&t, &row(100 + n, n, 1, 10))).unwrap();
            let mut reader = session(&e);
            reader.answer_to_server_locks();
            block_on(reader.lock_server_for_reading()).unwrap();
            let commits = behind(writer, n as u64, |s| block_on(s.commit()));
            if n % 2 == 0 {
                a_moment();
            }
            for _ in 0..50 {
                let refused = locks(&mut reader, &t, TableLockMode::Write).unwrap_err();
                assert_eq!(refused.code, 1223);
                thread::yield_now();
            }
            assert!(!commits.is_finished());
            reader.release_locks();
            commits.join().unwrap().1.unwrap();
        }
        close(&e);
    });
}
