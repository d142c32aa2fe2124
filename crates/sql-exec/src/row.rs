//! What expressions see as "the row": the current rows of a join, one row under a latch, a row being built.

use engine::RowRef;
use types::{Value, ValueRef};

use super::sub::SubValues;
use crate::op::join::level::Level;
use sql_expr::{INSERTED_SLOT, RowSource, SubquerySource};
use sql_plan::plan::Places;

/// The rows a join stands at, and those of the blocks around it.
#[derive(Clone, Copy)]
pub(crate) struct Tuple<'a> {
    /// The tables' places by slot.
    pub places: &'a Places,
    /// The tables' current rows, by place.
    pub levels: &'a [Level],
    /// The rows of the blocks around.
    pub outer: &'a dyn RowSource,
    /// Values of the block's subqueries.
    pub subs: Option<&'a SubValues>,
}

impl RowSource for Tuple<'_> {
    #[inline]
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        match self.places.of(slot) {
            Some(place) => self.levels[place].column(ordinal),
            None => self.outer.column(slot, ordinal),
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.subs.map(|s| s as &dyn SubquerySource)
    }
}

/// A row that is looked at in place of one table's current row.
pub(crate) struct Candidate<'a> {
    /// Its slot.
    pub slot: u16,
    /// The row.
    pub row: RowRef<'a>,
    /// The other rows.
    pub rest: &'a dyn RowSource,
}

impl RowSource for Candidate<'_> {
    #[inline]
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        if slot == self.slot {
            self.row.column(usize::from(ordinal))
        } else {
            self.rest.column(slot, ordinal)
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}

/// A row of values in place of one table's current row.
pub struct Built<'a> {
    /// Its slot.
    pub slot: u16,
    /// Its values.
    pub values: &'a [Value],
    /// The row an INSERT was about to write.
    pub inserted: &'a [Value],
    /// The other rows and the subqueries.
    pub rest: &'a dyn RowSource,
}

impl RowSource for Built<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        let values = match slot {
            INSERTED_SLOT => self.inserted,
            s if s == self.slot => self.values,
            _ => return self.rest.column(slot, ordinal),
        };
        values
            .get(usize::from(ordinal))
            .map_or(ValueRef::Null, Value::as_ref)
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}

/// A table's current row as the assignments so far leave it.
pub(crate) struct Assigned<'a> {
    /// Its slot.
    pub slot: u16,
    /// Columns that got values, the last ones behind.
    pub columns: &'a [(u16, Value)],
    /// The row as it was, the other rows and the subqueries.
    pub rest: &'a dyn RowSource,
}

impl RowSource for Assigned<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        let mut assigned = self.columns.iter().rev();
        match assigned.find(|(c, _)| slot == self.slot && *c == ordinal) {
            Some((_, v)) => v.as_ref(),
            None => self.rest.column(slot, ordinal),
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}

/// No row but the values of subqueries.
pub(crate) struct OnlySubs<'a> {
    /// The values.
    pub subs: &'a SubValues,
    /// The rows of the blocks around.
    pub outer: &'a dyn RowSource,
}

impl RowSource for OnlySubs<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        self.outer.column(slot, ordinal)
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        Some(self.subs)
    }
}

/// The row of a group without rows: NULL in every table of a block, whose first slot it knows; rows around it are what they are.
pub(crate) struct Nulls<'a>(pub &'a dyn RowSource, pub u16);

impl RowSource for Nulls<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        if slot >= self.1 {
            ValueRef::Null
        } else {
            self.0.column(slot, ordinal)
        }
    }
}
