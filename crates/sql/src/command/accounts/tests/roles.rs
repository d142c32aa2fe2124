//! Roles.

use super::*;

#[test]
fn roles_are_granted_and_made_active() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost");
    c.run("CREATE ROLE reader, writer, inner_role");
    assert_eq!(c.error("CREATE ROLE reader"), 1396);
    assert_eq!(c.run("CREATE ROLE IF NOT EXISTS reader").done.warnings, 1);
    assert_eq!(c.error("CREATE ROLE ''"), 1396);
    c.run("GRANT SELECT ON test.* TO inner_role");
    c.run("GRANT inner_role TO reader");
    c.run("GRANT INSERT ON test.t TO writer");
    c.run("GRANT reader, writer TO u@localhost");
    assert_eq!(login(&s, "reader").err(), Some(3118));
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    assert_eq!(u.one("SELECT CURRENT_ROLE()"), "NONE");
    u.run("SET ROLE reader");
    assert_eq!(u.one("SELECT CURRENT_ROLE()"), "`reader`@`%`");
    u.run("SELECT * FROM test.t");
    assert_eq!(u.error("INSERT INTO test.t VALUES (1)"), 1142);
    u.run("SET ROLE ALL EXCEPT reader");
    u.run("INSERT INTO test.t VALUES (1)");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    u.run("SET ROLE ALL");
    assert_eq!(u.one("SELECT CURRENT_ROLE()"), "`reader`@`%`,`writer`@`%`");
    u.run("SELECT * FROM test.t");
    assert_eq!(u.error("SET ROLE inner_role"), 3530);
    assert_eq!(u.error("SET ROLE nobody"), 3530);
    assert_eq!(
        grants(&mut c, "u@localhost USING reader"),
        [
            "GRANT USAGE ON *.* TO `u`@`localhost`",
            "GRANT SELECT ON `test`.* TO `u`@`localhost`",
            "GRANT `reader`@`%`,`writer`@`%` TO `u`@`localhost`",
        ]
    );
    assert_eq!(
        c.error("SHOW GRANTS FOR u@localhost USING inner_role"),
        3530
    );
    assert_eq!(u.rows("SHOW GRANTS").len(), 4);
    // In force for a live session at once.
    c.run("REVOKE inner_role FROM reader");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    c.run("REVOKE writer FROM u@localhost");
    assert_eq!(u.error("INSERT INTO test.t VALUES (1)"), 1142);
    assert_eq!(c.error("REVOKE writer FROM u@localhost"), 3530);
    assert_eq!(
        c.run("REVOKE IF EXISTS writer FROM u@localhost")
            .done
            .warnings,
        1
    );
    c.run("DROP ROLE reader");
    assert_eq!(grants(&mut c, "u@localhost").len(), 1);
    is_stored(&s);
}

#[test]
fn default_roles_are_active_from_the_login_on() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost");
    c.run("CREATE ROLE r, q");
    c.run("GRANT SELECT ON test.t TO r");
    assert_eq!(c.error("SET DEFAULT ROLE r TO u@localhost"), 3530);
    c.run("GRANT r, q TO u@localhost");
    c.run("SET DEFAULT ROLE r TO u@localhost");
    assert!(
        c.one("SHOW CREATE USER u@localhost")
            .contains(" DEFAULT ROLE `r`@`%` REQUIRE")
    );
    let mut u = login(&s, "u").expect("a login");
    u.run("SELECT * FROM test.t");
    u.run("SET ROLE NONE");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    u.run("SET ROLE DEFAULT");
    u.run("SELECT * FROM test.t");
    u.run("ALTER USER CURRENT_USER DEFAULT ROLE NONE");
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    c.run("ALTER USER u@localhost DEFAULT ROLE ALL");
    assert_eq!(
        account(&s, "u", "localhost")
            .expect("u")
            .default_roles
            .len(),
        2
    );
    c.run("SET DEFAULT ROLE NONE TO u@localhost");
    c.run("SET GLOBAL activate_all_roles_on_login = ON");
    let mut u = login(&s, "u").expect("a login");
    u.run("SELECT * FROM test.t");
    block_on(u.session.change_user("u", "localhost", None)).expect("changed");
    u.run("SELECT * FROM test.t");
    c.run("REVOKE r FROM u@localhost");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    is_stored(&s);
}

