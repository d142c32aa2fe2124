//! How the window functions of a block are computed. Plain data.
//!
//! Rows are stored with what is needed of them (see [`WindowPlan::inputs`]), sorted for one window after the other, and gone through a
//! partition at a time. A stored row has the columns that it carries, the aggregates of its group, the inputs, and then the values of the
//! functions whose windows came before. All of them are columns of [`WINDOW_ROW_SLOT`](crate::bind::tree::WINDOW_ROW_SLOT).

use crate::bind::tree::{SortKey, SubAggregates};
use crate::bind::window_tree::{Frame, Windows};
use sql_expr::Expr;
use sql_expr::window::WindowFn;

/// The window functions of a block.
pub struct WindowPlan {
    /// The functions and windows as they were written.
    pub windows: Windows,
    /// Columns of the rows before that later expressions read, by slot and place.
    pub carried: Vec<(u16, u16)>,
    /// How many aggregates of the block are stored behind them.
    pub aggregates: usize,
    /// How subqueries read these.
    pub below: SubAggregates,
    /// What windows and functions read of a row.
    pub inputs: Vec<Expr>,
    /// One window after the other.
    pub stages: Vec<Stage>,
    /// Where the value of each function stands in a stored row, by the function's number.
    pub values: Vec<usize>,
    /// Correlated subqueries that the expressions behind the window functions use.
    pub subqueries: Vec<u32>,
}

/// A window whose functions are computed while its rows go by.
pub struct Stage {
    /// Its place among the windows.
    pub window: usize,
    /// PARTITION BY and ORDER BY, of stored rows.
    pub keys: Vec<SortKey>,
    /// How many of them are PARTITION BY.
    pub partition: usize,
    /// Rows are sorted first; otherwise they come in order.
    pub sorts: bool,
    /// The frame, of stored rows.
    pub frame: Frame,
    /// Its functions, of stored rows, in the order in which their values are stored.
    pub functions: Vec<WindowFn>,
    /// Columns of a stored row before it.
    pub width: usize,
}

impl WindowPlan {
    /// Columns of a row that is stored first.
    pub fn width(&self) -> usize {
        self.carried.len() + self.aggregates + self.inputs.len()
    }

    /// Whether rows are sorted for some window.
    pub fn sorts(&self) -> bool {
        self.stages.iter().any(|s| s.sorts)
    }
}
