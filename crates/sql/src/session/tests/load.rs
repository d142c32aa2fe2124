//! LOAD DATA: files that the client sends, in pieces, and what is wrong with them.

use std::sync::Arc;

use types::ValueRef;

use super::*;
use sql_plan::sink::{Chunk, ColumnMeta, Done, Flush, ResultSink};

/// A client that sends a file when it is asked for one.
struct Sender {
    out: Collector,
    pieces: Vec<Vec<u8>>,
    asked: Vec<u8>,
}

impl ResultSink for Sender {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.out.columns(cols);
    }
    fn row_begin(&mut self) {
        self.out.row_begin();
    }
    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        self.out.value(v, c);
    }
    fn row_end(&mut self) {
        self.out.row_end();
    }
    fn ask_file(&mut self, name: &[u8]) -> Flush<'_> {
        self.asked = name.to_vec();
        Box::pin(std::future::ready(Ok(())))
    }
    fn file_chunk(&mut self) -> Chunk<'_> {
        let next = (!self.pieces.is_empty()).then(|| self.pieces.remove(0));
        Box::pin(std::future::ready(Ok(next)))
    }
    fn finish(&mut self, done: &Done) {
        self.out.finish(done);
    }
}

/// Runs a statement that loads `file`: the text it ends with, or the error's number.
fn load(c: &mut Client, sql: &str, file: &str) -> Result<String, u16> {
    let mut sink = Sender {
        out: Collector::new(),
        pieces: file.as_bytes().chunks(7).map(<[u8]>::to_vec).collect(),
        asked: Vec::new(),
    };
    let r = block_on(c.session.execute(sql.as_bytes(), &mut sink));
    assert!(sink.pieces.is_empty(), "all of the file is taken");
    r.map_err(|e| e.code)?;
    assert_eq!(sink.asked, b"f.txt");
    Ok(sink.out.results[0].done.info.to_string())
}

fn client() -> Client {
    let mut c = Client::in_test(&server());
    c.run("SET GLOBAL local_infile = ON");
    c.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(10) DEFAULT 'd')");
    c
}

fn table(c: &mut Client) -> String {
    let rows = c.rows("SELECT * FROM t ORDER BY id");
    let rows: Vec<String> = rows.iter().map(|r| r.join("|")).collect();
    rows.join(" ")
}

#[test]
fn what_is_read_only_loads_nothing() {
    let mut c = client();
    let text = "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t";
    // Refused before the file is asked for.
    c.run("SET SESSION TRANSACTION READ ONLY");
    assert_eq!(c.error(text), 1792);
    c.run("SET SESSION TRANSACTION READ WRITE");
    c.run("START TRANSACTION READ ONLY");
    assert_eq!(c.error(text), 1792);
    c.run("COMMIT");
    assert_eq!(
        load(&mut c, text, "1\t2\tx\n").as_deref(),
        Ok("Records: 1  Deleted: 0  Skipped: 0  Warnings: 0")
    );
}

#[test]
fn rows_come_from_the_clients_file() {
    let mut c = client();
    let sql = "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t";
    assert_eq!(
        load(&mut c, sql, "1\t10\tx\n2\t\\N\tä\n"),
        Ok("Records: 2  Deleted: 0  Skipped: 0  Warnings: 0".into())
    );
    assert_eq!(table(&mut c), "1|10|x 2|NULL|ä");
    // What is there stays; with LOCAL that is no error.
    assert_eq!(
        load(&mut c, sql, "2\t5\ty\n3\t6\tz"),
        Ok("Records: 2  Deleted: 0  Skipped: 1  Warnings: 1".into())
    );
    assert_eq!(
        load(
            &mut c,
            "LOAD DATA LOCAL INFILE 'f.txt' REPLACE INTO TABLE t",
            "3\t7\tw\n"
        ),
        Ok("Records: 1  Deleted: 1  Skipped: 0  Warnings: 0".into())
    );
    assert_eq!(table(&mut c), "1|10|x 2|NULL|ä 3|7|w");
    c.run("SET GLOBAL local_infile = OFF");
    assert_eq!(c.error(sql), 3948);
}

