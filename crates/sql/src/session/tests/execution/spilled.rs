//! What operators that spill come to, beside what they come to in memory.

use std::sync::Arc;

use base::mem::MemDisk;

use super::Client;

/// Buffers that are full after a few rows.
const TINY: [&str; 4] = [
    "SET tmp_table_size = 1024",
    "SET max_heap_table_size = 16384",
    "SET sort_buffer_size = 32768",
    "SET join_buffer_size = 128",
];

/// Buffers as they are where nobody says otherwise.
const USUAL: [&str; 4] = [
    "SET tmp_table_size = DEFAULT",
    "SET max_heap_table_size = DEFAULT",
    "SET sort_buffer_size = DEFAULT",
    "SET join_buffer_size = DEFAULT",
];

impl Client {
    fn all(&mut self, texts: &[&str]) {
        for t in texts {
            self.run(t);
        }
    }

    /// Files that statements have made so far, and those that are there.
    fn temp(&self) -> (u64, u64) {
        let files = self.instance.engine().temp_files();
        (files.made(), files.count() + files.held())
    }

    /// The rows as they come in memory, and as they come where the operators spill.
    fn both(&mut self, sql: &str) -> (String, String) {
        self.all(&USUAL);
        let made = self.temp().0;
        let usual = self.rows(sql);
        assert_eq!(self.temp().0, made, "there is room for all: {sql}");
        self.all(&TINY);
        let spilled = self.rows(sql);
        assert!(self.temp().0 > made, "nothing was spilled: {sql}");
        assert_eq!(self.temp().1, 0, "files are left: {sql}");
        (usual, spilled)
    }

    /// Rows that the statement orders.
    fn same(&mut self, sql: &str) {
        let (usual, spilled) = self.both(sql);
        let differs = usual
            .split(' ')
            .zip(spilled.split(' '))
            .find(|(a, b)| a != b);
        assert_eq!((differs, usual.len()), (None, spilled.len()), "{sql}");
    }

    /// Rows that come in any order.
    fn same_set(&mut self, sql: &str) {
        let (usual, spilled) = self.both(sql);
        let set = |rows: &str| {
            let mut rows: Vec<String> = rows.split(' ').map(str::to_owned).collect();
            rows.sort();
            rows
        };
        let (usual, spilled) = (set(&usual), set(&spilled));
        let differs = usual.iter().zip(&spilled).find(|(a, b)| a != b);
        assert_eq!((differs, usual.len()), (None, spilled.len()), "{sql}");
    }
}

/// A table with a column of every type, in which values repeat and are NULL.
fn every_type(rows: u64) -> Client {
    every_type_on(&Arc::new(MemDisk::default()), rows)
}

const COLUMNS: [&str; 18] = [
    "i", "u", "d", "w", "f", "g", "s", "b", "l", "e", "m", "bits", "dt", "t", "at", "ts", "y", "j",
];

