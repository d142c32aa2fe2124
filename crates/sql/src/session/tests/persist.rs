//! SET PERSIST and its like: what is kept, what is refused, and that nothing is kept that cannot be written.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::lock::Mutex;

use super::{Client, server};
use crate::context::persisted::PersistedStore;
use crate::persisted::decode;

/// A server that keeps values in a text, and refuses to while the switch is on.
fn keeping() -> (Client, Arc<Mutex<String>>, Arc<AtomicBool>) {
    let s = server();
    let file: Arc<Mutex<String>> = Arc::default();
    let full: Arc<AtomicBool> = Arc::default();
    let (to, refuses) = (Arc::clone(&file), Arc::clone(&full));
    let write = move |text: &str| match refuses.load(Ordering::SeqCst) {
        true => Err(io::Error::from_raw_os_error(28)),
        false => {
            *to.lock() = text.to_owned();
            Ok(())
        }
    };
    s.keep_persisted(PersistedStore::new(Vec::new(), Box::new(write)));
    (Client::in_test(&s), file, full)
}

const KEPT: &str = "SELECT * FROM performance_schema.persisted_variables";

#[test]
fn values_are_checked_kept_and_shown() {
    let (mut c, file, _) = keeping();
    c.run("SET PERSIST max_connections = 77, @@persist.sql_mode = 'ANSI_QUOTES'");
    assert_eq!(c.one("SELECT @@max_connections"), "77");
    c.run("SET PERSIST_ONLY innodb_log_file_size = 8388608, PERSIST_ONLY wait_timeout = 60");
    assert_ne!(c.one("SELECT @@global.wait_timeout"), "60");
    let want = [
        ["innodb_log_file_size", "8388608"],
        ["max_connections", "77"],
        ["sql_mode", "ANSI_QUOTES"],
        ["wait_timeout", "60"],
    ];
    assert_eq!(c.rows(KEPT), want);
    let text = file.lock().clone();
    let kept = decode(&text).expect("whole");
    assert_eq!(kept.len(), 4);
    assert!(kept.iter().all(|v| v.user == "root" && v.set_us > 0));
    // As SET GLOBAL: moved into its limits with a warning, or refused.
    assert_eq!(c.run("SET PERSIST wait_timeout = 0").done.warnings, 1);
    assert_eq!(c.rows(KEPT)[3][1], "1");
    assert_eq!(c.error("SET PERSIST sql_mode = 'NOTHING'"), 1231);
    assert_eq!(c.error("SET PERSIST nothing = 1"), 1193);
    assert_eq!(c.error("SET PERSIST innodb_log_file_size = 8388608"), 1238);
    assert_eq!(c.error("SET PERSIST_ONLY datadir = '/x'"), 1238);
    assert_eq!(c.error("SET PERSIST_ONLY port = 1"), 1238);
    assert_eq!(c.error("SET PERSIST_ONLY pseudo_thread_id = 1"), 1228);
    assert_eq!(c.error("SET PERSIST_ONLY max_connections = 'x'"), 1232);
    c.run("SET PERSIST max_connections = DEFAULT");
    assert_ne!(c.rows(KEPT)[1][1], "77");
}

#[test]
fn what_is_kept_is_taken_back() {
    let (mut c, file, _) = keeping();
    c.run("SET PERSIST max_connections = 77, PERSIST wait_timeout = 60");
    c.run("RESET PERSIST MAX_CONNECTIONS");
    assert_eq!(c.rows(KEPT), [["wait_timeout", "60"]]);
    assert_eq!(c.error("RESET PERSIST max_connections"), 3615);
    assert_eq!(
        c.run("RESET PERSIST IF EXISTS max_connections")
            .done
            .warnings,
        1
    );
    assert_eq!(c.rows("SHOW WARNINGS")[0][1], "3615");
    c.run("RESET PERSIST");
    assert!(c.rows(KEPT).is_empty());
    assert_eq!(decode(&file.lock()), Ok(Vec::new()));
    assert_eq!(c.one("SELECT @@global.wait_timeout"), "60");
}

#[test]
fn what_cannot_be_written_is_not_kept() {
    let (mut c, file, full) = keeping();
    c.run("SET PERSIST wait_timeout = 60");
    let before = file.lock().clone();
    full.store(true, Ordering::SeqCst);
    assert_eq!(c.error("SET PERSIST wait_timeout = 61"), 1026);
    assert_eq!(c.error("RESET PERSIST"), 1026);
    assert_eq!(c.rows(KEPT), [["wait_timeout", "60"]]);
    assert_eq!(*file.lock(), before);
    // Without a place for it, it is refused before anything is set.
    let mut other = Client::in_test(&server());
    assert_eq!(other.error("SET PERSIST wait_timeout = 61"), 1235);
    assert_ne!(other.one("SELECT @@global.wait_timeout"), "61");
}

#[test]
fn who_may_not_does_not() {
    let (mut root, _, _) = keeping();
    root.run("CREATE USER u@localhost; SET PERSIST_ONLY innodb_log_file_size = 8388608");
    let mut u = Client::of(root.session.instance(), "u");
    assert_eq!(u.error("SET PERSIST wait_timeout = 60"), 1227);
    assert_eq!(u.error("RESET PERSIST"), 1227);
    root.run("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO u@localhost");
    u.run("SET PERSIST wait_timeout = 60");
    assert_eq!(u.error("SET PERSIST_ONLY wait_timeout = 60"), 1227);
    u.run("RESET PERSIST wait_timeout");
    assert_eq!(u.error("RESET PERSIST innodb_log_file_size"), 1227);
    assert_eq!(u.error("RESET PERSIST"), 1227);
    root.run("GRANT PERSIST_RO_VARIABLES_ADMIN ON *.* TO u@localhost");
    u.run("RESET PERSIST");
}
