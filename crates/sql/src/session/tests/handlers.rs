//! What ends handlers beside statements, what a READ may do, and what is charged for them.

use super::*;

#[test]
fn they_go_with_their_session() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a INT, KEY (a))");
    c.run("INSERT INTO t VALUES (1), (2)");
    c.run("HANDLER t OPEN");
    assert_eq!(c.rows("HANDLER t READ a NEXT"), [["1"]]);
    block_on(c.session.reset()).expect("a reset");
    assert_eq!(c.error("HANDLER t READ a NEXT"), 1109);
    c.run("HANDLER t OPEN");
    block_on(c.session.change_user("root", "localhost", Some("test"))).expect("another user");
    assert_eq!(c.error("HANDLER t READ a NEXT"), 1109);
}

#[test]
fn a_read_needs_what_a_select_needs() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a INT, hid INT INVISIBLE, KEY (a))");
    c.run("INSERT INTO t VALUES (1)");
    c.run("CREATE USER u@localhost");
    let mut u = Client::of(&s, "u");
    assert_eq!(u.error("HANDLER test.t OPEN"), 1142);
    c.run("GRANT SELECT ON test.t TO u@localhost");
    u.run("HANDLER test.t OPEN");
    assert_eq!(u.rows("HANDLER t READ a FIRST"), [["1"]]);
    c.run("REVOKE SELECT ON test.t FROM u@localhost");
    assert_eq!(u.error("HANDLER t READ a FIRST"), 1142);
    c.run("GRANT SELECT (a) ON test.t TO u@localhost");
    assert_eq!(u.rows("HANDLER t READ a FIRST"), [["1"]]);
    assert_eq!(u.error("HANDLER t READ a FIRST WHERE hid = 1"), 1143);
    c.run("REVOKE SELECT (a) ON test.t FROM u@localhost");
    u.run("HANDLER t CLOSE");
}

#[test]
fn they_are_charged_to_the_session() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (v VARCHAR(700), KEY (v))");
    c.run("INSERT INTO t VALUES (REPEAT('x', 700))");
    let before = c.session.memory().held();
    for i in 0..100 {
        c.run(&format!("HANDLER t OPEN AS h{i}"));
    }
    let open = c.session.memory().held();
    assert!(open >= before + 100 * 256, "{before} {open}");
    for i in 0..100 {
        c.run(&format!("HANDLER h{i} READ v FIRST"));
    }
    assert!(c.session.memory().held() >= open + 100 * 700);
    for i in 0..100 {
        c.run(&format!("HANDLER h{i} CLOSE"));
    }
    assert!(c.session.memory().held() < open);
}
