//! What a login leaves on its session: an expired password, limits, counters.

use super::*;

#[test]
fn an_expired_password_leaves_nothing_but_to_change_it() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost IDENTIFIED BY 'a' PASSWORD EXPIRE");
    c.run("GRANT ALL ON test.* TO u@localhost");
    c.run("CREATE USER v@localhost");
    let mut u = login(&s, "u").expect("a login");
    block_on(async { u.session.enter(Some("test")) }).expect("the database of the login");
    for statement in [
        "SELECT 1",
        "SET @a = 1",
        "USE test",
        "SHOW GRANTS",
        "BEGIN",
        "PREPARE p FROM 'SELECT 1'",
        "ALTER USER v@localhost IDENTIFIED BY 'x'",
        "SET PASSWORD FOR v@localhost = 'x'",
        "ALTER USER u@localhost ACCOUNT UNLOCK",
    ] {
        assert_eq!(u.error(statement), 1820, "{statement}");
    }
    assert_eq!(
        u.session.prepare(b"SELECT 1").err().map(|e| e.code),
        Some(1820)
    );
    assert_eq!(
        u.session.use_database("test").err().map(|e| e.code),
        Some(1820)
    );
    u.run("ALTER USER USER() IDENTIFIED BY 'b'");
    assert_eq!(u.one("SELECT 1"), "1");
    c.run("ALTER USER u@localhost PASSWORD EXPIRE");
    assert_eq!(u.one("SELECT 1"), "1");
    let mut u = login(&s, "u").expect("a login");
    u.run("SET PASSWORD = 'c'");
    assert_eq!(u.one("SELECT 2"), "2");
}

#[test]
fn limits_an_hour_hold_for_all_sessions_of_an_account() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int primary key)");
    c.run("CREATE USER u@localhost WITH MAX_QUERIES_PER_HOUR 4 MAX_UPDATES_PER_HOUR 1");
    c.run("GRANT ALL ON test.* TO u@localhost");
    let mut u = login(&s, "u").expect("a login");
    let mut other = login(&s, "u").expect("a login");
    u.run("INSERT INTO test.t VALUES (1)");
    let e = other.try_all("INSERT INTO test.t VALUES (2)").unwrap_err();
    assert_eq!(
        (e.code, &*e.message),
        (
            1226,
            "User 'u' has exceeded the 'max_updates' resource (current value: 1)"
        )
    );
    // The same text again comes from the cache of plans.
    for _ in 0..3 {
        other.run("SELECT * FROM test.t");
    }
    assert_eq!(other.error("SELECT * FROM test.t"), 1226);
    let p = u.session.prepare(b"SELECT * FROM test.t WHERE a = 1");
    let p = p.expect("a statement").id;
    let mut sink = sql_plan::sink::Collector::new();
    let r = block_on(u.session.execute_prepared(p, &[], &mut sink));
    assert_eq!(r.map_err(|e| e.code), Err(1226));
    let now = u.session.start_prepared(p, &[], &mut sink);
    assert!(matches!(
        now,
        crate::session::Execution::Pending(crate::session::Pending::Statement)
    ));
    c.run("FLUSH USER_RESOURCES");
    u.run("SELECT * FROM test.t");
    c.run("ALTER USER u@localhost WITH MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 0");
    for n in 2..12 {
        u.run(&format!("INSERT INTO test.t VALUES ({n})"));
    }
}

#[test]
fn failures_are_forgotten_with_a_new_password() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME 1");
    let fail = || {
        let state = s.accounts().snapshot();
        let attempt = Attempt::new(&state, "u", "localhost", None);
        let settings = Settings {
            now_us: s.clock.wall_us(),
            ..Settings::default()
        };
        let r = s.logins().decide(&attempt, false, true, settings);
        r.map(|_| ()).unwrap_err().code
    };
    for unlock in [
        "ALTER USER u@localhost ACCOUNT UNLOCK",
        "SET PASSWORD FOR u@localhost = 'x'",
        "FLUSH PRIVILEGES",
    ] {
        assert_eq!(fail(), 3955);
        assert_eq!(login(&s, "u").err(), Some(3955));
        c.run(unlock);
        assert!(login(&s, "u").is_ok(), "{unlock}");
    }
}

#[test]
fn a_change_of_user_leaves_nothing_of_the_one_before() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost WITH MAX_USER_CONNECTIONS 1");
    c.run("CREATE USER v@localhost");
    c.run("GRANT ALL ON *.* TO u@localhost");
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(login(&s, "u").err(), Some(1226));
    u.run("SELECT * FROM test.t");
    let state = s.accounts().snapshot();
    let attempt = Attempt::new(&state, "v", "localhost", None);
    let v = s.logins().decide(&attempt, true, true, Settings::default());
    block_on(u.session.change_login(v.expect("a login"), None)).expect("changed");
    assert_eq!(u.one("SELECT CURRENT_USER()"), "v@localhost");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    assert!(login(&s, "u").is_ok());
}
