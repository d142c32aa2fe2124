//! Queries over `information_schema`.

use super::*;

#[test]
fn tables_and_columns_can_be_queried() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int PRIMARY KEY, n varchar(10) UNIQUE)");
    assert_eq!(
        c.rows("SELECT TABLE_NAME, engine FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE()"),
        [["t", "InnoDB"]]
    );
    assert_eq!(
        c.rows("SELECT column_name, data_type, character_maximum_length FROM information_schema.columns WHERE table_schema='test' AND table_name='t' ORDER BY ordinal_position"),
        [["id", "int", "NULL"], ["n", "varchar", "10"]]
    );
    assert_eq!(
        c.one("SELECT count(*) FROM information_schema.statistics WHERE table_schema = 'test'"),
        "2"
    );
    assert_eq!(
        c.rows("SELECT kcu.COLUMN_NAME, tc.CONSTRAINT_TYPE FROM information_schema.KEY_COLUMN_USAGE kcu JOIN information_schema.TABLE_CONSTRAINTS tc USING (CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME) WHERE kcu.TABLE_SCHEMA = 'test' ORDER BY 1"),
        [["id", "PRIMARY KEY"], ["n", "UNIQUE"]]
    );
    assert_eq!(c.error("SELECT * FROM information_schema.nothing"), 1109);
    assert_eq!(c.one("SELECT 1 FROM mysql.user LIMIT 1"), "1");
    assert_eq!(
        c.one("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'test%' ORDER BY SCHEMA_NAME='test' DESC, SCHEMA_NAME LIMIT 1"),
        "test"
    );
}

#[test]
fn every_virtual_table_gives_rows_of_its_shape() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int PRIMARY KEY)");
    for schema in crate::infoschema::SCHEMAS {
        for t in crate::infoschema::table_names(schema) {
            let r = c.run(&format!("SELECT * FROM {schema}.{t}"));
            assert!(r.rows.iter().all(|row| row.len() == r.columns.len()), "{t}");
        }
    }
}
