//! The format of `tests/sql/*.test`: blocks parted by blank lines, each a statement and what must come of it.
//!
//! ```text
//! # A comment.
//! ok
//! CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10))
//!
//! error 1062 23000
//! INSERT INTO t VALUES (1, 'a'), (1, 'b')
//!
//! rows
//! SELECT id, v FROM t ORDER BY id
//! ----
//! 1<TAB>a
//! 2<TAB>NULL
//!
//! @b waits
//! UPDATE t SET v = 'x' WHERE id = 1
//!
//! @b then ok
//! ```
//!
//! The first line of a block is its verb, with `@name` in front for a connection other than the first (a
//! connection is opened when it is first named) and `only tidemill` or `only mariadb` behind it where the two
//! differ. Verbs: `ok` (no error; rows are not looked at), `error CODE [SQLSTATE] [start of the text]`, `rows`
//! (cells parted by tabs, in order), `sorted` (the same in any order), `waits` (the statement must be blocked),
//! and `then` with one of the others, which takes the answer of the statement that waits.

use harness::server::Kind;
use harness::step::Outcome;

/// What must come of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// No error.
    Ok,
    /// This error; an empty state or text stands for any.
    Error {
        /// MySQL's error number.
        code: u16,
        /// The SQLSTATE.
        state: String,
        /// How the message begins.
        text: String,
    },
    /// These rows, cells parted by tabs.
    Rows {
        /// The lines.
        lines: Vec<String>,
        /// Any order will do.
        sorted: bool,
    },
    /// It must be blocked.
    Waits,
}

/// One statement of a case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseStatement {
    /// Line number of the verb, from 1.
    pub line: usize,
    /// The connection's name; empty is the first one.
    pub connection: String,
    /// Only for this server.
    pub only: Option<Kind>,
    /// Takes the answer of a statement sent before.
    pub then: bool,
    /// The statement; empty with `then`.
    pub sql: String,
    /// What must come of it.
    pub expect: Expect,
}

/// Reads a whole file.
pub fn parse(text: &str) -> Outcome<Vec<CaseStatement>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut body = Vec::new();
        while let Some((_, next)) = lines.next_if(|(_, next)| !next.is_empty()) {
            body.push(next);
        }
        blocks.push(parse_block(at + 1, line, &body).map_err(|e| format!("line {}: {e}", at + 1))?);
    }
    Ok(blocks)
}

fn parse_block(line: usize, header: &str, body: &[&str]) -> Outcome<CaseStatement> {
    let mut words = header.trim();
    let mut connection = String::new();
    if let Some(rest) = words.strip_prefix('@') {
        let (name, rest) = rest.split_once(' ').ok_or("a verb is missing")?;
        connection = name.to_owned();
        words = rest.trim_start();
    }
    let then = words.starts_with("then ");
    if then {
        words = words["then ".len()..].trim_start();
    }
    let mut only = None;
    for (suffix, kind) in [
        (" only tidemill", Kind::Tidemill),
        (" only mariadb", Kind::MariaDb),
    ] {
        if let Some(rest) = words.strip_suffix(suffix) {
            only = Some(kind);
            words = rest.trim_end();
        }
    }
    let split = body.iter().position(|l| *l == "----");
    let sql = body[..split.unwrap_or(body.len())].join("\n");
    let rows: Vec<String> = split.map_or(Vec::new(), |at| {
        body[at + 1..].iter().map(|l| (*l).to_owned()).collect()
    });
    let expect = parse_verb(words, rows, split.is_some())?;
    if then != sql.is_empty() {
        return Err("'then' has no statement, every other verb has one".to_owned());
    }
    Ok(CaseStatement {
        line,
        connection,
        only,
        then,
        sql: sql.trim_end().trim_end_matches(';').to_owned(),
        expect,
    })
}

fn parse_verb(words: &str, lines: Vec<String>, has_rows: bool) -> Outcome<Expect> {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let expect = match verb {
        "ok" => Expect::Ok,
        "waits" => Expect::Waits,
        "rows" | "sorted" => Expect::Rows {
            lines,
            sorted: verb == "sorted",
        },
        "error" => {
            let mut parts = rest.splitn(3, ' ');
            let code = parts.next().unwrap_or_default();
            Expect::Error {
                code: code
                    .parse()
                    .map_err(|_| format!("'{code}' is no error number"))?,
                state: parts.next().unwrap_or_default().to_owned(),
                text: parts.next().unwrap_or_default().to_owned(),
            }
        }
        _ => return Err(format!("unknown verb '{verb}'")),
    };
    if has_rows != matches!(expect, Expect::Rows { .. }) {
        return Err("'rows' and 'sorted' have a '----' line, the others have none".to_owned());
    }
    if verb != "error" && !rest.is_empty() {
        return Err(format!("'{rest}' behind '{verb}' means nothing"));
    }
    Ok(expect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb() {
        let text = "# c\nok\nCREATE TABLE t\n (id INT);\n\n@b error 1062 23000 Duplicate entry\n\
                    INSERT\n\nrows only tidemill\nSELECT 1\n----\n1\ta\n\n@b waits\nUPDATE\n\n\
                    @b then ok\n";
        let blocks = parse(text).unwrap();
        assert_eq!(blocks.len(), 5);
        assert_eq!(blocks[0].sql, "CREATE TABLE t\n (id INT)");
        assert_eq!((blocks[0].line, blocks[1].line), (2, 6));
        assert_eq!(blocks[1].connection, "b");
        assert_eq!(
            blocks[1].expect,
            Expect::Error {
                code: 1062,
                state: "23000".to_owned(),
                text: "Duplicate entry".to_owned()
            }
        );
        assert_eq!(blocks[2].only, Some(Kind::Tidemill));
        assert_eq!(
            blocks[2].expect,
            Expect::Rows {
                lines: vec!["1\ta".to_owned()],
                sorted: false
            }
        );
        assert_eq!(blocks[3].expect, Expect::Waits);
        assert!(blocks[4].then && blocks[4].sql.is_empty());
    }

    #[test]
    fn mistakes_name_their_line() {
        assert!(parse("\nfine\nSELECT 1\n").unwrap_err().contains("line 2"));
        assert!(parse("rows\nSELECT 1\n").is_err());
        assert!(parse("ok\n").is_err());
        assert!(parse("error x\nSELECT 1\n").is_err());
    }
}
