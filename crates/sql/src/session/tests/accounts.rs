//! What becomes of a connection when its account or its user changes, and what connections see of each other.

use base::block_on;
use types::Value;

use super::Client;
use super::access::{change, stage};
use sql_access::{AccountId, AccountState, Priv, PrivSet};
use sql_plan::sink::Collector;

#[test]
fn a_change_of_user_takes_the_powers_away() {
    let (_s, mut root) = stage();
    root.run("USE a");
    let id = root
        .session
        .prepare(b"SELECT id FROM a.t WHERE id = ?")
        .expect("prepared")
        .id;
    block_on(root.session.change_user("u", "localhost", None)).expect("another user");
    assert_eq!(root.error("SELECT id FROM a.t"), 1142);
    assert_eq!(root.error("SET GLOBAL max_connections = 10"), 1227);
    assert_eq!(root.error("USE mysql"), 1044);
    assert_eq!(root.one("SELECT CURRENT_USER()"), "u@localhost");
    let mut sink = Collector::new();
    let again = block_on(
        root.session
            .execute_prepared(id, &[Value::Int(1)], &mut sink),
    );
    assert_eq!(again.map_err(|e| e.code), Err(1243));
    let refused = block_on(root.session.change_user("u", "localhost", Some("a")));
    assert_eq!(refused.map_err(|e| e.code), Err(1044));
}

#[test]
fn others_connections_are_not_ones_own() {
    let (s, root) = stage();
    change(&s, |a| a.privileges = PrivSet::of(Priv::Process));
    let mut u = Client::of(&s, "u");
    let mut other = Client::of(&s, "u");
    let victim = root.session.id();
    assert_eq!(u.error(&format!("KILL {victim}")), 1095);
    assert!(u.rows("SHOW PROCESSLIST").len() >= 3);
    assert_eq!(u.error(&format!("KILL QUERY {}", other.session.id())), 0);
    change(&s, |a| {
        a.dynamic.insert("CONNECTION_ADMIN".into(), false);
    });
    // root has SYSTEM_USER.
    assert_eq!(u.error(&format!("KILL {victim}")), 1227);
    change(&s, |a| {
        a.dynamic.insert("CONNECTION_ADMIN".into(), false);
        a.dynamic.insert("SYSTEM_USER".into(), false);
    });
    assert_eq!(u.error(&format!("KILL QUERY {victim}")), 0);
    other.error("SELECT 1");
    assert_eq!(other.rows("SHOW PROCESSLIST").len(), 2);
}

#[test]
fn ordinary_connections_begin_as_the_server_says() {
    let (s, mut root) = stage();
    let begin = |c: &mut Client| block_on(c.session.init_connect()).map_err(|e| e.code);
    let mut u = Client::of(&s, "u");
    assert_eq!(begin(&mut u), Ok(()));
    root.run("SET GLOBAL init_connect = 'SET @a = 7; SET @b = @a + 1'");
    assert_eq!(begin(&mut u), Ok(()));
    assert_eq!(u.one("SELECT @b"), "8");
    assert_eq!(begin(&mut root), Ok(()));
    assert_eq!(root.one("SELECT @b"), "NULL");
    root.run("SET GLOBAL init_connect = 'INSERT INTO a.t VALUES (9, 9, 9)'");
    assert_eq!((begin(&mut u), begin(&mut root)), (Err(1184), Ok(())));
    assert_eq!(root.one("SELECT COUNT(*) FROM a.t"), "2");
}

#[test]
fn the_server_itself_needs_no_account() {
    let (s, _root) = stage();
    let gone = |state: &mut AccountState| {
        state.remove(&AccountId::new("root", "localhost"));
        Ok(())
    };
    block_on(s.accounts().change(s.engine(), gone)).expect("a change");
    let id = s.next_connection_id();
    let mut c = Client {
        session: crate::Session::of_the_server(&s, id),
    };
    assert_eq!(c.one("SELECT COUNT(*) FROM a.t"), "2");
    assert_eq!(
        c.error("INSERT INTO information_schema.tables VALUES (1)"),
        1044
    );
}
