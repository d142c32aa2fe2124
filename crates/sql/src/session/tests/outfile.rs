//! SELECT ... INTO OUTFILE and DUMPFILE: real files, read back by LOAD DATA, and gone after an error.

use std::path::PathBuf;

use super::*;

/// A folder that `secure_file_priv` names.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("outfile-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn client(&self) -> Client {
        let s = server();
        let folder = self.0.to_str().expect("a path");
        let set = s.globals().set_option("secure_file_priv", folder);
        set.expect("an option");
        let mut c = Client::in_test(&s);
        c.run("CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(5,2), s VARCHAR(20), b BLOB, at DATETIME)");
        c.run(
            "INSERT INTO t VALUES (1, 1.50, 'a\\tb', 0x00FF5C, '2024-05-06 07:08:09'), (2, NULL, NULL, NULL, NULL), (3, -2, 'sä\\n\"q\"\\\\', '', '2024-01-01')",
        );
        c
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).expect("a file")
    }

    fn names(&self) -> Vec<String> {
        let name = |e: std::io::Result<std::fs::DirEntry>| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        };
        let entries = std::fs::read_dir(&self.0).expect("a folder");
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let f = Folder::new("back");
    let mut c = f.client();
    let done = c
        .run("SELECT * INTO OUTFILE 'plain' FROM t ORDER BY id")
        .done;
    assert_eq!((done.affected, done.result_set), (3, false));
    assert_eq!(
        f.read("plain"),
        b"1\t1.50\ta\\\tb\t\\0\xFF\\\\\t2024-05-06 07:08:09\n2\t\\N\t\\N\t\\N\t\\N\n3\t-2.00\ts\xC3\xA4\\\n\"q\"\\\\\t\t2024-01-01 00:00:00\n"
    );
    let csv = "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES STARTING BY '>' TERMINATED BY '\\r\\n'";
    c.run(&format!(
        "SELECT * FROM t ORDER BY id INTO OUTFILE 'csv' {csv}"
    ));
    assert_eq!(
        f.read("csv"),
        b">1,1.50,\"a\tb\",\"\\0\xFF\\\\\",\"2024-05-06 07:08:09\"\r\n>2,\\N,\\N,\\N,\\N\r\n>3,-2.00,\"s\xC3\xA4\n\\\"q\\\"\\\\\",\"\",\"2024-01-01 00:00:00\"\r\n"
    );
    for (name, form) in [("plain", ""), ("csv", csv)] {
        c.run("CREATE TABLE u LIKE t");
        c.run(&format!("LOAD DATA INFILE '{name}' INTO TABLE u {form}"));
        let differ = "SELECT COUNT(*) FROM t JOIN u USING (id) WHERE NOT (t.d <=> u.d AND BINARY t.s <=> BINARY u.s AND t.b <=> u.b AND t.at <=> u.at)";
        assert_eq!(c.one(differ), "0", "{name}");
        assert_eq!(c.one("SELECT COUNT(*) FROM u"), "3");
        c.run("DROP TABLE u");
    }
    c.run("SELECT s INTO OUTFILE 'latin1' CHARACTER SET latin1 FROM t WHERE id = 3");
    assert_eq!(f.read("latin1"), b"s\xE4\\\n\"q\"\\\\\n");
    c.run("SELECT 1 UNION SELECT 2 INTO OUTFILE 'union'");
    assert_eq!(f.read("union"), b"1\n2\n");
    c.run("SELECT id FROM t WHERE id > 10 INTO OUTFILE 'empty'");
    assert_eq!(f.read("empty"), b"");
    c.run("PREPARE p FROM 'SELECT id INTO OUTFILE \\'prepared\\' FROM t WHERE id < ?'");
    c.run("SET @x = 2");
    c.run("EXECUTE p USING @x");
    assert_eq!(f.read("prepared"), b"1\n");
    assert_eq!(c.error("EXECUTE p USING @x"), 1086);
}

