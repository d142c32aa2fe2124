//! Tests of the parser as a whole, by what they look at.

mod errors;
mod fuzz;
mod hints;
mod lexical;
mod mariadb;
mod precedence;
mod statements;

use super::*;
use ::types::Charset;

/// A text that is being prepared: with it every rule of the grammar is reached.
const PREPARED: Options = Options {
    ansi_quotes: false,
    pipes_as_concat: false,
    high_not_precedence: false,
    no_backslash_escapes: false,
    ignore_space: false,
    real_as_float: false,
    placeholders: true,
    charset: Charset::Utf8mb4,
    mariadb: None,
};

/// Parses the one statement in `sql`.
fn statement(sql: &str) -> ast::Statement {
    match parse(sql.as_bytes(), &PREPARED) {
        Ok(parsed) => {
            assert_eq!(parsed.consumed, sql.len(), "{sql}");
            parsed.statement
        }
        Err(e) => panic!("{sql}: {e}"),
    }
}

/// The canonical text of an expression.
fn canonical(text: &str, options: &Options) -> String {
    match parse_expr(text.as_bytes(), options) {
        Ok(expr) => expr.to_string(),
        Err(e) => panic!("{text}: {e}"),
    }
}

/// The error a statement raises.
fn error(sql: &str) -> ParseError {
    match parse(sql.as_bytes(), &PREPARED) {
        Ok(parsed) => panic!("{sql} parses: {parsed:?}"),
        Err(e) => *e,
    }
}
