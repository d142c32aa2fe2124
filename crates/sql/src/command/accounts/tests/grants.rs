//! GRANT and REVOKE at every level, and who may.

use super::*;

#[test]
fn grants_are_shown_as_mysql_writes_them() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int, B int)");
    c.run("CREATE USER u");
    c.run("GRANT RELOAD, SELECT ON *.* TO u");
    c.run("GRANT BACKUP_ADMIN, system_user ON *.* TO u");
    c.run("GRANT ROLE_ADMIN ON *.* TO u WITH GRANT OPTION");
    c.run("GRANT ALL ON test.* TO u WITH GRANT OPTION");
    c.run("GRANT INSERT, EXECUTE ON `app\\_%`.* TO u");
    c.run("GRANT SELECT (b, a), INSERT (b), UPDATE ON t TO u");
    c.run("GRANT ALL PRIVILEGES ON test.none_yet TO u WITH GRANT OPTION");
    c.run("GRANT PROXY ON v@h TO u WITH GRANT OPTION");
    assert_eq!(
        grants(&mut c, "u"),
        [
            "GRANT SELECT, RELOAD ON *.* TO `u`@`%`",
            "GRANT BACKUP_ADMIN,SYSTEM_USER ON *.* TO `u`@`%`",
            "GRANT ROLE_ADMIN ON *.* TO `u`@`%` WITH GRANT OPTION",
            "GRANT INSERT, EXECUTE ON `app\\_%`.* TO `u`@`%`",
            "GRANT ALL PRIVILEGES ON `test`.* TO `u`@`%` WITH GRANT OPTION",
            "GRANT ALL PRIVILEGES ON `test`.`none_yet` TO `u`@`%` WITH GRANT OPTION",
            "GRANT SELECT (`a`, `b`), INSERT (`b`), UPDATE ON `test`.`t` TO `u`@`%`",
            "GRANT PROXY ON `v`@`h` TO `u`@`%` WITH GRANT OPTION",
        ]
    );
    is_stored(&s);
    let lines = c.rows("SHOW GRANTS");
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0][0]
            .ends_with("CREATE ROLE, DROP ROLE ON *.* TO `root`@`localhost` WITH GRANT OPTION")
    );
    assert!(lines[1][0].starts_with("GRANT APPLICATION_PASSWORD_ADMIN,AUDIT_ABORT_EXEMPT,"));
    assert_eq!(
        lines[2][0],
        "GRANT PROXY ON ``@`` TO `root`@`localhost` WITH GRANT OPTION"
    );
    assert_eq!(
        c.run("SHOW GRANTS").columns[0].name,
        "Grants for root@localhost"
    );
    assert_eq!(c.error("SHOW GRANTS FOR nobody"), 1141);
}

