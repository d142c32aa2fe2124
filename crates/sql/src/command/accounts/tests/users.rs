//! CREATE, ALTER, DROP, RENAME USER and SHOW CREATE USER.

use super::*;

fn shown(c: &mut Client, of: &str) -> String {
    c.one(&format!("SHOW CREATE USER {of}"))
}

#[test]
fn every_clause_is_kept_and_shown() {
    let (s, mut c) = root();
    c.run("CREATE USER plain");
    assert_eq!(
        shown(&mut c, "plain"),
        "CREATE USER `plain`@`%` IDENTIFIED WITH 'caching_sha2_password' REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK \
         PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT"
    );
    c.run(
        "CREATE USER u@localhost IDENTIFIED WITH mysql_native_password AS '*AB' \
         REQUIRE SUBJECT '/CN=a' AND ISSUER '/O=b' CIPHER 'C' \
         WITH MAX_QUERIES_PER_HOUR 1 MAX_UPDATES_PER_HOUR 2 MAX_CONNECTIONS_PER_HOUR 3 MAX_USER_CONNECTIONS 4 \
         PASSWORD EXPIRE INTERVAL 5 DAY PASSWORD HISTORY 6 PASSWORD REUSE INTERVAL 7 DAY PASSWORD REQUIRE CURRENT OPTIONAL \
         FAILED_LOGIN_ATTEMPTS 8 PASSWORD_LOCK_TIME UNBOUNDED ACCOUNT LOCK COMMENT 'it''s'",
    );
    let all = "CREATE USER `u`@`localhost` IDENTIFIED WITH 'mysql_native_password' AS '*AB' REQUIRE SUBJECT '/CN=a' ISSUER '/O=b' \
               CIPHER 'C' WITH MAX_QUERIES_PER_HOUR 1 MAX_UPDATES_PER_HOUR 2 MAX_CONNECTIONS_PER_HOUR 3 MAX_USER_CONNECTIONS 4 \
               PASSWORD EXPIRE INTERVAL 5 DAY ACCOUNT LOCK PASSWORD HISTORY 6 PASSWORD REUSE INTERVAL 7 DAY PASSWORD REQUIRE \
               CURRENT OPTIONAL FAILED_LOGIN_ATTEMPTS 8 PASSWORD_LOCK_TIME UNBOUNDED ATTRIBUTE '{\"comment\": \"it\\'s\"}'";
    assert_eq!(shown(&mut c, "u@localhost"), all);
    is_stored(&s);
    assert_eq!(shown(&mut c, "u@LOCALHOST"), all);
    c.run(
        "ALTER USER u@localhost REQUIRE NONE WITH MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 0 \
         MAX_USER_CONNECTIONS 0 PASSWORD EXPIRE NEVER PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT \
         PASSWORD REQUIRE CURRENT DEFAULT FAILED_LOGIN_ATTEMPTS 0 PASSWORD_LOCK_TIME 0 ACCOUNT UNLOCK \
         ATTRIBUTE '{\"comment\": null, \"a\": [1]}'",
    );
    assert_eq!(
        shown(&mut c, "u@localhost"),
        "CREATE USER `u`@`localhost` IDENTIFIED WITH 'mysql_native_password' AS '*AB' REQUIRE NONE PASSWORD EXPIRE NEVER ACCOUNT \
         UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT ATTRIBUTE '{\"a\": [1]}'"
    );
    for nonsense in [
        "ALTER USER u@localhost ATTRIBUTE '[1]'",
        "ALTER USER u@localhost PASSWORD EXPIRE INTERVAL 0 DAY",
        "ALTER USER u@localhost PASSWORD HISTORY 65536",
        "ALTER USER u@localhost REQUIRE SUBJECT 'a' SUBJECT 'b'",
        "ALTER USER u@localhost IDENTIFIED BY 'a' AND IDENTIFIED WITH authentication_ldap_simple",
        "CREATE USER v IDENTIFIED WITH authentication_ldap_sasl BY 'x'",
        "GRANT SELECT ON *.* TO u@localhost IDENTIFIED BY 'x'",
        "GRANT SELECT ON *.* TO u@localhost REQUIRE SSL",
    ] {
        assert_ne!(c.error(nonsense), 0, "{nonsense}");
    }
    is_stored(&s);
}

