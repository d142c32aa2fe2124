//! What a statement that does not parse is answered with.

use std::fmt;

/// How much of the text near a fault is quoted, in bytes.
const NEAR_LIMIT: usize = 80;

/// Which of MySQL's parse-time errors it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The text is not in the grammar (1064).
    Syntax,
    /// There is no statement in the text (1065).
    EmptyQuery,
    /// Nested too deeply for the stack a statement may use (1436).
    TooDeep,
    /// Any other error the grammar raises by itself: its number, SQLSTATE and complete text.
    Other {
        /// MySQL's error number.
        code: u16,
        /// SQLSTATE.
        state: &'static str,
        /// The message, complete.
        message: Box<str>,
    },
}

/// A statement that does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The text from the offending token on, at most 80 bytes of it.
    pub near: String,
    /// The line of the offending token, from 1.
    pub line: u32,
    /// Which error.
    pub kind: ParseErrorKind,
}

impl ParseError {
    /// A syntax error at `rest`, the text from the offending token on.
    pub(crate) fn syntax(rest: &[u8], line: u32) -> Box<ParseError> {
        Self::at(rest, line, ParseErrorKind::Syntax)
    }

    /// An error of another kind at `rest`.
    pub(crate) fn at(rest: &[u8], line: u32, kind: ParseErrorKind) -> Box<ParseError> {
        let mut end = rest.len().min(NEAR_LIMIT);
        while end < rest.len() && end > 0 && rest[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        Box::new(ParseError {
            near: String::from_utf8_lossy(&rest[..end]).into_owned(),
            line,
            kind,
        })
    }

    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match &self.kind {
            ParseErrorKind::Syntax => 1064,
            ParseErrorKind::EmptyQuery => 1065,
            ParseErrorKind::TooDeep => 1436,
            ParseErrorKind::Other { code, .. } => *code,
        }
    }

    /// SQLSTATE.
    pub fn sqlstate(&self) -> &'static str {
        match &self.kind {
            ParseErrorKind::Syntax | ParseErrorKind::EmptyQuery => "42000",
            ParseErrorKind::TooDeep => "HY000",
            ParseErrorKind::Other { state, .. } => state,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ParseErrorKind::Syntax => write!(
                f,
                "You have an error in your SQL syntax; check the manual that corresponds to your \
                 MySQL server version for the right syntax to use near '{}' at line {}",
                self.near, self.line
            ),
            ParseErrorKind::EmptyQuery => f.write_str("Query was empty"),
            ParseErrorKind::TooDeep => f.write_str(::types::depth::TOO_DEEP),
            ParseErrorKind::Other { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for ParseError {}