fn every_type_on(disk: &Arc<MemDisk>, rows: u64) -> Client {
    let mut c = Client::on(disk);
    c.run(
        "CREATE TABLE v (id INT PRIMARY KEY, i INT, u BIGINT UNSIGNED, d DECIMAL(10,3), w DECIMAL(65,20), f DOUBLE, g FLOAT, \
         s VARCHAR(30) COLLATE utf8mb4_general_ci, b VARCHAR(30) COLLATE utf8mb4_bin, l VARBINARY(20), \
         e ENUM('one','two','three'), m SET('a','b','c'), bits BIT(7), dt DATE, t TIME(3), at DATETIME(6), ts TIMESTAMP, y YEAR, j JSON)",
    );
    let mut n = base::seed::nth("spilled", 1);
    let mut values = Vec::new();
    for id in 0..rows {
        let mut next = |below: u64| {
            n = n
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (n >> 33) % below
        };
        let mut row = vec![id.to_string()];
        for c in COLUMNS {
            let x = next(700);
            row.push(match (c, next(20)) {
                (_, 0) => "NULL".to_owned(),
                ("i", _) => format!("{}", x as i64 - 350),
                ("u", _) => format!("{}", u64::MAX - x),
                ("d", _) => format!("{}.{:03}", x as i64 - 350, next(3)),
                ("w", _) => format!("-12345678901234567890123456789012345678901{x}.5"),
                ("f", _) => format!("{x}.25e{}", next(3)),
                ("g", _) => format!("{}.5", x % 90),
                ("s" | "b", _) => {
                    let word = ["alpha", "Alpha", "ÄLPHA", "beta", "g"][next(5) as usize];
                    format!("'{word}{}'", x % 60)
                }
                ("l", _) => format!("x'{x:04x}ff'"),
                ("e", _) => (1 + x % 3).to_string(),
                ("m", _) => (x % 8).to_string(),
                ("bits", _) => (x % 128).to_string(),
                ("dt", _) => format!("'2024-{:02}-{:02}'", 1 + x % 12, 1 + next(28)),
                ("t", _) => format!("'-{}:{:02}:07.125'", x, next(60)),
                ("at", _) => format!("'2001-02-03 04:05:06.{x:06}'"),
                ("ts", _) => format!("'2020-02-03 04:{:02}:06'", x % 60),
                ("y", _) => (1950 + x % 100).to_string(),
                _ => format!("'{{\"a\": {x}, \"b\": [{}]}}'", next(3)),
            });
        }
        values.push(format!("({})", row.join(",")));
        if values.len() == 100 || id + 1 == rows {
            c.run(&format!("INSERT INTO v VALUES {}", values.join(",")));
            values.clear();
        }
    }
    c
}

#[test]
fn sorts() {
    let mut c = every_type(1200);
    for k in COLUMNS {
        c.same(&format!("SELECT * FROM v ORDER BY {k}, id"));
        c.same(&format!("SELECT {k}, id FROM v ORDER BY {k} DESC, id DESC"));
    }
    c.same("SELECT s, b, d, id FROM v ORDER BY s DESC, b, d DESC, id");
    c.same("SELECT id, CONCAT(s, '-', b), i * 2.5 FROM v ORDER BY i % 7, 2, id");
    // Equal rows stay in the order in which they were found.
    c.same("SELECT e, id, j FROM v ORDER BY e");
    c.same("SELECT s FROM v ORDER BY s");
    c.same("SELECT x.id, y.s FROM v x JOIN v y ON y.id = x.i + 350 ORDER BY y.s, x.id");
    c.same("SELECT * FROM v ORDER BY id + 0 LIMIT 700");
    c.same("SELECT * FROM v ORDER BY id + 0 LIMIT 100, 700");
    c.same("SELECT SQL_CALC_FOUND_ROWS * FROM v ORDER BY id + 0 LIMIT 2");
    assert_eq!(c.rows("SELECT FOUND_ROWS()"), "1200");
}

#[test]
fn a_sort_of_more_runs_than_are_merged_at_once() {
    let mut c = every_type(4000);
    c.same("SELECT * FROM v ORDER BY s, id");
    c.same("SELECT j, w, id FROM v ORDER BY id * 7 % 4001");
}

#[test]
fn groups() {
    let mut c = every_type(1200);
    for k in COLUMNS.into_iter().filter(|k| !["e", "m"].contains(k)) {
        let aggregates = "COUNT(*), COUNT(i), SUM(d), AVG(w), MIN(s), MAX(b), SUM(f), STD(i), BIT_XOR(u), MAX(at), MIN(g)";
        c.same_set(&format!(
            "SELECT HEX({k}), {aggregates} FROM v GROUP BY {k}"
        ));
        c.same_set(&format!(
            "SELECT {k} IS NULL, COUNT(DISTINCT s), COUNT(DISTINCT i, e), SUM(DISTINCT d), \
             REPLACE(GROUP_CONCAT(b, t ORDER BY id DESC SEPARATOR '+'), ' ', ''), REPLACE(JSON_ARRAYAGG(dt), ' ', '') \
             FROM v GROUP BY {k}"
        ));
    }
    c.same(
        "SELECT s, e, COUNT(*) n, SUM(f) FROM v GROUP BY s, e HAVING n > 1 ORDER BY n DESC, s, e",
    );
    c.same("SELECT x.s, COUNT(*), SUM(y.d) FROM v x JOIN v y ON y.id = x.i + 350 GROUP BY x.s ORDER BY 1");
    c.same("SELECT i, (SELECT MAX(s) FROM v z WHERE z.id = v.i + 350), COUNT(*) FROM v GROUP BY i ORDER BY i");
    c.same("SELECT COUNT(*) FROM (SELECT d, t FROM v GROUP BY d, t) q");
    // Any of the groups.
    c.all(&TINY);
    assert_eq!(
        c.run("SELECT i FROM v GROUP BY i LIMIT 500").rows.len(),
        500
    );
}

