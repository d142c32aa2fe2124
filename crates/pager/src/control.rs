//! The control file: where recovery starts. Two 4 KiB slots written in turn, each with a sequence number and a checksum, so
//! that a torn write leaves the other one.

use base::checksum::crc32c;
use base::{AlignedBuf, Disk, File, Lsn, OpenMode, le};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Name of the file in the log folder.
pub const FILE: &str = "control";
const MAGIC: u64 = u64::from_le_bytes(*b"TDMLCTL1");
/// Version of the directory format as a whole. A newer one is refused.
pub const FORMAT: u32 = 1;
const SLOT: usize = 4096;
/// Jumps that fit the slot.
pub(crate) const JUMPS_MAX: usize = 240;
/// Where the oldest position stands that is still needed: behind the jumps, since older versions know nothing of it.
const NEEDED: usize = 4080;
const _: () = assert!(72 + JUMPS_MAX * 16 <= NEEDED && NEEDED + 8 <= SLOT - 4);

/// What the control file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlState {
    /// Identifies this database's log.
    pub db_id: u64,
    /// Bytes of a log segment.
    pub segment_size: u64,
    /// Redo starts here.
    pub redo: Lsn,
    /// The checkpoint record, or none.
    pub checkpoint: Lsn,
    /// Nothing older than this is read any more; none where it is not known.
    pub needed: Lsn,
    /// End of the log at a clean shutdown; none while open.
    pub clean_end: Lsn,
    /// Stretches of the log left unused by recoveries: (from, to).
    pub jumps: Vec<(Lsn, Lsn)>,
}

/// Why a directory cannot be opened.
#[derive(Debug)]
pub enum ControlError {
    /// The device failed.
    Io(io::Error),
    /// Neither slot is whole.
    Damaged,
    /// Written by a newer program.
    Newer(u32),
}

impl From<io::Error> for ControlError {
    fn from(e: io::Error) -> Self {
        ControlError::Io(e)
    }
}

/// The open file.
pub(crate) struct Control {
    file: Arc<dyn File>,
    seq: u64,
    pub(crate) state: ControlState,
    /// The slot that was found damaged when it was opened.
    pub(crate) damaged: Option<u64>,
}

/// No option makes segments that large; a slot that says so is damaged.
const SEGMENT_SIZE_MAX: u64 = 1 << 40;

impl Control {
    /// Makes the file with a first state.
    pub(crate) fn create(disk: &dyn Disk, dir: &Path, state: ControlState) -> io::Result<Control> {
        // Under another name until it is whole.
        let tmp = dir.join("control.new");
        let file = disk.open(&tmp, OpenMode::Buffered, true)?;
        file.write_now(&AlignedBuf::zeroed(2 * SLOT), 0)?;
        let mut c = Control {
            file,
            seq: 0,
            state,
            damaged: None,
        };
        // In both slots: one of zeros is a damaged one.
        c.store()?;
        c.store()?;
        disk.rename(&tmp, &dir.join(FILE))?;
        disk.sync_dir(dir)?;
        Ok(c)
    }

    /// Reads the newer whole slot.
    pub(crate) fn open(disk: &dyn Disk, dir: &Path) -> Result<Control, ControlError> {
        let file = disk.open(&dir.join(FILE), OpenMode::Buffered, false)?;
        let mut best: Option<(u64, ControlState)> = None;
        let mut newer = None;
        let mut damaged = None;
        for slot in 0..2 {
            let mut b = vec![0u8; SLOT];
            let n = file.read_now(&mut b, (slot * SLOT) as u64)?;
            if n < SLOT
                || le::get_u32(&b, SLOT - 4) != crc32c(&b[..SLOT - 4])
                || le::get_u64(&b, 0) != MAGIC
                || !(1..=SEGMENT_SIZE_MAX).contains(&le::get_u64(&b, 32))
            {
                damaged = Some(slot as u64);
                continue;
            }
            let format = le::get_u32(&b, 8);
            if format > FORMAT {
                newer = Some(format);
                continue;
            }
            let seq = le::get_u64(&b, 16);
            if best.as_ref().is_none_or(|(s, _)| *s < seq) {
                best = Some((seq, decode(&b)));
            }
        }
        if let Some(v) = newer {
            return Err(ControlError::Newer(v));
        }
        let (seq, state) = best.ok_or(ControlError::Damaged)?;
        // A process that was killed may have left this state in the system's memory alone. The next one goes where the
        // older state is, and until then segments are given up that only the older one needs.
        file.sync_now()?;
        Ok(Control {
            file,
            seq,
            state,
            damaged,
        })
    }

