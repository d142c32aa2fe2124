//! What rows are ordered by. Plain data.

use types::keyenc::KeyPart;

use sql_expr::Expr;

/// A member of ORDER BY.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// DESC.
    pub desc: bool,
    /// How the value becomes bytes that sort.
    pub part: KeyPart,
}
