//! What is wrong with a regular expression, in MySQL's numbers and words. Nothing else may word these errors.

use types::SqlError;
use types::error::codes;

/// A fault of a pattern, of a replacement, or of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An empty pattern, an unknown property.
    IllegalArgument,
    /// A place behind the text, a group that the pattern does not have.
    OutOfBounds,
    /// What is no pattern, with the line and the character in it.
    Syntax(u32, u32),
    /// An escape that is not finished, or whose number is none.
    BadEscape,
    /// What the library knows and does not do.
    Unimplemented,
    /// A parenthesis without its other.
    Parenthesis,
    /// `{` without numbers.
    Interval,
    /// `{2,1}`.
    MaxBelowMin,
    /// A reference to a group that has not begun.
    BackReference,
    /// A look-behind of any length.
    LookBehind,
    /// `[` without `]`.
    Bracket,
    /// `[b-a]`.
    Range,
    /// More nested tries than there is room for.
    Stack,
    /// More steps than there is time for.
    Time,
    /// A pattern that becomes too large.
    TooBig,
    /// A name that is none, or is not known, or is there twice.
    GroupName,
    /// `(?y)`.
    Flag,
    /// A number beyond 31 bits.
    Number,
    /// Names of characters.
    MissingFile,
}

impl From<Fault> for SqlError {
    fn from(fault: Fault) -> SqlError {
        let code = match fault {
            Fault::IllegalArgument => codes::ER_REGEXP_ILLEGAL_ARGUMENT,
            Fault::OutOfBounds => codes::ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR,
            Fault::Syntax(line, character) => {
                return SqlError::new(
                    codes::ER_REGEXP_RULE_SYNTAX,
                    format!(
                        "Syntax error in regular expression on line {line}, character {character}."
                    ),
                );
            }
            Fault::BadEscape => codes::ER_REGEXP_BAD_ESCAPE_SEQUENCE,
            Fault::Unimplemented => codes::ER_REGEXP_UNIMPLEMENTED,
            Fault::Parenthesis => codes::ER_REGEXP_MISMATCHED_PAREN,
            Fault::Interval => codes::ER_REGEXP_BAD_INTERVAL,
            Fault::MaxBelowMin => codes::ER_REGEXP_MAX_LT_MIN,
            Fault::BackReference => codes::ER_REGEXP_INVALID_BACK_REF,
            Fault::LookBehind => codes::ER_REGEXP_LOOK_BEHIND_LIMIT,
            Fault::Bracket => codes::ER_REGEXP_MISSING_CLOSE_BRACKET,
            Fault::Range => codes::ER_REGEXP_INVALID_RANGE,
            Fault::Stack => codes::ER_REGEXP_STACK_OVERFLOW,
            Fault::Time => codes::ER_REGEXP_TIME_OUT,
            Fault::TooBig => codes::ER_REGEXP_PATTERN_TOO_BIG,
            Fault::GroupName => codes::ER_REGEXP_INVALID_CAPTURE_GROUP_NAME,
            Fault::Flag => codes::ER_REGEXP_INVALID_FLAG,
            Fault::Number => codes::ER_REGEX_NUMBER_TOO_BIG,
            Fault::MissingFile => codes::ER_REGEXP_MISSING_FILE,
        };
        // None of the other templates has a place to fill.
        let text = codes::info(code);
        SqlError::new(code, text.map_or("", |c| c.template))
    }
}
