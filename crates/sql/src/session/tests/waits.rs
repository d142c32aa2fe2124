//! Waits that need each other's ends: whoever waits is woken, and nobody waits for one who waits for him.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;

/// Fails instead of hanging when `f` does not come to its end.
fn within(what: &str, f: impl FnOnce() + Send + 'static) {
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        f();
        let _ = tx.send(());
    });
    match rx.recv_timeout(Duration::from_secs(50)) {
        Ok(()) => {}
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: still waiting"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{what}: panicked"),
    }
}

/// Runs a statement on a thread of its own, and comes back when it has had time to begin to wait; gives its error's number, or the number that it
/// gave.
fn behind(mut c: Client, sql: &'static str) -> JoinHandle<(Client, Result<i64, u16>)> {
    let waiting = thread::spawn(move || {
        let seed = base::seed::of(sql);
        let done = base::perturb::perturbed(seed, || c.try_all(sql));
        let done = done.map_err(|e| e.code).map(|mut all| {
            let last = all.pop().unwrap_or_default();
            match last.rows.first().map(|r| &r[0]) {
                Some(Value::Int(n)) => *n,
                _ => 0,
            }
        });
        (c, done)
    });
    thread::sleep(Duration::from_millis(30));
    waiting
}

#[test]
fn a_named_lock_goes_to_who_waits_for_it() {
    within("a named lock", || {
        let s = server();
        for how in ["DO RELEASE_LOCK('a')", "DO RELEASE_ALL_LOCKS()", "its end"] {
            let mut owner = Client::in_test(&s);
            assert_eq!(owner.one("SELECT GET_LOCK('a', 0)"), "1");
            let waiting = behind(Client::in_test(&s), "SELECT GET_LOCK('a', -1)");
            match how {
                "its end" => block_on(owner.session.close()),
                sql => drop(owner.run(sql)),
            }
            let (next, got) = waiting.join().expect("a thread");
            assert_eq!(got, Ok(1), "{how}");
            block_on(next.session.close());
        }
    });
}

/// Each of them has one lock and wants the next one's, all for as long as it takes: the last to ask is told, and who is told gives up what it has.
#[test]
fn who_would_wait_in_a_circle_of_named_locks_is_told() {
    within("a circle of named locks", || {
        let s = server();
        for wants in [
            &["DO GET_LOCK('b', -1)", "DO GET_LOCK('a', -1)"][..],
            &[
                "DO GET_LOCK('b', -1)",
                "DO GET_LOCK('c', -1)",
                "DO GET_LOCK('a', -1)",
            ],
        ] {
            let all: Vec<_> = ["a", "b", "c"]
                .iter()
                .zip(wants)
                .map(|(has, wants)| {
                    let mut c = Client::in_test(&s);
                    assert_eq!(c.one(&format!("SELECT GET_LOCK('{has}', 0)")), "1");
                    (c, *wants)
                })
                .collect();
            let all: Vec<_> = all
                .into_iter()
                .map(|(mut c, sql)| {
                    thread::spawn(move || {
                        let code = c.error(sql);
                        assert_eq!(c.one("SELECT RELEASE_ALL_LOCKS() > 0"), "1");
                        code
                    })
                })
                .collect();
            let codes = all.into_iter().map(|t| t.join().expect("a thread"));
            let told = codes.filter(|code| match code {
                0 => false,
                3058 => true,
                other => panic!("{other}"),
            });
            assert_eq!(told.count(), 1);
        }
        // Who does not wait is in no circle.
        let mut both = [Client::in_test(&s), Client::in_test(&s)];
        both[0].run("DO GET_LOCK('a', 0)");
        both[1].run("DO GET_LOCK('b', 0)");
        let [mut one, other] = both;
        let waiting = behind(other, "SELECT GET_LOCK('a', 100)");
        assert_eq!(one.one("SELECT GET_LOCK('b', 0)"), "0");
        one.run("DO RELEASE_LOCK('a')");
        assert_eq!(waiting.join().expect("a thread").1, Ok(1));
    });
}

#[test]
fn one_change_of_the_accounts_comes_after_the_other() {
    within("changes of accounts", || {
        let s = server();
        let all: Vec<_> = (0..4u64)
            .map(|n| {
                let mut c = Client::in_test(&s);
                thread::spawn(move || {
                    base::perturb::perturbed(base::seed::nth("accounts", n), || {
                        for _ in 0..12 {
                            c.run(&format!("CREATE USER u{n}"));
                            c.run(&format!("DROP USER u{n}"));
                        }
                    });
                })
            })
            .collect();
        for one in all {
            one.join().expect("a thread");
        }
    });
}

/// A change of the accounts waits for a table of theirs that somebody has locked. That one must not wait for the change.
#[test]
fn who_has_locked_their_tables_does_not_wait_for_the_accounts() {
    within("FLUSH PRIVILEGES", || {
        let s = server();
        let mut owner = Client::in_test(&s);
        owner.run("LOCK TABLES mysql.user READ");
        let waiting = behind(Client::in_test(&s), "CREATE USER one_more");
        assert_eq!(owner.error("FLUSH PRIVILEGES"), 1100);
        owner.run("UNLOCK TABLES");
        waiting.join().expect("a thread").1.expect("a change");
        owner.run("FLUSH PRIVILEGES");
    });
}
