//! How a text is read.

use std::borrow::Cow;

use ::types::Charset;

/// The version number that version comments are compared with.
pub const SERVER_VERSION: u32 = 80041;

/// What changes how text is read: switches of the `sql_mode`, the client's character set, and for what it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// `ANSI_QUOTES`: `"` quotes identifiers.
    pub ansi_quotes: bool,
    /// `PIPES_AS_CONCAT`: `||` concatenates.
    pub pipes_as_concat: bool,
    /// `HIGH_NOT_PRECEDENCE`: `NOT` binds like `!`.
    pub high_not_precedence: bool,
    /// `NO_BACKSLASH_ESCAPES`: `\` is an ordinary character.
    pub no_backslash_escapes: bool,
    /// `IGNORE_SPACE`: a space may stand between a function's name and its parenthesis.
    pub ignore_space: bool,
    /// `REAL_AS_FLOAT`: `REAL` is `FLOAT`.
    pub real_as_float: bool,
    /// The statement is being prepared: `?` is a placeholder. In any other text it is a fault.
    pub placeholders: bool,
    /// The character set of the text. Names and literals of the tree are in UTF-8; only what has a character set
    /// of its own (`_latin1'..'`), and everything of a `binary` or `ascii` text, keeps its bytes.
    pub charset: Charset,
    /// The version of the MariaDB server that has written the text, such as 101100, where one has: its words are taken beside MySQL's. What is carried
    /// out for a client has none.
    pub mariadb: Option<u32>,
}

impl Options {
    /// A part of the text in UTF-8. What a set has no character for stays as it is.
    pub fn utf8<'a>(&self, part: &'a [u8]) -> Cow<'a, [u8]> {
        if self.charset != Charset::Latin1 || part.is_ascii() {
            return Cow::Borrowed(part);
        }
        let mut out = Vec::with_capacity(part.len() + part.len() / 2);
        ::types::charset::convert(self.charset, Charset::Utf8mb4, part, &mut out);
        Cow::Owned(out)
    }
}
