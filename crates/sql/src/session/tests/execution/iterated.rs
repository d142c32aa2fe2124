//! WITH ROLLUP and WITH RECURSIVE beside what they come to when they are carried out by hand, in memory and in files.

use std::collections::{BTreeMap, BTreeSet};

use super::Client;

/// Buffers that are full after a few rows.
const TINY: [&str; 3] = [
    "SET tmp_table_size = 1024",
    "SET max_heap_table_size = 16384",
    "SET sort_buffer_size = 32768",
];

/// Numbers that look random and are the same in every run from the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = { self.0.wrapping_mul(6_364_136_223_846_793_005) }
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

impl Client {
    fn set_of(&mut self, sql: &str) -> Vec<String> {
        let mut rows: Vec<String> = self.rows(sql).split(' ').map(str::to_owned).collect();
        rows.sort();
        rows
    }

    fn files_made(&self) -> u64 {
        let files = self.instance.engine().temp_files();
        assert_eq!(files.count() + files.held(), 0, "files are left");
        files.made()
    }
}

/// A table of values that repeat, some of them NULL.
fn with_values(numbers: &mut Numbers, rows: u64) -> Client {
    let mut c = Client::new();
    c.run(
        "CREATE TABLE r (id INT PRIMARY KEY, a INT, b INT NOT NULL, c VARCHAR(10) COLLATE utf8mb4_general_ci, d DATE NOT NULL, \
         x INT, y DECIMAL(8,2), KEY a (a, b))",
    );
    for id in 0..rows {
        let mut or_null = |text: String| match numbers.below(6) {
            0 => "NULL".to_owned(),
            _ => text,
        };
        let a = or_null((id % 4).to_string());
        let word = or_null(format!("'{}'", ["p", "P", "q", "rr"][(id % 4) as usize]));
        let x = or_null((id * 7 % 11).to_string());
        let y = or_null(format!("{}.25", id % 13));
        let (b, day) = (numbers.below(3), 1 + numbers.below(4));
        c.run(&format!(
            "INSERT INTO r VALUES ({id}, {a}, {b}, {word}, '2024-01-0{day}', {x}, {y})"
        ));
    }
    c
}

/// The rows of WITH ROLLUP are those of a GROUP BY for each level.
#[test]
fn rolled_groups_are_groups_of_every_level() {
    let mut numbers = Numbers(base::seed::nth("rolled", 0));
    let mut c = with_values(&mut numbers, 250);
    let aggregates = "COUNT(*), COUNT(x), SUM(x), MIN(y), MAX(LOWER(c)), COUNT(DISTINCT x), SUM(DISTINCT y), \
                      GROUP_CONCAT(DISTINCT x ORDER BY x DESC)";
    for round in 0..60 {
        if round == 30 {
            TINY.iter().for_each(|t| drop(c.run(t)));
        }
        let all = ["a", "b", "LOWER(c)", "d", "a + b", "x IS NULL", "MONTH(d)"];
        let n = 1 + numbers.below(3) as usize;
        let mut keys: Vec<&str> = Vec::new();
        while keys.len() < n {
            let k = all[numbers.below(all.len() as u64) as usize];
            if !keys.contains(&k) {
                keys.push(k);
            }
        }
        let filter = [
            "",
            " WHERE x > 3",
            " WHERE b = 1 AND a IS NOT NULL",
            " WHERE id < 0",
        ];
        let filter = filter[numbers.below(4) as usize];
        let list = keys.join(", ");
        let rolled = format!(
            "SELECT {list}, GROUPING({list}), {aggregates} FROM r{filter} GROUP BY {list} WITH ROLLUP"
        );
        let level = |level: usize| {
            let values: Vec<&str> = { keys[..level].iter().copied() }
                .chain(keys[level..].iter().map(|_| "NULL"))
                .collect();
            let bits = (1u64 << (n - level)) - 1;
            let group = match level {
                0 => " HAVING COUNT(*) > 0".to_owned(),
                _ => format!(" GROUP BY {}", keys[..level].join(", ")),
            };
            let values = values.join(", ");
            format!("SELECT {values}, {bits}, {aggregates} FROM r{filter}{group}")
        };
        let levels: Vec<String> = (0..=n).map(level).collect();
        let by_hand = levels.join(" UNION ALL ");
        assert_eq!(c.set_of(&rolled), c.set_of(&by_hand), "{rolled}");
        // What is sorted otherwise, cut and asked again has the same rows.
        let ordered = format!("SELECT * FROM ({rolled}) q (k1{}) ORDER BY 1", more(n + 8));
        assert_eq!(c.set_of(&ordered), c.set_of(&by_hand), "{ordered}");
    }
}

fn more(n: usize) -> String {
    (2..=n + 1).map(|i| format!(", k{i}")).collect()
}

