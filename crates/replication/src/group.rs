//! What a transaction leaves in the log for the binary log: a group of items. The engine carries the bytes and does not look at
//! them.
//!
//! ```text
//! item:  kind u8 | flags u16 | timestamp u32 | len u32 | body
//! ```
//!
//! An item is an event without what depends on its place in a file: its position, its server's number, its checksum. Kinds are those of the
//! [events](wire::binlog::header::kind); a group has its events from `BEGIN` to the last rows, without GTID and XID, which whoever
//! makes files of it adds. The last item is the [`End`], of a kind that no event has: it says when the transaction was committed,
//! and what it goes by.
//!
//! What it never does: know tables, files or positions.

use types::gtid::{Gtid, Origin, Sid};
use wire::ProtocolError;
use wire::read::{ReadResult, Reader};
use wire::write::Put;

/// The kind of the last item. No event has it.
const END: u8 = 0;
/// Bytes in front of an item's body.
const FRONT: usize = 11;

/// Flags of the [`End`].
mod flag {
    /// It has a GTID that was given elsewhere.
    pub const FOREIGN: u8 = 1;
    /// It was committed elsewhere first, at another time.
    pub const ORIGINAL: u8 = 2;
    /// Its last event is a statement that commits by itself: no XID is added.
    pub const STATEMENT: u8 = 4;
    /// It is to have no name.
    pub const ANONYMOUS: u8 = 8;
    /// Somebody waits to hear its name.
    pub const ASKED: u8 = 16;
    /// It is what a branch has prepared, or committed in one phase: no XID is added.
    pub const BRANCH: u8 = 32;
}

/// An event to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// The event's kind, of [`wire::binlog::header::kind`].
    pub kind: u8,
    /// Its flags, of [`wire::binlog::header::flag`].
    pub flags: u16,
    /// When its statement began, in seconds since 1970.
    pub timestamp: u32,
    /// Its body.
    pub body: &'a [u8],
}

/// What the group is as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// When it was committed here, in microseconds since 1970.
    pub committed_micros: u64,
    /// When it was committed where it was first, and by which version of a server; `None`: here.
    pub original: Option<(u64, u32)>,
    /// Its name, where another server or a client gave it one.
    pub gtid: Option<Gtid>,
    /// It is to have no name.
    pub anonymous: bool,
    /// Who waits to hear its name, by a number; 0: nobody.
    pub asked: u64,
    /// The server that it comes from; 0: this one.
    pub server_id: u32,
    /// It is one statement that commits by itself, such as `CREATE TABLE`: no XID ends it.
    pub statement: bool,
    /// It is the changes of a branch of a distributed transaction, whose last event says what becomes of them: no XID ends it.
    pub branch: bool,
    /// Hashes of the keys that it has changed or gone by: what has one of them in common comes before or behind it, and not beside.
    /// `None`: it goes beside nothing, as it is not known what it has changed.
    pub keys: Option<Vec<u64>>,
}

/// Appends an item, whose body `fill` appends.
pub fn put_item(
    kind: u8,
    flags: u16,
    timestamp: u32,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    debug_assert_ne!(kind, END);
    out.put_u8(kind);
    out.put_u16(flags);
    out.put_u32(timestamp);
    let at = out.len();
    out.put_u32(0);
    fill(out);
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
}

impl End {
    /// Of what is committed at this time, and comes from there.
    pub fn of(committed_micros: u64, origin: Option<Origin>) -> End {
        let original = origin.map(|o| (o.committed_micros, o.version));
        End {
            committed_micros,
            original: original.filter(|(micros, _)| *micros != 0),
            gtid: origin.and_then(|o| o.gtid),
            anonymous: origin.is_some_and(|o| o.anonymous),
            server_id: origin.map_or(0, |o| o.server_id),
            ..End::default()
        }
    }

