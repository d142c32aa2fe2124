//! Which statements may compute for long without a pause, as their text says before anybody has parsed it: constants are computed while
//! a statement is planned, so that the plan would tell too late.
//!
//! A guess on the safe side: whatever is taken for long-running runs where it keeps nobody waiting, a little later, and with the same result.
//!
//! Must never do: decide anything but where a statement runs.

use crate::context::Session;
use sql_expr::func;
use sql_parser::ast::Statement;

/// Bytes of user variables from which on to compute with them takes long.
const LARGE_VARIABLES: usize = 64 << 10;

/// Longer texts take long to parse and to plan.
const LONG_TEXT: usize = 16 << 10;

/// Texts in which a pattern and what it is matched with may be long.
const LONG_FOR_PATTERNS: usize = 2 << 10;

/// Queries in a text up to which a value cannot have grown much from one to the next.
const FEW_QUERIES: u32 = 3;

/// Words that make a statement last wherever they stand: patterns, schemas whose rows are made when they are read, and character sets in
/// which a text takes several times its room.
const LONG_RUNNING: &[&str] = &[
    "information_schema",
    "performance_schema",
    "regexp",
    "rlike",
    "ucs2",
    "utf16",
    "utf16le",
    "utf32",
];

/// Whether a word is one of those; few begin with their letters.
fn is_long_running(word: &[u8]) -> bool {
    matches!(word.first(), Some(b'i' | b'p' | b'r' | b'u'))
        && LONG_RUNNING.iter().any(|l| l.as_bytes() == word)
}

/// The longest of all these.
const LONGEST_WORD: usize = 33;

/// The bytes of words in small letters; 0 where a byte is of no word.
const WORD: [u8; 256] = {
    let mut t = [0; 256];
    let mut b = 0;
    while b < 128 {
        let c = b as u8;
        if c.is_ascii_alphanumeric() || c == b'_' {
            t[b] = c.to_ascii_lowercase();
        }
        b += 1;
    }
    t
};

/// Whether there is such a function, and it may last.
fn is_heavy(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|w| func::find(w).is_some_and(|f| !f.light))
}

/// Whether a text may compute for long without a pause. `large`: the session's variables have values that are.
fn is_long_running_text(text: &[u8], large: bool) -> bool {
    if text.len() > LONG_TEXT {
        return true;
    }
    let mut queries = 0;
    let mut concat = false;
    let mut at = 0;
    // Each short statement passes here, so that most bytes are to cost one look into a table.
    while at < text.len() {
        let first = WORD[usize::from(text[at])];
        if first == 0 {
            if large && text[at] == b'@' {
                return true;
            }
            at += 1;
            continue;
        }
        let start = at;
        while at < text.len() && WORD[usize::from(text[at])] != 0 {
            at += 1;
        }
        // No word that matters here begins with a digit: most of what an INSERT brings ends here.
        if first.is_ascii_digit() || at - start > LONGEST_WORD || at - start < 2 {
            continue;
        }
        let mut lower = [0; LONGEST_WORD];
        for (to, from) in lower.iter_mut().zip(&text[start..at]) {
            *to = WORD[usize::from(*from)];
        }
        let word = &lower[..at - start];
        match word {
            b"select" | b"values" | b"table" => queries += 1,
            b"like" if text.len() > LONG_FOR_PATTERNS => return true,
            b"concat" | b"concat_ws" => concat = true,
            _ => {}
        }
        let rest = text[at..].trim_ascii_start();
        let called = rest.first() == Some(&b'(') || rest.starts_with(b"/*");
        if called && is_heavy(word) || is_long_running(word) {
            return true;
        }
    }
    concat && queries > FEW_QUERIES
}

/// Whether a statement that is not planned may last.
pub(super) fn is_long_running_statement(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Begin(_)
            | Statement::Commit(_)
            | Statement::Rollback(_)
            | Statement::Savepoint(_)
            | Statement::RollbackTo(_)
            | Statement::ReleaseSavepoint(_)
            | Statement::Set(_)
            | Statement::Use(_)
            | Statement::Execute { .. }
            | Statement::Deallocate(_)
            | Statement::Kill { .. }
    )
}

impl Session {
    /// Whether a text may compute for long without a pause, so that whoever serves others should not be the one to prepare it.
    pub fn may_run_long(&self, sql: &[u8]) -> bool {
        is_long_running_text(sql, self.has_large_variables())
    }

    fn has_large_variables(&self) -> bool {
        self.user_vars.lock().bytes() > LARGE_VARIABLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_grows_searches_or_waits_lasts() {
        let may_run_long = |text: &str| is_long_running_text(text.as_bytes(), false);
        for text in [
            "SELECT BENCHMARK(1e16, 1)",
            "select Repeat\n ('x', 10)",
            "do REPEAT/* */('x', 10)",
            "SELECT 'aaa' RLIKE '(a+)+$'",
            "SELECT HEX(HEX(c)) FROM t",
            "SELECT * FROM information_schema.tables",
            "SELECT CONVERT(x USING utf32)",
            "SELECT JSON_SET(d, '$.a', 1) FROM t",
            "SELECT concat(c,c) FROM (SELECT concat(c,c) c FROM (SELECT concat(c,c) c FROM (SELECT 'x' c) a) b) d",
            "SELECT SLEEP(5)",
        ] {
            assert!(may_run_long(text), "{text}");
        }
        for text in [
            "SELECT c FROM sbtest1 WHERE id=5",
            "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 100",
            "INSERT INTO repeated (id, k) VALUES (1, CONCAT('a', NOW()))",
            "UPDATE t SET a = IF(b > 1, ROUND(c, 2), COALESCE(d, 0)) WHERE name LIKE 'x%'",
            "SELECT @a, @@version",
            "REPLACE INTO t VALUES (1)",
            "",
        ] {
            assert!(!may_run_long(text), "{text}");
        }
        assert!(
            is_long_running_text(b"SELECT @a", true) && !is_long_running_text(b"SELECT 1", true)
        );
        let pattern = format!("SELECT '{}' LIKE '{}'", "a".repeat(4000), "%a".repeat(999));
        assert!(may_run_long(&pattern));
        assert!(may_run_long(&format!(
            "SELECT 1 /* {} */",
            " ".repeat(LONG_TEXT)
        )));
    }

    /// A longer word would be passed over.
    #[test]
    fn words_are_no_longer_than_is_looked_at() {
        assert!(func::names().all(|name| name.len() <= LONGEST_WORD));
        assert!(LONG_RUNNING.iter().all(|l| is_long_running(l.as_bytes())));
    }
}
