//! The SQL parser: bytes of a statement in, a syntax tree out.
//!
//! It follows MySQL 8.0's grammar and operator precedence, its lexical rules (version comments,
//! introducers, adjacent strings, `sql_mode` switches) and the wording of its errors. It never looks at
//! tables, types, variables or sessions, and it never panics or recurses without bound.
//!
//! How it is built: `lexer` makes tokens, `parser` holds the token window and the leaf rules, `expr`
//! climbs operators, and every other file holds the rules of one family of statements as further methods of
//! the same parser. `deparse` goes the other way, from trees to MySQL's canonical text.

mod account;
mod admin;
mod aggregate;
mod alter;
pub mod ast;
mod cast;
mod column;
mod compound;
mod create;
mod deparse;
mod dml;
mod error;
mod expr;
pub mod filter_rules;
mod function;
mod hint;
mod keyword;
mod lexer;
mod load;
pub mod mariadb;
mod mariadb_words;
mod options;
mod parser;
mod partition;
mod primary;
mod program;
mod query;
mod replication;
mod set;
mod show;
mod statement;
mod table_ref;
#[cfg(test)]
mod tests;
mod types;
mod window;

pub use deparse::Deparsed;
pub use error::{ParseError, ParseErrorKind};
pub use keyword::reserved_words;
pub use options::{Options, SERVER_VERSION};

use ::types::Pace;

use lexer::{Lexer, T};
use parser::Parser;

/// A parsed statement with what a session needs besides the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The tree.
    pub statement: ast::Statement,
    /// Bytes taken, the statement's `;` included.
    pub consumed: usize,
    /// How many placeholders (`?`) the statement holds.
    pub params: u32,
    /// What MySQL has no words for, where [`Options::mariadb`] lets it stand.
    pub mariadb: Option<Box<mariadb::Mariadb>>,
}

/// Parses the first statement of `sql` and says how many bytes it took, its `;` included, so that a
/// session can carry out `a; b; c` one by one: continue with `&sql[consumed..]` while [`is_blank`] says
/// that more is left.
///
/// Errors: 1064 with the text near the fault, 1065 where there is no statement, 1436 where the statement
/// is nested too deeply, and the few errors MySQL's grammar raises by itself.
pub fn parse_one(
    sql: &[u8],
    options: &Options,
) -> Result<(ast::Statement, usize), Box<ParseError>> {
    parse(sql, options).map(|parsed| (parsed.statement, parsed.consumed))
}

/// Like [`parse_one`], with the number of placeholders.
pub fn parse(sql: &[u8], options: &Options) -> Result<Parsed, Box<ParseError>> {
    parse_paced(sql, options, &Pace::unwatched())
}

/// Like [`parse`], for a text that may be long: `pace` may end it.
///
/// # Errors
/// As [`parse_one`], and what `pace` says.
pub fn parse_paced(
    sql: &[u8],
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Parsed, Box<ParseError>> {
    let mut parser = Parser::new(sql, options, pace);
    let parsed = whole(&mut parser, sql);
    match parser.stopped {
        None => parsed,
        Some(e) => Err(ParseError::at(
            &[],
            1,
            ParseErrorKind::Other {
                code: e.code,
                state: ::types::error::codes::sqlstate(e.code),
                message: e.message.into(),
            },
        )),
    }
}

fn whole(parser: &mut Parser<'_>, sql: &[u8]) -> Result<Parsed, Box<ParseError>> {
    if parser.is(T::Eof) {
        // As in MySQL, a comment is a statement that does nothing.
        let comment = sql.iter().any(|b| !b.is_ascii_whitespace() && *b != 0);
        return match comment {
            true => Ok(Parsed {
                statement: ast::Statement::Nothing,
                consumed: sql.len(),
                params: 0,
                mariadb: None,
            }),
            false => Err(ParseError::at(&[], 1, ParseErrorKind::EmptyQuery)),
        };
    }
    let mut statement = parser.statement()?;
    if !parser.set_vars.is_empty()
        && let Some(hints) = statement.hints_mut()
    {
        hints.set_vars = std::mem::take(&mut parser.set_vars);
    }
    let consumed = match parser.tok.kind {
        T::Semi => parser.tok.end as usize,
        T::Eof => sql.len(),
        _ => return Err(parser.syntax_error(parser.tok.start)),
    };
    let mut mariadb = parser.mariadb.take();
    if let Some(m) = &mut mariadb {
        m.finish(sql, &parser.lexer.comments);
    }
    Ok(Parsed {
        statement,
        consumed,
        params: parser.params,
        mariadb,
    })
}

/// Parses a single expression that takes up the whole of `text`, such as a stored column default.
pub fn parse_expr(text: &[u8], options: &Options) -> Result<ast::Expr, Box<ParseError>> {
    let pace = Pace::unwatched();
    let mut parser = Parser::new(text, options, &pace);
    let expr = parser.expr()?;
    if !parser.is(T::Eof) {
        return Err(parser.syntax_error(parser.tok.start));
    }
    Ok(expr)
}

/// Parses a list of accounts that takes up the whole of `text`, such as the value of `mandatory_roles`; empty text is an empty
/// list.
pub fn parse_accounts(text: &[u8]) -> Result<Vec<ast::Account>, Box<ParseError>> {
    let (options, pace) = (Options::default(), Pace::unwatched());
    let mut parser = Parser::new(text, &options, &pace);
    if parser.is(T::Eof) {
        return Ok(Vec::new());
    }
    let list = parser.list(Parser::account)?;
    if !parser.is(T::Eof) {
        return Err(parser.syntax_error(parser.tok.start));
    }
    Ok(list)
}

/// Whether nothing but white space and comments is left in `rest`.
pub fn is_blank(rest: &[u8], options: &Options) -> bool {
    Lexer::new(rest, *options).next_token().kind == T::Eof
}
