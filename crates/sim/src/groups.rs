//! The oracle's part of groups of events: what transactions must have left in the log, in the order of their commits, and how far that was read.

use crate::shape::{Seq, Write};
use base::checksum::crc32c;
use engine::GroupPosition;

/// A group: its length and checksum.
pub(crate) type Sum = (u64, u32);

/// A group that is to come.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    seq: Seq,
    pub(crate) sum: Sum,
    /// Since a crash: whether it is certain that the commit took place.
    pub(crate) certain: Option<bool>,
}

/// What transactions must have left, and how far they were read.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Of each commit behind the last one that was read.
    pub(crate) expected: Vec<Expected>,
    /// Where reading goes on; none: at the beginning of the first log.
    pub(crate) position: Option<GroupPosition>,
    /// Looks at all there is, counted.
    pub(crate) looks: u64,
}

/// What is said of a write: as long as the row's text, so that some groups are long.
pub(crate) fn put(write: &Write, out: &mut Vec<u8>) {
    let (life, id, row) = write;
    out.extend_from_slice(&life.to_le_bytes());
    out.extend_from_slice(&id.to_le_bytes());
    if let Some(row) = row {
        out.extend_from_slice(&row.tag.to_le_bytes());
        let fill = row.tag as u8;
        out.resize(out.len() + row.pad as usize, fill);
    }
}

pub(crate) fn sum(bytes: &[u8]) -> Sum {
    (bytes.len() as u64, crc32c(bytes))
}

impl Groups {
    /// A transaction commits.
    pub fn commit(&mut self, seq: Seq, writes: &[Write]) {
        if writes.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        writes.iter().for_each(|w| put(w, &mut bytes));
        bytes.push(b'.');
        self.expected.push(Expected {
            seq,
            sum: sum(&bytes),
            certain: None,
        });
    }

    /// A crash has left the commits up to `at`, of which those up to `sure` are certain.
    pub fn reset_to(&mut self, at: Seq, sure: Seq) {
        self.expected.retain(|e| e.seq <= at);
        for e in &mut self.expected {
            // What an earlier look has left open, a later one does not close.
            e.certain.get_or_insert(e.seq <= sure);
        }
    }
}
