//! The window functions of a block, with their names bound: plain data. How they are computed is for the plan to say.

use types::temporal::IntervalUnit;

use super::sort_key::SortKey;
use sql_expr::window::WindowFn;
use sql_expr::{Comparer, Expr};

/// The window functions of a block, and the windows they go over.
#[derive(Clone)]
pub struct Windows {
    /// The windows that a function goes over, in the order in which they were written: those with names first.
    pub windows: Vec<Window>,
    /// Windows that no function goes over, but that others extend.
    pub bases: Vec<Window>,
    /// The functions, by the number that expressions ask for their values by.
    pub functions: Vec<OverWindow>,
}

/// A function and the window that it goes over.
#[derive(Clone)]
pub struct OverWindow {
    /// The function.
    pub function: WindowFn,
    /// The window's place in the list.
    pub window: usize,
}

/// A window.
#[derive(Clone)]
pub struct Window {
    /// Its name, where it has one.
    pub name: Option<Box<str>>,
    /// The window that it extends.
    pub base: Option<Box<str>>,
    /// PARTITION BY, also that of the windows that it extends.
    pub partition: Vec<SortKey>,
    /// ORDER BY, also that of the windows that it extends.
    pub order: Vec<SortKey>,
    /// PARTITION BY and ORDER BY stand in it.
    pub own: (bool, bool),
    /// Its frame.
    pub frame: Frame,
    /// The frame was written.
    pub is_framed: bool,
    /// Its place among all windows of the block, from 1 on.
    pub position: usize,
}

/// The rows around a row that a function is computed of.
#[derive(Clone)]
pub struct Frame {
    /// Rows are counted; otherwise they are compared.
    pub rows: bool,
    /// Where it starts.
    pub start: FrameEnd,
    /// Where it ends.
    pub end: FrameEnd,
}

/// An end of a frame.
#[derive(Clone)]
pub enum FrameEnd {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(Distance),
    /// CURRENT ROW.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(Distance),
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
}

/// How far an end of a frame is from the current row.
#[derive(Clone)]
pub struct Distance {
    /// The number.
    pub amount: Expr,
    /// The unit of an INTERVAL.
    pub unit: Option<IntervalUnit>,
    /// For RANGE: the value that the end has for the current row, and how rows compare with it. Its first part is the row's own value.
    pub limit: Option<(Expr, Comparer)>,
}

impl FrameEnd {
    /// Its distance, where it has one.
    pub fn distance(&self) -> Option<&Distance> {
        match self {
            FrameEnd::Preceding(d) | FrameEnd::Following(d) => Some(d),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn distance_mut(&mut self) -> Option<&mut Distance> {
        match self {
            FrameEnd::Preceding(d) | FrameEnd::Following(d) => Some(d),
            _ => None,
        }
    }
}

impl Window {
    /// How messages call it.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(sql_expr::bind::UNNAMED)
    }

    /// What its rows are sorted by.
    pub fn keys(&self) -> impl Iterator<Item = &SortKey> {
        self.partition.iter().chain(&self.order)
    }
}

impl Windows {
    /// Every expression that is evaluated for rows.
    pub fn exprs(&self) -> Vec<&Expr> {
        let mut all = Vec::new();
        for w in self.windows.iter().chain(&self.bases) {
            all.extend(w.keys().map(|k| &k.expr));
            let ends = [&w.frame.start, &w.frame.end].into_iter();
            let limits = ends.filter_map(|e| e.distance()?.limit.as_ref());
            all.extend(limits.map(|l| &l.0));
        }
        for f in &self.functions {
            all.extend(f.function.inputs());
        }
        all
    }

    /// The same, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let mut all = Vec::new();
        for w in self.windows.iter_mut().chain(&mut self.bases) {
            let keys = w.partition.iter_mut().chain(&mut w.order);
            all.extend(keys.map(|k| &mut k.expr));
            let ends = [&mut w.frame.start, &mut w.frame.end].into_iter();
            let limits = ends.filter_map(|e| e.distance_mut()?.limit.as_mut());
            all.extend(limits.map(|l| &mut l.0));
        }
        for f in &mut self.functions {
            all.extend(f.function.inputs_mut());
        }
        all
    }
}
