//! Rows of groups for which there was no room. The groups that are in memory go on; a row of another group is written to the part of its key, with
//! the columns that the grouping reads, and grouped when all rows have come (hybrid hash aggregation, Graefe 1993, section 4.3). All rows of a
//! group are taken in the order in which they came, wherever they were, so that the group is what it would be without spilling.

use types::{SqlError, ValueRef};

use super::file::Reader;
use super::host::Host;
use super::partition::{DEEPEST, Partition, Partitions, Parts};
use super::record::{Values, read_values, write_value};
use super::room::Room;
use sql_expr::batch::has_effects;
use sql_expr::{EvalCtx, Node, RowSource, SubquerySource};
use sql_plan::plan::GroupPlan;

/// Groups that are in memory at least, however little room there is.
const LEAST: usize = 16;

/// Where rows go whose groups have no room.
pub(crate) struct GroupSpill {
    room: Room,
    /// The columns that the grouping reads.
    columns: Vec<(u16, u16)>,
    depth: u32,
    /// Where there is no room for more groups.
    parts: Option<Partitions>,
}

/// The columns that the grouping reads.
pub(crate) fn columns_of(plan: &GroupPlan) -> Vec<(u16, u16)> {
    let ordered = plan.aggregates.iter().flat_map(|a| &a.order_by);
    let args = plan.aggregates.iter().flat_map(|a| &a.args);
    let all = plan.keys.iter().chain(args).chain(&plan.carried);
    let mut columns = Vec::new();
    for e in all.chain(ordered.map(|(e, _)| e)) {
        e.walk(&mut |e| {
            if let Node::Column(c) = &e.node
                && !columns.contains(&(c.slot, c.ordinal))
            {
                columns.push((c.slot, c.ordinal));
            }
            true
        });
    }
    columns
}

/// Whether nothing has effects in the order of the rows.
fn can_wait(plan: &GroupPlan) -> bool {
    let ordered = plan.aggregates.iter().flat_map(|a| &a.order_by);
    let args = plan.aggregates.iter().flat_map(|a| &a.args);
    let mut all = plan.keys.iter().chain(args).chain(ordered.map(|(e, _)| e));
    !all.any(has_effects)
}

impl GroupSpill {
    /// Nothing spilled. `None` where there is one group.
    pub fn new(plan: &GroupPlan, cx: &EvalCtx<'_>) -> Option<GroupSpill> {
        (!plan.keys.is_empty() && plan.rollup.is_none()).then(|| GroupSpill {
            room: Room::table(cx),
            columns: Vec::new(),
            depth: 0,
            parts: None,
        })
    }

    /// Whether there is no room for more groups.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.parts.is_some()
    }

    /// There is one group more; all take so many bytes.
    #[inline]
    pub fn grown(&mut self, plan: &GroupPlan, groups: usize, bytes: usize) {
        if self.parts.is_none() && groups >= LEAST && self.room.is_over(bytes) {
            self.begin(plan);
        }
    }

    #[cold]
    fn begin(&mut self, plan: &GroupPlan) {
        if self.depth >= DEEPEST {
            return;
        }
        if !can_wait(plan) {
            // It need not be asked again.
            self.depth = DEEPEST;
            return;
        }
        if self.columns.is_empty() {
            self.columns = columns_of(plan);
        }
        self.parts = Some(Partitions::new(&self.room));
    }

    /// Takes a row whose group has no room.
    pub fn add(&mut self, key: &[u8], row: &dyn RowSource) {
        let columns = &self.columns;
        if let Some(parts) = &mut self.parts {
            parts.add(key, |members, out| {
                for (slot, ordinal) in columns {
                    write_value(row.column(*slot, *ordinal), members, out);
                }
            });
        }
    }

    /// Whether it is time for [`flush`](Self::flush).
    #[inline]
    pub fn is_due(&self) -> bool {
        self.parts.as_ref().is_some_and(Partitions::is_due)
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn flush(&mut self, host: &mut impl Host) -> Result<(), SqlError> {
        match &mut self.parts {
            Some(parts) => parts.flush(host).await,
            None => Ok(()),
        }
    }

    /// The rows of groups that had no room, if any.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub async fn finish(self, host: &mut impl Host) -> Result<Option<Waiting>, SqlError> {
        let Some(parts) = self.parts else {
            return Ok(None);
        };
        if !parts.has_records() {
            return Ok(None);
        }
        let mut waiting = Waiting {
            columns: self.columns,
            room: self.room,
            files: Vec::new(),
        };
        waiting.push(parts.finish(self.depth + 1, host).await?);
        Ok(Some(waiting))
    }
}

/// Rows whose groups are still to be made.
pub(crate) struct Waiting {
    columns: Vec<(u16, u16)>,
    room: Room,
    /// Files with the parts that are left of them; the last one's first.
    files: Vec<(Parts, Vec<Partition>)>,
}

impl Waiting {
    fn push(&mut self, (file, parts): (Parts, Vec<Option<Partition>>)) {
        let mut parts: Vec<Partition> = parts.into_iter().flatten().collect();
        parts.reverse();
        self.files.push((file, parts));
    }

    /// Parts of a part, which come next.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn add(&mut self, spill: GroupSpill, host: &mut impl Host) -> Result<(), SqlError> {
        if let Some(more) = spill.finish(host).await? {
            self.files.extend(more.files);
        }
        Ok(())
    }

    /// The next part, and where its rows go that have no room again.
    pub fn next(&mut self) -> Option<(Reader, GroupSpill)> {
        while self.files.last().is_some_and(|(_, parts)| parts.is_empty()) {
            self.files.pop();
        }
        let part = self.files.last_mut()?.1.pop()?;
        let mut room = self.room.clone();
        room.again();
        let spill = GroupSpill {
            room,
            columns: self.columns.clone(),
            depth: part.depth,
            parts: None,
        };
        Some((Reader::new(part.section), spill))
    }

    /// Moves to the next row of the part that came last; `false` behind the last one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn advance(&self, reader: &mut Reader) -> Result<bool, SqlError> {
        match self.files.last() {
            Some((file, _)) => file.advance(reader).await,
            None => Ok(false),
        }
    }

    /// The row that a reader is at, over what other expressions read.
    ///
    /// # Errors
    /// An internal error for bytes that are no row.
    pub fn row<'a>(
        &'a self,
        reader: &'a Reader,
        rest: &'a dyn RowSource,
    ) -> Result<SpilledRow<'a>, SqlError> {
        let Some((file, _)) = self.files.last() else {
            return Err(SqlError::internal("a row without a file"));
        };
        Ok(SpilledRow {
            columns: &self.columns,
            values: read_values(reader.row(), &file.members)?,
            rest,
        })
    }
}

/// A row that comes back.
pub(crate) struct SpilledRow<'a> {
    columns: &'a [(u16, u16)],
    values: Values<'a>,
    rest: &'a dyn RowSource,
}

impl RowSource for SpilledRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        match self.columns.iter().position(|c| *c == (slot, ordinal)) {
            Some(i) => self.values.get(i).copied().unwrap_or(ValueRef::Null),
            None => self.rest.column(slot, ordinal),
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}
