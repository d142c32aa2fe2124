//! Values and statements by chance. Everything is drawn from one generator, so that a client's statements follow from its seed.

use harness::rng::Rng;

/// Which statements servers have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// A MariaDB server runs them, or has to apply them.
    pub mariadb: bool,
    /// And none but MariaDB runs them first: words that are its own are among them.
    pub own_words: bool,
    /// The log has statements and not rows: no temporary tables, of which a replica that was killed knows nothing.
    pub statements: bool,
    /// Rows of `r.composite` that are loaded from there.
    pub file: Option<&'static str>,
}

/// What is in that file: more than one event takes.
pub fn rows_to_load() -> String {
    let line = |n: u64| format!("{};k{};{n}.25;{n}\n", n % 80, n / 80);
    (0..8000).map(line).collect()
}

/// Rows of a table have keys of `0..KEYS`.
pub const KEYS: u64 = 60;
/// Tables that are made, changed and dropped while the others are written to.
pub const MOVING: u64 = 5;

/// One of these.
pub fn pick<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

/// NULL once in six times.
fn nullable(rng: &mut Rng, value: impl FnOnce(&mut Rng) -> String) -> String {
    match rng.one_in(6) {
        true => "NULL".to_owned(),
        false => value(rng),
    }
}

fn key(rng: &mut Rng) -> u64 {
    rng.below(KEYS)
}

fn text(rng: &mut Rng, most: u64) -> String {
    let some = [
        "plain",
        "Größe",
        "naïve ",
        "日本",
        "🦀",
        "it''s",
        "back\\\\slash",
        "",
        " lead",
        "a\\0b",
    ];
    let times = 1 + rng.below(3);
    let text: String = (0..times).map(|_| pick(rng, &some)).collect();
    match rng.one_in(12) {
        true => format!("REPEAT('{text}', {})", 1 + rng.below(most)),
        false => format!("'{text}'"),
    }
}

fn latin(rng: &mut Rng) -> String {
    format!(
        "'{}'",
        pick(rng, &["", "x", "Größe", "é", "pad   ", "UPPER"])
    )
}

fn bytes(rng: &mut Rng, most: u64) -> String {
    match rng.one_in(10) {
        true => format!(
            "REPEAT(0x{:08x}, {})",
            rng.below(1 << 32),
            1 + rng.below(most)
        ),
        false => format!("0x{:08x}", rng.below(1 << 32)),
    }
}

fn signed(rng: &mut Rng, bits: u32) -> String {
    let n = rng.next_u64().cast_signed();
    match rng.below(4) {
        0 => (n >> (64 - bits)).to_string(),
        1 => (i64::MIN >> (64 - bits)).to_string(),
        _ => (n % 100).to_string(),
    }
}

fn date(rng: &mut Rng) -> String {
    let (y, m, d) = (1970 + rng.below(60), 1 + rng.below(12), 1 + rng.below(28));
    format!("{y:04}-{m:02}-{d:02}")
}

fn time(rng: &mut Rng, d: Dialect) -> String {
    let mut micros = rng.below(1_000_000);
    if d.statements {
        // MariaDB cuts off what a column has no room for, and we round.
        micros -= micros % 10_000;
    }
    let (h, m, s) = (rng.below(24), rng.below(60), rng.below(60));
    format!("{h:02}:{m:02}:{s:02}.{micros:06}")
}

/// Columns of `kinds` behind its key, and values for them.
pub const KINDS: &str = "ti, tu, si, mi, i, bi, bu, de, fl, db, bt, ch, vc, vl, bn, vb, tx, lt, bl, mb, en, st, da, tm, dt, ts, ye";

