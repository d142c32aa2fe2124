//! A batch of rows, and one row of it for what is evaluated row by row.

use std::sync::Arc;

use types::ValueRef;

use super::build::VectorBuilder;
use super::selection::Sel;
use super::vector::Vector;
use crate::ctx::{RowSource, SubquerySource};

/// No such column.
const NONE: u16 = u16::MAX;

/// Where the columns stand that expressions name by slot and ordinal.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    slots: Vec<(u16, Vec<u16>)>,
    len: u16,
}

impl Layout {
    /// No columns.
    pub fn new() -> Layout {
        Layout::default()
    }

    /// Columns in the order of their positions.
    pub fn of(columns: impl IntoIterator<Item = (u16, u16)>) -> Layout {
        let mut layout = Layout::new();
        for (slot, ordinal) in columns {
            layout.push(slot, ordinal);
        }
        layout
    }

    /// One more column, at the next position.
    pub fn push(&mut self, slot: u16, ordinal: u16) {
        let at = match self.slots.iter().position(|(s, _)| *s == slot) {
            Some(at) => at,
            None => {
                self.slots.push((slot, Vec::new()));
                self.slots.len() - 1
            }
        };
        let ordinals = &mut self.slots[at].1;
        let i = usize::from(ordinal);
        if ordinals.len() <= i {
            ordinals.resize(i + 1, NONE);
        }
        ordinals[i] = self.len;
        self.len += 1;
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The position of a column, where it has one.
    #[inline]
    pub fn position(&self, slot: u16, ordinal: u16) -> Option<usize> {
        let (_, ordinals) = self.slots.iter().find(|(s, _)| *s == slot)?;
        match ordinals.get(usize::from(ordinal)) {
            Some(&at) if at != NONE => Some(usize::from(at)),
            _ => None,
        }
    }
}

/// Rows, column by column, and which of them are live.
#[derive(Debug, Clone)]
pub struct Batch {
    layout: Arc<Layout>,
    columns: Vec<Arc<Vector>>,
    len: usize,
    selection: Option<Vec<u16>>,
}

impl Batch {
    /// Columns in the order of the layout, `len` rows each, all live.
    pub fn new(layout: &Arc<Layout>, columns: Vec<Arc<Vector>>, len: usize) -> Batch {
        debug_assert!(len <= usize::from(u16::MAX));
        debug_assert!(columns.iter().all(|c| c.len() == len));
        Batch {
            layout: Arc::clone(layout),
            columns,
            len,
            selection: None,
        }
    }

    /// What builders have made of rows.
    pub fn build(layout: &Arc<Layout>, builders: &mut [VectorBuilder]) -> Batch {
        let len = builders.first().map_or(0, VectorBuilder::len);
        let columns = builders.iter_mut().map(|b| Arc::new(b.finish())).collect();
        Self::new(layout, columns, len)
    }

    /// Gives the builders the room back that this batch of theirs takes, as far as nobody else has a part of it.
    pub fn give_back(self, builders: &mut [VectorBuilder]) {
        for (b, c) in builders.iter_mut().zip(self.columns) {
            if let Some(v) = Arc::into_inner(c) {
                b.reuse(v);
            }
        }
    }

    /// Where columns stand.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The columns.
    pub fn columns(&self) -> &[Arc<Vector>] {
        &self.columns
    }

    /// Rows, live or not.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no row is live.
    pub fn is_empty(&self) -> bool {
        self.selected().is_empty()
    }

    /// The live rows.
    #[inline]
    pub fn selected(&self) -> Sel<'_> {
        match &self.selection {
            None => Sel::All(self.len),
            Some(s) => Sel::Some(s),
        }
    }

    /// Only these rows are live, in ascending order; gives back a list that is not needed.
    pub fn select(&mut self, rows: Vec<u16>) -> Option<Vec<u16>> {
        debug_assert!(rows.is_sorted());
        if rows.len() == self.len {
            self.selection = None;
            return Some(rows);
        }
        self.selection.replace(rows)
    }

    /// The column that expressions name so.
    #[inline]
    pub fn column(&self, slot: u16, ordinal: u16) -> Option<&Arc<Vector>> {
        self.columns.get(self.layout.position(slot, ordinal)?)
    }

    /// A row of it; columns that it does not have come from `outer`.
    #[inline]
    pub fn row<'b>(&'b self, row: usize, outer: &'b dyn RowSource) -> BatchRow<'b> {
        BatchRow {
            batch: self,
            row,
            outer,
        }
    }

    /// What it takes, for whoever charges it.
    pub fn memory(&self) -> usize {
        let columns: usize = self.columns.iter().map(|c| c.memory()).sum();
        columns + self.selection.as_ref().map_or(0, |s| s.capacity() * 2)
    }
}

/// One row of a batch.
#[derive(Clone, Copy)]
pub struct BatchRow<'b> {
    batch: &'b Batch,
    row: usize,
    outer: &'b dyn RowSource,
}

impl RowSource for BatchRow<'_> {
    #[inline]
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        match self.batch.column(slot, ordinal) {
            Some(c) => c.value_ref(self.row),
            None => self.outer.column(slot, ordinal),
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.outer.subqueries()
    }
}