    /// Writes the state durably.
    pub(crate) fn store(&mut self) -> io::Result<()> {
        let seq = self.seq + 1;
        let mut b = encode(&self.state);
        le::put_u64(&mut b, 16, seq);
        let c = crc32c(&b[..SLOT - 4]);
        le::put_u32(&mut b, SLOT - 4, c);
        self.file.write_now(&b, (seq % 2) * SLOT as u64)?;
        self.file.sync_now()?;
        // Not before: one that failed is tried again in the same place, and the other keeps what was stored last.
        self.seq = seq;
        Ok(())
    }
}

fn encode(s: &ControlState) -> Vec<u8> {
    let mut b = vec![0u8; SLOT];
    le::put_u64(&mut b, 0, MAGIC);
    le::put_u32(&mut b, 8, FORMAT);
    le::put_u64(&mut b, 24, s.db_id);
    le::put_u64(&mut b, 32, s.segment_size);
    le::put_u64(&mut b, 40, s.redo.0);
    le::put_u64(&mut b, 48, s.checkpoint.0);
    le::put_u64(&mut b, 56, s.clean_end.0);
    le::put_u64(&mut b, NEEDED, s.needed.0);
    let skip = s.jumps.len().saturating_sub(JUMPS_MAX);
    le::put_u32(&mut b, 64, (s.jumps.len() - skip) as u32);
    for (i, (from, to)) in s.jumps[skip..].iter().enumerate() {
        le::put_u64(&mut b, 72 + i * 16, from.0);
        le::put_u64(&mut b, 80 + i * 16, to.0);
    }
    b
}

fn decode(b: &[u8]) -> ControlState {
    let n = (le::get_u32(b, 64) as usize).min(JUMPS_MAX);
    ControlState {
        db_id: le::get_u64(b, 24),
        segment_size: le::get_u64(b, 32),
        redo: Lsn(le::get_u64(b, 40)),
        checkpoint: Lsn(le::get_u64(b, 48)),
        clean_end: Lsn(le::get_u64(b, 56)),
        needed: Lsn(le::get_u64(b, NEEDED)),
        jumps: (0..n)
            .map(|i| {
                (
                    Lsn(le::get_u64(b, 72 + i * 16)),
                    Lsn(le::get_u64(b, 80 + i * 16)),
                )
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::mem::MemDisk;

    #[test]
    fn the_newer_whole_slot_wins() {
        let d = MemDisk::default();
        let dir = Path::new("/log");
        d.create_dir_all(dir).unwrap();
        let first = ControlState {
            db_id: 7,
            segment_size: 64,
            redo: Lsn(1),
            ..Default::default()
        };
        let mut c = Control::create(&d, dir, first.clone()).unwrap();
        c.state.redo = Lsn(2);
        c.state.needed = Lsn(9);
        c.state.jumps = vec![(Lsn(5), Lsn(64))];
        c.store().unwrap();
        assert_eq!(Control::open(&d, dir).unwrap().state, c.state);
        // The newer slot is number 3 % 2 = 1.
        d.damage(&dir.join(FILE), |b| b[SLOT + 100] ^= 1);
        let older = Control::open(&d, dir).unwrap();
        assert_eq!((older.state, older.damaged), (first, Some(1)));
        d.damage(&dir.join(FILE), |b| b[100] ^= 1);
        assert!(matches!(Control::open(&d, dir), Err(ControlError::Damaged)));
    }
}