#[test]
fn what_is_revoked_is_gone() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int, b int)");
    c.run("CREATE USER u");
    c.run("GRANT SELECT, INSERT ON *.* TO u");
    c.run("GRANT SELECT, INSERT ON test.* TO u WITH GRANT OPTION");
    c.run("GRANT SELECT, INSERT (a, b) ON test.t TO u");
    c.run("GRANT BACKUP_ADMIN ON *.* TO u WITH GRANT OPTION");
    c.run("REVOKE SELECT ON *.* FROM u");
    c.run("REVOKE GRANT OPTION, SELECT ON test.* FROM u");
    c.run("REVOKE SELECT, INSERT (a) ON test.t FROM u");
    c.run("REVOKE GRANT OPTION ON *.* FROM u");
    assert_eq!(
        grants(&mut c, "u"),
        [
            "GRANT INSERT ON *.* TO `u`@`%`",
            "GRANT BACKUP_ADMIN ON *.* TO `u`@`%`",
            "GRANT INSERT ON `test`.* TO `u`@`%`",
            "GRANT INSERT (`b`) ON `test`.`t` TO `u`@`%`",
        ]
    );
    c.run("REVOKE ALL ON test.t FROM u");
    assert_eq!(grants(&mut c, "u").len(), 3);
    c.run("REVOKE GRANT OPTION, BACKUP_ADMIN ON *.* FROM u");
    assert_eq!(grants(&mut c, "u").len(), 2);
    assert_eq!(c.error("REVOKE SELECT ON test.t FROM u"), 1147);
    assert_eq!(c.error("REVOKE SELECT ON other.* FROM u"), 1141);
    assert_eq!(c.error("REVOKE SELECT ON *.* FROM nobody"), 1141);
    assert_eq!(
        c.run("REVOKE IF EXISTS SELECT ON other.* FROM u")
            .done
            .warnings,
        1
    );
    let r = c.run("REVOKE SELECT ON *.* FROM nobody IGNORE UNKNOWN USER");
    assert_eq!(r.done.warnings, 1);
    c.run("REVOKE ALL PRIVILEGES, GRANT OPTION FROM u");
    assert_eq!(grants(&mut c, "u"), ["GRANT USAGE ON *.* TO `u`@`%`"]);
    assert_eq!(
        c.error("REVOKE ALL PRIVILEGES, GRANT OPTION FROM nobody"),
        1269
    );
    is_stored(&s);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u");
    for (statement, code) in [
        ("GRANT SELECT ON *.* TO nobody", 1410),
        ("GRANT FLY ON *.* TO u", 1149),
        ("GRANT PROCESS ON test.* TO u", 1221),
        ("GRANT PROCESS ON test.t TO u", 1144),
        ("GRANT LOCK TABLES ON test.t TO u", 1144),
        ("GRANT BACKUP_ADMIN ON test.* TO u", 3619),
        ("GRANT SELECT (a) ON *.* TO u", 1144),
        ("GRANT SELECT (a) ON test.* TO u", 1144),
        ("GRANT DELETE (a) ON test.t TO u", 1221),
        ("GRANT SELECT (z) ON test.t TO u", 1054),
        ("GRANT SELECT ON test.none TO u", 1146),
        ("GRANT EXECUTE ON PROCEDURE test.p TO u", 1305),
        ("GRANT INSERT ON PROCEDURE test.p TO u", 1144),
        ("GRANT SELECT ON information_schema.* TO u", 1044),
        ("GRANT SELECT ON information_schema.tables TO u", 1044),
        ("GRANT SELECT ON test.* TO u AS root@localhost", 3835),
        ("GRANT SELECT ON *.* TO u AS nobody", 3836),
        ("GRANT SELECT ON *.* TO u WITH ADMIN OPTION", 1064),
    ] {
        let e = c.try_all(statement).expect_err(statement);
        assert_eq!(e.code, code, "{statement}: {e}");
    }
    assert_eq!(grants(&mut c, "u").len(), 1);
}