/// A row of `kinds`, without its key.
pub fn kinds_row(rng: &mut Rng, d: Dialect) -> String {
    let columns: [&dyn Fn(&mut Rng) -> String; 27] = [
        &|r| signed(r, 8),
        &|r| r.below(256).to_string(),
        &|r| signed(r, 16),
        &|r| signed(r, 24),
        &|r| signed(r, 32),
        &|r| signed(r, 64),
        &|r| r.next_u64().to_string(),
        &|r| format!("{}.{:06}", signed(r, 40), r.below(1_000_000)),
        &|r| format!("{}.5", signed(r, 20)),
        &|r| format!("{}e{}", signed(r, 30), r.below(200)),
        &|r| r.below(1 << 17).to_string(),
        &|r| format!("'{}'", pick(r, &["", "a", "pad ", "Ünïcödé", "日本"])),
        &|r| text(r, 10),
        &latin,
        &|r| format!("0x{:08x}", r.below(1 << 32)),
        &|r| bytes(r, 20),
        &|r| text(r, 900),
        &|r| text(r, 3000),
        &|r| bytes(r, 5000),
        &|r| bytes(r, 30_000),
        &|r| format!("'{}'", pick(r, &["a", "b", "c", ""])),
        &|r| format!("'{}'", pick(r, &["", "x", "y,z", "x,y,z"])),
        &|r| format!("'{}'", date(r)),
        &|r| format!("'{}'", time(r, d)),
        &|r| format!("'{} {}'", date(r), time(r, d)),
        &|r| format!("'{} {}'", date(r), time(r, d)),
        &|r| (1901 + r.below(255)).to_string(),
    ];
    let values: Vec<String> = columns.iter().map(|c| nullable(rng, c)).collect();
    values.join(", ")
}

/// A statement that changes rows.
pub fn change(rng: &mut Rng, d: Dialect) -> String {
    match rng.below(12) {
        0..=2 => kinds(rng, d),
        3 => keyless(rng, d),
        4 => uniques(rng),
        5..=6 => family(rng),
        7 => made(rng),
        8 => counted(rng),
        9 => composite(rng),
        10 => moving(rng),
        _ => several(rng, d),
    }
}

fn kinds(rng: &mut Rng, d: Dialect) -> String {
    let id = key(rng);
    match rng.below(9) {
        0..=1 => format!(
            "INSERT INTO r.kinds (id, {KINDS}) VALUES ({id}, {})",
            kinds_row(rng, d)
        ),
        2 => {
            let rows: Vec<String> = (0..1 + rng.below(6))
                .map(|_| format!("({}, {})", key(rng), kinds_row(rng, d)))
                .collect();
            format!(
                "INSERT IGNORE INTO r.kinds (id, {KINDS}) VALUES {}",
                rows.join(", ")
            )
        }
        3 => format!(
            "REPLACE INTO r.kinds (id, {KINDS}) VALUES ({id}, {})",
            kinds_row(rng, d)
        ),
        4 => format!(
            "INSERT INTO r.kinds (id, {KINDS}) VALUES ({id}, {}) ON DUPLICATE KEY UPDATE si = VALUES(si), vc = VALUES(vc), lt = NULL",
            kinds_row(rng, d)
        ),
        5 => {
            let column = pick(
                rng,
                &[
                    "ti", "bi", "vc", "tx", "lt", "bl", "mb", "dt", "de", "bt", "en",
                ],
            );
            let other = pick(rng, &["NULL", "DEFAULT"]);
            format!(
                "UPDATE r.kinds SET {column} = {other}, i = COALESCE(i, 0) DIV 2 + 1 WHERE id BETWEEN {id} AND {}",
                id + 3
            )
        }
        6 => format!(
            "UPDATE r.kinds SET id = {}, vc = CONCAT(LEFT(COALESCE(vc, ''), 20), 'é') WHERE id = {id}",
            key(rng)
        ),
        7 => format!(
            "UPDATE r.kinds SET lt = {}, fl = fl * 3, db = db / 7, de = de / 3, tm = ADDTIME(tm, '0:0:1.5') WHERE id = {id}",
            text(rng, 4000)
        ),
        _ => format!("DELETE FROM r.kinds WHERE id IN ({id}, {})", key(rng)),
    }
}