#[test]
fn many_rows_are_one_statement() {
    let mut c = client();
    let mut file = String::from("id,a,b\n");
    for i in 1..=1000 {
        file.push_str(&format!("{i},{},\"r,{i}\"\n", i % 7));
    }
    let sql = "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t FIELDS TERMINATED BY ',' ENCLOSED BY '\"' IGNORE 1 LINES";
    c.run("BEGIN");
    assert_eq!(
        load(&mut c, sql, &file),
        Ok("Records: 1000  Deleted: 0  Skipped: 0  Warnings: 0".into())
    );
    assert_eq!(
        c.rows("SELECT COUNT(*), SUM(a), MAX(b) FROM t"),
        [["1000", "3003", "r,999"]]
    );
    c.run("ROLLBACK");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    // A row that cannot be stored takes the others with it, where nothing says that it is to be passed over.
    c.run("CREATE TABLE u (id INT PRIMARY KEY, a TINYINT)");
    file = (1..=600).map(|i| format!("{i}\t{}\n", i / 4)).collect();
    let sql = "LOAD DATA LOCAL INFILE 'f.txt' REPLACE INTO TABLE u";
    assert_eq!(load(&mut c, sql, &file), Err(1264));
    assert!(
        c.rows("SHOW WARNINGS")[0][2].ends_with("at row 512"),
        "{:?}",
        c.rows("SHOW WARNINGS")
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM u"), "0");
}

#[test]
fn lines_of_other_lengths_and_values_of_their_own() {
    let mut c = client();
    let sql = "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t";
    assert_eq!(
        load(&mut c, sql, "1\t1\n2\t2\tb\tmore\n"),
        Ok("Records: 2  Deleted: 0  Skipped: 0  Warnings: 2".into())
    );
    let codes: Vec<String> = c
        .rows("SHOW WARNINGS")
        .into_iter()
        .map(|r| r[1].clone())
        .collect();
    assert_eq!(codes, ["1261", "1262"]);
    assert_eq!(table(&mut c), "1|1|d 2|2|b");
    assert_eq!(
        load(
            &mut c,
            "LOAD DATA LOCAL INFILE 'f.txt' REPLACE INTO TABLE t",
            "9\n"
        ),
        Err(1261)
    );
    c.run("TRUNCATE t");
    assert_eq!(
        load(
            &mut c,
            "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t (@x, a, @skipped) SET b = CONCAT('<', UPPER(@x), '>'), id = 5 + a",
            "one\t1\t-\n\\N\t2\t-\n"
        ),
        Ok("Records: 2  Deleted: 0  Skipped: 0  Warnings: 0".into())
    );
    assert_eq!(table(&mut c), "6|1|<ONE> 7|2|NULL");
    assert_eq!(
        c.error("LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE nope"),
        1146
    );
    assert_eq!(
        c.error("LOAD DATA INFILE '/etc/passwd' INTO TABLE t"),
        1290,
        "not from outside secure_file_priv"
    );
}

#[test]
fn a_file_is_in_its_own_character_set() {
    let mut c = client();
    // UTF-8 where nothing else is said, whatever the connection speaks.
    for names in ["utf8mb4", "latin1"] {
        c.run(&format!("SET NAMES {names}"));
        c.run("TRUNCATE t");
        let sql = "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t";
        load(&mut c, &format!("{sql} (a, b)"), "1\tfünf\n2\t\\N\n").expect("rows");
        // The bytes of these are two characters each in latin1.
        load(
            &mut c,
            &format!("{sql} CHARACTER SET latin1 (a, b)"),
            "3\tfünf\n",
        )
        .expect("rows");
        load(
            &mut c,
            &format!("{sql} CHARACTER SET latin1 (a, @b) SET b = @b"),
            "4\tfünf\n",
        )
        .expect("rows");
        c.run("SET NAMES utf8mb4");
        let found = c.run("SELECT GROUP_CONCAT(HEX(b) ORDER BY a) FROM t WHERE b IS NOT NULL");
        let (one, two) = ("66C3BC6E66", "66C383C2BC6E66");
        let expected = format!("{one},{two},{two}");
        match &found.rows[0][0] {
            types::Value::Str(b, _) => assert_eq!(String::from_utf8_lossy(b), expected, "{names}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_line_without_an_end_is_refused() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("SET GLOBAL local_infile = ON");
    c.run("SET GLOBAL max_allowed_packet = 1024");
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, b TEXT)");
    let sql = "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t";
    let line = |n: usize| format!("1\t{}", "x".repeat(n));
    assert_eq!(load(&mut c, sql, &line(5000)), Err(1153));
    assert!(load(&mut c, sql, &line(900)).is_ok());
    assert_eq!(c.one("SELECT LENGTH(b) FROM t"), "900");
}

/// The fields of a table of two texts, after a file was loaded into it.
fn loaded(c: &mut Client, options: &str, file: &str) -> (Vec<String>, Vec<u16>) {
    c.run("DROP TABLE IF EXISTS two");
    c.run("CREATE TABLE two (a VARCHAR(20), b VARCHAR(20))");
    let text = format!("LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE two {options}");
    load(c, &text, file).expect("loaded");
    let warnings = c.rows("SHOW WARNINGS");
    let codes = warnings.iter().map(|w| w[1].parse().expect("a number"));
    let codes = codes.collect();
    let rows = c.rows("SELECT * FROM two");
    (rows.iter().map(|r| r.join("/")).collect(), codes)
}

#[test]
fn separators_at_the_ends_of_lines() {
    let mut c = client();
    let comma = "FIELDS TERMINATED BY ','";
    let mut check = |options: &str, file: &str, rows: &[&str], warned: &[u16]| {
        let (got, codes) = loaded(&mut c, options, file);
        assert_eq!(got, rows, "{file}");
        assert_eq!(codes, warned, "{file}");
    };
    // Too much is what has text behind it; too little is told of for each column.
    check(comma, "1,2,\n3,4,\n", &["1/2", "3/4"], &[]);
    check(comma, "1,2,3\n4,5\n", &["1/2", "4/5"], &[1262]);
    check(
        comma,
        "1\n2,\n3,",
        &["1/NULL", "2/", "3/NULL"],
        &[1261, 1261],
    );
    check(
        "FIELDS TERMINATED BY '|' LINES TERMINATED BY '|'",
        "1|2|3",
        &["1/2", "3/NULL"],
        &[1261],
    );
    // An end behind the escape character ends no line, also of those that are passed over.
    let skip = "FIELDS TERMINATED BY ',' IGNORE 1 LINES";
    check(skip, "a,\\\nb\n1,2\n", &["1/2"], &[]);
    // What opens a field and is not closed is a character.
    let quoted = "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'";
    check(quoted, "\"a\",\"b\nc,d\n", &["a/\"b\nc,d\n"], &[]);
    check(
        quoted,
        "\"a\",\"b\",\"c\nd\"\n",
        &["a/b", "d\"/NULL"],
        &[1262, 1261],
    );
}

#[test]
fn backslashes_of_a_session_that_has_none() {
    let mut c = client();
    c.run("SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    let (rows, _) = loaded(&mut c, "", "a\\tb\t\\N\n");
    assert_eq!(rows, ["a\\tb/\\N"]);
    let (rows, _) = loaded(&mut c, "FIELDS ESCAPED BY '\\'", "a\\tb\t\\N\n");
    assert_eq!(rows, ["a\tb/NULL"]);
}

#[test]
fn a_file_is_in_the_character_set_of_the_database() {
    let mut c = client();
    c.run("CREATE DATABASE l1 CHARACTER SET latin1");
    c.run("USE l1");
    let mut sink = Sender {
        out: Collector::new(),
        pieces: vec![b"\xE9\tx\n".to_vec()],
        asked: Vec::new(),
    };
    c.run("CREATE TABLE t (a VARCHAR(9) CHARACTER SET utf8mb4, b VARCHAR(9))");
    let text = b"LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t";
    block_on(c.session.execute(text, &mut sink)).expect("loaded");
    assert_eq!(c.rows("SELECT a, b FROM t"), [["\u{e9}", "x"]]);
}

/// Where nothing ends a line there is none to leave out: it does not count to the end.
#[test]
fn lines_that_nothing_ends_are_left_out_at_once() {
    let mut c = client();
    let all = u64::MAX;
    for fields in ["FIELDS TERMINATED BY ','", "FIELDS TERMINATED BY '|'"] {
        let lines = match fields.contains('|') {
            true => "LINES TERMINATED BY '|'",
            false => "LINES TERMINATED BY ''",
        };
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'f.txt' INTO TABLE t {fields} {lines} IGNORE {all} LINES (a)"
        );
        load(&mut c, &sql, "1,2|3,4|").expect(&sql);
    }
}
