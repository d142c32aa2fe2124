//! Partitions: sorted rows, cut where PARTITION BY changes. The rows of one are in the sort's memory; where that has spilled, they are gathered,
//! in memory as long as there is room and in a file otherwise.

use engine::TempFile;
use types::SqlError;

use crate::Env;
use crate::op::sort::{Sorted, write_sort_key};
use crate::op::window::gather::{Fresh, Stored};
use crate::spill::Room;
use crate::spill::file::{Reader, Section, Writer};
use crate::spill::merge::Merged;
use crate::spill::record::{Members, read_values, write_value};
use crate::store::RowStore;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::SortKey;
use sql_plan::plan::op::window::Stage;

/// The rows of a partition.
pub(super) struct Partition<'s> {
    rows: Rows<'s>,
    /// How many there are.
    pub len: u64,
}

enum Rows<'s> {
    /// Rows of a sort, in the order of these numbers.
    Sorted(&'s RowStore, &'s [u32]),
    /// Rows by their place.
    Kept(&'s RowStore),
    /// Rows in a file.
    Filed(&'s Filed),
}

/// Where somebody reads a partition.
#[derive(Default)]
pub(super) struct Cursor {
    /// The row, by its place in the store that it is in.
    row: usize,
    /// The rows of a block of the file, and their places in the partition.
    block: Option<RowStore>,
    from: u64,
    to: u64,
}

impl Cursor {
    /// Of another partition.
    pub fn reset(&mut self) {
        *self = Cursor::default();
    }
}

impl Partition<'_> {
    /// Moves a cursor to a row.
    ///
    /// # Errors
    /// The file cannot be read.
    #[inline]
    pub async fn seek(&self, cursor: &mut Cursor, at: u64, env: &Env<'_>) -> Result<(), SqlError> {
        match &self.rows {
            Rows::Sorted(_, order) => {
                let row = order.get(at as usize);
                cursor.row = *row.ok_or_else(|| SqlError::internal("no such row"))? as usize;
            }
            Rows::Kept(_) => cursor.row = at as usize,
            Rows::Filed(f) => {
                if at < cursor.from || at >= cursor.to {
                    f.load(cursor, at, env).await?;
                }
                cursor.row = (at - cursor.from) as usize;
            }
        }
        Ok(())
    }

    /// The row that a cursor is at.
    #[inline]
    pub fn row<'c>(&'c self, cursor: &'c Cursor) -> Stored<'c> {
        let store = match (&self.rows, &cursor.block) {
            (Rows::Sorted(store, _) | Rows::Kept(store), _) => store,
            (Rows::Filed(_), Some(block)) => block,
            (Rows::Filed(f), None) => &f.none,
        };
        Stored {
            store,
            row: cursor.row,
        }
    }
}

/// Rows in a file, in blocks.
struct Filed {
    file: TempFile,
    /// The place of the first row of each block, and the block.
    blocks: Vec<(u64, Section)>,
    members: Members,
    len: u64,
    width: usize,
    writer: Writer,
    /// Rows in the block that is being written.
    waiting: u64,
    /// What a cursor that has read nothing reads.
    none: RowStore,
}

impl Filed {
    fn new(width: usize, env: &Env<'_>) -> Result<Filed, SqlError> {
        Ok(Filed {
            file: env.session.temp_space().create()?,
            blocks: Vec::new(),
            members: Members::default(),
            len: 0,
            width,
            writer: Writer::default(),
            waiting: 0,
            none: RowStore::new(width, env.cx.memory()),
        })
    }

    /// Adds the rows of a store, which is empty afterwards.
    async fn add_all(
        &mut self,
        rows: &mut RowStore,
        block: usize,
        env: &mut Env<'_>,
    ) -> Result<(), SqlError> {
        for n in 0..rows.len() {
            let members = &mut self.members;
            self.writer.add(&[], |out| {
                rows.row(n).for_each(|v| write_value(v, members, out));
            });
            self.waiting += 1;
            if self.writer.waiting() >= block {
                self.end_block().await?;
            }
            if env.due() {
                env.pause().await?;
            }
        }
        rows.clear();
        self.end_block().await
    }

    async fn end_block(&mut self) -> Result<(), SqlError> {
        if self.waiting == 0 {
            return Ok(());
        }
        self.writer.flush(&mut self.file).await?;
        let section = std::mem::take(&mut self.writer).finish();
        self.blocks.push((self.len, section));
        self.len += std::mem::take(&mut self.waiting);
        Ok(())
    }

    /// Reads the block of a row.
    async fn load(&self, cursor: &mut Cursor, at: u64, env: &Env<'_>) -> Result<(), SqlError> {
        let after = self.blocks.partition_point(|(first, _)| *first <= at);
        let found = after.checked_sub(1).and_then(|b| self.blocks.get(b));
        let (first, section) = found.ok_or_else(|| SqlError::internal("no such row"))?;
        let mut rows = match cursor.block.take() {
            Some(mut rows) => {
                rows.clear();
                rows
            }
            None => RowStore::new(self.width, env.cx.memory()),
        };
        let mut reader = Reader::new(section.clone());
        while reader.advance(&self.file).await? {
            rows.push(read_values(reader.row(), &self.members)?);
        }
        cursor.from = *first;
        cursor.to = first + rows.len() as u64;
        cursor.block = Some(rows);
        env.check()
    }
}