#[test]
fn distinct_rows() {
    let mut c = every_type(1200);
    for k in COLUMNS
        .into_iter()
        .filter(|k| !["e", "m", "y", "bits"].contains(k))
    {
        c.same_set(&format!("SELECT DISTINCT {k}, e FROM v"));
        c.same(&format!("SELECT DISTINCT {k}, m FROM v ORDER BY {k}, m"));
    }
    // Of equal ones the first comes.
    c.same("SELECT DISTINCT s FROM v ORDER BY s");
    c.same("SELECT DISTINCT s, b FROM v ORDER BY b, s DESC");
    c.same("SELECT COUNT(*) FROM (SELECT DISTINCT d, t FROM v) q");
    c.all(&TINY);
    assert_eq!(
        c.run("SELECT DISTINCT i, s FROM v LIMIT 500").rows.len(),
        500
    );
    c.run("SELECT SQL_CALC_FOUND_ROWS DISTINCT i, s FROM v LIMIT 5");
    let spilled = c.rows("SELECT FOUND_ROWS()");
    c.all(&USUAL);
    c.run("SELECT SQL_CALC_FOUND_ROWS DISTINCT i, s FROM v LIMIT 5");
    assert_eq!(c.rows("SELECT FOUND_ROWS()"), spilled);
}

/// Statements each of which spills.
const SPILLING: [&str; 3] = [
    "SELECT * FROM v ORDER BY s, id",
    "SELECT w, t, COUNT(*) FROM v GROUP BY w, t",
    "SELECT DISTINCT w, t FROM v",
];

#[test]
fn a_full_disk_fails_the_statement_alone() {
    let disk = Arc::new(MemDisk::default());
    let mut c = every_type_on(&disk, 1200);
    c.all(&TINY);
    for sql in SPILLING {
        disk.set_room(10_000);
        let (code, text) = c.error(sql);
        assert_eq!(code, 1021, "{sql}: {text}");
        assert_eq!(c.temp().1, 0, "{sql}");
        disk.set_room(u64::MAX);
        c.run(sql);
        c.instance.engine().temp_files().set_limit(10_000);
        assert_eq!(c.error(sql).0, 1114, "{sql}");
        c.instance.engine().temp_files().set_limit(u64::MAX);
        c.run(sql);
    }
}

#[test]
fn files_of_a_statement_that_ends_early_go() {
    let mut c = every_type(1200);
    c.all(&TINY);
    for sql in SPILLING {
        let before = c.temp().0;
        c.run("SET max_execution_time = 1");
        let slow = format!("{sql} LIMIT 2000");
        let _ = c.try_run(&slow);
        c.run("SET max_execution_time = 0");
        assert_eq!(c.temp().1, 0, "{sql}");
        assert!(c.temp().0 >= before);
    }
}

/// Two tables whose columns no index has: `a` and `b` with values that repeat and are NULL, one of which half of the rows have.
fn joined() -> Client {
    let mut c = Client::new();
    for (t, rows, skew) in [("x", 400, 0), ("y", 500, 0), ("z", 300, 0), ("h", 600, 2)] {
        c.run(&format!(
            "CREATE TABLE {t} (id INT PRIMARY KEY, a INT, b VARCHAR(20) COLLATE utf8mb4_general_ci, d DECIMAL(8,2), big TEXT)"
        ));
        let mut n = base::seed::nth("joined", rows);
        let mut values = Vec::new();
        for id in 0..rows {
            let mut next = |below: u64| {
                n = n
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (n >> 33) % below
            };
            let a = match next(8) {
                0 => "NULL".to_owned(),
                _ if skew > 0 && next(skew) == 0 => "7".to_owned(),
                _ => next(90).to_string(),
            };
            let word = ["k", "K", "l", "ä"][next(4) as usize];
            // Some beside their page.
            let big = match id % 97 {
                0 => format!("REPEAT('{word}', 9000)"),
                _ => "NULL".to_owned(),
            };
            values.push(format!(
                "({id},{a},'{word}{}',{}.5,{big})",
                next(30),
                next(40)
            ));
        }
        c.run(&format!("INSERT INTO {t} VALUES {}", values.join(",")));
    }
    c
}

