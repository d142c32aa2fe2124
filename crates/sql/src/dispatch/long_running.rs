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

/// Functions that do little more than to read their arguments once, by first letter. All others may last: they repeat, grow, search or
/// wait.
const LIGHT: &[&[&str]] = &[
    &[
        "abs",
        "acos",
        "addtime",
        "any_value",
        "ascii",
        "asin",
        "atan",
        "atan2",
    ],
    &["bin", "bin_to_uuid", "bit_count", "bit_length"],
    &[
        "ceil",
        "ceiling",
        "char",
        "char_length",
        "character_length",
        "charset",
        "coalesce",
        "coercibility",
        "collation",
        "concat",
        "concat_ws",
        "connection_id",
        "conv",
        "convert_tz",
        "cos",
        "cot",
        "crc32",
        "curdate",
        "current_date",
        "current_role",
        "current_time",
        "current_timestamp",
        "current_user",
        "curtime",
    ],
    &[
        "database",
        "date",
        "date_format",
        "datediff",
        "day",
        "dayname",
        "dayofmonth",
        "dayofweek",
        "dayofyear",
        "degrees",
    ],
    &["elt", "exp"],
    &[
        "field",
        "floor",
        "format",
        "found_rows",
        "from_days",
        "from_unixtime",
    ],
    &["get_format", "greatest"],
    &["hour"],
    &[
        "icu_version",
        "if",
        "ifnull",
        "inet6_aton",
        "inet6_ntoa",
        "inet_aton",
        "inet_ntoa",
        "interval",
        "is_ipv4",
        "is_ipv6",
        "is_uuid",
        "isnull",
    ],
    &[],
    &[],
    &[
        "last_day",
        "last_insert_id",
        "lcase",
        "least",
        "left",
        "length",
        "ln",
        "localtime",
        "localtimestamp",
        "log",
        "log10",
        "log2",
        "lower",
        "ltrim",
    ],
    &[
        "makedate",
        "maketime",
        "md5",
        "microsecond",
        "mid",
        "minute",
        "mod",
        "month",
        "monthname",
    ],
    &["name_const", "now", "nullif", "nvl"],
    &["oct", "octet_length", "ord"],
    &[
        "period_add",
        "period_diff",
        "pi",
        "pow",
        "power",
        "ps_current_thread_id",
    ],
    &["quarter"],
    &[
        "radians",
        "rand",
        "random_bytes",
        "right",
        "round",
        "row_count",
        "rtrim",
    ],
    &[
        "schema",
        "sec_to_time",
        "second",
        "session_user",
        "sha",
        "sha1",
        "sign",
        "sin",
        "sqrt",
        "str_to_date",
        "strcmp",
        "substr",
        "substring",
        "subtime",
        "sysdate",
        "system_user",
    ],
    &[
        "tan",
        "time",
        "time_format",
        "time_to_sec",
        "timediff",
        "timestamp",
        "to_days",
        "to_seconds",
        "trim",
        "truncate",
    ],
    &[
        "ucase",
        "unix_timestamp",
        "upper",
        "user",
        "utc_date",
        "utc_time",
        "utc_timestamp",
        "uuid",
        "uuid_short",
        "uuid_to_bin",
    ],
    &["version"],
    &["week", "weekday", "weekofyear"],
    &[],
    &["year", "yearweek"],
    &[],
];

/// Words that make a statement last wherever they stand: patterns, schemas whose rows are made when they are read, and character sets in
/// which a text takes several times its room.
const LASTING: &[&str] = &[
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
        && LASTING.iter().any(|l| l.as_bytes() == word)
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

fn is_light(function: &str) -> bool {
    let letter = function.bytes().next().map_or(0, |b| b.wrapping_sub(b'a'));
    let names = LIGHT.get(usize::from(letter));
    names.is_some_and(|names| names.contains(&function))
}

/// Whether there is such a function, and it may last.
fn is_heavy(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|w| func::find(w).is_some() && !is_light(w))
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
    pub fn lasts(&self, sql: &[u8]) -> bool {
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
        let lasts = |text: &str| is_long_running_text(text.as_bytes(), false);
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
            assert!(lasts(text), "{text}");
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
            assert!(!lasts(text), "{text}");
        }
        assert!(
            is_long_running_text(b"SELECT @a", true) && !is_long_running_text(b"SELECT 1", true)
        );
        let pattern = format!("SELECT '{}' LIKE '{}'", "a".repeat(4000), "%a".repeat(999));
        assert!(lasts(&pattern));
        assert!(lasts(&format!("SELECT 1 /* {} */", " ".repeat(LONG_TEXT))));
    }

    /// A name in the list is a function's, under its letter.
    #[test]
    fn light_functions_exist() {
        for (letter, names) in (b'a'..).zip(LIGHT) {
            for name in *names {
                assert!(func::find(name).is_some(), "{name}");
                assert_eq!(name.bytes().next(), Some(letter), "{name}");
                assert!(name.len() <= LONGEST_WORD, "{name}");
            }
        }
        assert!(func::names().all(|name| name.len() <= LONGEST_WORD));
        assert!(LASTING.iter().all(|l| is_long_running(l.as_bytes())));
    }
}