fn keyless(rng: &mut Rng, d: Dialect) -> String {
    let a = rng.below(8);
    match rng.below(6) {
        0..=2 => {
            let row = format!(
                "({a}, {}, '{} {}', {})",
                text(rng, 5),
                date(rng),
                time(rng, d),
                bytes(rng, 2000)
            );
            format!("INSERT INTO r.keyless VALUES {row}, {row}")
        }
        3 => format!(
            "UPDATE r.keyless SET b = {} WHERE a = {a} ORDER BY a, b, c, d LIMIT 3",
            text(rng, 4)
        ),
        4 => format!("UPDATE r.keyless SET a = a + 1, d = NULL WHERE a = {a}"),
        _ => format!(
            "DELETE FROM r.keyless WHERE a = {a} ORDER BY a, b, c, d LIMIT {}",
            1 + rng.below(4)
        ),
    }
}

fn uniques(rng: &mut Rng) -> String {
    let a = key(rng);
    let b = nullable(rng, |r| format!("'b{}'", key(r)));
    match rng.below(8) {
        0..=1 => format!(
            "INSERT IGNORE INTO r.uniques VALUES ({a}, {b}, {})",
            key(rng)
        ),
        2 => format!(
            "UPDATE IGNORE r.uniques SET a = {}, c = c + 1 WHERE a = {a}",
            key(rng)
        ),
        3 => format!("DELETE FROM r.uniques WHERE b = {b}"),
        4 => format!(
            "INSERT INTO r.half VALUES ({}, {b}, 'x'), (NULL, NULL, 'same'), (NULL, NULL, 'same')",
            key(rng)
        ),
        5 => format!("UPDATE r.half SET c = CONCAT(c, 'y'), a = {a} WHERE b = {b}"),
        6 => "DELETE FROM r.half WHERE a IS NULL ORDER BY c LIMIT 2".to_owned(),
        _ => format!("REPLACE INTO r.uniques VALUES ({a}, {b}, 0)"),
    }
}

fn family(rng: &mut Rng) -> String {
    let (p, q) = (rng.below(20), rng.below(20));
    match rng.below(10) {
        0..=1 => format!("INSERT IGNORE INTO r.parent VALUES ({p}, 'n{p}')"),
        2..=4 => format!(
            "INSERT INTO r.child (p, q, note) VALUES ({p}, {q}, {})",
            text(rng, 1)
        ),
        5 => format!("INSERT INTO r.grandchild SELECT NULL, MAX(id), {q} FROM r.child"),
        6 => format!("DELETE FROM r.parent WHERE id = {p}"),
        7 => format!("UPDATE r.parent SET id = {q} WHERE id = {p}"),
        8 => format!("UPDATE r.child SET note = 'moved', p = {q} WHERE p = {p}"),
        _ => format!("DELETE FROM r.child WHERE q = {q}"),
    }
}

fn made(rng: &mut Rng) -> String {
    let (id, a) = (key(rng), key(rng));
    match rng.below(5) {
        0..=1 => format!(
            "INSERT IGNORE INTO r.made (id, a) VALUES ({id}, {a}), ({}, {})",
            key(rng),
            key(rng)
        ),
        2 => format!("UPDATE IGNORE r.made SET a = {a} WHERE id = {id}"),
        3 => format!("UPDATE r.made SET b = {} WHERE v > {a}", text(rng, 10)),
        _ => format!("DELETE FROM r.made WHERE s = 's{a}' OR id = {id}"),
    }
}

fn counted(rng: &mut Rng) -> String {
    match rng.below(5) {
        0..=1 => format!(
            "INSERT INTO r.counted (n) VALUES ({}), ({})",
            rng.below(100),
            rng.below(100)
        ),
        2 => format!(
            "INSERT INTO r.counted (n) VALUES ({}), (LAST_INSERT_ID())",
            rng.below(9)
        ),
        3 => "UPDATE r.counted SET n = n + 1 ORDER BY id DESC LIMIT 5".to_owned(),
        _ => "DELETE FROM r.counted WHERE n % 7 = 3 ORDER BY id LIMIT 8".to_owned(),
    }
}