#[test]
fn hash_joins() {
    let mut c = joined();
    // Indexes may not help: all these are joined by hash.
    for sql in [
        "SELECT x.id, y.id FROM x JOIN y ON x.a = y.a",
        "SELECT x.id, y.id, LENGTH(y.big), LENGTH(x.big) FROM x JOIN y ON x.b = y.b",
        "SELECT x.id, y.id FROM x JOIN y ON x.a = y.a AND x.d = y.d AND x.id < y.id",
        "SELECT x.id, y.id FROM x LEFT JOIN y ON x.a = y.a",
        "SELECT x.id, y.id FROM x LEFT JOIN y ON x.a = y.a AND y.d < 10 WHERE x.d > 5",
        "SELECT x.id, y.id FROM x LEFT JOIN y ON x.a = y.a AND x.b < y.b WHERE y.id IS NULL",
        "SELECT x.id FROM x WHERE x.a IN (SELECT y.a FROM y WHERE y.d < 20)",
        "SELECT x.id FROM x WHERE EXISTS (SELECT 1 FROM y WHERE y.a = x.a AND y.d > x.d)",
        "SELECT x.id FROM x WHERE NOT EXISTS (SELECT 1 FROM y WHERE y.a = x.a AND y.d > 30)",
        "SELECT x.id, y.id, z.id FROM x JOIN y ON x.a = y.a JOIN z ON z.b = y.b AND z.d = x.d",
        "SELECT x.id, y.id, z.id FROM x JOIN y ON x.a = y.a AND x.d = y.d LEFT JOIN z ON z.b = y.b AND z.d < 3",
        "SELECT x.id, y.id, z.id FROM x LEFT JOIN y ON x.a = y.a AND y.d = x.d LEFT JOIN z ON z.a = y.a AND z.d = 3.5",
        "SELECT x.id, (SELECT MAX(z.d) FROM z WHERE z.id = x.a) m FROM x JOIN y ON x.a = y.a WHERE y.d < 4",
        "SELECT x.d, COUNT(*), SUM(y.d) FROM x JOIN y ON x.a = y.a GROUP BY x.d",
        "SELECT DISTINCT x.d, y.d FROM x JOIN y ON x.a = y.a",
    ] {
        c.same_set(sql);
    }
    c.same("SELECT x.id, y.id FROM x JOIN y ON x.a = y.a ORDER BY y.d, x.id, y.id");
}

#[test]
fn a_key_with_more_rows_than_there_is_room_for() {
    let mut c = joined();
    for sql in [
        "SELECT /*+ JOIN_ORDER(x, h) */ x.id, h.id FROM x JOIN h ON x.a = h.a",
        "SELECT x.id, h.id FROM x LEFT JOIN h ON x.a = h.a",
        "SELECT x.id, h.id FROM x LEFT JOIN h ON x.a = h.a AND x.d > h.d",
        "SELECT x.id, h.id FROM x LEFT JOIN h ON x.a = h.a AND h.d + x.d < 0",
        "SELECT x.id FROM x LEFT JOIN h ON x.a = h.a AND x.d < h.d WHERE h.id IS NULL",
        "SELECT x.id FROM x WHERE EXISTS (SELECT 1 FROM h WHERE h.a = x.a AND h.d > x.d)",
        "SELECT x.id FROM x WHERE NOT EXISTS (SELECT 1 FROM h WHERE h.a = x.a AND h.d < x.d)",
        "SELECT k.id, h.id FROM h k JOIN h ON k.a = h.a",
    ] {
        c.same_set(sql);
    }
}

