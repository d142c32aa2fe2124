//! What compressing transactions comes to: counted where they are written, for `performance_schema.binary_log_transaction_compression_stats`.
//!
//! What it never does: outlive the server. What a start makes again of the log is not counted.

use crate::derive::{Made, Sizes};
use base::lock::Mutex;
use sql::binary_log::{CompressionRow, WrittenTransaction};
use types::gtid::Gtid;

/// A transaction that was written.
#[derive(Clone, Copy)]
struct Written {
    gtid: Option<Gtid>,
    sizes: Sizes,
    committed_micros: u64,
}

/// Those of one kind.
struct Total {
    transactions: u64,
    written: u64,
    plain: u64,
    first: Written,
    last: Written,
}

/// The counts: of those that are compressed, and of the others.
#[derive(Default)]
pub struct Counted {
    totals: Mutex<[Option<Total>; 2]>,
}

impl Counted {
    /// One more.
    pub(super) fn add(&self, made: &Made) {
        let sizes = made.sizes;
        let one = Written {
            gtid: made.gtid,
            sizes,
            committed_micros: made.committed_micros,
        };
        let mut totals = self.totals.lock();
        let total = totals[usize::from(!sizes.compressed)].get_or_insert(Total {
            transactions: 0,
            written: 0,
            plain: 0,
            first: one,
            last: one,
        });
        total.transactions += 1;
        total.written += sizes.written;
        total.plain += sizes.plain;
        total.last = one;
    }

    /// As they are shown: those that are compressed come first.
    pub fn rows(&self) -> Vec<CompressionRow> {
        let totals = self.totals.lock();
        let rows = totals.iter().flatten().map(|t| CompressionRow {
            zstd: t.first.sizes.compressed,
            transactions: t.transactions,
            compressed: t.written,
            uncompressed: t.plain,
            ends: [shown(&t.first), shown(&t.last)],
        });
        rows.collect()
    }
}

fn shown(w: &Written) -> WrittenTransaction {
    let name = w.gtid.map(|g| g.to_string());
    WrittenTransaction {
        name: name.unwrap_or_else(|| "ANONYMOUS".to_owned()),
        compressed: w.sizes.written,
        uncompressed: w.sizes.plain,
        committed_micros: w.committed_micros as i64,
    }
}
