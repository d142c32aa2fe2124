//! Three accounts with rights on one database and no more: definitions of every kind that read their session, chance or the clock, under settings
//! of their own, and rows for them.
//!
//! The servers behind the source have other settings ([`OF_REPLICAS`]). Whatever a definition reads of its session has to come with its event, or to
//! be refused at the source.

use super::words::{Dialect, pick};
use harness::rng::Rng;

/// Their database.
pub const DATABASE: &str = "owned";
/// How many they are.
pub const ACCOUNTS: u64 = 3;
/// What they log in with.
pub const PASSWORD: &str = "theirs";
/// Tables that they make and drop.
const TABLES: u64 = 4;
/// Columns and constraints of each of them, beside the first five.
const MORE: u64 = 3;

/// Documents that are not written as they are kept.
const DOCUMENTS: &[&str] = &[
    r#"'{"bb":1,"a":[1,2.50,1e3]}'"#,
    r#"' {"a" : null, "a" :true} '"#,
    r#"'[ "x",{"q":{}} ]'"#,
    "JSON_OBJECT('n', 1.50, 'm', NULL)",
];

/// Values that MariaDB takes in every place where we do, for a text.
const OF_BOTH: &[&str] = &[
    "n",
    "s",
    "d",
    "n DIV 2",
    "UPPER(s)",
    "s LIKE 'A%'",
    "'a' = 'A'",
];

/// Those that it takes for defaults alone. Digits of the statement's second are in the event where MySQL looks for them, and MariaDB does not.
const DEFAULTS_OF_BOTH: &[&str] = &[
    "HOUR(ts)",
    "CONCAT(ts)",
    "DATE_FORMAT(ts, '%W %M %v')",
    "FROM_UNIXTIME(n * 100000)",
    "CURRENT_TIMESTAMP",
    "CURDATE()",
];

/// Options of the servers behind the source, which are not its own.
pub const OF_REPLICAS: [&str; 6] = [
    "default-time-zone=-07:00",
    "sql-mode=",
    "default-week-format=3",
    "div-precision-increment=9",
    "group-concat-max-len=7",
    "lc-time-names=de_DE",
];

/// The name of one of the accounts.
pub fn account(number: u64) -> String {
    format!("owner{}", number % ACCOUNTS)
}

/// What makes their database and them.
pub fn begin(dialect: Dialect) -> Vec<String> {
    let mut all = vec![format!("CREATE DATABASE {DATABASE}")];
    // MariaDB does not know what we tell of accounts, and needs none: it applies without them.
    let told = |on: u32| format!("SET sql_log_bin = {on}");
    all.extend(dialect.mariadb.then(|| told(0)));
    for n in 0..ACCOUNTS {
        let name = account(n);
        all.push(format!("CREATE USER {name} IDENTIFIED BY '{PASSWORD}'"));
        all.push(format!("GRANT ALL ON {DATABASE}.* TO {name}"));
    }
    all.extend(dialect.mariadb.then(|| told(1)));
    all
}

/// Settings, a definition under them, and rows: what one of the accounts does in one go.
pub fn unit(rng: &mut Rng, d: Dialect, out: &mut Vec<String>) {
    out.push(format!("USE {DATABASE}"));
    for _ in 0..rng.below(3) {
        out.push(format!("SET {}", setting(rng, d)));
    }
    out.push(definition(rng, d));
    for _ in 0..1 + rng.below(3) {
        out.push(rows(rng, d));
    }
}

/// A setting that an ordinary account may change.
fn setting(rng: &mut Rng, d: Dialect) -> String {
    let zone = pick(rng, &["'+05:30'", "'-11:15'", "'SYSTEM'", "'+00:00'"]);
    let mode = pick(
        rng,
        &[
            "''",
            "DEFAULT",
            "'ANSI_QUOTES'",
            "'PIPES_AS_CONCAT,STRICT_ALL_TABLES'",
            "'NO_BACKSLASH_ESCAPES'",
            "'HIGH_NOT_PRECEDENCE'",
            "'NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
            "'IGNORE_SPACE,NO_ZERO_IN_DATE'",
        ],
    );
    // What MariaDB has too, and its events tell.
    match rng.below(if d.mariadb { 5 } else { 15 }) {
        0 => format!("time_zone = {zone}"),
        1..=2 => format!("sql_mode = {mode}"),
        3 => format!(
            "timestamp = {}",
            pick(rng, &["DEFAULT", "1234567890.654321", "1700000000", "1.5"])
        ),
        4 => "auto_increment_increment = 3, auto_increment_offset = 2".to_owned(),
        5 => format!("default_week_format = {}", rng.below(8)),
        6..=7 => format!("div_precision_increment = {}", rng.below(31)),
        8 => format!("group_concat_max_len = {}", 4 + rng.below(30)),
        9 => format!(
            "lc_time_names = '{}'",
            pick(rng, &["en_US", "fr_FR", "ja_JP"])
        ),
        10 => format!(
            "collation_connection = {}",
            pick(rng, &["latin1_bin", "utf8mb4_bin", "utf8mb4_0900_ai_ci"])
        ),
        11 => format!(
            "default_collation_for_utf8mb4 = {}",
            pick(rng, &["utf8mb4_general_ci", "utf8mb4_0900_ai_ci"])
        ),
        12 => format!("explicit_defaults_for_timestamp = {}", rng.below(2)),
        13 => format!("sql_generate_invisible_primary_key = {}", rng.below(2)),
        _ => "NAMES utf8mb4".to_owned(),
    }
}

