//! Which statements have the hint `SET_VAR`, and what it takes the place of.

use sql_expr::vars::Kept;
use sql_parser::ast::Statement;

/// What a session had before a statement with `SET_VAR`.
#[derive(Default)]
pub(super) struct Before {
    pub vars: Kept,
    pub timestamp: Option<Option<i64>>,
    pub insert_id: Option<u64>,
}

/// Whether a statement sets variables for itself: its plan is for no other statement, and not without them.
pub(super) fn sets_vars(statement: &Statement) -> bool {
    statement.hints().is_some_and(|h| !h.set_vars.is_empty())
}
