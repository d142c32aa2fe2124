//! SHOW and DESCRIBE.

use super::*;

#[test]
fn columns_are_described() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, n varchar(10) NOT NULL UNIQUE, d datetime DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, k int, KEY (k))");
    assert_eq!(
        c.rows("DESCRIBE t"),
        [
            ["id", "int", "NO", "PRI", "NULL", "auto_increment"],
            ["n", "varchar(10)", "NO", "UNI", "NULL", ""],
            [
                "d",
                "datetime",
                "YES",
                "",
                "CURRENT_TIMESTAMP",
                "DEFAULT_GENERATED on update CURRENT_TIMESTAMP"
            ],
            ["k", "int", "YES", "MUL", "NULL", ""],
        ]
    );
    assert_eq!(
        c.rows("SHOW FULL COLUMNS FROM t LIKE 'n'")[0][2],
        "utf8mb4_0900_ai_ci"
    );
    assert_eq!(c.rows("DESC t k")[0][0], "k");
    assert_eq!(c.rows("SHOW FIELDS FROM t WHERE `Key` = 'PRI'").len(), 1);
    let i = c.rows("SHOW INDEX FROM t");
    assert_eq!(i.len(), 3);
    assert_eq!(i[0][..5], ["t", "0", "PRIMARY", "1", "id"]);
    assert_eq!(i[2][..5], ["t", "1", "k", "1", "k"]);
    assert_eq!(c.error("SHOW COLUMNS FROM nothing"), 1146);
    let f = block_on(c.session.list_fields(b"t", b"n%")).expect("fields");
    assert_eq!(f.len(), 1);
    assert_eq!(f[0].0.org_name, "n");
}

#[test]
fn tables_and_databases_are_listed() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE a1 (x int)");
    c.run("CREATE TABLE b1 (x int)");
    let r = c.run("SHOW TABLES LIKE 'a%'");
    assert_eq!(r.columns[0].name, "Tables_in_test (a%)");
    assert_eq!(r.rows.len(), 1);
    assert_eq!(
        c.rows("SHOW FULL TABLES"),
        [["a1", "BASE TABLE"], ["b1", "BASE TABLE"]]
    );
    assert_eq!(c.error("SHOW TABLES FROM nothing"), 1049);
    assert_eq!(
        c.rows("SHOW DATABASES"),
        [
            ["information_schema"],
            ["mysql"],
            ["performance_schema"],
            ["test"]
        ]
    );
    let s = c.rows("SHOW TABLE STATUS LIKE 'b1'");
    assert_eq!(s[0][..3], ["b1", "InnoDB", "10"]);
    assert_eq!(
        c.rows("SHOW CREATE DATABASE test")[0][1],
        "CREATE DATABASE `test` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */"
    );
    assert!(c.rows("SHOW TABLES FROM information_schema").len() > 30);
    assert!(c.rows("SHOW COLUMNS FROM information_schema.tables").len() == 21);
}

#[test]
fn the_server_describes_itself() {
    let mut c = Client::in_test(&server());
    for sql in [
        "SHOW ENGINES",
        "SHOW CHARACTER SET",
        "SHOW COLLATION LIKE 'utf8mb4%'",
        "SHOW PLUGINS",
        "SHOW PRIVILEGES",
        "SHOW STATUS",
        "SHOW GLOBAL STATUS LIKE 'Innodb%'",
        "SHOW VARIABLES",
        "SHOW FULL PROCESSLIST",
        "SHOW ENGINE INNODB STATUS",
        "SHOW OPEN TABLES FROM mysql",
        "SHOW CREATE USER root@localhost",
    ] {
        assert!(!c.rows(sql).is_empty(), "{sql}");
    }
    for sql in [
        "SHOW MASTER STATUS",
        "SHOW TRIGGERS",
        "SHOW EVENTS",
        "SHOW PROCEDURE STATUS",
        "SHOW FUNCTION STATUS WHERE Db = 'test'",
        "SHOW SLAVE STATUS",
        "SHOW REPLICA STATUS",
        "SHOW SLAVE HOSTS",
    ] {
        assert!(c.rows(sql).is_empty(), "{sql}");
    }
    assert_eq!(c.error("SHOW BINARY LOGS"), 1381);
    let questions = |c: &mut Client| c.rows("SHOW STATUS LIKE 'Com_show_engines'");
    assert!(questions(&mut c).is_empty());
    assert_eq!(
        c.rows("SHOW STATUS LIKE 'Com_show_storage_engines'")[0][1],
        "1"
    );
    assert!(c.session.statistics().starts_with("Uptime: "));
}
