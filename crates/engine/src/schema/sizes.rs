//! What a table takes on disk, told apart by what it is for.

use super::Table;
use base::PageNo;
use pager::alloc::{GROUP, high_water, used_count};
use pager::{OpError, PAGE_SIZE, Pager};

/// Bytes that a table takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSizes {
    /// Of its rows, long columns included: pages in use, for a compressed table as they are on disk.
    pub data: u64,
    /// Of its other indexes.
    pub index: u64,
    /// In its file, and free.
    pub free: u64,
    /// What its pages take for each 100 bytes that they have decompressed; `None` for a table that is not compressed, or has no page on disk yet.
    pub compressed_percent: Option<u64>,
}

impl Table {
    /// What it takes, from what is in memory of its maps and inner nodes. Where one of those is missing all in use counts as data.
    pub(crate) fn sizes(&self, pager: &Pager) -> TableSizes {
        let file = self.file_bytes();
        let compressed = self.space.compressed_use();
        let page = PAGE_SIZE as u64;
        let used = self.used_pages(pager).unwrap_or(file / page);
        let others = self.indexes.iter().skip(1);
        let pages = others.map(|x| x.tree.measure(false).map(|m| m.pages));
        let others: u64 = pages.sum::<Result<u64, OpError>>().unwrap_or(0);
        let others = others.min(used);
        let (data, index) = match compressed {
            None => ((used - others) * page, others * page),
            // Pages that were never written have no place yet; the shares are the same.
            Some(p) => {
                let index = (p.bytes / 512 * others).checked_div(used).unwrap_or(0) * 512;
                (p.bytes - index, index)
            }
        };
        TableSizes {
            data,
            index,
            free: file.saturating_sub(data + index),
            compressed_percent: compressed
                .filter(|p| p.pages > 0)
                .map(|p| (p.bytes * 100).div_ceil(p.pages * page)),
        }
    }

    /// Pages in use, the maps left out.
    fn used_pages(&self, pager: &Pager) -> Result<u64, OpError> {
        let mut used = 0;
        let mut group = 0;
        loop {
            let map = pager.shared(&self.space, PageNo(group))?;
            used += u64::from(used_count(&map));
            let next = group.saturating_add(GROUP);
            // The next group has a map once this one was full.
            if high_water(&map) < next || u64::from(next) >= self.data_pages() {
                return Ok(used);
            }
            group = next;
        }
    }
}
