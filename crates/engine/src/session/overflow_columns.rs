//! Overflow columns: long columns are written to overflow pages before the row that refers to them, and released behind it.

use super::{Pins, Session};
use crate::error;
use crate::record::{RowBuilder, Undo, UndoOp};
use crate::schema::Table;
use crate::undo_reservation::SMALL_UNDO;
use base::PageNo;
use btree::OverflowWriter;
use pager::{Mtr, OpError, Purpose, RecordKind};
use types::{SqlError, Value};

/// A row ready to be written, with its long columns in overflow pages already.
pub(crate) struct BuiltRow {
    pub(crate) bytes: Vec<u8>,
    pub(crate) external: bool,
}

/// The row of `values`, unless columns have to be moved out first.
pub(super) fn build_inline(
    t: &Table,
    values: &[Value],
    builder: &mut RowBuilder,
    out: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    out.clear();
    builder
        .build(&t.layout, values, t.row_sizes, out)
        .ok_or_else(|| SqlError::row_too_big(8126))?;
    Ok(builder.moved.is_empty())
}

impl Session {
    /// Builds a row, writing long columns to overflow pages. They belong to the transaction: rollback frees them.
    pub(crate) async fn build_row(
        &mut self,
        t: &Table,
        values: &[Value],
    ) -> Result<BuiltRow, SqlError> {
        let mut b = RowBuilder::default();
        let mut bytes = Vec::new();
        let inline = build_inline(t, values, &mut b, &mut bytes)?;
        for (c, long) in &b.moved {
            let first = self.write_overflow_column(t, long).await?;
            RowBuilder::set_reference(&t.layout, &mut bytes, *c, first, long.len() as u64);
        }
        Ok(BuiltRow {
            bytes,
            external: !inline,
        })
    }

    async fn write_overflow_column(&mut self, t: &Table, bytes: &[u8]) -> Result<PageNo, SqlError> {
        self.need_txid();
        let tree = &t.indexes[0].tree;
        let mut w = OverflowWriter::new(bytes.len());
        let mut pins = Pins::new();
        loop {
            let rec = self.reg.recording();
            let (prev, txid) = (self.reg.last(), self.txid);
            let admitted = self.engine.log.admit(Purpose::Change);
            let step = |mtr: &mut Mtr<'_>, page| {
                let mut undo = Vec::with_capacity(16);
                let op = UndoOp::OverflowPage { page };
                Undo {
                    table: t.def.id,
                    index: t.def.indexes[0].id,
                    key: &[],
                    op,
                }
                .encode(&mut undo);
                mtr.set_txn(RecordKind::Change, txid, prev);
                mtr.set_undo(&[&undo]);
            };
            match admitted.and_then(|()| w.step(tree, bytes, step)) {
                Ok(Some(c)) => {
                    rec.done(c.start, t.is_lasting());
                    self.undo_reservation.add(SMALL_UNDO);
                    pins.clear();
                }
                Ok(None) => return Ok(w.first()),
                Err(OpError::Wait(x)) => {
                    drop(rec);
                    self.resolve(x, &mut pins, &t.full_name).await?;
                }
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }

    /// The row no longer refers to these chains; they go once no snapshot needs the version that did.
    pub(super) async fn release_overflow_columns(
        &mut self,
        t: &Table,
        row: &[u8],
    ) -> Result<(), SqlError> {
        for x in t.layout.externals(row) {
            let mut pins = Pins::new();
            while let Err(e) = self.engine.log.admit(Purpose::Change) {
                match e {
                    OpError::Wait(w) => self.resolve(w, &mut pins, &t.full_name).await?,
                    e => return Err(error::storage(e, &t.full_name)),
                }
            }
            let mut undo = Vec::with_capacity(16);
            let op = UndoOp::Chain { first: x.first };
            Undo {
                table: t.def.id,
                index: t.def.indexes[0].id,
                key: &[],
                op,
            }
            .encode(&mut undo);
            let rec = self.reg.recording();
            let c = self.engine.pager.append(
                RecordKind::Change,
                self.txid,
                self.reg.last(),
                &undo,
                |_, _| {},
            );
            let at = c.map_err(|e| error::storage(e, &t.full_name))?.start;
            rec.done(at, t.is_lasting());
            self.purge_work = true;
        }
        Ok(())
    }
}