/// A value, of what a session, the clock or chance decide too; `level`s of it inside each other.
fn value(rng: &mut Rng, d: Dialect, level: u32) -> String {
    if level > 0 && !d.mariadb && rng.one_in(3) {
        let (a, b) = (value(rng, d, level - 1), value(rng, d, level - 1));
        return match rng.below(6) {
            0 => format!("CONCAT({a}, '-', {b})"),
            1 => format!("COALESCE({a}, {b})"),
            2 => format!("IF(n > 3, {a}, {b})"),
            3 => format!("CASE WHEN {a} = {b} THEN 'same' ELSE {a} END"),
            4 => format!("({a} || {b})"),
            _ => format!("LEFT({a}, 9)"),
        };
    }
    if d.mariadb {
        return pick(rng, OF_BOTH).to_owned();
    }
    let ours = [
        "FORMAT(n / 7, 3, 'de_DE')",
        "CAST(CONCAT(d, ' 01:02:03.9') AS DATETIME)",
        "CONVERT_TZ(ts, '+00:00', '+03:00')",
        "JSON_EXTRACT(JSON_OBJECT('b', 1, 'a', n), '$.a')",
        "CAST(n AS UNSIGNED) - 8",
        "REGEXP_REPLACE(s, '[0-9]', 'x')",
        "STR_TO_DATE(s, '%d-%m-%Y')",
    ];
    if rng.one_in(4) {
        return pick(rng, &ours).to_owned();
    }
    pick(
        rng,
        &[
            "n",
            "s",
            "d",
            "ts",
            "n / 3",
            "n DIV 2",
            "n % 5",
            "n / 0",
            "HOUR(ts)",
            "WEEK(d)",
            "YEARWEEK(d)",
            "UNIX_TIMESTAMP(d)",
            "FROM_UNIXTIME(n * 100000)",
            "CONCAT(ts)",
            "DATE_FORMAT(ts, '%W %M %v')",
            "DAYNAME(d)",
            "MONTHNAME(d)",
            "ts + INTERVAL n HOUR",
            "NOT n IN (0, 7)",
            "'a' = 'A'",
            "s LIKE 'A%'",
            "x0",
            "x1",
            "LENGTH(CAST(s AS CHAR(50)))",
            "CAST(s AS SIGNED)",
            "UPPER(s)",
            "'a\\\\b'",
            "\"s\"",
            "CURRENT_TIMESTAMP",
            "CURRENT_TIMESTAMP(6)",
            "UTC_TIMESTAMP(3)",
            "CURDATE()",
            "UUID()",
            "RAND()",
            "CONNECTION_ID()",
            "SYSDATE(6)",
            "USER()",
            "DATABASE()",
            "LAST_INSERT_ID()",
            "@@sql_mode",
            "@a",
        ],
    )
    .to_owned()
}

fn table(rng: &mut Rng) -> String {
    format!("t{}", rng.below(TABLES))
}

fn of_type(rng: &mut Rng, d: Dialect) -> &'static str {
    if d.mariadb {
        return "VARCHAR(90)";
    }
    pick(
        rng,
        &[
            "VARCHAR(90)",
            "VARCHAR(90)",
            "INT",
            "DATETIME(6)",
            "TIMESTAMP(6)",
            "TIMESTAMP",
            "DECIMAL(40,20)",
            "DOUBLE",
            "DATE",
            "VARCHAR(60) CHARACTER SET utf8mb4",
            "TEXT",
        ],
    )
}

/// A column or a constraint as ADD and CREATE take it.
fn part(rng: &mut Rng, d: Dialect) -> String {
    let (x, ty, e) = (rng.below(MORE), of_type(rng, d), value(rng, d, 2));
    match rng.below(if d.mariadb { 8 } else { 11 }) {
        2 if d.mariadb => {
            format!("COLUMN x{x} {ty} DEFAULT ({})", pick(rng, DEFAULTS_OF_BOTH))
        }
        0..=1 => format!("COLUMN x{x} {ty} DEFAULT ({e})"),
        2 => format!("COLUMN x{x} JSON DEFAULT ({})", pick(rng, DOCUMENTS)),
        3 => format!("COLUMN x{x} {ty} AS ({e}) STORED"),
        4 => format!("COLUMN x{x} {ty} AS ({e}) VIRTUAL"),
        5 => format!(
            "COLUMN x{x} DATETIME(6) DEFAULT {} ON UPDATE CURRENT_TIMESTAMP(6)",
            if d.mariadb || rng.one_in(2) {
                "NULL"
            } else {
                "CURRENT_TIMESTAMP(6)"
            }
        ),
        // Which copies of a table keep a constraint's name is MariaDB's own.
        6 | 7 if d.mariadb => format!("CHECK (({e}) IS NULL OR n < 90)"),
        6 => format!("CONSTRAINT c{x} CHECK (({e}) IS NULL OR n < 90)"),
        7 => format!("CONSTRAINT c{x} CHECK ((({e}) <=> ({e})) OR n < 80)"),
        8..=9 => format!("INDEX k{x} (({e}))"),
        // A key part is in no image and follows the session that writes the row, the applier's on a replica: where it is unique a duplicate may be
        // met there. Known, as in MySQL; others are left to that.
        _ => {
            let e = pick(
                rng,
                &[
                    "n % 5",
                    "n DIV 2",
                    "UPPER(s)",
                    "LEFT(s, 2)",
                    "d IS NULL",
                    "-n",
                ],
            );
            format!("UNIQUE INDEX k{x} (({e}), id)")
        }
    }
}

