//! Rows of many columns, up to what fits half a page, and what metadata says of tables' sizes.

use super::*;

fn columns(n: usize, ty: &str) -> String {
    let all: Vec<String> = (0..n).map(|i| format!("c{i} {ty}")).collect();
    all.join(", ")
}

#[test]
fn a_row_of_up_to_half_a_page_is_kept() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run(&format!(
        "CREATE TABLE t (id INT PRIMARY KEY, {}, KEY (c1))",
        columns(600, "BIGINT")
    ));
    c.run(&format!(
        "CREATE TABLE b (id INT PRIMARY KEY, {})",
        columns(31, "BINARY(255)")
    ));
    c.run(&format!(
        "CREATE TABLE v (id INT PRIMARY KEY, {})",
        columns(190, "VARCHAR(60)")
    ));
    for id in [5, 1, 9, 3, 7, 2, 8, 4, 6, 10, 12, 11] {
        c.run(&format!(
            "INSERT INTO t (id, c0, c1, c599) VALUES ({id}, {id}, {id}, {id})"
        ));
        let of_b: Vec<String> = (0..31)
            .map(|_| format!("REPEAT('{}', 255)", id % 10))
            .collect();
        c.run(&format!("INSERT INTO b VALUES ({id}, {})", of_b.join(",")));
        let of_v: Vec<String> = (0..190)
            .map(|i| format!("REPEAT('{}', {})", id % 10, 20 + i % 40))
            .collect();
        c.run(&format!("INSERT INTO v VALUES ({id}, {})", of_v.join(",")));
    }
    c.run("BEGIN");
    c.run("UPDATE t SET c5 = id * 2, c1 = -c1 WHERE id % 2 = 0");
    c.run("UPDATE b SET c7 = 'changed'");
    c.run("DELETE FROM v WHERE id % 3 = 0");
    c.run("ROLLBACK");
    c.run("UPDATE t SET c5 = id * 3 WHERE id % 3 = 0");
    c.run("UPDATE b SET c7 = REPEAT('z', 255) WHERE id % 3 = 0");
    c.run("UPDATE v SET c0 = '', c1 = 'shorter' WHERE id % 3 = 0");
    c.run("DELETE FROM b WHERE id = 4");
    let seen = |c: &mut Client| {
        [
            c.rows("SELECT COUNT(*), SUM(c0), SUM(c1), SUM(c5), SUM(c599) FROM t"),
            c.rows("SELECT COUNT(*), SUM(c7 = REPEAT('z', 255)), SUM(LENGTH(c30)) FROM b"),
            c.rows("SELECT COUNT(*), SUM(LENGTH(c0)), SUM(LENGTH(c1)), SUM(LENGTH(c189)) FROM v"),
        ]
    };
    let expected = [
        vec![["12", "78", "78", "90", "78"].map(str::to_owned).to_vec()],
        vec![["11", "4", "2805"].map(str::to_owned).to_vec()],
        vec![["12", "160", "196", "588"].map(str::to_owned).to_vec()],
    ];
    assert_eq!(seen(&mut c), expected);
    for t in ["t", "b", "v"] {
        c.run(&format!("ALTER TABLE {t} ROW_FORMAT=COMPRESSED"));
        let rows = c.rows(&format!("CHECK TABLE {t}"));
        assert_eq!(rows[0][3], "OK", "{rows:?}");
    }
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    assert_eq!(seen(&mut Client::in_test(&server_on(disk))), expected);
}

#[test]
fn a_row_that_cannot_fit_is_refused_with_its_definition() {
    let mut c = Client::in_test(&server());
    let message = |c: &mut Client, sql: &str| match c.try_all(sql) {
        Ok(_) => panic!("{sql}: no error"),
        Err(e) => (e.code, e.message.to_string()),
    };
    let wide = format!(
        "CREATE TABLE t (id INT PRIMARY KEY, {})",
        columns(33, "BINARY(255)")
    );
    let text = |prefix: u32| {
        format!(
            "Row size too large (> 8126). Changing some columns to TEXT or BLOB may help. In current row format, BLOB prefix of {prefix} bytes is stored inline."
        )
    };
    assert_eq!(message(&mut c, &wide), (1118, text(0)));
    let long = format!(
        "CREATE TABLE t (id INT PRIMARY KEY, {}) ROW_FORMAT=COMPACT",
        columns(11, "TEXT")
    );
    assert_eq!(message(&mut c, &long), (1118, text(768)));
    c.run(&long.replace("COMPACT", "DYNAMIC"));
    assert_eq!(
        c.error(&format!(
            "ALTER TABLE t {}",
            columns(32, "BINARY(255)").replace('c', "ADD COLUMN b")
        )),
        1118
    );
    c.run("DROP TABLE t");
    c.run("SET innodb_strict_mode = OFF");
    c.run(&wide);
    assert_eq!(c.rows("SHOW WARNINGS")[0][1], "1118");
    let values: Vec<String> = (0..33).map(|_| "REPEAT('x', 255)".to_owned()).collect();
    assert_eq!(
        c.error(&format!("INSERT INTO t VALUES (2, {})", values.join(","))),
        1118
    );
}

#[test]
fn sizes_tell_rows_from_indexes() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200), b INT)");
    let sizes = |c: &mut Client| -> Vec<u64> {
        let row = c.rows("SELECT data_length, index_length, data_free, table_rows FROM information_schema.tables WHERE table_name = 't'");
        row[0]
            .iter()
            .map(|v| v.parse().expect("a number"))
            .collect()
    };
    assert_eq!(sizes(&mut c)[..2], [16384, 0]);
    for from in (0..4000).step_by(1000) {
        let rows: Vec<String> = (from..from + 1000)
            .map(|i| format!("({i}, REPEAT('x', 190), {i})"))
            .collect();
        c.run(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    let alone = sizes(&mut c);
    // Some 220 bytes a row, pages filled to the brim.
    assert!(800_000 < alone[0] && alone[0] < 1_100_000, "{alone:?}");
    assert_eq!(alone[1], 0);
    c.run("CREATE INDEX b ON t (b)");
    let small = sizes(&mut c);
    assert_eq!(small[0], alone[0]);
    assert!(40_000 < small[1] && small[1] < 160_000, "{small:?}");
    c.run("CREATE INDEX a ON t (a, b)");
    let large = sizes(&mut c);
    assert!(large[1] > 700_000, "{large:?}");
    c.run("DROP INDEX a ON t");
    assert_eq!(sizes(&mut c)[..2], small[..2]);
    assert!(sizes(&mut c)[2] >= large[1] - small[1]);
    c.run("ALTER TABLE t ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=8");
    block_on(c.session.engine.engine().pager().flush_all()).expect("written");
    let packed = sizes(&mut c);
    assert!(packed[0] < alone[0] / 2, "{packed:?}");
    let options =
        c.one("SELECT create_options FROM information_schema.tables WHERE table_name = 't'");
    let (what, percent) = options
        .rsplit_once(" packed_to=")
        .expect("what it is packed to");
    assert_eq!(what, "row_format=COMPRESSED KEY_BLOCK_SIZE=8");
    let percent: u32 = percent.trim_end_matches('%').parse().expect("a number");
    assert!((1..40).contains(&percent), "{options}");
}
