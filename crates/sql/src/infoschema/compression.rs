//! What compressing transactions of the binary log comes to: `performance_schema.binary_log_transaction_compression_stats`. A replica has no relay log,
//! so there are no rows of one.

use types::Value;

use super::spec::{Spec, View, int, text, uint};
use sql_exec::binary_log::WrittenTransaction;
use types::temporal::Zone;

/// How many percent smaller they are than they were; less than nothing where they are larger.
fn percentage(compressed: u64, uncompressed: u64) -> i64 {
    match uncompressed {
        0 => 0,
        n => ((1.0 - compressed as f64 / n as f64) * 100.0).round() as i64,
    }
}

fn transaction(t: &WrittenTransaction, zone: Zone) -> [Value; 4] {
    let when = zone.local(t.committed_micros);
    [
        text(&t.name),
        uint(t.compressed),
        uint(t.uncompressed),
        when.map_or(Value::Null, Value::DateTime),
    ]
}

fn rows(v: &View<'_>) -> Vec<Vec<Value>> {
    let zone = v.zone();
    let log = v.instance.binary_log.get();
    let rows = log.iter().flat_map(|l| l.compression());
    rows.map(|r| {
        let mut row = vec![
            text("BINARY"),
            text(if r.zstd { "ZSTD" } else { "NONE" }),
            uint(r.transactions),
            uint(r.compressed),
            uint(r.uncompressed),
            int(percentage(r.compressed, r.uncompressed)),
        ];
        row.extend(r.ends.iter().flat_map(|t| transaction(t, zone)));
        row
    })
    .collect()
}

/// Those of `performance_schema`.
pub(super) const SPECS: &[Spec] = &[Spec {
    name: "binary_log_transaction_compression_stats",
    columns: "LOG_TYPE v6, COMPRESSION_TYPE v64, TRANSACTION_COUNTER U, COMPRESSED_BYTES_COUNTER U, UNCOMPRESSED_BYTES_COUNTER U, \
        COMPRESSION_PERCENTAGE i, FIRST_TRANSACTION_ID x?, FIRST_TRANSACTION_COMPRESSED_BYTES U, FIRST_TRANSACTION_UNCOMPRESSED_BYTES U, \
        FIRST_TRANSACTION_TIMESTAMP t6?, LAST_TRANSACTION_ID x?, LAST_TRANSACTION_COMPRESSED_BYTES U, \
        LAST_TRANSACTION_UNCOMPRESSED_BYTES U, LAST_TRANSACTION_TIMESTAMP t6?",
    rows,
}];