fn composite(rng: &mut Rng) -> String {
    let (a, b) = (rng.below(9), rng.below(9));
    match rng.below(5) {
        0..=1 => format!(
            "INSERT INTO r.composite VALUES ({a}, 'k{b}', {}.25, 1) ON DUPLICATE KEY UPDATE n = n + 1",
            rng.below(99)
        ),
        2 => format!("UPDATE r.composite SET c = c * 1.5 WHERE b = 'K{b}'"),
        3 => format!("UPDATE IGNORE r.composite SET a = {b} WHERE a = {a}"),
        _ => format!("DELETE FROM r.composite WHERE a = {a} AND b = 'k{b}'"),
    }
}

fn moving(rng: &mut Rng) -> String {
    let (t, id) = (rng.below(MOVING), key(rng));
    match rng.below(4) {
        0..=1 => format!(
            "INSERT INTO r.d{t} (id, a, b) VALUES ({id}, {}, {})",
            key(rng),
            text(rng, 30)
        ),
        2 => format!(
            "UPDATE r.d{t} SET a = a + 1, b = {} WHERE id < {id}",
            text(rng, 8)
        ),
        _ => format!("DELETE FROM r.d{t} WHERE id = {id}"),
    }
}

/// Statements over several tables, and of many rows.
fn several(rng: &mut Rng, d: Dialect) -> String {
    let (a, b) = (key(rng), key(rng));
    match rng.below(7) {
        0 => format!("UPDATE r.kinds k JOIN r.made m ON m.id = k.id SET k.ti = 7, m.b = 'both' WHERE k.id > {a} AND k.id < {b}"),
        1 => format!("DELETE k, c FROM r.kinds k JOIN r.counted c ON c.n = k.id WHERE k.id = {a}"),
        2 => "INSERT INTO r.keyless SELECT n, 'from counted', NULL, NULL FROM r.counted ORDER BY id LIMIT 20".to_owned(),
        3 => format!("INSERT INTO r.counted (n) SELECT id FROM r.kinds WHERE id < {a} ORDER BY id"),
        4 => format!("UPDATE r.counted SET n = {a} WHERE n > {b}"),
        6 if d.file.is_some() && rng.one_in(3) => {
            let (policy, file) = (pick(rng, &["REPLACE", "IGNORE"]), d.file.unwrap_or_default());
            format!("LOAD DATA INFILE '{file}' {policy} INTO TABLE r.composite FIELDS TERMINATED BY ';' (a, b, @c, n) SET c = @c * {a}")
        }
        5 if d.statements => format!("INSERT INTO r.counted (n) VALUES (FLOOR(RAND() * {a})), (@@server_id * 0)"),
        _ => "DELETE FROM r.keyless WHERE b = 'from counted'".to_owned(),
    }
}