#[test]
fn a_hash_is_shown_to_whoever_may_read_the_table() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost IDENTIFIED BY 'x'");
    let mut u = login(&s, "u").expect("a login");
    let text = shown(&mut u, "CURRENT_USER");
    assert!(text.contains(" AS '<secret>' "), "{text}");
    c.run("GRANT SELECT ON mysql.user TO u@localhost");
    let text = shown(&mut u, "CURRENT_USER");
    assert!(text.contains(" AS 'caching_sha2_password:x' "), "{text}");
    c.run("ALTER USER u@localhost IDENTIFIED WITH caching_sha2_password AS 'a\\n'");
    c.run("SET print_identified_with_as_hex = ON");
    let text = shown(&mut c, "u@localhost");
    assert!(text.contains(" AS 0x610A "), "{text}");
}

#[test]
fn statements_do_everything_or_nothing() {
    let (s, mut c) = root();
    c.run("CREATE USER a, b");
    let e = c.try_all("CREATE USER x, a, b").unwrap_err();
    assert_eq!(
        (e.code, &*e.message),
        (1396, "Operation CREATE USER failed for 'a'@'%','b'@'%'")
    );
    assert!(account(&s, "x", "%").is_none());
    assert_eq!(c.error("CREATE USER y, y"), 1396);
    assert!(account(&s, "y", "%").is_none());
    let e = c.try_all("DROP USER a, x, y").unwrap_err();
    assert_eq!(e.message, "Operation DROP USER failed for 'x'@'%','y'@'%'");
    assert!(account(&s, "a", "%").is_some());
    assert_eq!(c.error("ALTER USER a ACCOUNT LOCK, x ACCOUNT LOCK"), 1064);
    assert_eq!(c.error("ALTER USER a, x ACCOUNT LOCK"), 1396);
    assert!(!account(&s, "a", "%").expect("a").locked);
    assert_eq!(c.run("CREATE USER IF NOT EXISTS a, x").done.warnings, 1);
    assert_eq!(
        c.rows("SHOW WARNINGS"),
        [["Note", "3163", "Authorization ID 'a'@'%' already exists."]]
    );
    c.run("DROP USER IF EXISTS a, nobody");
    assert_eq!(
        c.rows("SHOW WARNINGS"),
        [[
            "Note",
            "3162",
            "Authorization ID 'nobody'@'%' does not exist."
        ]]
    );
    c.run("ALTER USER IF EXISTS nobody ACCOUNT LOCK");
    is_stored(&s);
}

#[test]
fn no_name_takes_the_place_of_another() {
    let (s, mut c) = root();
    let root = account(&s, "root", "localhost");
    assert_eq!(c.error("CREATE USER 'root '@localhost"), 1396);
    assert_eq!(c.error("CREATE USER root@'LOCALHOST '"), 1396);
    c.run("CREATE USER u, v");
    assert_eq!(c.error("RENAME USER u TO 'root '@localhost"), 1396);
    assert_eq!(c.error("RENAME USER u TO v"), 1396);
    assert_eq!(c.error("RENAME USER u TO w, v TO w"), 1396);
    assert!(account(&s, "u", "%").is_some() && account(&s, "w", "%").is_none());
    c.run("RENAME USER u TO w, v TO u");
    assert_eq!(c.error(&format!("CREATE USER {}", "u".repeat(33))), 1470);
    assert_eq!(c.error(&format!("CREATE USER u@{}", "h".repeat(256))), 1470);
    assert_eq!(account(&s, "root", "localhost"), root);
    is_stored(&s);
}

#[test]
fn what_was_granted_follows_a_name_and_ends_with_it() {
    let (s, mut c) = root();
    c.run("CREATE TABLE t (a int, b int)");
    c.run("CREATE USER u@localhost, v");
    c.run("CREATE ROLE r");
    c.run("GRANT SELECT ON test.* TO u@localhost");
    c.run("GRANT INSERT (a) ON test.t TO u@localhost");
    c.run("GRANT r, v TO u@localhost");
    c.run("GRANT PROXY ON v TO u@localhost");
    c.run("SET DEFAULT ROLE r TO u@localhost");
    let before = grants(&mut c, "u@localhost");
    c.run("RENAME USER u@localhost TO w@localhost");
    let after = grants(&mut c, "w@localhost");
    let renamed: Vec<String> = before.iter().map(|g| g.replace("`u`@", "`w`@")).collect();
    assert_eq!(after, renamed);
    is_stored(&s);
    assert_eq!(c.error("RENAME USER r TO q"), 3532);
    // A live session of the name that is gone can do nothing more, and nobody inherits.
    c.run("CREATE USER x@localhost");
    c.run("GRANT SELECT ON test.* TO x@localhost");
    let mut x = login(&s, "x").expect("a login");
    x.run("SELECT * FROM test.t");
    c.run("DROP USER x@localhost, v");
    assert_eq!(x.error("SELECT * FROM test.t"), 1142);
    c.run("CREATE USER x@localhost, v");
    assert_eq!(grants(&mut c, "x@localhost").len(), 1);
    assert!(
        !grants(&mut c, "w@localhost")
            .iter()
            .any(|g| g.contains("`v`"))
    );
    is_stored(&s);
}