/// Sorted rows, to be cut into partitions.
pub(super) struct Source<'p> {
    stage: &'p Stage,
    sorted: Sorted,
    /// The rows of the partition, where the sort has spilled.
    kept: RowStore,
    filed: Option<Filed>,
    room: Room,
    /// The next row of the sort.
    next: usize,
    /// The merge is at the first row of the next partition.
    is_ahead: bool,
    /// The merge is at its end.
    is_over: bool,
    key: Vec<u8>,
    other: Vec<u8>,
}

impl<'p> Source<'p> {
    /// Before the first partition.
    pub fn new(stage: &'p Stage, sorted: Sorted, cx: &EvalCtx<'_>) -> Source<'p> {
        Source {
            kept: RowStore::new(stage.width, cx.memory()),
            filed: None,
            room: Room::table(cx),
            stage,
            sorted,
            next: 0,
            is_ahead: false,
            is_over: false,
            key: Vec::new(),
            other: Vec::new(),
        }
    }

    /// The next partition; `None` behind the last.
    ///
    /// # Errors
    /// The file; the statement is to end.
    pub async fn next(&mut self, env: &mut Env<'_>) -> Result<Option<Partition<'_>>, SqlError> {
        if let Some(mut merged) = self.sorted.merged.take() {
            let gathered = self.gather(&mut merged, env).await;
            self.sorted.merged = Some(merged);
            if !gathered? {
                return Ok(None);
            }
            return Ok(Some(match &self.filed {
                Some(f) => Partition {
                    len: f.len,
                    rows: Rows::Filed(f),
                },
                None => Partition {
                    len: self.kept.len() as u64,
                    rows: Rows::Kept(&self.kept),
                },
            }));
        }
        let from = self.next;
        if from >= self.sorted.order.len() {
            return Ok(None);
        }
        self.next = self.end_of(from, env).await?;
        let order = &self.sorted.order[from..self.next];
        Ok(Some(Partition {
            len: order.len() as u64,
            rows: Rows::Sorted(&self.sorted.rows, order),
        }))
    }

    /// Where the partition ends that begins at a place of the sort.
    async fn end_of(&mut self, from: usize, env: &mut Env<'_>) -> Result<usize, SqlError> {
        let keys = &self.stage.keys[..self.stage.partition];
        let order = &self.sorted.order;
        if keys.is_empty() {
            return Ok(order.len());
        }
        let store = &self.sorted.rows;
        let row = |at: usize| Stored {
            store,
            row: order[at] as usize,
        };
        write_key(keys, env.cx, &row(from), &mut self.key)?;
        let mut to = from + 1;
        while to < order.len() {
            write_key(keys, env.cx, &row(to), &mut self.other)?;
            if self.other != self.key {
                break;
            }
            to += 1;
            if env.due() {
                env.pause().await?;
            }
        }
        Ok(to)
    }

    /// Gathers the rows of the next partition from a merge; `false` where there are none.
    async fn gather(&mut self, merged: &mut Merged, env: &mut Env<'_>) -> Result<bool, SqlError> {
        self.kept.clear();
        self.filed = None;
        self.room.again();
        if self.is_over || !self.is_ahead && !merged.advance().await? {
            return Ok(false);
        }
        let stage = self.stage;
        let keys = &stage.keys[..stage.partition];
        let mut is_first = true;
        loop {
            let values = read_values(merged.row(), &merged.members)?;
            if !keys.is_empty() {
                let row = Fresh {
                    from: 0,
                    values: &values,
                };
                write_key(keys, env.cx, &row, &mut self.other)?;
                if is_first {
                    std::mem::swap(&mut self.key, &mut self.other);
                } else if self.other != self.key {
                    self.is_ahead = true;
                    break;
                }
            }
            is_first = false;
            self.kept.push(values);
            if self.room.is_over(self.kept.used()) {
                self.file(env).await?;
            }
            if env.due() {
                env.pause().await?;
            }
            if !merged.advance().await? {
                self.is_over = true;
                break;
            }
        }
        if self.filed.is_some() {
            self.file(env).await?;
        }
        Ok(true)
    }

    /// Puts the rows in memory into the partition's file.
    async fn file(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        let block = self.room.block();
        let mut filed = match self.filed.take() {
            Some(f) => f,
            None => Filed::new(self.stage.width, env)?,
        };
        filed.add_all(&mut self.kept, block, env).await?;
        self.filed = Some(filed);
        self.room.again();
        Ok(())
    }
}

/// The key of a row, in the place of another.
pub(super) fn write_key(
    keys: &[SortKey],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    out.clear();
    write_sort_key(keys, cx, row, out)
}