#[test]
fn nobody_gives_what_is_not_his() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int, b int)");
    c.run("CREATE TABLE other (a int)");
    c.run("CREATE USER g@localhost, u");
    let mut g = login(&s, "g").expect("a login");
    assert_eq!(g.error("GRANT USAGE ON *.* TO u"), 1045);
    // On a database.
    c.run("GRANT SELECT, INSERT ON test.* TO g@localhost WITH GRANT OPTION");
    g.run("GRANT SELECT ON test.* TO u WITH GRANT OPTION");
    g.run("GRANT INSERT (a) ON test.t TO u");
    for (statement, code) in [
        ("GRANT UPDATE ON test.* TO u", 1044),
        ("GRANT ALL ON test.* TO u", 1044),
        ("GRANT SELECT ON mysql.* TO u", 1044),
        ("GRANT SELECT ON `%`.* TO u", 1044),
        ("GRANT SELECT ON `tes_`.* TO u", 1044),
        ("GRANT UPDATE ON test.t TO u", 1142),
        ("GRANT UPDATE (a) ON test.t TO u", 1143),
        ("GRANT SELECT ON mysql.user TO u", 1142),
        // Nothing is said of what there is.
        ("GRANT SELECT ON mysql.none TO u", 1142),
        ("GRANT SELECT ON *.* TO u", 1045),
        ("GRANT SYSTEM_USER ON *.* TO u", 1227),
        ("GRANT EXECUTE ON PROCEDURE test.p TO u", 1370),
        ("REVOKE UPDATE ON test.* FROM u", 1044),
        ("GRANT PROXY ON root@localhost TO u", 1698),
        ("GRANT PROXY ON ''@'' TO u", 1698),
    ] {
        let e = g.try_all(statement).expect_err(statement);
        assert_eq!(e.code, code, "{statement}: {e}");
    }
    g.run("REVOKE SELECT ON test.* FROM u");
    g.run("GRANT PROXY ON g@localhost TO u");
    // On a table and a column.
    c.run("REVOKE ALL PRIVILEGES, GRANT OPTION FROM g@localhost");
    c.run("GRANT SELECT, UPDATE (a) ON test.t TO g@localhost WITH GRANT OPTION");
    g.run("GRANT SELECT, UPDATE (a) ON test.t TO u");
    g.run("GRANT SELECT (b) ON test.t TO u");
    assert_eq!(g.error("GRANT UPDATE (b) ON test.t TO u"), 1143);
    assert_eq!(g.error("GRANT UPDATE ON test.t TO u"), 1142);
    assert_eq!(g.error("GRANT SELECT ON test.other TO u"), 1142);
    assert_eq!(g.error("GRANT SELECT ON test.* TO u"), 1044);
    // GRANT OPTION on the server is not the privileges, and the privileges are not GRANT OPTION.
    c.run("GRANT USAGE ON *.* TO g@localhost WITH GRANT OPTION");
    assert_eq!(g.error("GRANT SELECT ON *.* TO u"), 1045);
    c.run("REVOKE GRANT OPTION ON *.* FROM g@localhost");
    c.run("GRANT SELECT ON *.* TO g@localhost");
    assert_eq!(g.error("GRANT SELECT ON *.* TO u"), 1045);
    // Dynamic ones each have theirs.
    c.run("GRANT BACKUP_ADMIN ON *.* TO g@localhost");
    c.run("GRANT CLONE_ADMIN ON *.* TO g@localhost WITH GRANT OPTION");
    c.run("REVOKE GRANT OPTION ON *.* FROM g@localhost");
    assert_eq!(g.error("GRANT CLONE_ADMIN ON *.* TO u"), 1227);
    c.run("GRANT CLONE_ADMIN ON *.* TO g@localhost WITH GRANT OPTION");
    assert_eq!(g.error("GRANT SELECT ON *.* TO u"), 1045);
    assert_eq!(
        g.error("GRANT USAGE, CLONE_ADMIN ON *.* TO u WITH GRANT OPTION"),
        1045
    );
    g.run("GRANT CLONE_ADMIN ON *.* TO u WITH GRANT OPTION");
    let u = account(&s, "u", "%").expect("u");
    assert!(u.dynamic["CLONE_ADMIN"] && u.privileges.is_empty());
    is_stored(&s);
}

#[test]
fn a_grant_is_one_accounts_alone() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost, u@'%', ''@localhost");
    c.run("GRANT SELECT ON test.* TO u@'%', ''@localhost");
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(u.one("SELECT CURRENT_USER()"), "u@localhost");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    let mut nobody = login(&s, "somebody").expect("a login");
    assert_eq!(nobody.one("SELECT CURRENT_USER()"), "@localhost");
    assert_eq!(nobody.one("SELECT USER()"), "somebody@localhost");
    nobody.run("SELECT * FROM test.t");
    assert_eq!(nobody.error("SET PASSWORD = 'x'"), 1131);
}

