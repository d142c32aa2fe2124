//! Tests of the parser as a whole, by what they look at.

mod errors;
mod fuzz;
mod lexical;
mod precedence;
mod statements;

use super::*;

/// Parses the one statement in `sql`.
fn statement(sql: &str) -> ast::Statement {
    match parse(sql.as_bytes(), &Options::default()) {
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
    match parse(sql.as_bytes(), &Options::default()) {
        Ok(parsed) => panic!("{sql} parses: {parsed:?}"),
        Err(e) => *e,
    }
}