/// A change of definitions.
fn definition(rng: &mut Rng, d: Dialect) -> String {
    let (n, x) = (rng.below(TABLES), rng.below(MORE));
    let (t, other) = (
        format!("t{n}"),
        format!("t{}", (n + 1 + rng.below(TABLES - 1)) % TABLES),
    );
    match rng.below(14) {
        0..=2 => {
            let key = pick(
                rng,
                &[
                    "INT PRIMARY KEY",
                    "INT",
                    "INT AUTO_INCREMENT PRIMARY KEY",
                    "INT NOT NULL UNIQUE",
                ],
            );
            let parts: Vec<_> = (0..rng.below(3))
                .map(|_| part(rng, d).replace("COLUMN ", ""))
                .map(|p| format!(", {p}"))
                .collect();
            // What is there already is told as it was written, and MariaDB reads all of it before it looks.
            let exists = if d.mariadb { "" } else { "IF NOT EXISTS " };
            format!(
                "CREATE TABLE {exists}{t} (id {key}, n INT, d DATE, ts TIMESTAMP(6) NULL, s VARCHAR(40){})",
                parts.concat()
            )
        }
        3..=6 => format!("ALTER TABLE {t} ADD {}", part(rng, d)),
        7 => format!("ALTER TABLE {t} ADD {}, DROP COLUMN x{x}", part(rng, d)),
        8 => {
            let (ty, e) = (of_type(rng, d), value(rng, d, 1));
            let made = pick(rng, &["DEFAULT", "AS", "AS"]);
            format!("ALTER TABLE {t} MODIFY COLUMN x{x} {ty} {made} ({e})")
        }
        9 => format!("ALTER TABLE {t} DROP COLUMN x{x}"),
        10 => format!("DROP TABLE IF EXISTS {t}"),
        11 => format!(
            "CREATE OR REPLACE VIEW v{x} AS SELECT id, {} AS e FROM {t}",
            value(rng, d, 2)
        ),
        12 => {
            // Of rows without an order of their own the binary log has what was chosen.
            let e = value(rng, d, 1);
            format!(
                "CREATE TABLE {t} (id INT PRIMARY KEY) SELECT id, n, d, ts, s, {e} AS x{x} FROM {}",
                table(rng)
            )
        }
        _ => match rng.below(3) {
            0 => format!("CREATE TABLE IF NOT EXISTS {t} LIKE {other}"),
            1 => format!("RENAME TABLE {t} TO {}", table(rng)),
            _ => format!("ALTER TABLE {t} RENAME COLUMN x{x} TO x{}", rng.below(MORE)),
        },
    }
}

/// Rows, under the settings of the session.
fn rows(rng: &mut Rng, d: Dialect) -> String {
    let (t, id, n) = (table(rng), rng.below(40), rng.below(120));
    let row = format!(
        "{id}, {n}, '20{:02}-{:02}-07', '2024-03-{:02} 0{}:59:01.678901', '{}'",
        rng.below(30),
        1 + rng.below(12),
        1 + rng.below(28),
        rng.below(10),
        pick(rng, &["02-01-2003", "A", "a ", "x7", ""])
    );
    match rng.below(8) {
        7 if !d.mariadb => format!(
            "UPDATE {t} SET x{} = {} WHERE id < {id}",
            rng.below(MORE),
            pick(rng, DOCUMENTS)
        ),
        0..=2 => format!("INSERT INTO {t} (id, n, d, ts, s) VALUES ({row})"),
        3 => format!(
            "INSERT IGNORE INTO {t} (id, n, d, ts, s) VALUES ({row}), (NULL, 1, NULL, NULL, NULL)"
        ),
        4 => format!("UPDATE {t} SET n = n + 1, s = CONCAT(LEFT(s, 5), 'z') WHERE id < {id}"),
        5 => format!("REPLACE INTO {t} (id, n, d, ts, s) VALUES ({row})"),
        _ => format!("DELETE FROM {t} WHERE id = {id}"),
    }
}
