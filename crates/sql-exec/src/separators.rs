//! How fields and lines of a text file are told apart: `FIELDS` and `LINES` of `LOAD DATA` and of `SELECT ... INTO OUTFILE`.

use types::SqlError;
use types::error::codes;

use sql_parser::ast::TextFormat;

/// The separators that a statement asks for, or MySQL's.
#[derive(Debug, Clone)]
pub struct Separators {
    /// Between two fields.
    pub field: Vec<u8>,
    /// Behind a line.
    pub line: Vec<u8>,
    /// Before a line.
    pub starting: Vec<u8>,
    /// Around a field.
    pub enclosed: Option<u8>,
    /// Before a character that is not to be taken for one of these.
    pub escape: Option<u8>,
}

impl Separators {
    /// Of a statement, which `what` names; `plain`: under NO_BACKSLASH_ESCAPES, where nothing escapes unless the statement says so.
    ///
    /// # Errors
    /// 1083 for more than one character where one is meant; 1235 for fields of fixed size.
    pub fn of(f: &TextFormat, plain: bool, what: &str) -> Result<Separators, SqlError> {
        let one = |s: &Option<Box<[u8]>>, default: Option<u8>| match s.as_deref() {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([b]) => Ok(Some(*b)),
            Some(_) => Err(SqlError::fixed(codes::ER_WRONG_FIELD_TERMINATORS)),
        };
        let text = |s: &Option<Box<[u8]>>, default: &[u8]| s.as_deref().unwrap_or(default).to_vec();
        let s = Separators {
            field: text(&f.fields_terminated, b"\t"),
            line: text(&f.lines_terminated, b"\n"),
            starting: text(&f.lines_starting, b""),
            enclosed: one(&f.enclosed, None)?,
            escape: one(&f.escaped, (!plain).then_some(b'\\'))?,
        };
        if s.field.is_empty() && s.enclosed.is_none() {
            return Err(SqlError::not_supported(&format!(
                "{what} of fields of fixed size"
            )));
        }
        Ok(s)
    }
}
