//! Accounts: made, changed, granted to, and what they may do.

use super::*;

#[test]
fn accounts_are_made_and_dropped() {
    let s = server();
    let mut c = Client::new(&s);
    let root = s.accounts().lookup("root", "localhost").expect("root");
    assert!(root.auth_string.is_empty());
    c.run("CREATE USER u@'10.%' IDENTIFIED BY 'secret', v");
    assert_eq!(c.error("CREATE USER v"), 1396);
    assert_eq!(c.run("CREATE USER IF NOT EXISTS v").done.warnings, 1);
    let u = s.accounts().lookup("u", "10.1.1.1").expect("u");
    assert_eq!(u.auth_string, b"caching_sha2_password:secret");
    c.run("ALTER USER u@'10.%' IDENTIFIED WITH mysql_native_password BY 'x' ACCOUNT LOCK");
    let u = s.accounts().lookup("u", "10.1.1.1").expect("u");
    assert!(u.locked && u.plugin == "mysql_native_password");
    c.run("SET PASSWORD FOR v = 'y'");
    assert_eq!(
        s.accounts().lookup("v", "h").map(|v| v.auth_string),
        Some(b"caching_sha2_password:y".to_vec())
    );
    c.run("RENAME USER v TO w@localhost");
    assert!(s.accounts().lookup("v", "h").is_none());
    c.run("DROP USER w@localhost, u@'10.%'");
    assert_eq!(c.error("DROP USER w@localhost"), 1396);
    assert_eq!(c.run("DROP USER IF EXISTS w@localhost").done.warnings, 1);
}

#[test]
fn grants_open_databases() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE USER u@localhost");
    let mut u = Client::of(&s, "u");
    assert_eq!(u.error("USE test"), 1044);
    assert_eq!(u.error("CREATE USER x"), 1227);
    assert_eq!(
        u.rows("SHOW DATABASES"),
        [["information_schema"], ["performance_schema"]]
    );
    c.run("GRANT ALL ON test.* TO u@localhost WITH GRANT OPTION");
    assert_eq!(
        c.rows("SHOW GRANTS FOR u@localhost"),
        [
            ["GRANT USAGE ON *.* TO `u`@`localhost`"],
            ["GRANT ALL PRIVILEGES ON `test`.* TO `u`@`localhost` WITH GRANT OPTION"]
        ]
    );
    u.run("USE test");
    u.run("CREATE TABLE t (a int)");
    c.run("REVOKE ALL PRIVILEGES, GRANT OPTION FROM u@localhost");
    assert_eq!(c.rows("SHOW GRANTS FOR u@localhost").len(), 1);
    assert_eq!(u.error("USE test"), 1044);
    assert_eq!(c.error("GRANT SELECT ON *.* TO nobody"), 1410);
    assert_eq!(c.error("SHOW GRANTS FOR nobody"), 1141);
    assert!(
        c.one("SHOW GRANTS")
            .starts_with("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD")
    );
}