/// A change of definitions.
pub fn definition(rng: &mut Rng, d: Dialect) -> String {
    let (t, u) = (rng.below(MOVING), rng.below(MOVING));
    let x = rng.below(4);
    let ty = pick(
        rng,
        &[
            "INT",
            "INT NOT NULL DEFAULT 5",
            "VARCHAR(40) DEFAULT 'd'",
            "DATETIME(3)",
            "BIGINT UNSIGNED",
            "TEXT",
            "DECIMAL(9,3) NOT NULL DEFAULT 1.5",
            "ENUM('p','q') DEFAULT 'q'",
        ],
    );
    let place = match rng.below(3) {
        0 => " FIRST",
        1 => " AFTER a",
        _ => "",
    };
    if d.own_words && rng.one_in(3) {
        return of_mariadb(rng, t, u, ty);
    }
    match rng.below(29) {
        27..=28 => from_query(rng, d, t),
        0..=3 => {
            let key = pick(
                rng,
                &[
                    "INT PRIMARY KEY",
                    "INT NOT NULL, UNIQUE KEY (id)",
                    "INT",
                    "INT PRIMARY KEY, KEY (a), KEY (b(10))",
                ],
            );
            format!(
                "CREATE TABLE IF NOT EXISTS r.d{t} (a INT, b VARCHAR(100) DEFAULT 'b', id {key})"
            )
        }
        4..=6 => format!("ALTER TABLE r.d{t} ADD COLUMN x{x} {ty}{place}"),
        7 => format!("ALTER TABLE r.d{t} DROP COLUMN x{x}"),
        8 => format!("ALTER TABLE r.d{t} MODIFY b VARCHAR({})", 100 + 50 * x),
        9 => format!("ALTER TABLE r.d{t} MODIFY a BIGINT, ADD COLUMN x{x} {ty}"),
        10 => format!("ALTER TABLE r.d{t} ADD INDEX k{x} (a, id)"),
        11 => format!("DROP INDEX k{x} ON r.d{t}"),
        12 => format!("CREATE INDEX k{x} ON r.d{t} (b(5))"),
        13 => format!("ALTER TABLE r.d{t} RENAME COLUMN x{x} TO x{}", rng.below(4)),
        14 => format!(
            "ALTER TABLE r.d{t} CHANGE x{x} x{} VARCHAR(60)",
            rng.below(4)
        ),
        15 => format!("ALTER TABLE r.d{t} ENGINE=InnoDB"),
        16 => format!("RENAME TABLE r.d{t} TO r.d{u}"),
        17 => format!("RENAME TABLE r.d{t} TO r.swap, r.d{u} TO r.d{t}, r.swap TO r.d{u}"),
        18 => format!("ALTER TABLE r.d{t} RENAME TO r.d{u}"),
        19 => format!("DROP TABLE IF EXISTS r.d{t}"),
        20 => format!("DROP TABLE r.d{t}, r.d{u}"),
        21 => {
            // Of a table that is there, LIKE itself is nothing to do here and error 1066 for MariaDB.
            let other = (t + 1 + rng.below(MOVING - 1)) % MOVING;
            format!("CREATE TABLE IF NOT EXISTS r.d{t} LIKE r.d{other}")
        }
        22 => format!(
            "TRUNCATE TABLE r.{}",
            pick(
                rng,
                &[
                    "d0",
                    "d1",
                    "d2",
                    "keyless",
                    "composite",
                    "made",
                    "grandchild"
                ]
            )
        ),
        23 => format!("CREATE OR REPLACE VIEW v.v{x} AS SELECT id, a FROM r.d{t} WHERE a > {u}"),
        24 => format!("DROP VIEW IF EXISTS v.v{x}"),
        25 => match rng.below(3) {
            0 => format!("CREATE DATABASE IF NOT EXISTS side{x}"),
            1 => format!(
                "CREATE TABLE IF NOT EXISTS side{x}.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT REFERENCES t (id)) COMMENT='{u}'"
            ),
            _ => format!("DROP DATABASE IF EXISTS side{x}"),
        },
        _ => match rng.below(4) {
            0 => format!("ANALYZE TABLE r.d{t}"),
            1 => format!("OPTIMIZE TABLE r.d{t}"),
            2 => format!(
                "ALTER TABLE r.counted AUTO_INCREMENT = {}",
                1000 + rng.below(100_000)
            ),
            _ if d.mariadb => format!("ALTER TABLE r.d{t} COMMENT = 'c{x}'"),
            _ => format!(
                "ALTER TABLE r.d{t} ALTER COLUMN b SET DEFAULT 'b{x}', ALTER INDEX k{x} INVISIBLE"
            ),
        },
    }
}

