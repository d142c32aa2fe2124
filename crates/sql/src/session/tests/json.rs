//! What documents take in memory.

use super::{Client, server};

/// Rows are found in the text of a document: there is no tree of it, and no copy for each row.
#[test]
fn rows_of_a_document_take_little_more_than_its_text() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE TABLE d (id INT PRIMARY KEY, j JSON)");
    root.run(
        "INSERT INTO d VALUES (1, CONCAT('[', REPEAT('{\"id\": 1, \"name\": \"abcdef\"}, ', 120000), '1]'))",
    );
    root.run("CREATE USER u@localhost");
    root.run("GRANT SELECT ON test.* TO u@localhost");
    s.memory().set_ceiling(24 << 20);
    let mut u = Client::of(&s, "u");
    u.run("USE test");
    let before = u.session.memory().held();
    let rows = u.rows(
        "SELECT COUNT(*), SUM(jt.id), COUNT(DISTINCT name) FROM d, JSON_TABLE(d.j, '$[*]' COLUMNS
         (id INT PATH '$.id', name VARCHAR(20) PATH '$.name')) jt",
    );
    assert_eq!(rows, [["120001", "120000", "1"]]);
    // In an outer join, and of a path that keeps in mind where it has been.
    let rows = u.rows(
        "SELECT COUNT(*) FROM d LEFT JOIN JSON_TABLE(d.j, '$[*]' COLUMNS
         (o FOR ORDINALITY, NESTED PATH '$.id' COLUMNS (id INT PATH '$'))) jt ON jt.id = d.id",
    );
    assert_eq!(rows, [["120000"]]);
    assert_eq!(u.session.memory().held(), before);
    // A tree has no room.
    assert_eq!(u.error("SELECT JSON_LENGTH(j) FROM d"), 3170);
}
