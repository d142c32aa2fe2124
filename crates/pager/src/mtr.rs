//! Mini-transactions: page changes that are in the log together or not at all.
//!
//! A change is first written as a page operation and then carried out by the same redo function that recovery uses, so
//! that what recovery does is what was done. Until [`Mtr::commit`] nothing has changed; dropping it gives everything back.

use crate::error::OpError;
use crate::log::Log;
use crate::log::record::{self, OP_HEADER, OP_INIT, RECORD_HEADER, RecordKind};
use crate::page::Page;
use crate::pool::ExclusiveGuard;
use crate::redo::RedoTable;
use base::{Lsn, PageNo, SpaceId, TxnId, le};
use smallvec::SmallVec;
use std::cell::RefCell;

/// A page's place in a mini-transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageIx(u8);

/// Where a record was put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// Start: what a roll pointer holds.
    pub start: Lsn,
    /// End: what must be durable.
    pub end: Lsn,
}

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A mini-transaction under construction.
pub struct Mtr<'p> {
    log: &'p Log,
    redo: &'p RedoTable,
    pages: SmallVec<[ExclusiveGuard<'p>; 4]>,
    buf: Vec<u8>,
    /// (page, offset of the op header) in log order.
    ops: SmallVec<[(PageIx, u32); 4]>,
    undo_len: u32,
    kind: RecordKind,
    txid: TxnId,
    prev: Lsn,
}

impl<'p> Mtr<'p> {
    pub(crate) fn new(log: &'p Log, redo: &'p RedoTable) -> Mtr<'p> {
        let mut buf = SPARE
            .with(|s| s.borrow_mut().pop())
            .unwrap_or_else(|| Vec::with_capacity(4096));
        buf.clear();
        buf.resize(RECORD_HEADER, 0);
        Mtr {
            log,
            redo,
            pages: SmallVec::new(),
            buf,
            ops: SmallVec::new(),
            undo_len: 0,
            kind: RecordKind::System,
            txid: TxnId::NONE,
            prev: Lsn::NONE,
        }
    }

    /// Takes over a latched page.
    #[inline]
    pub fn add(&mut self, g: ExclusiveGuard<'p>) -> PageIx {
        self.pages.push(g);
        PageIx((self.pages.len() - 1) as u8)
    }

    /// The page as it is before this mini-transaction.
    #[inline]
    pub fn page(&self, ix: PageIx) -> &Page {
        &self.pages[ix.0 as usize]
    }

    /// Its number.
    pub fn page_no(&self, ix: PageIx) -> PageNo {
        self.pages[ix.0 as usize].identity().1
    }

    /// The place of a page that is already part of this mini-transaction.
    pub fn find(&self, space: SpaceId, page: PageNo) -> Option<PageIx> {
        self.pages
            .iter()
            .position(|g| g.identity() == (space, page))
            .map(|i| PageIx(i as u8))
    }

    /// Adds a page operation: `op` with the concatenation of `parts` as its payload (below 64 KiB).
    #[inline]
    pub fn op(&mut self, ix: PageIx, op: u8, parts: &[&[u8]]) {
        self.push_op(ix, op, 0, parts);
    }

    /// As [`Mtr::op`], for an operation that makes the whole page: recovery need not read it.
    pub fn op_init(&mut self, ix: PageIx, op: u8, parts: &[&[u8]]) {
        self.push_op(ix, op, OP_INIT, parts);
    }

    #[inline]
    fn push_op(&mut self, ix: PageIx, op: u8, flags: u8, parts: &[&[u8]]) {
        assert!(
            self.undo_len == 0,
            "page operations come before the opaque part"
        );
        let (space, page) = self.pages[ix.0 as usize].identity();
        let at = self.buf.len();
        let mut h = [0u8; OP_HEADER];
        le::put_u32(&mut h, 0, space.0);
        le::put_u32(&mut h, 4, page.0);
        h[8] = op;
        h[9] = flags;
        self.buf.extend_from_slice(&h);
        for p in parts {
            self.buf.extend_from_slice(p);
        }
        let len = self.buf.len() - at - OP_HEADER;
        assert!(len <= u16::MAX as usize, "a page operation of {len} bytes");
        le::put_u16(&mut self.buf, at + 10, len as u16);
        self.ops.push((ix, at as u32));
    }

    /// Says what the record means to the transaction layer.
    #[inline]
    pub fn set_txn(&mut self, kind: RecordKind, txid: TxnId, prev: Lsn) {
        self.kind = kind;
        self.txid = txid;
        self.prev = prev;
    }

    /// Sets the opaque part; after all page operations.
    #[inline]
    pub fn set_undo(&mut self, parts: &[&[u8]]) {
        let at = self.buf.len();
        for p in parts {
            self.buf.extend_from_slice(p);
        }
        self.undo_len += (self.buf.len() - at) as u32;
    }

    /// Sets the opaque part of a record without pages.
    #[inline]
    fn set_plain(&mut self, kind: RecordKind, body: &[u8]) {
        match kind {
            RecordKind::Commit => {
                let durable = record::durable_bytes(self.log.durable());
                self.set_undo(&[body, &durable]);
            }
            _ => self.set_undo(&[body]),
        }
    }

    /// Logs and applies everything.
    #[inline]
    pub fn commit(self) -> Committed {
        self.commit_with(|_, _| {})
    }

    /// As [`Mtr::commit`]; `publish` runs with the record's place before any reader can see it as complete.
    pub fn commit_with(mut self, publish: impl FnOnce(Lsn, Lsn)) -> Committed {
        let temporary = self.is_temporary();
        let mut without_ops = temporary.then(|| self.without_ops());
        if !temporary {
            record::finish(
                &mut self.buf,
                self.kind,
                self.ops.len() as u16,
                self.undo_len,
                self.txid,
                self.prev,
            );
        }
        let bytes = without_ops.as_mut().unwrap_or(&mut self.buf);
        assert!(
            bytes.len() <= record::RECORD_LEN_MAX,
            "a log record of {} bytes",
            bytes.len()
        );
        for g in &mut self.pages {
            g.keep();
        }
        let pages = &self.pages;
        let (start, end) = self.log.append(bytes, |start, end| {
            // Dirty before complete: a checkpoint that sees this record complete sees its pages dirty. Pages that no recovery asks for hold
            // no checkpoint back: they are written when their frames are wanted.
            let since = if temporary { Lsn::MAX } else { start };
            for g in pages {
                g.meta().mark_dirty(since);
            }
            publish(start, end);
        });
        for (ix, at) in std::mem::take(&mut self.ops) {
            let at = at as usize;
            let (op, len) = (self.buf[at + 8], le::get_u16(&self.buf, at + 10) as usize);
            let payload = &self.buf[at + OP_HEADER..at + OP_HEADER + len];
            let g = &mut self.pages[ix.0 as usize];
            let page = g.page_mut();
            if let Err(why) = self.redo.apply(op, page, payload, start) {
                // The record is logged and recovery would fail the same way: the page and the log disagree for good.
                panic!(
                    "page {:?}: operation {op} does not fit the page: {why}",
                    page.page_no()
                );
            }
            page.set_lsn(end);
        }
        Committed { start, end }
    }

    /// Whether its pages are of a temporary tablespace, which all of them are then.
    fn is_temporary(&self) -> bool {
        let temporary = |g: &ExclusiveGuard<'_>| g.identity().0.is_temporary();
        let any = self.pages.first().is_some_and(temporary);
        assert!(
            self.pages.iter().all(|g| temporary(g) == any),
            "a record of temporary tablespaces and of others"
        );
        any
    }

    /// The record as it is logged for pages that are never redone: what the transaction layer needs to undo it, and no page operations.
    fn without_ops(&self) -> Vec<u8> {
        let undo = self.buf.len() - self.undo_len as usize;
        let mut bytes = Vec::with_capacity(RECORD_HEADER + self.undo_len as usize);
        bytes.resize(RECORD_HEADER, 0);
        bytes.extend_from_slice(&self.buf[undo..]);
        record::finish(
            &mut bytes,
            self.kind,
            0,
            self.undo_len,
            self.txid,
            self.prev,
        );
        bytes
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        let buf = std::mem::take(&mut self.buf);
        if buf.capacity() <= 64 * 1024 {
            SPARE.with(|s| {
                let mut s = s.borrow_mut();
                if s.len() < 4 {
                    s.push(buf);
                }
            });
        }
    }
}