    /// Appends it: a group's last item.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.put_with(self.keys.as_deref(), out);
    }

    /// The same with these keys in the place of its own.
    pub(crate) fn put_with(&self, keys: Option<&[u64]>, out: &mut Vec<u8>) {
        out.put_u8(END);
        out.put_u16(0);
        out.put_u32(0);
        let at = out.len();
        out.put_u32(0);
        let mut flags = 0;
        for (is, flag) in [
            (self.gtid.is_some(), flag::FOREIGN),
            (self.original.is_some(), flag::ORIGINAL),
            (self.statement, flag::STATEMENT),
            (self.anonymous, flag::ANONYMOUS),
            (self.asked != 0, flag::ASKED),
            (self.branch, flag::BRANCH),
        ] {
            flags |= if is { flag } else { 0 };
        }
        out.put_u8(flags);
        out.put_u64(self.committed_micros);
        out.put_u32(self.server_id);
        if let Some(g) = self.gtid {
            out.put_bytes(&g.sid.0);
            out.put_u64(g.number);
        }
        if let Some((micros, version)) = self.original {
            out.put_u64(micros);
            out.put_u32(version);
        }
        if self.asked != 0 {
            out.put_u64(self.asked);
        }
        // No number of keys stands for: not known.
        let known = keys.map(|k| k.len() as u32);
        out.put_u32(known.unwrap_or(u32::MAX));
        for k in keys.unwrap_or_default() {
            out.put_u64(*k);
        }
        let len = (out.len() - at - 4) as u32;
        out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }

    fn read(body: &[u8]) -> ReadResult<End> {
        let mut r = Reader::new(body);
        let flags = r.u8()?;
        let mut end = End {
            committed_micros: r.u64()?,
            server_id: r.u32()?,
            statement: flags & flag::STATEMENT != 0,
            anonymous: flags & flag::ANONYMOUS != 0,
            branch: flags & flag::BRANCH != 0,
            ..End::default()
        };
        if flags & flag::FOREIGN != 0 {
            let sid = Sid(r.array()?);
            let number = r.u64()?;
            end.gtid = Some(Gtid { sid, number });
        }
        if flags & flag::ORIGINAL != 0 {
            end.original = Some((r.u64()?, r.u32()?));
        }
        if flags & flag::ASKED != 0 {
            end.asked = r.u64()?;
        }
        match r.u32()? {
            u32::MAX => {}
            n => {
                let rest = r.take_rest();
                if rest.len() as u64 != u64::from(n) * 8 {
                    return Err(ProtocolError::Malformed);
                }
                let (words, _) = rest.as_chunks::<8>();
                end.keys = Some(words.iter().map(|w| u64::from_le_bytes(*w)).collect());
            }
        }
        match r.is_empty() {
            true => Ok(end),
            false => Err(ProtocolError::Malformed),
        }
    }
}

/// What stands at the front of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<'a> {
    /// An event.
    Item(Item<'a>),
    /// The last of them.
    End(End),
}

/// Takes what is at the front off `bytes`. A group that is read in parts may lack the rest of an item: `None`, and `bytes` stay.
///
/// # Errors
/// [`ProtocolError::Malformed`]: this is no group.
pub fn next<'a>(bytes: &mut &'a [u8]) -> ReadResult<Option<Next<'a>>> {
    let Some((front, rest)) = bytes.split_at_checked(FRONT) else {
        return Ok(None);
    };
    let mut r = Reader::new(front);
    let (kind, flags, timestamp, len) = (r.u8()?, r.u16()?, r.u32()?, r.u32()?);
    let Some((body, rest)) = rest.split_at_checked(len as usize) else {
        return Ok(None);
    };
    let next = match kind {
        END => Next::End(End::read(body)?),
        kind => Next::Item(Item {
            kind,
            flags,
            timestamp,
            body,
        }),
    };
    *bytes = rest;
    Ok(Some(next))
}

/// Takes a group apart that comes in parts: keeps the beginning of an item whose rest has not come.
#[derive(Debug, Default)]
pub struct Parts {
    rest: Vec<u8>,
}

impl Parts {
    /// Gives `each` what is whole with this part.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: this is no group; what `each` says.
    pub fn add(
        &mut self,
        part: &[u8],
        mut each: impl FnMut(Next<'_>) -> ReadResult<()>,
    ) -> ReadResult<()> {
        let mut bytes = part;
        if self.rest.is_empty() {
            // Not copied, but for its end.
            while let Some(next) = next(&mut bytes)? {
                each(next)?;
            }
            self.rest.extend_from_slice(bytes);
            return Ok(());
        }
        self.rest.extend_from_slice(part);
        bytes = &self.rest;
        while let Some(next) = next(&mut bytes)? {
            each(next)?;
        }
        let used = self.rest.len() - bytes.len();
        self.rest.drain(..used);
        Ok(())
    }

    /// Whether all that came was whole.
    pub fn is_whole(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_put_is_read() {
        let ends = [
            End::default(),
            End {
                committed_micros: 1 << 50,
                original: Some((7, 80_035)),
                gtid: Some(Gtid {
                    sid: Sid([3; 16]),
                    number: 9,
                }),
                anonymous: false,
                asked: 12,
                server_id: 4,
                statement: true,
                branch: false,
                keys: Some(vec![1, u64::MAX]),
            },
            End {
                keys: Some(Vec::new()),
                anonymous: true,
                branch: true,
                ..End::default()
            },
        ];
        for end in ends {
            let mut bytes = Vec::new();
            put_item(2, 8, 77, &mut bytes, |out| out.extend(b"body"));
            put_item(19, 0, 78, &mut bytes, |_| {});
            end.put(&mut bytes);
            let item = |kind, flags, timestamp, body| Item {
                kind,
                flags,
                timestamp,
                body,
            };
            let expected = [
                Next::Item(item(2, 8, 77, &b"body"[..])),
                Next::Item(item(19, 0, 78, &b""[..])),
                Next::End(end),
            ];
            let mut rest = &bytes[..];
            for e in expected {
                assert_eq!(next(&mut rest).unwrap(), Some(e));
            }
            assert_eq!(next(&mut rest).unwrap(), None);
            for cut in 0..bytes.len() {
                let mut rest = &bytes[..cut];
                let items = std::iter::from_fn(|| next(&mut rest).unwrap()).count();
                assert!(items < 3);
            }
        }
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let mut rest = &bytes[..];
            while let Ok(Some(_)) = next(&mut rest) {}
        }
    }
}
