//! Names that an account may not know or take: columns in what describes keys, tables that a temporary one would be called like.

use super::Client;
use super::access::stage;

#[test]
fn keys_name_no_columns_that_are_not_seen() {
    let (s, mut root) = stage();
    root.run(
        "CREATE TABLE a.p (id INT PRIMARY KEY, k INT, secret INT, UNIQUE KEY two (k, secret), \
         KEY one (secret), KEY reads_it ((secret + k)), KEY reads_k ((k * 2)), \
         CONSTRAINT f1 FOREIGN KEY (secret) REFERENCES a.t (id), CONSTRAINT f2 FOREIGN KEY (k) REFERENCES a.t (id))",
    );
    let statistics = "SELECT INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'a' AND TABLE_NAME = 'p' ORDER BY 1, 2";
    let usage = "SELECT CONSTRAINT_NAME, COLUMN_NAME, ORDINAL_POSITION FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = 'a' AND TABLE_NAME = 'p' ORDER BY 1, 3";
    let mut u = Client::of(&s, "u");
    let nothing: [[&str; 3]; 0] = [];
    assert_eq!(u.rows(statistics), nothing);
    assert_eq!(u.rows(usage), nothing);
    root.run("GRANT SELECT (id, k) ON a.p TO u@localhost");
    assert_eq!(
        u.rows(statistics),
        [
            ["PRIMARY", "1", "id"],
            ["reads_k", "1", "NULL"],
            ["two", "1", "k"]
        ]
    );
    assert_eq!(
        u.rows(usage),
        [["f2", "k", "1"], ["PRIMARY", "id", "1"], ["two", "k", "1"]]
    );
    root.run("GRANT UPDATE (secret) ON a.p TO u@localhost");
    assert_eq!(u.rows(statistics), root.rows(statistics));
    assert_eq!(u.rows(usage), root.rows(usage));
    assert_eq!(u.rows(statistics).len(), 6);
    assert_eq!(u.rows(usage).len(), 5);
    // What is granted on the whole table, or above it.
    root.run("REVOKE ALL ON a.p FROM u@localhost");
    root.run("GRANT INSERT ON a.p TO u@localhost");
    assert_eq!(u.rows(statistics).len(), 6);
    assert_eq!(u.rows(usage).len(), 5);
}

#[test]
fn a_temporary_table_takes_no_name_without_a_right_to_it() {
    let (s, mut root) = stage();
    root.run("CREATE DATABASE own");
    root.run("GRANT CREATE TEMPORARY TABLES ON own.* TO u@localhost");
    let mut u = Client::of(&s, "u");
    u.run("USE own");
    u.run("CREATE TEMPORARY TABLE tmp (id INT)");
    for to in ["mysql.user", "a.t", "b.new", "other", "own.other", "tmp"] {
        for more in ["", ", ADD COLUMN x INT"] {
            let sql = format!("ALTER TABLE tmp RENAME TO {to}{more}");
            assert_eq!(u.error(&sql), 1142, "{sql}");
        }
        let sql = format!("RENAME TABLE tmp TO {to}");
        assert_eq!(u.error(&sql), 1142, "{sql}");
    }
    u.run("ALTER TABLE tmp ADD COLUMN y INT");
    for (right, expected) in [("CREATE", 1142), ("INSERT", 0)] {
        root.run(&format!("GRANT {right} ON a.* TO u@localhost"));
        assert_eq!(u.error("ALTER TABLE tmp RENAME TO a.new"), expected);
    }
    assert_eq!(u.one("SELECT COUNT(*) FROM a.new"), "0");
    root.run("GRANT CREATE, INSERT ON own.* TO u@localhost");
    u.run("ALTER TABLE a.new RENAME TO back");
    assert_eq!(u.one("SELECT COUNT(*) FROM own.back"), "0");
}