#[test]
fn bits_come_back() {
    let f = Folder::new("bits");
    let mut c = f.client();
    c.run("CREATE TABLE b (n BIT(64), m BIT(12))");
    c.run("INSERT INTO b VALUES (0x275C00220A0D091A, 0x5C), (NULL, b'0'), (0xFFFFFFFFFFFFFFFF, b'111111111111')");
    c.run("SELECT * FROM b INTO OUTFILE 'b'");
    c.run("CREATE TABLE d LIKE b");
    c.run("LOAD DATA INFILE 'b' INTO TABLE d");
    let same = "SELECT COUNT(*) FROM b JOIN d ON b.n <=> d.n AND b.m <=> d.m";
    assert_eq!(c.one(same), "3");
}

#[test]
fn a_dump_is_the_bytes_of_one_row() {
    let f = Folder::new("dump");
    let mut c = f.client();
    c.run("SELECT b, s, NULL FROM t WHERE id = 1 INTO DUMPFILE 'd'");
    assert_eq!(f.read("d"), b"\x00\xFF\x5Ca\tb\x00");
    assert_eq!(c.error("SELECT b FROM t INTO DUMPFILE 'many'"), 1172);
    assert_eq!(f.names(), ["d"]);
}

#[test]
fn nothing_is_left_of_what_fails() {
    let f = Folder::new("fails");
    let mut c = f.client();
    assert_eq!(
        c.error("SELECT id, (SELECT id FROM t) FROM t INTO OUTFILE 'a'"),
        1242
    );
    assert_eq!(
        c.error("SELECT 1 INTO OUTFILE 'a' FIELDS ENCLOSED BY 'ab'"),
        1083
    );
    assert_eq!(
        c.error("SELECT 1 INTO OUTFILE 'a' CHARACTER SET nothing"),
        1115
    );
    assert_eq!(
        c.error("SELECT 1 INTO OUTFILE 'a' FIELDS TERMINATED BY '' ENCLOSED BY ''"),
        1235
    );
    assert_eq!(c.error("SELECT 1 INTO OUTFILE '/nowhere/a'"), 1290);
    assert_eq!(c.error("SELECT 1 INTO OUTFILE '../a'"), 1290);
    // INTO is the statement's, and not a subquery's.
    for misplaced in [
        "SELECT * FROM (SELECT 1 INTO OUTFILE 'a') d",
        "SELECT (SELECT 1 INTO OUTFILE 'a')",
        "SELECT (SELECT 1 INTO @x)",
        "INSERT INTO t (id) SELECT 9 INTO OUTFILE 'a'",
        "CREATE TABLE n AS SELECT 1 INTO OUTFILE 'a'",
        "WITH c AS (SELECT 1 INTO OUTFILE 'a') SELECT * FROM c",
        "(SELECT 1 INTO OUTFILE 'a') UNION SELECT 2",
        "DELETE FROM t WHERE id IN (SELECT 1 INTO OUTFILE 'a')",
    ] {
        assert_eq!(c.error(misplaced), 3954, "{misplaced}");
    }
    c.run("EXPLAIN SELECT 1 INTO OUTFILE 'a'");
    assert_eq!(f.names(), [""; 0]);
    c.run("SELECT id INTO OUTFILE 'a' FIELDS TERMINATED BY 'n' FROM t");
    assert_eq!(c.rows("SHOW WARNINGS")[0][1], "1475");
    assert_eq!(c.error("SELECT 1 INTO OUTFILE 'a'"), 1086);
    assert_eq!(f.read("a"), b"1\n2\n3\n", "what is there stays");
    // FILE is asked for before anything is looked at.
    c.run("CREATE USER u@localhost");
    c.run("GRANT SELECT ON test.* TO u@localhost");
    let mut u = Client::of(c.session.instance(), "u");
    assert_eq!(u.error("SELECT 1 INTO OUTFILE 'b'"), 1045);
    assert_eq!(u.error("SELECT 1 INTO DUMPFILE 'a'"), 1045);
    assert_eq!(f.names(), ["a"]);
}
