//! Different ways to the same rows: what an index finds must be what reading everything finds, whatever the plan.

use super::Client;

/// Numbers that look random and are the same in every run from the same seed.
struct Numbers(u64);

impl Numbers {
    fn new(n: u64) -> Numbers {
        Numbers(base::seed::nth("agree", n))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

fn number(n: &mut Numbers) -> String {
    match n.below(12) {
        0 => "NULL".to_owned(),
        1 => "-1".to_owned(),
        2 => "2.5".to_owned(),
        3 => "'4'".to_owned(),
        _ => n.below(12).to_string(),
    }
}

fn word(n: &mut Numbers) -> String {
    format!("'{}'", n.pick(&["a", "B", "b", "ab", "abc", "", "Ä", "z"]))
}

/// One column in one of several ranges, most of which an index of it can deliver.
fn alternatives(n: &mut Numbers, t: &str) -> String {
    let column = n.pick(&["id", "a", "a", "b", "d", "s"]);
    let value = |n: &mut Numbers| if column == "s" { word(n) } else { number(n) };
    let mut arms = Vec::new();
    for _ in 0..2 + n.below(5) {
        let (x, y) = (value(n), value(n));
        arms.push(match n.below(12) {
            0 => format!("{t}.{column} IN ({x}, {y})"),
            1 => format!("{t}.{column} IS NULL"),
            2 => format!("({t}.{column} > {x} AND {t}.{column} < {y})"),
            3 => format!("({t}.{column} = {x} AND {t}.b >= {})", number(n)),
            4 if column == "s" => format!("{t}.s LIKE {}", n.pick(&["'a%'", "'ab%'", "'B%'"])),
            5 | 6 => {
                let op = n.pick(&["=", "<", "<=", ">", ">=", "<=>"]);
                format!("{t}.{column} {op} {x}")
            }
            _ => format!("{t}.{column} BETWEEN {x} AND {y}"),
        });
    }
    format!("({})", arms.join(" OR "))
}

/// Several columns at once, against one row or a list of them.
fn of_rows(n: &mut Numbers, t: &str) -> String {
    let columns: &[&str] = match n.below(4) {
        0 => &["a", "b"],
        1 => &["d", "s"],
        2 => &["b", "a", "id"],
        _ => &["s", "a"],
    };
    let mut rows = Vec::new();
    for _ in 0..1 + n.below(5) {
        let mut value = |c: &&str| if *c == "s" { word(n) } else { number(n) };
        let values: Vec<String> = columns.iter().map(&mut value).collect();
        rows.push(format!("({})", values.join(", ")));
    }
    let columns: Vec<String> = columns.iter().map(|c| format!("{t}.{c}")).collect();
    let left = format!("({})", columns.join(", "));
    match n.below(6) {
        0 => format!("{left} = {}", rows[0]),
        1 => format!("{left} NOT IN ({})", rows.join(", ")),
        _ => format!("{left} IN ({})", rows.join(", ")),
    }
}

/// A condition on the columns of the table called `t`.
fn condition(n: &mut Numbers, t: &str, depth: u32) -> String {
    if depth > 0 && n.below(3) > 0 {
        let op = n.pick(&["AND", "AND", "OR"]);
        let (a, b) = (condition(n, t, depth - 1), condition(n, t, depth - 1));
        return format!("({a} {op} {b})");
    }
    let column = n.pick(&["id", "a", "b", "d"]);
    match n.below(10) {
        9 => of_rows(n, t),
        8 => alternatives(n, t),
        0 => format!("{t}.{column} BETWEEN {} AND {}", number(n), number(n)),
        1 => format!(
            "{t}.{column} IN ({}, {}, {})",
            number(n),
            number(n),
            number(n)
        ),
        2 => format!("{t}.s = {}", word(n)),
        3 => format!(
            "{t}.s LIKE {}",
            n.pick(&["'a%'", "'B%'", "'%b'", "'ab'", "'_b%'"])
        ),
        4 => format!("{t}.s {} {}", n.pick(&["<", ">=", "<>"]), word(n)),
        5 => format!("{t}.{column} IS {} NULL", n.pick(&["", "NOT"])),
        _ => {
            let op = n.pick(&["=", "<", "<=", ">", ">=", "<>", "<=>"]);
            format!("{t}.{column} {op} {}", number(n))
        }
    }
}

fn client(n: &mut Numbers) -> Client {
    let mut c = Client::new();
    let columns = "a INT, b INT UNSIGNED, d DECIMAL(5,1), s VARCHAR(10)";
    c.run(&format!(
        "CREATE TABLE t (id INT PRIMARY KEY, {columns}, KEY (a, b), KEY (b DESC), KEY (d, s), KEY (s), KEY (s(1), a))"
    ));
    c.run(&format!(
        "CREATE TABLE u (id INT, {columns}, PRIMARY KEY (id), UNIQUE KEY (a, id))"
    ));
    for t in ["t", "u"] {
        let rows: Vec<String> = (0..60)
            .map(|id| {
                let mut small = |null: bool| match n.below(12) {
                    0 | 1 if null => "NULL".to_owned(),
                    v => v.to_string(),
                };
                let (a, b, d) = (small(true), small(true), small(true));
                format!("({id}, {a}, {b}, {d}.5 - 0.5, {})", word(n))
            })
            .map(|r| r.replace("NULL.5 - 0.5", "NULL"))
            .collect();
        c.run(&format!("INSERT INTO {t} VALUES {}", rows.join(",")));
    }
    c
}

#[test]
fn indexes_and_scans() {
    let mut n = Numbers::new(7);
    let mut c = client(&mut n);
    for _ in 0..400 {
        let w = condition(&mut n, "t", 2);
        let by_index = c.rows(&format!("SELECT id FROM t WHERE {w} ORDER BY id"));
        let by_scan = c.rows(&format!(
            "SELECT id FROM t USE INDEX () WHERE {w} ORDER BY id"
        ));
        assert_eq!(by_index, by_scan, "{w}");
        let order = n.pick(&["a, b, id", "b DESC, id", "d, s, id", "id DESC", "s, id"]);
        let limit = n.below(9);
        let sql = format!("WHERE {w} ORDER BY {order} LIMIT {limit}");
        let by_index = c.rows(&format!("SELECT id FROM t {sql}"));
        let by_scan = c.rows(&format!("SELECT id FROM t USE INDEX () {sql}"));
        assert_eq!(by_index, by_scan, "{sql}");
        for f in ["MIN(a)", "MAX(b)", "MIN(d)", "COUNT(*)", "MAX(s)"] {
            let by_index = c.rows(&format!("SELECT {f} FROM t WHERE {w}"));
            let by_scan = c.rows(&format!("SELECT {f} FROM t USE INDEX () WHERE {w}"));
            // Texts that compare equal may stand for each other.
            let plain = |rows: String| rows.to_lowercase().replace('ä', "a");
            assert_eq!(plain(by_index), plain(by_scan), "{f} {w}");
        }
    }
}

#[test]
fn alternatives_and_scans() {
    let mut n = Numbers::new(19);
    let mut c = client(&mut n);
    let mut by_range = 0;
    for _ in 0..300 {
        let w = alternatives(&mut n, "t");
        let w = if n.below(4) == 0 {
            format!("{w} AND {}", condition(&mut n, "t", 0))
        } else {
            w
        };
        let forced = n.pick(&["", "FORCE INDEX (a, b, d, s)"]);
        let path = c.path(&format!("SELECT * FROM t {forced} WHERE {w}"));
        by_range += u32::from(path.contains(" range "));
        for (what, order) in [
            ("COUNT(*), SUM(id)", ""),
            ("MIN(a), MAX(id), MIN(d)", ""),
            ("MAX(b)", ""),
            ("id", "ORDER BY id"),
            ("id", "ORDER BY a, b, id LIMIT 7"),
            ("id", "ORDER BY a DESC, b DESC, id DESC"),
            ("id", "ORDER BY b DESC, id LIMIT 5"),
        ] {
            let rest = format!("WHERE {w} {order}");
            let by_index = c.rows(&format!("SELECT {what} FROM t {forced} {rest}"));
            let by_scan = c.rows(&format!("SELECT {what} FROM t USE INDEX () {rest}"));
            assert_eq!(by_index, by_scan, "{forced} {rest}");
        }
    }
    assert!(by_range > 100, "{by_range} of 300 used ranges");
}

#[test]
fn joins_by_index_and_by_hash() {
    let mut n = Numbers::new(11);
    let mut c = client(&mut n);
    for _ in 0..150 {
        let join = n.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        let pair = n.pick(&[
            "t.id = u.id",
            "t.a = u.a",
            "t.b = u.id",
            "u.a = t.id",
            "t.d = u.d",
            "t.s = u.s",
        ]);
        let on = format!("{pair} AND {}", condition(&mut n, "u", 1));
        let w = condition(&mut n, "t", 1);
        let rest = format!("ON {on} WHERE {w} ORDER BY t.id, u.id");
        let free = c.rows(&format!("SELECT t.id, u.id FROM t {join} u {rest}"));
        let bare = c.rows(&format!(
            "SELECT t.id, u.id FROM t USE INDEX () {join} u USE INDEX () {rest}"
        ));
        assert_eq!(free, bare, "{join} {rest}");
        // The same with the pair hidden from both index and hash.
        let hidden = on
            .replacen(" = ", " + 0 = ", 1)
            .replacen("t.s + 0", "CONCAT(t.s)", 1);
        let rest = format!("ON {hidden} WHERE {w} ORDER BY t.id, u.id");
        let loops = c.rows(&format!("SELECT t.id, u.id FROM t {join} u {rest}"));
        assert_eq!(free, loops, "{join} {rest}");
    }
}

#[test]
fn changes_by_index_and_by_scan() {
    let mut n = Numbers::new(3);
    for _ in 0..6 {
        let mut c = client(&mut n);
        c.run("CREATE TABLE x LIKE t");
        c.run("INSERT INTO x SELECT * FROM t");
        for _ in 0..25 {
            let set = n.pick(&[
                "a = a + 1",
                "b = 3, a = b",
                "id = id + 1000",
                "s = 'q'",
                "d = d + 1, s = CONCAT(s, 'x')",
            ]);
            let w = condition(&mut n, "t", 1);
            let wx = w.replace("t.", "x.");
            let kind = n.below(5);
            let (one, two) = if kind == 0 {
                (
                    format!("DELETE FROM t WHERE {w}"),
                    format!("DELETE FROM x WHERE {wx} OR RAND() > 2"),
                )
            } else {
                (
                    format!("UPDATE t SET {set} WHERE {w}"),
                    format!("UPDATE x SET {set} WHERE {wx} OR RAND() > 2"),
                )
            };
            let first = c.try_run(&one).map_err(|e| e.code).map(|r| r.done.affected);
            let second = c.try_run(&two).map_err(|e| e.code).map(|r| r.done.affected);
            assert_eq!(first, second, "{one}");
            assert_eq!(
                c.rows("SELECT * FROM t ORDER BY id"),
                c.rows("SELECT * FROM x ORDER BY id"),
                "{one}"
            );
        }
        assert!(c.rows("CHECK TABLE t").ends_with("OK"));
    }
}
