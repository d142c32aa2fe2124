//! Whether an entry and its row really disagree, or somebody was between the two when they were read.
//!
//! A transaction changes a row first and its entries after that, so while it runs they may differ. Once it has ended they
//! agree, and they differ again only after the row has a new version.

use crate::record::{HEADER, RowVersion, SecValue};
use crate::schema::Table;
use crate::session::{RowEntries, Session};
use crate::txn::Status;
use base::TxnId;
use pager::OpError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How an index and its table disagree.
pub(super) enum Mismatch {
    /// An entry that no row has.
    NoRow,
    /// A row without its entry.
    NoEntry,
}

impl Session {
    /// Looks at one entry of an index (`split`: where its clustered key begins) and at its row. None when they agree,
    /// when one of them is being changed, or when they cannot be read.
    pub(super) async fn confirm(
        &mut self,
        t: &Arc<Table>,
        index: usize,
        entry: &[u8],
        split: usize,
    ) -> Option<Mismatch> {
        let key = entry.get(split..)?;
        let before = self.row_now(t, key).await.ok()?;
        let version = before.as_ref().map(|(v, _)| *v);
        if version.is_some_and(|v| self.is_running(v.writer())) {
            return None;
        }
        let wanted = match &before {
            Some((v, row)) if !v.deleted() => {
                self.entries_of(t, index, v, row, key).await?.has(entry)
            }
            _ => false,
        };
        let there = self.entry_now(t, index, entry).await.ok()?;
        if there.is_some_and(|v| self.is_running(v.writer())) {
            return None;
        }
        let after = self.row_now(t, key).await.ok()?.map(|(v, _)| v);
        if after != version {
            return None;
        }
        match (wanted, there.is_some_and(|v| !v.deleted())) {
            (true, false) => Some(Mismatch::NoEntry),
            (false, true) => Some(Mismatch::NoRow),
            _ => None,
        }
    }

    fn is_running(&self, writer: TxnId) -> bool {
        self.engine.txns.status(writer) == Status::Active
    }

    async fn row_now(
        &self,
        t: &Table,
        key: &[u8],
    ) -> Result<Option<(RowVersion, Vec<u8>)>, OpError> {
        let read = |value: Option<&[u8]>| {
            let value = value?;
            Some((RowVersion::read(value)?, value[HEADER..].to_vec()))
        };
        let look = || t.indexes[0].tree.get(key, read);
        self.engine.pager().run(look).await
    }

    async fn entry_now(
        &self,
        t: &Table,
        index: usize,
        entry: &[u8],
    ) -> Result<Option<SecValue>, OpError> {
        let look = || t.indexes[index].tree.get(entry, |v| SecValue::read(v?));
        self.engine.pager().run(look).await
    }

    /// The entries that a row must have; None when the row is damaged or its long columns cannot be read.
    async fn entries_of(
        &self,
        t: &Table,
        index: usize,
        v: &RowVersion,
        row: &[u8],
        key: &[u8],
    ) -> Option<RowEntries> {
        if !t.layout.fits(row, v.external()) {
            return None;
        }
        let mut outside = Vec::new();
        if v.external() {
            for x in t.layout.externals(row) {
                let bytes = self.chain(t, &x, &mut BTreeSet::new()).await.ok()?;
                outside.push((x.column, bytes));
            }
        }
        let mut entries = RowEntries::default();
        let row = t.layout.row(row).with_outside(&outside);
        entries.of_row(t, index, row, key);
        Some(entries)
    }
}