/// Many rows in few and in many groups, in files.
#[test]
fn rolled_groups_spill() {
    let mut c = Client::new();
    c.run("CREATE TABLE big (id INT PRIMARY KEY, k INT, s VARCHAR(100))");
    c.run("SET cte_max_recursion_depth = 100000");
    c.run(
        "INSERT INTO big WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4000) \
         SELECT i, i * 7 % 600, REPEAT(CHAR(97 + i % 20), 60) FROM n",
    );
    let sql = "SELECT k % 10, k, COUNT(*), SUM(id), COUNT(DISTINCT s) FROM big GROUP BY k % 10, k WITH ROLLUP";
    let made = c.files_made();
    let usual = c.rows(sql);
    assert_eq!(c.files_made(), made, "there is room");
    TINY.iter().for_each(|t| drop(c.run(t)));
    let spilled = c.rows(sql);
    assert!(c.files_made() > made, "nothing was spilled");
    assert_eq!(usual, spilled);
    assert_eq!(usual.split(' ').count(), 600 + 10 + 1);
}

/// What can be reached, and by how many ways.
#[test]
fn iterated_rows_are_those_of_loops() {
    let mut numbers = Numbers(base::seed::nth("iterated", 0));
    let mut c = Client::new();
    c.run("CREATE TABLE e (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b INT, KEY (a))");
    for round in 0..30u64 {
        if round == 15 {
            TINY.iter().for_each(|t| drop(c.run(t)));
        }
        c.run("DELETE FROM e");
        let nodes = 2 + numbers.below(20);
        let edges: Vec<(u64, u64)> = (0..numbers.below(3 * nodes))
            .map(|_| (numbers.below(nodes), numbers.below(nodes)))
            .collect();
        for (a, b) in &edges {
            c.run(&format!("INSERT INTO e (a, b) VALUES ({a}, {b})"));
        }
        let from = numbers.below(nodes);
        let mut reached = BTreeSet::from([from]);
        while let Some(n) = { edges.iter() }
            .find(|(a, b)| reached.contains(a) && !reached.contains(b))
            .map(|e| e.1)
        {
            reached.insert(n);
        }
        let expected: Vec<String> = reached.iter().map(u64::to_string).collect();
        let sql = format!(
            "WITH RECURSIVE r AS (SELECT {from} AS n UNION SELECT e.b FROM r JOIN e ON e.a = r.n) SELECT n FROM r ORDER BY n"
        );
        assert_eq!(c.rows(&sql), expected.join(" "), "{sql} {edges:?}");
        // Backwards and forwards, by two queries that go on.
        let mut both = BTreeSet::from([from]);
        while let Some(n) = { edges.iter() }.find_map(|(a, b)| {
            let (x, y) = (both.contains(a), both.contains(b));
            (x != y).then_some(if x { *b } else { *a })
        }) {
            both.insert(n);
        }
        let expected: Vec<String> = both.iter().map(u64::to_string).collect();
        let sql = format!(
            "WITH RECURSIVE r AS (SELECT {from} AS n UNION SELECT e.b FROM r JOIN e ON e.a = r.n \
             UNION SELECT e.a FROM e JOIN r ON e.b = r.n) SELECT n FROM r ORDER BY n"
        );
        assert_eq!(c.rows(&sql), expected.join(" "), "{sql} {edges:?}");
        // Ways of some length.
        let length = 1 + numbers.below(4);
        let mut ways = BTreeMap::from([(from, 1u64)]);
        let mut all = ways.clone();
        for _ in 0..length {
            let mut next: BTreeMap<u64, u64> = BTreeMap::new();
            for (a, b) in &edges {
                if let Some(n) = ways.get(a) {
                    *next.entry(*b).or_default() += n;
                }
            }
            next.iter()
                .for_each(|(n, k)| *all.entry(*n).or_default() += k);
            ways = next;
        }
        let expected: Vec<String> = all.iter().map(|(n, k)| format!("{n}|{k}")).collect();
        let sql = format!(
            "WITH RECURSIVE r AS (SELECT {from} AS n, 0 AS d UNION ALL SELECT e.b, d + 1 FROM r JOIN e ON e.a = r.n WHERE d < {length}) \
             SELECT n, COUNT(*) FROM r GROUP BY n ORDER BY n"
        );
        assert_eq!(c.rows(&sql), expected.join(" "), "{sql} {edges:?}");
    }
}

/// Rows of an iteration that there is no room for.
#[test]
fn iterated_rows_spill() {
    let mut c = Client::new();
    c.run("SET cte_max_recursion_depth = 100000");
    let sql = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000), \
               r AS (SELECT i, 0 AS d, REPEAT('x', 50) AS s FROM n UNION ALL SELECT i, d + 1, s FROM r WHERE d < 3) \
               SELECT d, COUNT(*), SUM(i), SUM(LENGTH(s)) FROM r GROUP BY d ORDER BY d";
    let made = c.files_made();
    let usual = c.rows(sql);
    assert_eq!(c.files_made(), made, "there is room");
    TINY.iter().for_each(|t| drop(c.run(t)));
    assert_eq!(c.rows(sql), usual);
    assert!(c.files_made() > made, "nothing was spilled");
    assert_eq!(
        usual,
        "0|1000|500500|50000 1|1000|500500|50000 2|1000|500500|50000 3|1000|500500|50000"
    );
}
