//! Chains of pages for values too long for a leaf. The engine keeps a chain's first page number in the row; the chain
//! knows nothing of the row.
//!
//! ```text
//! 32 next page u32 (0: last)   36 bytes on this page u32   40 bytes
//! ```
//!
//! A chain is written last page first, so that every record leaves a whole (shorter) chain. It is freed from behind its
//! head, the head last and in the record that drops the reference: whenever a crash comes, what is referenced is whole
//! and freeing can go on.

use base::PageNo;
use base::le::{get_u32, put_u32};
use pager::alloc::{GROUP, is_used};
use pager::{Committed, Mtr, OpError, PAGE_SIZE, Page, PageKind};

use crate::node::edit::EditResult;
use crate::ops;
use crate::tree::Tree;

/// In the page header's flags: the chain is being freed.
const SHRINKING_AT: usize = 14;
pub(crate) const NEXT_AT: usize = 32;
pub(crate) const LEN_AT: usize = 36;
pub(crate) const DATA_AT: usize = 40;

/// Bytes of a value that one overflow page holds.
pub const OVERFLOW_CAPACITY: usize = PAGE_SIZE - DATA_AT;

/// Redo: fills a page of a chain.
pub(crate) fn fill(page: &mut Page, next: u32, index_id: u32, bytes: &[u8]) -> EditResult {
    if bytes.len() > OVERFLOW_CAPACITY {
        return Err("more than an overflow page holds");
    }
    page.format(PageKind::Overflow, 0, index_id);
    let b = page.bytes_mut();
    put_u32(b, NEXT_AT, next);
    put_u32(b, LEN_AT, bytes.len() as u32);
    b[DATA_AT..DATA_AT + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// Redo: links a page of a chain to another successor.
pub(crate) fn set_next(page: &mut Page, next: u32) -> EditResult {
    if page.kind() != Some(PageKind::Overflow) {
        return Err("not an overflow page");
    }
    put_u32(page.bytes_mut(), NEXT_AT, next);
    page.bytes_mut()[SHRINKING_AT] = 1;
    Ok(())
}

/// Writes one value as a chain, a page a step.
#[derive(Clone, Debug)]
pub struct OverflowWriter {
    left: usize,
    next: PageNo,
}

impl OverflowWriter {
    /// For a value of `len` bytes.
    pub fn new(len: usize) -> OverflowWriter {
        OverflowWriter {
            left: len,
            next: PageNo(0),
        }
    }

    /// Writes the next page, from the end of `bytes` (the whole value, the same at every step) towards its start, as one
    /// record that `annotate` may give a transaction and a before-image. `None`: the chain is complete.
    ///
    /// # Errors
    /// [`OpError::Wait`]: call again with the same bytes; [`OpError::Corrupt`], [`OpError::Dropped`], [`OpError::LogFull`].
    pub fn step<'p>(
        &mut self,
        tree: &'p Tree,
        bytes: &[u8],
        annotate: impl FnOnce(&mut Mtr<'p>, PageNo),
    ) -> Result<Option<Committed>, OpError> {
        let piece = bytes.get(..self.left).unwrap_or(bytes);
        if piece.is_empty() {
            return Ok(None);
        }
        let start = (piece.len() - 1) / OVERFLOW_CAPACITY * OVERFLOW_CAPACITY;
        let mut mtr = tree.pager.mtr()?;
        let page = tree.pager.alloc_page(&mut mtr, &tree.space)?;
        let no = mtr.page_no(page);
        let mut head = [0; 8];
        put_u32(&mut head, 0, self.next.0);
        put_u32(&mut head, 4, tree.index_id);
        mtr.op_init(page, ops::OVERFLOW_FILL, &[&head, &piece[start..]]);
        annotate(&mut mtr, no);
        let committed = mtr.commit();
        self.next = no;
        self.left = start;
        Ok(Some(committed))
    }

    /// The chain's first page, once it is complete; page 0 for an empty value.
    pub fn first(&self) -> PageNo {
        self.next
    }
}

/// How far a chain has been read.
#[derive(Clone, Debug)]
pub struct OverflowCursor {
    next: PageNo,
    /// Pages that may follow.
    pages: u64,
}

impl OverflowCursor {
    /// At the start of the chain that begins with `first` and holds a value of `len` bytes. A chain of more pages than that
    /// takes is damaged; it may well lead back into itself.
    pub fn new(first: PageNo, len: u64) -> OverflowCursor {
        OverflowCursor {
            next: first,
            pages: len.div_ceil(OVERFLOW_CAPACITY as u64),
        }
    }

    /// The page that is read next; page 0 at the end of the chain.
    pub fn next(&self) -> PageNo {
        self.next
    }
}

impl Tree {
    fn overflow_link(&self, no: PageNo, page: &Page) -> Result<PageNo, OpError> {
        if page.kind() != Some(PageKind::Overflow) || page.index_id() != self.index_id {
            return Err(self.corrupt(no, "not an overflow page of this index"));
        }
        Ok(PageNo(get_u32(page.bytes(), NEXT_AT)))
    }

    /// Reads one more page of a chain and appends its bytes to `out`; false at the end of the chain.
    ///
    /// # Errors
    /// [`OpError::Wait`]: call again; [`OpError::Corrupt`]: it is no page of the chain, or the chain is longer than its value.
    pub fn read_overflow_page(
        &self,
        cursor: &mut OverflowCursor,
        out: &mut Vec<u8>,
    ) -> Result<bool, OpError> {
        let no = cursor.next;
        if no == PageNo(0) {
            return Ok(false);
        }
        if cursor.pages == 0 {
            return Err(self.corrupt(no, "an overflow chain longer than its value"));
        }
        let page = self.pager.shared(&self.space, no)?;
        let next = self.overflow_link(no, &page)?;
        let len = get_u32(page.bytes(), LEN_AT) as usize;
        let Some(data) = page.bytes()[DATA_AT..].get(..len) else {
            return Err(self.corrupt(no, "more bytes than the page holds"));
        };
        out.extend_from_slice(data);
        cursor.next = next;
        cursor.pages -= 1;
        Ok(true)
    }

    /// Appends the rest of a chain to `out`. After a `Wait`, call again with the same cursor and buffer.
    ///
    /// # Errors
    /// As [`Tree::read_overflow_page`].
    pub fn read_overflow(
        &self,
        cursor: &mut OverflowCursor,
        out: &mut Vec<u8>,
    ) -> Result<(), OpError> {
        while self.read_overflow_page(cursor, out)? {}
        Ok(())
    }

    /// Whether the chain that begins at `first` is still the one that lost its reference in a record at `since`: it was
    /// written before that, or its freeing has begun. False when the page has been freed, or used again. Recovery may ask
    /// for a chain to be freed that was freed before the crash.
    ///
    /// # Errors
    /// [`OpError::Wait`]; [`OpError::Corrupt`]: the page is damaged; [`OpError::Dropped`].
    pub fn is_abandoned_chain(&self, first: PageNo, since: base::Lsn) -> Result<bool, OpError> {
        if !self.is_in_use(first)? {
            // The file may end before it by now.
            return Ok(false);
        }
        let page = self.pager.shared(&self.space, first)?;
        let ours = page.kind() == Some(PageKind::Overflow) && page.index_id() == self.index_id;
        Ok(ours && (page.lsn() <= since || page.bytes()[SHRINKING_AT] & 1 != 0))
    }

    /// Whether the map of the tablespace says that a page is in use.
    fn is_in_use(&self, page: PageNo) -> Result<bool, OpError> {
        if page.0 >= self.space.room() {
            return Ok(false);
        }
        let map = self
            .pager
            .shared(&self.space, PageNo(page.0 / GROUP * GROUP))?;
        Ok(is_used(&map, page))
    }

    /// Frees the page behind the first one of a chain; false when the first one is all that is left. That one is freed
    /// by the record that drops the reference to it ([`crate::Change::free`]).
    ///
    /// # Errors
    /// [`OpError::Wait`]; [`OpError::Corrupt`], [`OpError::Dropped`], [`OpError::LogFull`].
    pub fn shrink_overflow(&self, first: PageNo) -> Result<bool, OpError> {
        let head = self.pager.exclusive(&self.space, first)?;
        let second_no = self.overflow_link(first, &head)?;
        if second_no == PageNo(0) {
            return Ok(false);
        }
        if second_no == first {
            return Err(self.corrupt(first, "an overflow page that is its own successor"));
        }
        let second = self.pager.exclusive(&self.space, second_no)?;
        let third = self.overflow_link(second_no, &second)?;
        let mut mtr = self.pager.mtr()?;
        let head = mtr.add(head);
        let second = mtr.add(second);
        mtr.op(head, ops::OVERFLOW_NEXT, &[&third.0.to_le_bytes()]);
        self.pager.free_page(&mut mtr, &self.space, second)?;
        mtr.commit();
        Ok(true)
    }
}