#[test]
fn roles_form_no_circles_and_are_passed_on_with_admin_option() {
    let (s, mut c) = root();
    c.run("CREATE USER a@localhost, b@localhost");
    c.run("CREATE ROLE r, q, p");
    c.run("GRANT r TO q");
    c.run("GRANT q TO p");
    let e = c.try_all("GRANT p TO r").unwrap_err();
    assert_eq!(
        (e.code, &*e.message),
        (
            4027,
            "User account `r`@`%` is directly or indirectly granted to the role `p`@`%`. The GRANT would create a loop"
        )
    );
    assert_eq!(c.error("GRANT r TO r"), 4027);
    assert_eq!(c.error("GRANT none TO r"), 3523);
    assert_eq!(c.error("GRANT r TO none"), 3523);
    c.run("GRANT r TO a@localhost WITH ADMIN OPTION");
    c.run("GRANT q TO a@localhost");
    assert_eq!(
        grants(&mut c, "a@localhost")[1..],
        [
            "GRANT `q`@`%` TO `a`@`localhost`",
            "GRANT `r`@`%` TO `a`@`localhost` WITH ADMIN OPTION",
        ]
    );
    let mut a = login(&s, "a").expect("a login");
    a.run("GRANT r TO b@localhost");
    a.run("REVOKE r FROM b@localhost");
    assert_eq!(a.error("GRANT q TO b@localhost"), 1227);
    assert_eq!(a.error("REVOKE q FROM p"), 1227);
    c.run("CREATE USER ''@localhost");
    assert_eq!(c.error("GRANT r TO ''@localhost"), 3876);
    is_stored(&s);
}

#[test]
fn mandatory_roles_are_everybodys() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost");
    c.run("CREATE ROLE m");
    c.run("GRANT SELECT ON test.t TO m");
    c.run("SET GLOBAL mandatory_roles = 'm,nobody'");
    assert_eq!(
        grants(&mut c, "u@localhost")[1],
        "GRANT `m`@`%` TO `u`@`localhost`"
    );
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    u.run("SET ROLE m");
    u.run("SELECT * FROM test.t");
    assert_eq!(c.error("DROP ROLE m"), 3628);
    assert_eq!(c.error("REVOKE m FROM u@localhost"), 3628);
    assert_eq!(c.error("GRANT SYSTEM_USER ON *.* TO m"), 3897);
    c.run("CREATE USER x");
    assert_eq!(c.error("RENAME USER x TO nobody"), 1396);
    assert_eq!(c.error("SET GLOBAL mandatory_roles = 'm,,'"), 1231);
    assert_eq!(
        c.error("SET GLOBAL mandatory_roles = 'root@localhost'"),
        3880
    );
    c.run("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO u@localhost");
    assert_eq!(u.error("SET GLOBAL mandatory_roles = ''"), 1227);
    c.run("SET GLOBAL mandatory_roles = ''");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    c.run("DROP ROLE m");
}

#[test]
fn the_information_schema_tells_of_roles_and_grants() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int, b int)");
    c.run("CREATE USER u@localhost COMMENT 'x'");
    c.run("CREATE USER v");
    c.run("CREATE ROLE r, q");
    c.run("GRANT q TO r");
    c.run("GRANT r TO u@localhost WITH ADMIN OPTION");
    c.run("SET DEFAULT ROLE r TO u@localhost");
    c.run("GRANT SELECT, INSERT (b, a) ON test.t TO q");
    c.run("GRANT SELECT, CREATE VIEW ON test.* TO u@localhost WITH GRANT OPTION");
    c.run("GRANT UPDATE (a), DELETE ON test.t TO u@localhost");
    c.run("GRANT PROCESS, BACKUP_ADMIN ON *.* TO u@localhost");
    let mut u = login(&s, "u").expect("a login");
    let mut all = |what: &str, table: &str| {
        let rows = u.rows(&format!("SELECT {what} FROM information_schema.{table}"));
        let rows: Vec<String> = rows.iter().map(|r| r.join(" ")).collect();
        rows
    };
    assert_eq!(
        all("*", "user_privileges"),
        [
            "'u'@'localhost' def PROCESS NO",
            "'u'@'localhost' def BACKUP_ADMIN NO"
        ]
    );
    assert_eq!(
        all("*", "schema_privileges"),
        [
            "'u'@'localhost' def test SELECT YES",
            "'u'@'localhost' def test CREATE VIEW YES"
        ]
    );
    assert_eq!(
        all("*", "table_privileges"),
        ["'u'@'localhost' def test t DELETE NO"]
    );
    assert_eq!(
        all("*", "column_privileges"),
        ["'u'@'localhost' def test t a UPDATE NO"]
    );
    assert_eq!(
        all("*", "user_attributes"),
        ["u localhost {\"comment\": \"x\"}"]
    );
    assert_eq!(
        all("*", "applicable_roles"),
        [
            "u localhost u localhost r % YES YES NO",
            "u localhost r % q % NO NO NO"
        ]
    );
    assert_eq!(
        all("*", "administrable_role_authorizations"),
        ["u localhost u localhost r % YES YES NO"]
    );
    assert_eq!(all("*", "enabled_roles"), ["r % YES NO", "q % NO NO"]);
    assert_eq!(
        all("*", "role_table_grants"),
        ["root localhost q % def test t Select NO"]
    );
    assert_eq!(
        all("*", "role_column_grants"),
        [
            "root localhost q % def test t a Insert NO",
            "root localhost q % def test t b Insert NO"
        ]
    );
    assert!(all("*", "role_routine_grants").is_empty());
    // Who may read mysql.* sees everybody's.
    let grantees = "SELECT COUNT(DISTINCT grantee) FROM information_schema.user_privileges";
    assert_eq!(c.one(grantees), "5");
}
