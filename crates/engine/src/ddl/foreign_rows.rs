//! The rows of a table's file that comes from elsewhere, in the order of their keys.
//!
//! At an export nobody writes: the newest version of each row is committed, and what is marked as deleted is gone. Nothing is believed that was not
//! looked at. An overflow page counts once: a file gives no more bytes than it has.
//!
//! Must never do: let a row through that does not fit the definition's layout. Whether its values are of their types is for whoever takes them.

use super::export::Exported;
use crate::record::{HEADER, RowLayout, RowVersion};
use crate::schema::layout;
use base::{Lsn, PageNo};
use btree::{ForeignChain, ForeignTree};
use pager::{ForeignError, ForeignSpace, Page};
use std::collections::BTreeMap;
use types::error::codes;
use types::{SqlError, ValueRef};

/// Pages whose bits stand together.
const GROUP: u32 = 4096;

/// Pages that were met.
#[derive(Default)]
struct Met(BTreeMap<u32, Box<[u64; GROUP as usize / 64]>>);

impl Met {
    /// Whether it is the first time.
    fn meet(&mut self, page: PageNo) -> bool {
        let none = || Box::new([0; GROUP as usize / 64]);
        let words = self.0.entry(page.0 / GROUP).or_insert_with(none);
        let (at, bit) = ((page.0 % GROUP) as usize / 64, 1u64 << (page.0 % 64));
        let new = words[at] & bit == 0;
        words[at] |= bit;
        new
    }
}

/// A row as it lies in its leaf.
pub(super) struct ForeignRow {
    pub(super) bytes: Vec<u8>,
    pub(super) external: bool,
}

/// The rows of a file.
pub(super) struct ForeignRows {
    space: ForeignSpace,
    tree: ForeignTree,
    index_id: u32,
    layout: RowLayout,
    /// Where each column of the table that they are for stands in them.
    places: Vec<usize>,
    /// Pages are not younger.
    at: Lsn,
    page: Box<Page>,
    met: Met,
    /// The table they are for, in messages.
    name: String,
}

impl ForeignRows {
    /// Those of a file that is what its description says.
    ///
    /// # Errors
    /// It is another tablespace; the description makes no sense.
    pub(super) fn new(
        space: ForeignSpace,
        exported: &Exported,
        places: Vec<usize>,
        name: &str,
    ) -> Result<ForeignRows, SqlError> {
        let def = &exported.def;
        let clustered = def.indexes.first();
        let refuse = |why| Err(damaged(name, why));
        let Some(clustered) = clustered.filter(|_| space.id() == exported.space()) else {
            return refuse("the file is not the one that the description is of");
        };
        if def.columns.first().is_none_or(|c| c.fill.is_some()) {
            return refuse("the description is damaged");
        }
        Ok(ForeignRows {
            space,
            tree: ForeignTree::new(clustered.root, clustered.id),
            index_id: clustered.id,
            layout: layout(def),
            places,
            at: exported.at,
            page: Page::boxed(),
            met: Met::default(),
            name: name.to_owned(),
        })
    }

    /// The values of a row, in the order of the table's columns.
    pub(super) fn values<'r>(
        &'r self,
        row: &'r [u8],
        outside: &'r [(usize, Vec<u8>)],
    ) -> Vec<ValueRef<'r>> {
        let row = self.layout.row(row).with_outside(outside);
        self.places.iter().map(|at| row.column(*at)).collect()
    }

    /// Adds the rows of the next leaf; false when there is none.
    ///
    /// # Errors
    /// What cannot be read, or is damaged.
    pub(super) async fn next_leaf(&mut self, rows: &mut Vec<ForeignRow>) -> Result<bool, SqlError> {
        let before = rows.len();
        while rows.len() == before {
            let Some(no) = self.tree.next() else {
                return Ok(false);
            };
            self.read(no).await?;
            let layout = &self.layout;
            let taken = self.tree.feed(&self.page, &mut |_, value| {
                let version = RowVersion::read(value).ok_or("a row without its header")?;
                if version.deleted() {
                    return Ok(());
                }
                let (bytes, external) = (&value[HEADER..], version.external());
                if !layout.fits(bytes, external) {
                    return Err("a row does not fit its table");
                }
                let bytes = bytes.to_vec();
                rows.push(ForeignRow { bytes, external });
                Ok(())
            });
            taken.map_err(|why| self.damaged_page(no, why))?;
        }
        Ok(true)
    }

    /// The columns of a row that are in overflow pages, and their bytes.
    ///
    /// # Errors
    /// What cannot be read, or is damaged.
    pub(super) async fn outside(&mut self, row: &[u8]) -> Result<Vec<(usize, Vec<u8>)>, SqlError> {
        let mut all = Vec::new();
        for x in self.layout.externals(row) {
            if x.len > self.layout.column_type(x.column).max_bytes() {
                return Err(self.damaged_page(x.first, "a value longer than its column"));
            }
            let mut chain = ForeignChain::new(x.first, x.len, self.index_id);
            let mut bytes = Vec::new();
            while let Some(no) = chain.next() {
                if !self.met.meet(no) {
                    return Err(self.damaged_page(no, "a page of two values"));
                }
                self.read(no).await?;
                let taken = chain.feed(&self.page, &mut bytes);
                taken.map_err(|why| self.damaged_page(no, why))?;
            }
            all.push((x.column, bytes));
        }
        Ok(all)
    }

    async fn read(&mut self, no: PageNo) -> Result<(), SqlError> {
        let read = self.space.read(no, &mut self.page).await;
        read.map_err(|e| refusal(&self.name, e))?;
        match self.page.lsn() > self.at {
            true => Err(self.damaged_page(no, "it has changed since the export")),
            false => Ok(()),
        }
    }

    #[cold]
    fn damaged_page(&self, no: PageNo, why: &'static str) -> SqlError {
        refusal(&self.name, ForeignError::Page(no, why))
    }
}

/// 1815.
#[cold]
pub(super) fn damaged(name: &str, why: &str) -> SqlError {
    SqlError::new(
        codes::ER_INTERNAL_ERROR,
        format!("Internal error: Cannot import table {name}: {why}"),
    )
}

/// 1810, 1815.
#[cold]
pub(super) fn refusal(name: &str, e: ForeignError) -> SqlError {
    match e {
        ForeignError::Io(e) => cannot_read(&e, &format!("Error reading the file of {name}")),
        ForeignError::Damaged(why) => damaged(name, why),
        ForeignError::Page(no, why) => damaged(name, &format!("page {}: {why}", no.0)),
    }
}

/// 1810.
#[cold]
pub(super) fn cannot_read(e: &std::io::Error, what: &str) -> SqlError {
    let number = e.raw_os_error().unwrap_or_default();
    SqlError::new(
        codes::ER_IO_READ_ERROR,
        format!("IO Read error: ({number}, {e}) {what}"),
    )
}
