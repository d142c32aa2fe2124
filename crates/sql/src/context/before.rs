//! What the hint `SET_VAR` of a statement takes the place of while it runs.

use sql_expr::vars::Kept;

/// What a session had before a statement with `SET_VAR`.
#[derive(Default)]
pub(crate) struct Before {
    pub vars: Kept,
    pub timestamp: Option<Option<i64>>,
    pub insert_id: Option<u64>,
}
