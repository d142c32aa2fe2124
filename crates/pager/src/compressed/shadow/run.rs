//! Places for several pages at once.

use super::Shadow;

/// What the file system counts in, in bytes: ext4 and XFS write less than a whole block of theirs past the page cache one write at a time.
const BLOCK: u64 = 4096;

impl Shadow {
    /// Takes a run of so many units that begins and ends where the file system's blocks do, if one is free: where it begins, and how many
    /// units behind those asked for it has. The caller releases these once nothing is written to them any more.
    pub(crate) fn allocate_run(&self, units: u64) -> Option<(u64, u64)> {
        let block = (BLOCK / u64::from(self.format.unit)).max(1);
        let all = units.next_multiple_of(block);
        let most = all + block - 1;
        let mut s = self.lock();
        let start = s.places.allocate(most)?;
        let first = start.next_multiple_of(block);
        let end = first + all;
        if first > start {
            s.places.free(start, first - start);
        }
        if end < start + most {
            s.places.free(end, start + most - end);
        }
        Some((first, all - units))
    }
}