#[test]
fn partial_revokes_follow_what_is_given() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost, v@localhost");
    c.run("GRANT SELECT, INSERT ON *.* TO u@localhost WITH GRANT OPTION");
    assert_eq!(c.error("REVOKE INSERT ON test.* FROM u@localhost"), 1141);
    c.run("SET GLOBAL partial_revokes = ON");
    c.run("REVOKE INSERT ON test.* FROM u@localhost");
    assert_eq!(
        grants(&mut c, "u@localhost"),
        [
            "GRANT SELECT, INSERT ON *.* TO `u`@`localhost` WITH GRANT OPTION",
            "REVOKE INSERT ON `test`.* FROM `u`@`localhost`",
        ]
    );
    is_stored(&s);
    let mut u = login(&s, "u").expect("a login");
    u.run("SELECT * FROM test.t");
    assert_eq!(u.error("INSERT INTO test.t VALUES (1)"), 1142);
    assert_eq!(u.error("GRANT INSERT ON test.* TO v@localhost"), 1044);
    u.run("GRANT SELECT, INSERT ON *.* TO v@localhost");
    assert_eq!(
        grants(&mut c, "v@localhost"),
        [
            "GRANT SELECT, INSERT ON *.* TO `v`@`localhost`",
            "REVOKE INSERT ON `test`.* FROM `v`@`localhost`",
        ]
    );
    // Whoever has it without restriction keeps it so.
    c.run("GRANT INSERT ON *.* TO v@localhost");
    assert_eq!(grants(&mut c, "v@localhost").len(), 1);
    u.run("GRANT INSERT ON *.* TO v@localhost");
    assert_eq!(grants(&mut c, "v@localhost").len(), 1);
    c.run("GRANT INSERT ON *.* TO v@localhost AS u@localhost");
    c.run("REVOKE ALL ON *.* FROM v@localhost");
    c.run("GRANT SELECT, INSERT ON *.* TO v@localhost AS u@localhost");
    assert_eq!(grants(&mut c, "v@localhost").len(), 2);
    assert_eq!(c.error("SET GLOBAL partial_revokes = OFF"), 3896);
    assert_eq!(c.error("SET GLOBAL partial_revokes = DEFAULT"), 3896);
    c.run("GRANT INSERT ON test.* TO u@localhost");
    assert_eq!(grants(&mut c, "u@localhost").len(), 1);
    u.run("INSERT INTO test.t VALUES (1)");
    is_stored(&s);
}

#[test]
fn concurrent_changes_are_all_in_force() {
    let (s, mut c) = root();
    for i in 0..4 {
        c.run(&format!("CREATE USER u{i}"));
        c.run(&format!("GRANT SELECT ON test.* TO u{i}"));
    }
    let work = |i: usize| {
        let s = Arc::clone(&s);
        std::thread::spawn(move || {
            let mut c = Client::new(&s);
            for n in 0..25 {
                c.run(&format!("CREATE USER x{i}_{n}"));
                c.run(&format!("GRANT INSERT ON d{n}.* TO u{i}"));
                c.run(&format!("GRANT PROCESS ON *.* TO u{}", (i + n) % 4));
            }
            c.run(&format!("REVOKE SELECT ON test.* FROM u{i}"));
        })
    };
    let all: Vec<_> = (0..4).map(work).collect();
    for t in all {
        t.join().expect("a thread");
    }
    let state = s.accounts().snapshot();
    assert_eq!(state.len(), 1 + 4 + 100);
    for i in 0..4 {
        let u = account(&s, &format!("u{i}"), "%").expect("an account");
        assert_eq!(u.databases.len(), 25);
        assert!(u.privileges.has(sql_access::Priv::Process));
    }
    is_stored(&s);
}

#[test]
fn rows_written_by_hand_are_in_force_after_a_flush() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost");
    let mut u = login(&s, "u").expect("a login");
    c.run("UPDATE mysql.user SET Select_priv = 'Y' WHERE User = 'u'");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    c.run("FLUSH PRIVILEGES");
    u.run("SELECT * FROM test.t");
    c.run("UPDATE mysql.user SET Select_priv = 'N', User_attributes = '{\"Restrictions\": 5}' WHERE User = 'u'");
    c.run("INSERT INTO mysql.db (Host, Db, User, Select_priv) VALUES ('localhost', '', 'u', 'Y'), ('%', 'test', 'ghost', 'Y')");
    c.run("INSERT INTO mysql.global_grants VALUES ('u', 'localhost', 'FLY', 'Y')");
    c.run("INSERT INTO mysql.role_edges VALUES ('%', 'ghost', 'localhost', 'u', 'Y')");
    c.run("FLUSH PRIVILEGES");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    assert_eq!(
        grants(&mut c, "u@localhost")[0],
        "GRANT USAGE ON *.* TO `u`@`localhost`"
    );
    c.run("CREATE USER ghost");
    assert_eq!(grants(&mut c, "ghost").len(), 1);
    is_stored(&s);
}
