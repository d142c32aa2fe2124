//! What MariaDB's grammar has and MySQL's lacks, in MySQL's words.

use super::*;

const MARIADB: Options = Options {
    mariadb: Some(101_100),
    placeholders: false,
    ..PREPARED
};
const MYSQL: Options = Options {
    placeholders: false,
    ..PREPARED
};

fn read(text: &str) -> Parsed {
    parse(text.as_bytes(), &MARIADB).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The statement with those of its actions that `keeps`.
fn kept(text: &str, keeps: impl Fn(usize) -> bool) -> Option<String> {
    let said = read(text).mariadb.expect("it was asked for");
    let out = said.text(text.as_bytes(), keeps)?;
    let out = String::from_utf8(out).expect("a text");
    let read = parse(out.as_bytes(), &MYSQL);
    assert!(read.is_ok(), "{out}: {read:?}");
    Some(out.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn all(text: &str) -> String {
    kept(text, |_| true).expect("all of it")
}

#[test]
fn each_has_words_of_mysql() {
    let cases = [
        (
            "CREATE OR REPLACE TABLE t (a INT)",
            "CREATE TABLE t (a INT)",
        ),
        ("create or replace table t like u", "create table t like u"),
        (
            "CREATE OR REPLACE TEMPORARY TABLE t AS SELECT 1",
            "CREATE TEMPORARY TABLE t AS SELECT 1",
        ),
        ("CREATE OR REPLACE DATABASE d", "CREATE DATABASE d"),
        (
            "CREATE OR REPLACE USER u@h IDENTIFIED BY 'x'",
            "CREATE USER u@h IDENTIFIED BY 'x'",
        ),
        ("CREATE OR REPLACE ROLE r", "CREATE ROLE r"),
        (
            "CREATE OR REPLACE UNIQUE INDEX i ON t (a)",
            "CREATE UNIQUE INDEX i ON t (a)",
        ),
        (
            "CREATE INDEX IF NOT EXISTS i USING BTREE ON t WAIT 5 (a)",
            "CREATE INDEX i USING BTREE ON t (a)",
        ),
        ("DROP INDEX IF EXISTS i ON t NOWAIT", "DROP INDEX i ON t"),
        (
            "CREATE ALGORITHM=MERGE VIEW IF NOT EXISTS v AS SELECT 1",
            "CREATE ALGORITHM=MERGE VIEW v AS SELECT 1",
        ),
        (
            "ALTER TABLE IF EXISTS t WAIT 3 ADD COLUMN a INT",
            "ALTER TABLE t ADD COLUMN a INT",
        ),
        ("TRUNCATE TABLE t WAIT 1", "TRUNCATE TABLE t"),
        ("OPTIMIZE TABLE t, u NOWAIT", "OPTIMIZE TABLE t, u"),
        ("ANALYZE TABLE t PERSISTENT FOR ALL", "ANALYZE TABLE t"),
        (
            "SET STATEMENT max_statement_time=5, sql_mode='' FOR DELETE FROM t",
            "DELETE FROM t",
        ),
        (
            "CREATE USER u IDENTIFIED VIA mysql_native_password USING '*AB'",
            "CREATE USER u IDENTIFIED WITH mysql_native_password AS '*AB'",
        ),
        (
            "ALTER USER u IDENTIFIED BY PASSWORD '*AB'",
            "ALTER USER u IDENTIFIED WITH 'mysql_native_password' AS '*AB'",
        ),
        (
            "SET PASSWORD FOR 'u'@'h'='*0D3CED9BEC10A777AEC23CCC353A8C08A633045E'",
            "ALTER USER 'u'@'h' IDENTIFIED WITH 'mysql_native_password' AS '*0D3CED9BEC10A777AEC23CCC353A8C08A633045E'",
        ),
        (
            "CREATE TABLE t (a INT, b TEXT COMPRESSED NOT NULL) ENGINE=InnoDB PAGE_COMPRESSED=1 COMMENT 'x'",
            "CREATE TABLE t (a INT, b TEXT NOT NULL) ENGINE=InnoDB COMMENT 'x'",
        ),
        (
            "CREATE TABLE t (a INT) PAGE_COMPRESSED=1, ENGINE=InnoDB, TRANSACTIONAL=1",
            "CREATE TABLE t (a INT) ENGINE=InnoDB",
        ),
        (
            "CREATE TABLE t (a INT, FOREIGN KEY `f` (a) REFERENCES p (a))",
            "CREATE TABLE t (a INT, CONSTRAINT `f` FOREIGN KEY `f` (a) REFERENCES p (a))",
        ),
        (
            "GRANT SELECT ON d.* TO u@h IDENTIFIED BY 'x', v IDENTIFIED VIA p USING 'y' WITH GRANT OPTION",
            "GRANT SELECT ON d.* TO u@h, v WITH GRANT OPTION",
        ),
        // What stands in comments: MariaDB reads what is for it, and not what is for servers that it does not follow.
        (
            "CREATE /*M!100100 OR REPLACE */ TABLE t (a INT /*!80016 CHECK (a > 0) */) /* hm */",
            "CREATE TABLE t (a INT )",
        ),
        (
            "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS t /*!120000 , u */",
            "DROP TEMPORARY TABLE IF EXISTS t",
        ),
    ];
    for (text, mysql) in cases {
        assert_eq!(all(text), mysql, "{text}");
        assert!(!read(text).mariadb.expect("it was asked for").is_mysql());
    }
    let same = "CREATE OR REPLACE VIEW v AS SELECT 1 /* hm */";
    assert!(read(same).mariadb.expect("it was asked for").is_mysql());
    assert_eq!(all(same), same);
}

#[test]
fn what_is_said_is_noted() {
    let said = |text: &str| read(text).mariadb.expect("it was asked for");
    assert!(said("CREATE OR REPLACE TABLE t (a INT)").replaces);
    assert_eq!(said("CREATE TABLE IF NOT EXISTS t (a INT)").only_if, None);
    let index = said("CREATE INDEX IF NOT EXISTS i ON t (a)");
    assert_eq!(index.only_if, Some(false));
    let renamed = said("RENAME TABLE IF EXISTS a TO b");
    assert_eq!(renamed.only_if, Some(true));
    let alter = said(
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS (a INT, b INT), ADD c INT, DROP INDEX IF EXISTS i, PAGE_CHECKSUM=1",
    );
    let conditions: Vec<_> = alter.actions.iter().map(|a| a.only_if).collect();
    let expected = [Some(false), Some(false), None, Some(true), None];
    assert_eq!(conditions, expected);
    let grant = said("GRANT SELECT ON d.* TO u@h IDENTIFIED BY 'x', v IDENTIFIED VIA p USING 'y'");
    let users = ["u@h IDENTIFIED BY 'x'", "v IDENTIFIED WITH p AS 'y'"];
    assert_eq!(grant.users, users.map(|u| u.as_bytes().to_vec()));
    let set = said("SET STATEMENT a=1, b='2' FOR SELECT 1");
    assert_eq!(set.settings.len(), 2);
    // What only MySQL would read in it is not there for MySQL either.
    let text = "SET STATEMENT a=1 /*!80000 , b=2 */ , c=3 FOR SELECT 1";
    let set = said(text);
    let texts = set
        .settings
        .iter()
        .map(|(_, span)| set.edited(text.as_bytes(), *span));
    assert_eq!(texts.collect::<Vec<_>>(), [b"a=1", b"c=3"]);
}

#[test]
fn actions_are_left_out() {
    let text = "ALTER TABLE IF EXISTS t ALGORITHM=INPLACE, ADD COLUMN IF NOT EXISTS (a INT DEFAULT (1), b INT), \
                ADD UNIQUE KEY IF NOT EXISTS k (a), ADD CONSTRAINT IF NOT EXISTS c CHECK (b > 0), \
                ADD FOREIGN KEY IF NOT EXISTS f (a) REFERENCES p (a), DROP COLUMN IF EXISTS d, \
                DROP FOREIGN KEY IF EXISTS g, DROP CONSTRAINT IF EXISTS h, MODIFY COLUMN IF EXISTS m INT, \
                CHANGE COLUMN IF EXISTS n o INT AFTER b, ALTER COLUMN IF EXISTS p SET DEFAULT 4, \
                RENAME COLUMN IF EXISTS q TO r, RENAME INDEX IF EXISTS s TO u, COMMENT='x'";
    let each = [
        "ADD a INT DEFAULT (1)",
        "ADD b INT",
        "ADD UNIQUE KEY k (a)",
        "ADD CONSTRAINT c CHECK (b > 0)",
        "ADD CONSTRAINT `f` FOREIGN KEY f (a) REFERENCES p (a)",
        "DROP COLUMN d",
        "DROP FOREIGN KEY g",
        "DROP CONSTRAINT h",
        "MODIFY COLUMN m INT",
        "CHANGE COLUMN n o INT AFTER b",
        "ALTER COLUMN p SET DEFAULT 4",
        "RENAME COLUMN q TO r",
        "RENAME INDEX s TO u",
        "COMMENT='x'",
    ];
    for (n, action) in each.iter().enumerate() {
        let one = kept(text, |k| k == n);
        assert_eq!(one, Some(format!("ALTER TABLE t {action}")));
    }
    let some = kept(text, |k| k == 1 || k == 5 || k == 13);
    let expected = "ALTER TABLE t ADD b INT, DROP COLUMN d, COMMENT='x'";
    assert_eq!(some.as_deref(), Some(expected));
    assert_eq!(kept(text, |_| false), None);
    assert_eq!(kept("ALTER TABLE t PAGE_COMPRESSED=1", |_| true), None);
    assert_eq!(all("ALTER TABLE t"), "ALTER TABLE t");
    let one = all("ALTER TABLE t PAGE_COMPRESSED=1, ADD a INT");
    assert_eq!(one, "ALTER TABLE t ADD a INT");
}

#[test]
fn there_are_no_sequences() {
    let of = |text: &str| read(text).statement;
    for (text, what) in [
        ("CREATE SEQUENCE s START WITH 1", "CREATE SEQUENCE"),
        ("CREATE OR REPLACE SEQUENCE s", "CREATE SEQUENCE"),
        ("CREATE TEMPORARY SEQUENCE s", "CREATE SEQUENCE"),
        ("ALTER SEQUENCE s RESTART 5", "ALTER SEQUENCE"),
        ("DROP SEQUENCE s", "DROP SEQUENCE"),
    ] {
        match of(text) {
            ast::Statement::Unsupported(u) => assert_eq!(&*u.what, what),
            other => panic!("{text}: {other:?}"),
        }
    }
    let none = of("DROP SEQUENCE IF EXISTS `s` /* generated by server */");
    assert_eq!(none, ast::Statement::Nothing);
}

#[test]
fn a_client_of_ours_says_none_of_it() {
    for text in [
        "CREATE OR REPLACE TABLE t (a INT)",
        "CREATE OR REPLACE USER u",
        "CREATE INDEX IF NOT EXISTS i ON t (a)",
        "DROP INDEX IF EXISTS i ON t",
        "CREATE VIEW IF NOT EXISTS v AS SELECT 1",
        "ALTER TABLE IF EXISTS t ADD a INT",
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT",
        "ALTER TABLE t DROP COLUMN IF EXISTS a",
        "ALTER TABLE t WAIT 5 ADD a INT",
        "RENAME TABLE IF EXISTS a TO b",
        "SET STATEMENT a=1 FOR SELECT 1",
        "CREATE SEQUENCE s",
        "DROP SEQUENCE IF EXISTS s",
        "CREATE USER u IDENTIFIED VIA x USING 'y'",
        "CREATE USER u IDENTIFIED BY PASSWORD '*AB'",
        "CREATE TABLE t (a INT) PAGE_COMPRESSED=1",
        "CREATE TABLE t (a TEXT COMPRESSED)",
        "TRUNCATE t WAIT 5",
        "GRANT SELECT ON d.* TO u IDENTIFIED BY 'x'",
    ] {
        let error = parse(text.as_bytes(), &MYSQL).expect_err(text);
        assert_eq!(error.code(), 1064, "{text}");
    }
    // And these are of nobody.
    for text in [
        "CREATE OR REPLACE OR REPLACE TABLE t (a INT)",
        "SET STATEMENT a=1 FOR SET b=2",
        "SET STATEMENT FOR SELECT 1",
        "SET PASSWORD FOR u = 'secret'",
        "ALTER TABLE t ADD COLUMN IF EXISTS a INT",
        "DROP TABLE t IF EXISTS",
    ] {
        assert!(parse(text.as_bytes(), &MARIADB).is_err(), "{text}");
    }
}
