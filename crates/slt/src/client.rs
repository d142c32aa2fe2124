//! What a client of the database must offer, so that the cases can be run through it.

use sqllogictest::ColumnType;

/// The type of a column, as the letters of a `query` record say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letter {
    /// `I`: an integer type, or YEAR.
    Integer,
    /// `R`: DECIMAL, FLOAT or DOUBLE.
    Real,
    /// `T`: any other type.
    Text,
    /// `?`: the client is not told the types.
    Unknown,
}

impl ColumnType for Letter {
    fn from_char(letter: char) -> Option<Letter> {
        match letter {
            'I' => Some(Letter::Integer),
            'R' => Some(Letter::Real),
            'T' => Some(Letter::Text),
            _ => None,
        }
    }

    fn to_char(&self) -> char {
        match self {
            Letter::Integer => 'I',
            Letter::Real => 'R',
            Letter::Text => 'T',
            Letter::Unknown => '?',
        }
    }
}

/// What came of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A result set.
    Rows {
        /// The types of its columns.
        types: Vec<Letter>,
        /// The cells, each as [`cell`] writes it.
        rows: Vec<Vec<String>>,
    },
    /// No result set; the number of affected rows, 0 where the client does not know it.
    Done(u64),
}

/// Why a statement has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server's error.
    Server {
        /// MySQL's error number.
        code: u16,
        /// The five characters of the SQLSTATE.
        state: String,
        /// The message.
        message: String,
    },
    /// The connection or the run itself failed.
    Broken(String),
}

/// As `statement error` wants it: `1062 23000 Duplicate entry …`.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Server {
                code,
                state,
                message,
            } => write!(f, "{code} {state} {message}"),
            Failure::Broken(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}

/// One connection. It is used by one thread at a time, which it may block.
pub trait Session: Send {
    /// Runs one statement.
    ///
    /// # Errors
    /// The server's, or what broke the connection.
    fn run(&mut self, sql: &str) -> Result<Answer, Failure>;
}

/// Makes connections.
pub trait Client {
    /// What `onlyif` and `skipif` may ask for: the server and the client.
    fn labels(&self) -> &[&str];

    /// A new connection, in no database.
    ///
    /// # Errors
    /// Why there is none.
    fn connect(&self) -> Result<Box<dyn Session>, Failure>;
}

/// A value as the files have it; `None` is NULL.
pub fn cell(value: Option<&[u8]>) -> String {
    let Some(bytes) = value else {
        return "NULL".to_owned();
    };
    if bytes.is_empty() {
        return "(empty)".to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\0' => text.push_str("\\0"),
            '\\' => text.push_str("\\\\"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_lines() {
        assert_eq!(cell(None), "NULL");
        assert_eq!(cell(Some(b"")), "(empty)");
        assert_eq!(cell(Some(b"a\tb\\\n\0")), "a\\tb\\\\\\n\\0");
        assert_eq!(cell(Some("\u{e9} ".as_bytes())), "\u{e9} ");
    }
}