/// A definition in words that MySQL lacks.
fn of_mariadb(rng: &mut Rng, t: u64, u: u64, ty: &str) -> String {
    let (x, y) = (rng.below(4), rng.below(4));
    match rng.below(14) {
        0 => format!("CREATE OR REPLACE TABLE r.d{t} (a INT, b VARCHAR(100), id INT PRIMARY KEY)"),
        1 => {
            let other = (t + 1 + rng.below(MOVING - 1)) % MOVING;
            format!("CREATE OR REPLACE TABLE r.d{t} LIKE r.d{other}")
        }
        2 => format!(
            "CREATE OR REPLACE TABLE r.d{t} (id INT PRIMARY KEY, KEY (a)) SELECT id, a, b FROM r.made WHERE id > {}",
            key(rng)
        ),
        3 => format!("CREATE INDEX IF NOT EXISTS k{x} ON r.d{t} (b(5))"),
        4 => format!("CREATE OR REPLACE INDEX k{x} ON r.d{t} (a)"),
        5 => format!("DROP INDEX IF EXISTS k{x} ON r.d{t}"),
        6 => format!("ALTER TABLE IF EXISTS r.d{t} ADD COLUMN IF NOT EXISTS x{x} {ty}"),
        7 => format!(
            "ALTER TABLE r.d{t} ADD COLUMN IF NOT EXISTS (x{x} {ty}, y{x} INT), DROP COLUMN IF EXISTS z{y}"
        ),
        8 => format!(
            "ALTER TABLE r.d{t} DROP COLUMN IF EXISTS x{x}, ADD COLUMN IF NOT EXISTS z{y} INT"
        ),
        9 => format!(
            "ALTER TABLE r.d{t} WAIT 2 ADD INDEX IF NOT EXISTS k{x} (a), DROP INDEX IF EXISTS l{x}"
        ),
        10 => format!("ALTER TABLE r.d{t} MODIFY COLUMN IF EXISTS x{x} VARCHAR(70)"),
        11 => {
            format!("RENAME TABLE IF EXISTS r.d{t} TO r.swap, r.d{u} TO r.d{t}, r.swap TO r.d{u}")
        }
        12 => format!("CREATE VIEW IF NOT EXISTS v.v{x} AS SELECT id, a FROM r.d{t} WHERE a > {u}"),
        _ => format!(
            "SET STATEMENT group_concat_max_len = 1024, max_statement_time = 20 FOR CREATE OR REPLACE TABLE r.d{t} (id INT PRIMARY KEY) SELECT a AS id, COUNT(*) AS a, GROUP_CONCAT(b ORDER BY b) AS b FROM r.composite GROUP BY a"
        ),
    }
}

/// A table with the rows of a query.
fn from_query(rng: &mut Rng, d: Dialect, t: u64) -> String {
    match rng.one_in(2) {
        true => {
            let exists = if d.mariadb { "" } else { "IF NOT EXISTS " };
            format!(
                "CREATE TABLE {exists}r.d{t} (id INT PRIMARY KEY, KEY (a)) SELECT id, a, b FROM r.made WHERE id > {}",
                key(rng)
            )
        }
        false => {
            let some = if d.statements { "" } else { "IGNORE " };
            format!(
                "CREATE TABLE r.d{t} (a INT, id INT, PRIMARY KEY (id)) {some}SELECT a, a AS id, b FROM r.composite WHERE b = 'k1'"
            )
        }
    }
}

/// A change of accounts.
pub fn account(rng: &mut Rng) -> String {
    let (u, n) = (rng.below(4), rng.below(10));
    match rng.below(13) {
        0..=1 => format!("CREATE USER IF NOT EXISTS u{u} IDENTIFIED BY 'secret{n}'"),
        2 => format!("CREATE USER u{u}@localhost, u{n}@localhost IDENTIFIED BY 'p'"),
        3 => format!("GRANT SELECT, INSERT ON r.* TO u{u}"),
        4 => format!("GRANT UPDATE (a), SELECT ON r.composite TO u{u}"),
        5 => format!("REVOKE INSERT ON r.* FROM u{u}"),
        6 => format!("ALTER USER u{u} IDENTIFIED BY 'other{n}'"),
        7 => format!("ALTER USER u{u} ACCOUNT LOCK PASSWORD EXPIRE NEVER"),
        8 => format!("RENAME USER u{u} TO u{}", rng.below(4)),
        9 => format!("DROP USER IF EXISTS u{u}, u{u}@localhost"),
        10 => format!("CREATE ROLE IF NOT EXISTS role{u}"),
        11 => format!("GRANT role{u} TO u{}", rng.below(4)),
        _ => format!("SET PASSWORD FOR u{u} = 'set{n}'"),
    }
}
