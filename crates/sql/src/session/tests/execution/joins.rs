//! What joins answer.

use super::Client;

fn client() -> Client {
    let mut c = Client::with_table();
    c.run("CREATE TABLE u (id INT, v VARCHAR(10))");
    c.run("INSERT INTO u VALUES (1,'x'),(2,'y'),(2,'z'),(9,'w'),(NULL,'n')");
    c
}

#[test]
fn inner_joins() {
    let mut c = client();
    assert_eq!(
        c.rows("SELECT t.id, v FROM t JOIN u ON t.id = u.id ORDER BY t.id, v"),
        "1|x 2|y 2|z"
    );
    assert_eq!(c.rows("SELECT COUNT(*) FROM t, u"), "25");
    assert_eq!(
        c.rows("SELECT t.id, v FROM t, u WHERE t.c = u.id AND v = 'y'"),
        "4|y"
    );
    assert_eq!(c.rows("SELECT COUNT(*) FROM t JOIN u ON t.id < u.id"), "7");
    assert_eq!(
        c.rows("SELECT x.id FROM t x JOIN t y ON x.a = y.a AND x.id < y.id"),
        "2"
    );
    assert_eq!(
        c.rows("SELECT id, v FROM t JOIN u USING (id) ORDER BY v"),
        "1|x 2|y 2|z"
    );
    assert_eq!(
        c.rows("SELECT * FROM t JOIN u USING (id) WHERE v = 'x'"),
        "1|10|one|5|x"
    );
    assert_eq!(c.rows("SELECT COUNT(*) FROM t NATURAL JOIN u"), "3");
    assert_eq!(
        c.rows("SELECT v, b FROM u STRAIGHT_JOIN t ON t.id = u.id ORDER BY v"),
        "x|one y|two z|two"
    );
    assert_eq!(
        c.rows("SELECT SUM(u.id) FROM t JOIN u ON t.id = u.id WHERE t.a > 10"),
        "4"
    );
}

#[test]
fn outer_joins() {
    let mut c = client();
    assert_eq!(
        c.rows("SELECT t.id, v FROM t LEFT JOIN u ON t.id = u.id ORDER BY t.id, v"),
        "1|x 2|y 2|z 3|NULL 4|NULL 5|NULL"
    );
    assert_eq!(
        c.rows("SELECT t.id FROM t LEFT JOIN u ON t.id = u.id WHERE u.v IS NULL ORDER BY 1"),
        "3 4 5"
    );
    assert_eq!(
        c.rows(
            "SELECT t.id, v FROM t LEFT JOIN u ON t.id = u.id AND v = 'z' WHERE t.id < 3 ORDER BY 1"
        ),
        "1|NULL 2|z"
    );
    assert_eq!(
        c.rows("SELECT u.v, t.id FROM t RIGHT JOIN u ON t.id = u.id ORDER BY v"),
        "n|NULL w|NULL x|1 y|2 z|2"
    );
    assert_eq!(
        c.rows(
            "SELECT t.id, u.v, w.id FROM t LEFT JOIN (u JOIN t w ON w.c = u.id) ON u.id = t.id ORDER BY 1, 2"
        ),
        "1|x|5 2|y|4 2|z|4 3|NULL|NULL 4|NULL|NULL 5|NULL|NULL"
    );
    assert_eq!(
        c.rows(
            "SELECT t.id, u.v, w.b FROM t LEFT JOIN u ON u.id = t.id LEFT JOIN t w ON w.id = u.id + 1 ORDER BY 1, 2"
        ),
        "1|x|two 2|y|three 2|z|three 3|NULL|NULL 4|NULL|NULL 5|NULL|NULL"
    );
    assert_eq!(
        c.rows("SELECT t.id FROM t LEFT JOIN u ON t.id = u.id AND t.c > 4 WHERE COALESCE(u.v, 'q') = 'q' ORDER BY 1"),
        "2 3 4 5"
    );
    assert_eq!(c.rows("SELECT COUNT(*) FROM t LEFT JOIN u ON 1 = 0"), "5");
}

#[test]
fn many_rows_join_by_hash() {
    let mut c = Client::new();
    c.run("CREATE TABLE big (id INT PRIMARY KEY, k INT)");
    for chunk in 0..10 {
        let rows: Vec<String> = (0..200)
            .map(|i| format!("({}, {})", chunk * 200 + i, i % 7))
            .collect();
        c.run(&format!("INSERT INTO big VALUES {}", rows.join(",")));
    }
    assert_eq!(
        c.rows("SELECT COUNT(*) FROM big x JOIN big y ON x.k = y.k WHERE x.id < 7"),
        "2000"
    );
    assert_eq!(
        c.rows("SELECT COUNT(*), SUM(y.id) FROM big x JOIN big y ON y.id = x.id + 1"),
        "1999|1999000"
    );
    assert_eq!(
        c.rows("SELECT k, COUNT(*) FROM big GROUP BY k ORDER BY k LIMIT 2"),
        "0|290 1|290"
    );
    assert_eq!(
        c.rows("SELECT id FROM big ORDER BY k DESC, id DESC LIMIT 3"),
        "1995 1988 1981"
    );
}
