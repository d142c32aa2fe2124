//! What passes and what does not, with a client that answers by itself.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use slt::{Answer, Client, Failure, Letter, Options, Session, cell};

/// Answers `ROWS a b …` by one row of these cells, `BLOCK` after the next `RELEASE` of another connection, `FAIL` by an error.
#[derive(Default)]
struct Fake(Arc<(Mutex<u64>, Condvar)>);

impl Client for Fake {
    fn labels(&self) -> &[&str] {
        &["tidemill", "embedded"]
    }

    fn connect(&self) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(Fake(Arc::clone(&self.0))))
    }
}

impl Session for Fake {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        let (released, wake) = &*self.0;
        let mut released = released.lock().expect("no thread panics");
        match sql.split(' ').collect::<Vec<_>>().as_slice() {
            ["ROWS", cells @ ..] => {
                let integer = |cell: &&str| cell.parse::<i64>().is_ok();
                let letter = |cell| match integer(cell) {
                    true => Letter::Integer,
                    false => Letter::Text,
                };
                return Ok(Answer::Rows {
                    types: cells.iter().map(letter).collect(),
                    rows: vec![cells.iter().map(|c| cell(Some(c.as_bytes()))).collect()],
                });
            }
            ["FAIL"] => {
                return Err(Failure::Server {
                    code: 1062,
                    state: "23000".to_owned(),
                    message: "Duplicate entry '1364'".to_owned(),
                });
            }
            ["RELEASE"] => {
                *released += 1;
                wake.notify_all();
            }
            ["BLOCK"] => {
                let seen = *released;
                while *released == seen {
                    released = wake.wait(released).expect("no thread panics");
                }
            }
            _ => {}
        }
        Ok(Answer::Done(1))
    }
}

/// A folder of one file, which is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, text: &str) -> Folder {
        let dir = std::env::temp_dir().join(format!("slt-{name}-{}", std::process::id()));
        let _old = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("topic")).expect("a folder");
        std::fs::write(dir.join("topic").join("case.slt"), text).expect("a file");
        Folder(dir)
    }

    fn run(&self, bless: bool) -> Result<usize, String> {
        let options = Options { only: "", bless };
        slt::run(&self.0, &Fake::default(), options)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.0.join("topic").join("case.slt")).expect("the file")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `text`, which may not be rewritten.
fn verdict(name: &str, text: &str) -> Result<usize, String> {
    let folder = Folder::new(name, text);
    let verdict = folder.run(false);
    assert_eq!(folder.text(), text);
    verdict
}

#[test]
fn what_agrees_passes() {
    let text = "# A comment.\nstatement ok\nDO;\n\nquery IT\nROWS 1 a\n----\n1\ta\n\nstatement error 1062 23000 Duplicate\nFAIL\n\n\
                skipif mariadb\nquery T\nROWS x\n----\nx\n\nonlyif mariadb\nquery T\nROWS x\n----\ny\n";
    assert_eq!(verdict("agrees", text), Ok(4));
}

#[test]
fn what_differs_fails() {
    for (name, text) in [
        ("row", "query I\nROWS 1\n----\n2\n"),
        ("space", "query TT\nROWS a b\n----\na b\n"),
        ("none", "query I\nROWS 1\n----\n"),
        ("type", "query T\nROWS 1\n----\n1\n"),
        ("width", "query I\nROWS 1 2\n----\n1\t2\n"),
        ("error", "statement ok\nFAIL\n"),
        ("success", "statement error 1062\nDO\n"),
        ("number", "statement error 1364\nFAIL\n"),
        ("state", "statement error 1062 HY000\nFAIL\n"),
        ("nothing", "# Nothing is run.\n"),
        ("all-skipped", "onlyif mariadb\nstatement ok\nDO\n"),
    ] {
        assert!(verdict(name, text).is_err(), "{name}");
    }
}

#[test]
fn what_would_not_be_run_is_refused() {
    for (name, text) in [
        ("halt", "statement ok\nDO\n\nhalt\n\nstatement ok\nFAIL\n"),
        ("label", "skipif tidemil\nstatement ok\nDO\n"),
        ("system", "system ok\ntrue\n"),
        ("retry", "statement ok retry 2 backoff 1s\nDO\n"),
    ] {
        assert!(verdict(name, text).is_err(), "{name}");
    }
}

#[test]
fn statements_wait() {
    let block = "connection b\nstatement ok\nWAITS BLOCK\n\n";
    let still = "connection b\nstatement ok\nWAITS ANSWER\n\n";
    let release = "statement ok\nRELEASE\n\n";
    let answer = "connection b\nstatement ok\nANSWER\n";
    let all = [block, still, release, answer].concat();
    assert_eq!(verdict("waits", &all), Ok(4));
    for (name, parts) in [
        ("not-taken", [block, release].as_slice()),
        ("not-sent", &[answer]),
        ("not-sent-still", &[still]),
        (
            "busy",
            &[block, "connection b\nstatement ok\nDO\n\n", release, answer],
        ),
        ("at-once", &["statement ok\nWAITS DO\n"]),
    ] {
        assert!(verdict(name, &parts.concat()).is_err(), "{name}");
    }
}

#[test]
fn blessing_changes_rows_and_types_alone() {
    let folder = Folder::new(
        "bless",
        "# Why.\n\nstatement ok\nDO\n\nconnection b\nquery T\nROWS 1 x\n----\nold\nold\n\nonlyif mariadb\nquery I\nROWS 1\n----\n7\n",
    );
    assert_eq!(folder.run(true), Ok(2));
    let new = "# Why.\n\nstatement ok\nDO\n\nconnection b\nquery IT\nROWS 1 x\n----\n1\tx\n\nonlyif mariadb\nquery I\nROWS 1\n----\n7\n";
    assert_eq!(folder.text(), new);
    assert_eq!(folder.run(false), Ok(2));
    let wrong = Folder::new("bless-error", "statement ok\nFAIL\n");
    assert!(wrong.run(true).is_err());
}
