//! A transaction's events as one that has them compressed (`binlog_transaction_compression`): made where the transaction is about to be committed or
//! prepared, so that what stands in the log is what stands in the files, whichever library reads the log again.
//!
//! In it are whole events as MySQL writes them there: from `BEGIN` to the XID, without checksums, at no position, as it is not known yet.
//!
//! What it never does: refuse a transaction. What cannot be compressed stays as it is.

use crate::group::{self, Next, put_item};
use engine::GroupPack;
use sql::context::change_log::Compression;
use std::io::Write;
use types::gtid::Origin;
use wire::binlog::frame::{Checksum, put_event};
use wire::binlog::header::{Header, kind};
use wire::binlog::payload::{self, Payload};
use wire::write::Put;
use zstd::stream::write::Encoder;

/// More bytes of events are logged as they come, and not compressed: all of them stay in the session until then.
pub(super) const MOST: u64 = 16 << 20;
/// Bytes that are compressed in a step.
const STEP: usize = 128 << 10;

/// A transaction that is being compressed.
pub(super) struct Pack {
    /// The events.
    plain: Vec<u8>,
    /// So much of them is in.
    done: usize,
    encoder: Encoder<'static, Vec<u8>>,
    failed: bool,
    seconds: u32,
}

impl Pack {
    /// Of a group without its end; `None`: it stays as it is.
    pub(super) fn begin(
        how: Compression,
        origin: Option<Origin>,
        (txid, wall_us): (u64, i64),
        mut items: &[u8],
    ) -> Option<Pack> {
        let committed = origin.map_or(0, |o| o.committed_micros);
        let micros = if committed == 0 {
            wall_us as u64
        } else {
            committed
        };
        let seconds = (micros / 1_000_000) as u32;
        let server_id = origin.map_or(0, |o| o.server_id);
        let server_id = if server_id == 0 {
            how.server_id
        } else {
            server_id
        };
        let mut plain = Vec::with_capacity(items.len() + items.len() / 8 + 256);
        let mut put = |kind, flags, timestamp, body: &[u8]| {
            let header = Header {
                timestamp,
                kind,
                server_id,
                size: 0,
                next_position: 0,
                flags,
            };
            put_event(header, Checksum::None, &mut plain, |out| {
                out.put_bytes(body);
            });
        };
        while let Some(next) = group::next(&mut items).ok()? {
            let Next::Item(item) = next else {
                return None;
            };
            put(item.kind, item.flags, item.timestamp, item.body);
        }
        if !items.is_empty() {
            return None;
        }
        put(kind::XID, 0, seconds, &txid.to_le_bytes());
        let mut encoder = Encoder::new(Vec::new(), how.level).ok()?;
        // Readers learn from the frame how much memory they need, and small ones take less here.
        let size = Some(plain.len() as u64);
        encoder.set_pledged_src_size(size).ok()?;
        Some(Pack {
            plain,
            done: 0,
            encoder,
            failed: false,
            seconds,
        })
    }
}

impl GroupPack for Pack {
    fn step(&mut self) -> bool {
        let end = self.plain.len().min(self.done + STEP);
        self.failed |= self.encoder.write_all(&self.plain[self.done..end]).is_err();
        self.done = end;
        !self.failed && end < self.plain.len()
    }

    fn finish(self: Box<Self>) -> Option<Vec<u8>> {
        if self.failed {
            return None;
        }
        let bytes = self.encoder.finish().ok()?;
        let payload = Payload {
            compression: payload::Compression::Zstd,
            uncompressed: self.plain.len() as u64,
            bytes: &bytes,
        };
        let mut out = Vec::with_capacity(bytes.len() + 64);
        put_item(kind::TRANSACTION_PAYLOAD, 0, self.seconds, &mut out, |b| {
            payload.write(b);
        });
        Some(out)
    }
}
