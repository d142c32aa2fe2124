//! Rows that a query has given, to be gone through in their order, once or several times: in memory as long as there is room, and then in a file.

use std::sync::Arc;

use engine::{TempFile, TempSpace};
use types::{SqlError, ValueRef};

use super::super::store::RowStore;
use super::file::{Reader, Section, Writer};
use super::record::{Members, read_values, write_value};
use super::room::Room;
use sql_plan::sink::{ColumnMeta, Done, Flush, ResultSink};

/// Rows that come back at once.
const WINDOW: usize = 256;
/// Bytes of theirs.
const WINDOW_BYTES: usize = 256 << 10;

/// Rows in the order in which they came.
pub(crate) struct Gathered {
    /// Those that are in memory: all, or the last ones.
    store: RowStore,
    width: usize,
    room: Room,
    /// There is no room for more.
    over: bool,
    files: Arc<TempSpace>,
    file: Option<InFile>,
}

struct InFile {
    file: TempFile,
    rows: Section,
    members: Members,
}

impl Gathered {
    /// None yet.
    pub fn new(width: usize, room: Room, files: &Arc<TempSpace>) -> Gathered {
        Gathered {
            store: RowStore::new(width, room.account()),
            width,
            room,
            over: false,
            files: Arc::clone(files),
            file: None,
        }
    }

    /// Adds a row. Where the rows are full then, [`flush`](ResultSink::flush) is to come before the next one.
    pub fn push<'v>(&mut self, values: impl IntoIterator<Item = ValueRef<'v>>) {
        self.store.push(values);
        self.over = self.room.is_over(self.store.used());
    }

    /// Columns of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.store.len() + self.file.as_ref().map_or(0, |f| f.rows.len() as usize)
    }

    /// The rows, if all are in memory.
    pub fn in_memory(&self) -> Option<&RowStore> {
        self.file.is_none().then_some(&self.store)
    }

    /// The rows themselves, if all are in memory.
    ///
    /// # Errors
    /// They are not: all of it.
    pub fn into_memory(self) -> Result<RowStore, Box<Gathered>> {
        match self.file {
            None => Ok(self.store),
            Some(_) => Err(Box::new(self)),
        }
    }

    /// Writes what is in memory.
    ///
    /// # Errors
    /// The file takes no more.
    async fn write(&mut self) -> Result<(), SqlError> {
        self.over = false;
        self.room.again();
        if self.store.len() == 0 {
            return Ok(());
        }
        let f = match &mut self.file {
            Some(f) => f,
            none => none.insert(InFile {
                file: self.files.create()?,
                rows: Section::default(),
                members: Members::default(),
            }),
        };
        let block = self.room.block();
        let mut writer = Writer::default();
        for i in 0..self.store.len() {
            let (members, row) = (&mut f.members, self.store.row(i));
            writer.add(&[], |out| row.for_each(|v| write_value(v, members, out)));
            if writer.waiting() >= block {
                writer.flush(&mut f.file).await?;
            }
        }
        writer.flush(&mut f.file).await?;
        f.rows.append(writer.finish());
        self.store.clear();
        Ok(())
    }

    /// All rows have come.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn end(&mut self) -> Result<(), SqlError> {
        match self.file.is_some() {
            true => self.write().await,
            false => Ok(()),
        }
    }

    /// Before the first row.
    pub fn pass(&self) -> Pass {
        Pass {
            reader: self.file.as_ref().map(|f| Reader::new(f.rows.clone())),
            window: RowStore::new(self.width, self.room.account()),
            first: 0,
            next: 0,
        }
    }

    /// The next rows; `None` behind the last. All must have come.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn next<'a>(&'a self, pass: &'a mut Pass) -> Result<Option<&'a RowStore>, SqlError> {
        pass.first = pass.next;
        let (Some(f), Some(reader)) = (&self.file, &mut pass.reader) else {
            pass.next = self.store.len();
            return Ok((pass.first < pass.next).then_some(&self.store));
        };
        let window = &mut pass.window;
        window.clear();
        while window.len() < WINDOW && window.used() < WINDOW_BYTES {
            if !reader.advance(&f.file).await? {
                break;
            }
            window.push(read_values(reader.row(), &f.members)?);
        }
        pass.next += window.len();
        Ok((window.len() > 0).then_some(window))
    }
}

/// A way through rows.
pub(crate) struct Pass {
    reader: Option<Reader>,
    window: RowStore,
    /// The numbers of the rows at hand.
    first: usize,
    next: usize,
}

impl Pass {
    /// The numbers of the rows at hand: the first, and the one behind the last.
    pub fn rows(&self) -> (usize, usize) {
        (self.first, self.next)
    }

    /// A column of a row at hand, which came from a file.
    pub fn column(&self, row: usize, c: usize) -> ValueRef<'_> {
        match row.checked_sub(self.first) {
            Some(i) => self.window.column(i, c),
            None => ValueRef::Null,
        }
    }
}

impl ResultSink for Gathered {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.store.columns(cols);
    }

    fn row_begin(&mut self) {
        self.store.row_begin();
    }

    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        self.store.value(v, c);
    }

    fn row_end(&mut self) {
        self.store.row_end();
        self.over = self.room.is_over(self.store.used());
    }

    fn is_full(&self) -> bool {
        self.over
    }

    fn wants_flush(&self) -> bool {
        self.over
    }

    fn flush(&mut self) -> Flush<'_> {
        Box::pin(self.write())
    }

    fn finish(&mut self, _done: &Done) {}
}
