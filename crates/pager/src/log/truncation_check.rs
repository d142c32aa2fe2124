//! The truncation check: whether the log was longer than what is left of it. Where no valid record begins, the log ends; a record that a power cut
//! left unfinished and one that was damaged later look the same. But each commit carries the position up to which the log
//! was durable when it was made: one that is found behind the end and says that more was durable tells the two apart.

use super::record::{COMMIT_LEN, Record, RecordKind, claimed_len};
use super::segment::Segments;
use base::Lsn;
use std::io;

/// Bytes read at once.
const CHUNK: u64 = 1 << 20;

/// A commit behind `end` that was made when more than `end` was durable: its position, and what was durable then.
///
/// # Errors
/// What reading the segments fails with.
pub fn find_truncation(segments: &Segments, end: Lsn) -> io::Result<Option<(Lsn, Lsn)>> {
    let size = segments.size();
    let mut buf = vec![0u8; CHUNK as usize];
    for n in segments.numbers() {
        let mut at = (n * size).max(end.0);
        // Less than a commit has none: one that goes on in the next segment is not looked for.
        while at + COMMIT_LEN as u64 <= (n + 1) * size {
            let Some((file, offset)) = segments.locate(Lsn(at))? else {
                break;
            };
            let want = CHUNK.min((n + 1) * size - at) as usize;
            let got = file.read_now(&mut buf[..want], offset)?;
            for i in (0..(got + 1).saturating_sub(COMMIT_LEN)).step_by(8) {
                // Nearly everything ends here: it is no such record by its first bytes.
                let here = &buf[i..i + COMMIT_LEN];
                if here[8] != RecordKind::Commit as u8 || claimed_len(here) != Some(COMMIT_LEN) {
                    continue;
                }
                let start = Lsn(at + i as u64);
                let durable = Record::verify(here, start).map_or(Lsn::NONE, |r| r.durable());
                if durable > end {
                    return Ok(Some((start, durable)));
                }
            }
            if got < want {
                break;
            }
            // A record may lie across two chunks.
            at += (got - (COMMIT_LEN - 8)) as u64;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::record::{durable_bytes, finish, seal};
    use super::*;
    use base::mem::MemDisk;
    use base::{OpenMode, TxnId};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn a_commit_behind_the_end_tells_what_was_durable() {
        let disk = Arc::new(MemDisk::default());
        let dir = Path::new("/log");
        base::Disk::create_dir_all(&*disk, dir).unwrap();
        let size = 4 << 20;
        let log = Segments::open(disk, dir, size, 7, OpenMode::Buffered).unwrap();
        (1..4).for_each(|n| log.create(n, None).unwrap());
        let commit = |at: u64, durable: u64| {
            let mut b = vec![0; 32];
            b.push(1);
            b.extend_from_slice(&durable_bytes(Lsn(durable)));
            finish(&mut b, RecordKind::Commit, 0, 8, TxnId(9), Lsn::NONE);
            assert_eq!(b.len(), COMMIT_LEN);
            seal(&mut b, Lsn(at));
            let (file, offset) = log.locate(Lsn(at)).unwrap().unwrap();
            file.write_now(&b, offset).unwrap();
        };
        let end = Lsn(size + 4096);
        let found = || find_truncation(&log, end).unwrap();
        assert_eq!(found(), None);
        // What was on its way together with the record that is missing proves nothing.
        commit(end.0 + 800, end.0);
        assert_eq!(found(), None);
        // Across the chunks that are read, and in a later segment.
        for at in [2 * size - 40, 3 * size + 8, size + 4096 + (1 << 20) - 16] {
            commit(at, end.0 + 8);
            assert_eq!(found(), Some((Lsn(at), Lsn(end.0 + 8))), "{at}");
            let (file, offset) = log.locate(Lsn(at)).unwrap().unwrap();
            file.write_now(&[0; COMMIT_LEN], offset).unwrap();
        }
        // Little of a segment is left behind the end.
        for left in (8..=COMMIT_LEN as u64).step_by(8) {
            let end = Lsn(2 * size - left);
            assert_eq!(find_truncation(&log, end).unwrap(), None, "{left}");
        }
        commit(3 * size + 8, 2 * size);
        let end = Lsn(2 * size - 8);
        let later = (Lsn(3 * size + 8), Lsn(2 * size));
        assert_eq!(find_truncation(&log, end).unwrap(), Some(later));
    }
}
