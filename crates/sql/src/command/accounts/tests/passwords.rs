//! Passwords: changed, kept beside the next, not used again, made up, and asked for.

use super::*;

fn stored(s: &Arc<Instance>, user: &str) -> String {
    let a = account(s, user, "localhost").expect("an account");
    String::from_utf8_lossy(&a.auth_string).into_owned()
}

#[test]
fn two_passwords_can_be_kept() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost IDENTIFIED BY 'a', e@localhost");
    let second = || {
        account(&s, "u", "localhost")
            .expect("u")
            .second_auth_string
            .clone()
    };
    c.run("ALTER USER u@localhost IDENTIFIED BY 'b' RETAIN CURRENT PASSWORD");
    assert_eq!(stored(&s, "u"), "caching_sha2_password:b");
    assert_eq!(second().as_deref(), Some(&b"caching_sha2_password:a"[..]));
    is_stored(&s);
    c.run("SET PASSWORD FOR u@localhost = 'c'");
    assert_eq!(second().as_deref(), Some(&b"caching_sha2_password:a"[..]));
    c.run("ALTER USER u@localhost DISCARD OLD PASSWORD");
    assert_eq!(second(), None);
    for (statement, code) in [
        (
            "ALTER USER e@localhost IDENTIFIED BY 'b' RETAIN CURRENT PASSWORD",
            3878,
        ),
        (
            "ALTER USER u@localhost IDENTIFIED BY '' RETAIN CURRENT PASSWORD",
            3895,
        ),
        (
            "ALTER USER u@localhost IDENTIFIED WITH mysql_native_password BY 'b' RETAIN CURRENT PASSWORD",
            3894,
        ),
    ] {
        assert_eq!(c.error(statement), code, "{statement}");
    }
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(u.error("SET PASSWORD = 'd' RETAIN CURRENT PASSWORD"), 1227);
    c.run("GRANT APPLICATION_PASSWORD_ADMIN ON *.* TO u@localhost");
    u.run("SET PASSWORD = 'd' RETAIN CURRENT PASSWORD");
    c.run("ALTER USER u@localhost IDENTIFIED WITH mysql_native_password BY 'b'");
    assert_eq!(second(), None);
}

#[test]
fn passwords_are_not_used_again() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost IDENTIFIED BY 'a' PASSWORD HISTORY 2");
    // The policy holds from the next password on.
    c.run("SET PASSWORD FOR u@localhost = 'b'");
    assert_eq!(c.error("SET PASSWORD FOR u@localhost = 'b'"), 3638);
    c.run("ALTER USER u@localhost IDENTIFIED BY 'c'");
    let e = c
        .try_all("ALTER USER u@localhost IDENTIFIED BY 'b'")
        .unwrap_err();
    assert_eq!(
        e.message,
        "Cannot use these credentials for 'u@localhost' because they contradict the password history policy"
    );
    assert_eq!(stored(&s, "u"), "caching_sha2_password:c");
    assert_eq!(c.one("SELECT COUNT(*) FROM mysql.password_history"), "2");
    c.run("SET PASSWORD FOR u@localhost = 'd'");
    c.run("SET PASSWORD FOR u@localhost = 'b'");
    is_stored(&s);
    c.run("SET GLOBAL password_reuse_interval = 10");
    c.run("CREATE USER v@localhost IDENTIFIED BY 'a'");
    assert_eq!(c.error("SET PASSWORD FOR v@localhost = 'a'"), 3638);
    c.run("ALTER USER v@localhost PASSWORD REUSE INTERVAL 0 DAY");
    c.run("SET PASSWORD FOR v@localhost = 'a'");
}

#[test]
fn the_present_password_is_asked_for() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost IDENTIFIED BY 'a' PASSWORD REQUIRE CURRENT");
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(u.error("SET PASSWORD = 'b'"), 3892);
    assert_eq!(u.error("ALTER USER USER() IDENTIFIED BY 'b'"), 3892);
    assert_eq!(u.error("SET PASSWORD = 'b' REPLACE 'x'"), 3891);
    u.run("SET PASSWORD = 'b' REPLACE 'a'");
    u.run("ALTER USER USER() IDENTIFIED BY 'c' REPLACE 'b'");
    assert_eq!(
        c.error("ALTER USER u@localhost IDENTIFIED BY 'd' REPLACE 'c'"),
        3893
    );
    c.run("ALTER USER u@localhost IDENTIFIED BY 'd'");
    c.run("ALTER USER u@localhost PASSWORD REQUIRE CURRENT DEFAULT");
    u.run("SET PASSWORD = 'e'");
    c.run("SET GLOBAL password_require_current = ON");
    assert_eq!(u.error("SET PASSWORD = 'f'"), 3892);
    c.run("ALTER USER u@localhost PASSWORD REQUIRE CURRENT OPTIONAL");
    u.run("SET PASSWORD = 'f'");
}

