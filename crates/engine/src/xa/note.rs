//! The note of a prepared transaction: the record of the log that says that it is prepared, and what a restart cannot find in the rows.
//!
//! Must never do: lose a note that an older version has written.

use super::name::{Owner, XID_PART_MAX, Xid};
use crate::schema::TableUse;
use base::le;
use types::Isolation;

/// Tables that a note names; where there are more, a restart holds all there are.
const NOTED_TABLES: usize = 4096;

/// First byte of a note that says that its transaction is prepared, with its owner; and of one that has none, which older versions have written.
const NOTE_PREPARED: u8 = 7;
const NOTE_WITHOUT_OWNER: u8 = 6;

/// The same of one whose group ends here: what it leaves at its end is another one.
const NOTE_LOGGED: u8 = 8;

/// First and only byte of a note that says that what was prepared, and is in a group, is to be rolled back. A group ends here.
const NOTE_ROLLS_BACK: u8 = 9;

/// The note of one that is to be rolled back.
pub(crate) const ROLLS_BACK: &[u8] = &[NOTE_ROLLS_BACK];

/// Bytes of an owner in a note, at most: an account's name and host in quotes have no more.
const OWNER_MAX: usize = 1024;

/// Bytes of a note in front of the name.
const NOTE_HEAD: usize = 36;

/// What the note of a prepared transaction says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    pub(crate) xid: Xid,
    pub(crate) owner: Owner,
    /// Its changes are in a group that ends here.
    pub(crate) logged: bool,
    pub(crate) isolation: Isolation,
    pub(crate) purge_work: bool,
    pub(crate) weight: u64,
    pub(crate) undo: u64,
    pub(crate) changes: u64,
    pub(crate) begun_us: i64,
    /// None: too many to be named.
    pub(crate) tables: Option<Vec<u32>>,
}

/// Whether the opaque part of a note says that its transaction is prepared.
pub(crate) fn is_prepared(body: &[u8]) -> bool {
    matches!(
        body.first(),
        Some(&(NOTE_PREPARED | NOTE_WITHOUT_OWNER | NOTE_LOGGED))
    )
}

/// Whether a note is one of its transaction's records.
pub(crate) fn is_of_a_branch(body: &[u8]) -> bool {
    let forgotten = base::mutant!("branch-rollback-forgotten-by-recovery");
    is_prepared(body) || body.first() == Some(&NOTE_ROLLS_BACK) && !forgotten
}

/// Whether a group ends with a note.
pub(crate) fn ends_group(body: &[u8]) -> bool {
    matches!(body.first(), Some(&(NOTE_LOGGED | NOTE_ROLLS_BACK)))
}

impl Note {
    /// Its bytes, as `docs/format.md` has them.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let tag = match self.logged {
            true => NOTE_LOGGED,
            false => NOTE_PREPARED,
        };
        let mut b = vec![tag, self.isolation as u8];
        b.push(u8::from(self.purge_work) | u8::from(self.tables.is_none()) << 1);
        b.push(self.xid.gtrid.len() as u8);
        b.extend_from_slice(&self.weight.to_le_bytes());
        b.extend_from_slice(&self.undo.to_le_bytes());
        b.extend_from_slice(&self.changes.to_le_bytes());
        b.extend_from_slice(&self.begun_us.to_le_bytes());
        b.extend_from_slice(&self.xid.format.to_le_bytes());
        b.push(self.xid.bqual.len() as u8);
        b.extend_from_slice(&self.xid.gtrid);
        b.extend_from_slice(&self.xid.bqual);
        let owner = &self.owner.as_bytes()[..self.owner.len().min(OWNER_MAX)];
        b.extend_from_slice(&(owner.len() as u16).to_le_bytes());
        b.extend_from_slice(owner);
        for id in self.tables.iter().flatten() {
            b.extend_from_slice(&id.to_le_bytes());
        }
        b
    }

    /// What they say; `None` if they are none.
    pub(crate) fn decode(b: &[u8]) -> Option<Note> {
        if !is_prepared(b) || b.len() < NOTE_HEAD + 5 {
            return None;
        }
        let (g, q) = (b[3] as usize, b[NOTE_HEAD + 4] as usize);
        let names = &b[NOTE_HEAD + 5..];
        let gtrid = names.get(..g)?;
        let bqual = names.get(g..g + q)?;
        let mut behind = &names[g + q..];
        let mut owner = Owner::from("");
        if b[0] != NOTE_WITHOUT_OWNER {
            let len = usize::from(u16::from_le_bytes(*behind.first_chunk()?));
            owner = String::from_utf8_lossy(behind.get(2..2 + len)?).into();
            behind = &behind[2 + len..];
        }
        let (ids, rest) = behind.as_chunks::<4>();
        if !rest.is_empty() || g > XID_PART_MAX || q > XID_PART_MAX {
            return None;
        }
        Some(Note {
            xid: Xid {
                format: le::get_u32(b, NOTE_HEAD),
                gtrid: gtrid.into(),
                bqual: bqual.into(),
            },
            owner,
            logged: b[0] == NOTE_LOGGED,
            isolation: isolation(b[1])?,
            purge_work: b[2] & 1 != 0,
            weight: le::get_u64(b, 4),
            undo: le::get_u64(b, 12),
            changes: le::get_u64(b, 20),
            begun_us: le::get_u64(b, 28) as i64,
            tables: (b[2] & 2 == 0).then(|| ids.iter().map(|w| u32::from_le_bytes(*w)).collect()),
        })
    }

    /// The tables of `uses`, each once, if they are not too many.
    pub(crate) fn tables_of(uses: &[TableUse]) -> Option<Vec<u32>> {
        let mut ids: Vec<u32> = uses.iter().map(|u| u.table.def.id).collect();
        ids.sort_unstable();
        ids.dedup();
        (ids.len() <= NOTED_TABLES).then_some(ids)
    }
}

fn isolation(n: u8) -> Option<Isolation> {
    use Isolation::*;
    [
        ReadUncommitted,
        ReadCommitted,
        RepeatableRead,
        Snapshot,
        Serializable,
    ]
    .into_iter()
    .find(|i| *i as u8 == n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xid(gtrid: &[u8], bqual: &[u8]) -> Xid {
        Xid {
            format: 7,
            gtrid: gtrid.into(),
            bqual: bqual.into(),
        }
    }

    #[test]
    fn a_note_comes_back_and_cut_bytes_do_no_harm() {
        for tables in [None, Some(vec![]), Some(vec![3, 9])] {
            let note = Note {
                xid: xid(&[0, 255], &[7; 64]),
                owner: "'u'@'h'".into(),
                logged: tables.is_none(),
                isolation: Isolation::Serializable,
                purge_work: true,
                weight: 1,
                undo: 2,
                changes: 3,
                begun_us: 4,
                tables,
            };
            let b = note.encode();
            assert_eq!(Note::decode(&b), Some(note));
            for n in 0..b.len() {
                let _ = Note::decode(&b[..n]);
            }
        }
    }

    #[test]
    fn a_note_of_an_older_version_has_no_owner() {
        let note = Note {
            xid: xid(b"g", b"b"),
            owner: "".into(),
            logged: false,
            isolation: Isolation::ReadCommitted,
            purge_work: false,
            weight: 1,
            undo: 2,
            changes: 3,
            begun_us: 4,
            tables: Some(vec![3, 9]),
        };
        let mut old = note.encode();
        // The tag, and no length of an owner behind the name.
        old[0] = NOTE_WITHOUT_OWNER;
        old.drain(NOTE_HEAD + 7..NOTE_HEAD + 9);
        assert_eq!(Note::decode(&old), Some(note));
    }
}