/// Appends two records without pages, one right behind the other: `front` is the kind and the body of the first, which has the second's
/// transaction and nothing in front of it. Gives the place of the second.
pub(crate) fn append_behind(
    log: &Log,
    redo: &RedoTable,
    front: (RecordKind, &[u8]),
    (kind, txid, prev): (RecordKind, TxnId, Lsn),
    body: &[u8],
    publish: impl FnOnce(Lsn, Lsn),
) -> Committed {
    let mut m = Mtr::new(log, redo);
    m.buf.extend_from_slice(front.1);
    record::finish(
        &mut m.buf,
        front.0,
        0,
        front.1.len() as u32,
        txid,
        Lsn::NONE,
    );
    let second = m.buf.len();
    m.buf.resize(second + RECORD_HEADER, 0);
    m.set_plain(kind, body);
    let len = m.undo_len;
    record::finish_from(second, &mut m.buf, kind, 0, len, txid, prev);
    assert!(
        second.max(m.buf.len() - second) <= record::RECORD_LEN_MAX,
        "log records of {} bytes",
        m.buf.len()
    );
    let (start, end) = log.append_all(&mut m.buf, second, publish);
    Committed { start, end }
}

/// Convenience for a record without pages.
pub(crate) fn append_plain(
    log: &Log,
    redo: &RedoTable,
    kind: RecordKind,
    txid: TxnId,
    prev: Lsn,
    body: &[u8],
    publish: impl FnOnce(Lsn, Lsn),
) -> Result<Committed, OpError> {
    let mut m = Mtr::new(log, redo);
    m.set_txn(kind, txid, prev);
    m.set_plain(kind, body);
    Ok(m.commit_with(publish))
}