#[test]
fn passwords_are_made_up() {
    let (s, mut c) = root();
    c.run("SET generated_random_password_length = 30");
    let r = c.rows("CREATE USER u@localhost IDENTIFIED BY RANDOM PASSWORD, v@localhost IDENTIFIED BY RANDOM PASSWORD");
    assert_eq!(r.len(), 2);
    assert_eq!((&*r[0][0], &*r[0][1], &*r[0][3]), ("u", "localhost", "1"));
    assert_eq!(r[0][2].len(), 30);
    assert_ne!(r[0][2], r[1][2]);
    assert_eq!(
        stored(&s, "u"),
        format!("caching_sha2_password:{}", r[0][2])
    );
    let r = c.rows("SET PASSWORD FOR u@localhost TO RANDOM");
    assert_eq!(
        stored(&s, "u"),
        format!("caching_sha2_password:{}", r[0][2])
    );
    let r = c.rows("ALTER USER v@localhost IDENTIFIED BY RANDOM PASSWORD");
    assert_eq!(
        stored(&s, "v"),
        format!("caching_sha2_password:{}", r[0][2])
    );
    assert!(s.accounts().snapshot().len() == 3);
}

#[test]
fn a_plugin_without_a_password_asks_for_one() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost IDENTIFIED BY 'a'");
    c.run("ALTER USER u@localhost IDENTIFIED WITH mysql_native_password");
    let u = account(&s, "u", "localhost").expect("u");
    assert!(u.password.expired && u.auth_string.is_empty());
    assert_eq!(c.error("SET PASSWORD FOR nobody = 'x'"), 1133);
}

#[test]
fn weak_passwords_are_refused_once_the_component_is_there() {
    let (s, mut c) = root();
    c.run("CREATE USER u@localhost IDENTIFIED BY 'x'");
    assert_eq!(c.error("SET GLOBAL validate_password.policy = LOW"), 1193);
    assert_eq!(c.error("INSTALL COMPONENT 'file://component_other'"), 3529);
    let urn = "'file://component_validate_password'";
    assert_eq!(c.error(&format!("UNINSTALL COMPONENT {urn}")), 3537);
    c.run(&format!("INSTALL COMPONENT {urn}"));
    assert_eq!(c.error(&format!("INSTALL COMPONENT {urn}")), 3529);
    assert_eq!(
        c.one("SELECT component_urn FROM mysql.component"),
        urn.trim_matches('\'')
    );
    let e = c
        .try_all("CREATE USER v IDENTIFIED BY 'weakling'")
        .unwrap_err();
    assert_eq!(
        (e.code, &*e.message),
        (
            1819,
            "Your password does not satisfy the current policy requirements"
        )
    );
    assert_eq!(c.error("CREATE USER v"), 1819);
    assert_eq!(c.error("SET PASSWORD FOR u@localhost = 'weak'"), 1819);
    c.run("CREATE ROLE r");
    c.run("CREATE USER v IDENTIFIED BY 'Strong-1'");
    c.run("CREATE USER w IDENTIFIED BY RANDOM PASSWORD");
    c.run("CREATE USER h IDENTIFIED WITH mysql_native_password AS '*AB'");
    assert_eq!(c.one("SELECT @@validate_password.policy"), "MEDIUM");
    c.run("SET GLOBAL validate_password.policy = LOW");
    c.run("SET GLOBAL validate_password.length = 4");
    c.run("SET PASSWORD FOR u@localhost = 'weak'");
    assert_eq!(c.error("SET PASSWORD FOR u@localhost = 'bad'"), 1819);
    let mut u = login(&s, "u").expect("a login");
    assert_eq!(u.error(&format!("UNINSTALL COMPONENT {urn}")), 1142);
    c.run(&format!("UNINSTALL COMPONENT {urn}"));
    c.run("SET PASSWORD FOR u@localhost = 'bad'");
    assert_eq!(c.one("SELECT COUNT(*) FROM mysql.component"), "0");
}