#[test]
fn accounts_with_system_user_are_for_their_like() {
    let (s, mut c) = root();
    c.run("CREATE USER admin@localhost, chief@localhost, plain@localhost");
    c.run("CREATE ROLE chiefs");
    c.run("GRANT ALL ON *.* TO admin@localhost WITH GRANT OPTION");
    c.run("REVOKE SYSTEM_USER ON *.* FROM admin@localhost");
    c.run("GRANT SYSTEM_USER ON *.* TO chiefs");
    c.run("GRANT chiefs TO chief@localhost");
    let mut admin = login(&s, "admin").expect("a login");
    for chief in ["chief@localhost", "root@localhost"] {
        for statement in [
            "ALTER USER {} IDENTIFIED BY 'x'",
            "ALTER USER {} ACCOUNT LOCK",
            "SET PASSWORD FOR {} = 'x'",
            "DROP USER {}",
            "RENAME USER {} TO other",
            "GRANT SELECT ON *.* TO {}",
            "REVOKE SELECT ON *.* FROM {}",
            "REVOKE ALL PRIVILEGES, GRANT OPTION FROM {}",
            "GRANT chiefs TO {}",
            "SET DEFAULT ROLE NONE TO {}",
        ] {
            let statement = statement.replace("{}", chief);
            let e = admin.try_all(&statement).unwrap_err();
            assert_eq!(e.code, 1227, "{statement}: {e}");
        }
    }
    assert_eq!(admin.error("GRANT chiefs TO plain@localhost"), 1227);
    assert_eq!(
        admin.error("GRANT SYSTEM_USER ON *.* TO plain@localhost"),
        1227
    );
    admin.run("GRANT ALL ON *.* TO plain@localhost");
    let plain = account(&s, "plain", "localhost").expect("plain");
    assert!(!plain.dynamic.contains_key("SYSTEM_USER"));
    admin.run("ALTER USER plain@localhost IDENTIFIED BY 'x' ACCOUNT LOCK");
    admin.run("DROP USER plain@localhost");
}

#[test]
fn nobody_without_the_right_changes_accounts() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost, v");
    c.run("CREATE ROLE r");
    let mut u = login(&s, "u").expect("a login");
    for statement in [
        "CREATE USER x",
        "ALTER USER v IDENTIFIED BY 'x'",
        "ALTER USER u@localhost ACCOUNT LOCK",
        "ALTER USER u@localhost IDENTIFIED WITH mysql_native_password BY 'x'",
        "ALTER USER nobody IDENTIFIED BY 'x'",
        "SET PASSWORD FOR v = 'x'",
        "DROP USER v",
        "RENAME USER v TO w",
        "CREATE ROLE q",
        "DROP ROLE r",
        "GRANT r TO u@localhost",
        "REVOKE ALL PRIVILEGES, GRANT OPTION FROM v",
        "SET DEFAULT ROLE r TO v",
    ] {
        assert_eq!(u.error(statement), 1227, "{statement}");
    }
    u.run("ALTER USER USER() IDENTIFIED BY 'y'");
    u.run("ALTER USER u@localhost IDENTIFIED BY 'z'");
    u.run("SET PASSWORD = 'x'");
    c.run("GRANT CREATE ROLE, DROP ROLE ON *.* TO u@localhost");
    u.run("CREATE ROLE q");
    u.run("DROP ROLE q");
    // An account that somebody logs in with is no role.
    assert_eq!(u.error("DROP ROLE v"), 1227);
    is_stored(&s);
}
