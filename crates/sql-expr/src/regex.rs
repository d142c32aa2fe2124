//! Regular expressions, compiled. Most go to a matcher whose time is linear in the text; those with look-around or references to groups go to one
//! that goes back and tries again, within a limit of steps. What matches is the matchers' to say, what is done with it the functions'.

use regex::bytes::{Regex, RegexBuilder};
use types::SqlError;
use types::error::codes;

/// Most bytes of a compiled expression.
const SIZE_MAX: usize = 4 << 20;
/// Most steps back of a match: some tens of milliseconds, since nobody can be heard meanwhile.
const STEPS_MAX: usize = 200_000;

/// Most bytes of a pattern for the matcher that goes back, and most instructions that it may become: it has no limit of its own.
const PATTERN_MAX: usize = 64 << 10;
const INSTRUCTIONS_MAX: usize = 200_000;

/// A compiled expression.
#[derive(Debug, Clone)]
pub enum Compiled {
    /// Linear in the text.
    Linear(Regex),
    /// With look-around or references to groups.
    Backtracking(Box<fancy_regex::Regex>),
}

/// How an expression is meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flags {
    /// Letters match in either case.
    pub ignore_case: bool,
    /// `^` and `$` match at line ends.
    pub multi_line: bool,
    /// `.` matches line ends.
    pub dot_all: bool,
    /// Lines end with CR LF too.
    pub crlf: bool,
    /// The text is one of characters.
    pub unicode: bool,
}

/// Where the groups of a match are, the whole match first.
pub(super) type Groups = Vec<Option<(usize, usize)>>;

/// Error 3699.
fn timeout() -> SqlError {
    SqlError::new(
        codes::ER_REGEXP_TIME_OUT,
        "Timeout exceeded in regular expression match.",
    )
}

/// Error 3685.
pub(super) fn illegal() -> SqlError {
    SqlError::new(
        codes::ER_REGEXP_ILLEGAL_ARGUMENT,
        "Illegal argument to a regular expression.",
    )
}

/// MySQL's words for what is wrong with a pattern.
fn fault(why: &str) -> SqlError {
    let text = if why.contains("unclosed group") || why.contains("unopened group") {
        "Mismatched parenthesis in regular expression."
    } else if why.contains("unclosed character class") {
        "The regular expression contains an unclosed bracket expression."
    } else {
        "Syntax error in regular expression."
    };
    SqlError::new(codes::ER_REGEXP_MISMATCHED_PAREN, text)
}

impl Compiled {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// 3691 for a pattern that is none, 3699 for one that is too large.
    pub(super) fn new(pattern: &str, f: Flags) -> Result<Compiled, SqlError> {
        let linear = RegexBuilder::new(pattern)
            .case_insensitive(f.ignore_case)
            .multi_line(f.multi_line)
            .dot_matches_new_line(f.dot_all)
            .crlf(f.crlf)
            .unicode(f.unicode)
            .size_limit(SIZE_MAX)
            .build();
        let why = match linear {
            Ok(r) => return Ok(Compiled::Linear(r)),
            Err(regex::Error::CompiledTooBig(_)) => return Err(timeout()),
            Err(e) => e.to_string(),
        };
        let backwards = why.contains("backreferences are not supported")
            || why.contains("look-around, including look-ahead and look-behind");
        if !backwards || !f.unicode {
            return Err(fault(&why));
        }
        if pattern.len() > PATTERN_MAX {
            return Err(timeout());
        }
        fancy_regex::RegexBuilder::new(pattern)
            .case_insensitive(f.ignore_case)
            .multi_line(f.multi_line)
            .dot_matches_new_line(f.dot_all)
            .crlf(f.crlf)
            .delegate_size_limit(SIZE_MAX)
            .max_prog_size(INSTRUCTIONS_MAX)
            .backtrack_limit(STEPS_MAX)
            .build()
            .map(|r| Compiled::Backtracking(Box::new(r)))
            .map_err(|e| fault(&e.to_string()))
    }

    /// Whether it matches anywhere.
    ///
    /// # Errors
    /// 3699 for one that takes too long, 3685 for a text that is none.
    pub(super) fn is_match(&self, text: &[u8]) -> Result<bool, SqlError> {
        match self {
            Compiled::Linear(r) => Ok(r.is_match(text)),
            Compiled::Backtracking(r) => r.is_match(utf8(text)?).map_err(|_| timeout()),
        }
    }

    /// Calls `f` with the groups of each match in turn, until it returns `false`.
    ///
    /// # Errors
    /// As [`is_match`](Self::is_match), and those of `f`.
    pub(super) fn each_match(
        &self,
        text: &[u8],
        mut f: impl FnMut(Groups) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        match self {
            Compiled::Linear(r) => {
                for c in r.captures_iter(text) {
                    let groups = c.iter().map(|g| g.map(|g| (g.start(), g.end())));
                    if !f(groups.collect())? {
                        break;
                    }
                }
            }
            Compiled::Backtracking(r) => {
                for c in r.captures_iter(utf8(text)?) {
                    let c = c.map_err(|_| timeout())?;
                    let groups = c.iter().map(|g| g.map(|g| (g.start(), g.end())));
                    if !f(groups.collect())? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

fn utf8(text: &[u8]) -> Result<&str, SqlError> {
    std::str::from_utf8(text).map_err(|_| illegal())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Flags = Flags {
        ignore_case: true,
        multi_line: false,
        dot_all: false,
        crlf: false,
        unicode: true,
    };

    fn matches(pattern: &str, text: &str) -> Result<bool, u16> {
        let c = Compiled::new(pattern, PLAIN).map_err(|e| e.code)?;
        c.is_match(text.as_bytes()).map_err(|e| e.code)
    }

    #[test]
    fn groups_and_look_around() {
        for (pattern, text, expected) in [
            (r"(a)\1", "xAay", Ok(true)),
            (r"(a)\1", "aba", Ok(false)),
            (r"^(?!.*cat)", "dog", Ok(true)),
            (r"^(?!.*cat)", "a cat", Ok(false)),
            (r"(?<=é)x", "éx", Ok(true)),
            (r"a(?=b)", "ac", Ok(false)),
            (r"(a", "a", Err(3691)),
            (r"(a)\2", "a", Err(3691)),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn one_that_is_too_large_is_refused() {
        let long = format!(r"(a)\1{}", "(?=a)".repeat(20_000));
        assert_eq!(matches(&long, "a"), Err(3699));
    }

    #[test]
    fn one_that_goes_back_for_ever_ends() {
        let begun = std::time::Instant::now();
        let text = "a".repeat(5000);
        assert_eq!(matches(r"(a*)*\1b(?=c)", &text), Err(3699));
        assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    }
}
