//! The definitions of a prepared statement's columns, as they were written last: an execution repeats the bytes, where MySQL's
//! protocol wants to hear them each time.

use std::sync::Arc;

use sql::sink::ColumnMeta;
use types::Charset;
use wire::packet::{Mark, PacketWriter, Repeatable};

/// More bytes than these are not kept.
const KEPT_MOST: usize = 1024;

/// What was written, and what it depends on.
#[derive(Debug, Default)]
pub struct Definitions(Option<Kept>);

#[derive(Debug)]
struct Kept {
    columns: Arc<[ColumnMeta]>,
    to: Option<Charset>,
    sequence: u8,
    next: u8,
    packets: Box<[u8]>,
}

impl Definitions {
    /// Writes them again, if these are the columns that were written last, in that character set, at that place.
    #[inline]
    pub fn repeat(
        &self,
        columns: &Arc<[ColumnMeta]>,
        to: Option<Charset>,
        writer: &mut PacketWriter,
    ) -> bool {
        let Some(kept) = &self.0 else { return false };
        Arc::ptr_eq(&kept.columns, columns)
            && kept.to == to
            && writer.repeat(Repeatable {
                packets: &kept.packets,
                sequence: kept.sequence,
                next: kept.next,
            })
    }

    /// Keeps what was written since `mark`.
    pub fn keep(
        &mut self,
        columns: &Arc<[ColumnMeta]>,
        to: Option<Charset>,
        writer: &PacketWriter,
        mark: Mark,
    ) {
        let written = writer
            .since(mark)
            .filter(|w| w.packets.len() <= KEPT_MOST && w.sequence < w.next);
        self.0 = written.map(|written| Kept {
            columns: Arc::clone(columns),
            to,
            sequence: written.sequence,
            next: written.next,
            packets: written.packets.into(),
        });
    }
}
