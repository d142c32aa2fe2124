//! The select list, and DISTINCT of it.

use crate::bind::tree::Yields;
use sql_expr::Expr;

/// The select list.
pub struct Project {
    /// Its values.
    pub values: Vec<Expr>,
    /// The columns that they are, where they are nothing but columns with no conversion to do: slot and place.
    pub plain: Option<Vec<(u16, u16)>>,
    /// In what form they go on.
    pub yields: Yields,
}

/// DISTINCT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distinct {
    /// The keys of the sort behind it tell rows apart.
    pub by_order: bool,
    /// The sort behind it leaves out rows that it has already: nothing is done before.
    pub sorts: bool,
}