#[test]
fn rows_keep_an_order_that_is_wanted() {
    let mut c = joined();
    c.all(&USUAL);
    let sql = "SELECT x.id, y.id FROM x JOIN y ON x.a = y.a ORDER BY x.id LIMIT 300";
    let usual = c.rows(sql);
    c.all(&TINY);
    let set = |rows: &str| {
        rows.split(' ')
            .map(|r| r.split('|').next().unwrap_or("").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(set(&usual), set(&c.rows(sql)));
}

#[test]
fn changes_by_rows_of_a_hash_join() {
    let sums = "SELECT SUM(a), SUM(d), COUNT(*) FROM x";
    let mut of = Vec::new();
    for settings in [&USUAL, &TINY] {
        let mut c = joined();
        c.all(settings);
        let made = c.temp().0;
        c.run("UPDATE x JOIN y ON x.a = y.a SET x.d = x.d + 1 WHERE y.d < 20");
        let first = c.rows(sums);
        c.run("DELETE x FROM x JOIN y ON x.a = y.a WHERE y.d > 35");
        c.run("INSERT INTO x (id, a) SELECT 10000 + y.id * 1000 + z.id, y.a FROM y JOIN z ON y.a = z.a");
        of.push((first, c.rows(sums), c.temp().0 > made));
    }
    assert_eq!((&of[0].0, &of[0].1), (&of[1].0, &of[1].1));
    assert_eq!((of[0].2, of[1].2), (false, true));
}

#[test]
fn rows_of_derived_tables_and_set_operations() {
    let mut c = every_type(700);
    let columns = COLUMNS.join(", ");
    for sql in [
        "SELECT COUNT(*), SUM(id) FROM (SELECT id, w, j FROM v ORDER BY w, id LIMIT 650) q",
        "WITH q AS (SELECT id, s, w FROM v ORDER BY id LIMIT 600) SELECT s, id, w FROM q WHERE id % 3 = 1 ORDER BY id",
        "SELECT id, s FROM v UNION ALL SELECT id + 1000, b FROM v ORDER BY id",
        "SELECT s, e FROM v UNION SELECT b, e FROM v ORDER BY HEX(s), e",
        "SELECT s, id FROM v UNION SELECT b, id FROM v UNION SELECT s, id FROM v ORDER BY id, HEX(s) LIMIT 20, 800",
        "SELECT i, e FROM v EXCEPT SELECT i, e FROM v WHERE id > 300 ORDER BY i, e",
        "SELECT i, e, y FROM v WHERE id < 500 INTERSECT ALL SELECT i, e, y FROM v WHERE id > 100 ORDER BY i, e, y",
        "SELECT q.id, r.id FROM (SELECT id, i FROM v ORDER BY w, id LIMIT 300) q JOIN (SELECT id, i FROM v ORDER BY w DESC, id LIMIT 300) r \
         ON q.i = r.i ORDER BY q.id, r.id",
        "SELECT q.id, r.id, r.s FROM v q LEFT JOIN (SELECT id, i, s FROM v ORDER BY w, id LIMIT 400) r ON q.i = r.i ORDER BY q.id + 0, r.id",
        "SELECT q.id, r.id, t.id FROM v q JOIN (SELECT id, i, s, d FROM v ORDER BY w, id LIMIT 400) r ON q.i = r.i \
         JOIN (SELECT id, d FROM v ORDER BY j, id LIMIT 400) t ON t.d = r.d ORDER BY q.id + 0, r.id, t.id",
        "SELECT q.id, r.id FROM (SELECT id, u FROM v ORDER BY w, id LIMIT 90) q JOIN (SELECT id, u FROM v ORDER BY w, id LIMIT 90) r \
         ON q.u < r.u ORDER BY q.id, r.id",
    ] {
        c.same(sql);
    }
    c.same(&format!(
        "SELECT * FROM (SELECT id, {columns} FROM v ORDER BY w, id LIMIT 699) q UNION ALL SELECT id, {columns} FROM v ORDER BY 1, 2, 3"
    ));
    c.same_set("SELECT s, e FROM v WHERE i < 0 UNION SELECT s, e FROM v");
}
