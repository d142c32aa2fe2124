//! Equalities of columns of every two types: whatever a join or a subquery is carried out by, it finds the pairs for which the comparison is
//! true when it is asked of each pair.

use super::Client;

/// A column of each type, by name.
const COLUMNS: [(&str, &str); 19] = [
    ("i", "INT"),
    ("u", "BIGINT UNSIGNED"),
    ("de", "DECIMAL(20,2)"),
    ("d0", "DECIMAL(10,0)"),
    ("f", "FLOAT"),
    ("db", "DOUBLE"),
    ("y", "YEAR"),
    ("bt", "BIT(16)"),
    (
        "en",
        "ENUM('1','2001','x','2020-01-01') COLLATE utf8mb4_general_ci",
    ),
    ("se", "SET('1','2001','x','y') COLLATE utf8mb4_general_ci"),
    ("ci", "VARCHAR(30) COLLATE utf8mb4_general_ci"),
    ("cb", "VARCHAR(30) COLLATE utf8mb4_bin"),
    ("la", "VARCHAR(30) CHARACTER SET latin1"),
    ("ch", "CHAR(20) COLLATE utf8mb4_general_ci"),
    ("bi", "BINARY(10)"),
    ("vb", "VARBINARY(30)"),
    ("da", "DATE"),
    ("dt", "DATETIME(3)"),
    ("ti", "TIME"),
];

/// Values that are equal by some types and not by others.
const VALUES: [&str; 16] = [
    "1",
    "2001",
    "'01'",
    "'1.0'",
    "1.5",
    "-0.0",
    "'x'",
    "'X'",
    "'x '",
    "'2020-01-01'",
    "20200101",
    "'10:00:00'",
    "NULL",
    "18446744073709551615",
    "9007199254740993",
    "9007199254740992",
];

fn with_rows() -> Client {
    let mut c = Client::new();
    c.run("SET sql_mode = ''");
    let columns = COLUMNS.map(|(name, ty)| format!("{name} {ty}, KEY k_{name} ({name})"));
    let columns = columns.join(", ");
    c.run(&format!(
        "CREATE TABLE m (id INT PRIMARY KEY AUTO_INCREMENT, {columns})"
    ));
    let names = COLUMNS.map(|c| c.0).join(", ");
    for v in VALUES {
        let row = [v; COLUMNS.len()].join(", ");
        c.run(&format!("INSERT IGNORE INTO m ({names}) VALUES ({row})"));
    }
    c
}

#[test]
fn a_comparison_of_any_two_types_is_the_same_by_every_plan() {
    let mut c = with_rows();
    let no_index = format!(
        "IGNORE INDEX ({})",
        COLUMNS.map(|c| format!("k_{}", c.0)).join(", ")
    );
    let mut wrong = Vec::new();
    for (a, _) in COLUMNS {
        for (b, _) in COLUMNS {
            // As a value, which is no condition that tables are joined by.
            let pairs = "SELECT x.id, y.id FROM m x";
            let asked = c.rows(&format!(
                "{pairs}, m y WHERE (x.{a} = y.{b}) + 0 = 1 ORDER BY 1, 2"
            ));
            let on = format!("ON x.{a} = y.{b} ORDER BY 1, 2");
            for joined in [
                format!("{pairs} {no_index} JOIN m y {no_index} {on}"),
                format!("{pairs} {no_index} STRAIGHT_JOIN m y FORCE INDEX (k_{b}) {on}"),
            ] {
                if c.rows(&joined) != asked {
                    wrong.push(joined);
                }
            }
            let rows = "SELECT x.id FROM m x WHERE";
            let asked = c.rows(&format!(
                "{rows} (SELECT COUNT(*) FROM m y WHERE (x.{a} = y.{b}) + 0 = 1) > 0 ORDER BY 1"
            ));
            for found in [
                format!("{rows} x.{a} IN (SELECT y.{b} FROM m y) ORDER BY 1"),
                format!("{rows} x.{a} IN (SELECT y.{b} FROM m y GROUP BY y.{b}) ORDER BY 1"),
                format!(
                    "{rows} EXISTS (SELECT 1 FROM m y {no_index} WHERE x.{a} = y.{b}) ORDER BY 1"
                ),
            ] {
                // What is one group by a collation may be told apart by the comparison.
                let merged = found.contains("GROUP") && matches!(b, "ci" | "cb" | "la" | "ch");
                if !merged && c.rows(&found) != asked {
                    wrong.push(found);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
}
