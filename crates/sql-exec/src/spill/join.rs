//! A hash join whose build side has no room: both sides go to files in parts by the hashes of their keys, and each pair of parts is joined by itself
//! (the Grace hash join, Kitsuregawa, Tanaka and Moto-oka, 1983). A part that has no room again is cut into parts of its own. Where that does not
//! help, since a key has more rows than there is room for, the build side comes a piece at a time, and the other side is read once for each piece.

use std::sync::Arc;

use types::SqlError;

use super::file::{Reader, Section};
use super::host::Host;
use super::partition::{DEEPEST, Partition, Partitions, Parts};
use super::record::Members;
use super::room::Room;

/// The build side in a file.
pub(crate) type Built = (Parts, Vec<Option<Partition>>);

/// The rows of a build side on their way to memory, or to a file.
pub(crate) struct BuildSpill {
    room: Room,
    parts: Option<Partitions>,
}

impl BuildSpill {
    /// All rows are in memory.
    pub fn new(room: Room) -> BuildSpill {
        BuildSpill { room, parts: None }
    }

    /// The file, if rows that take so many bytes, and all that are still to come, go there.
    pub fn file(&mut self, bytes: usize) -> Option<&mut Partitions> {
        if self.parts.is_none() && self.room.is_over(bytes) {
            self.parts = Some(Partitions::new(&self.room));
        }
        self.parts.as_mut()
    }

    /// The file, where all rows go.
    pub fn begin(&mut self) -> &mut Partitions {
        self.parts
            .get_or_insert_with(|| Partitions::new(&self.room))
    }

    /// The rows in the file, if they are there.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn finish(self, host: &mut impl Host) -> Result<Option<Built>, SqlError> {
        match self.parts {
            Some(parts) if parts.has_records() => Ok(Some(parts.finish(1, host).await?)),
            _ => Ok(None),
        }
    }
}

/// Two parts that are to be joined.
pub(crate) struct Pair {
    /// Rows of the build side.
    pub build: (Arc<Parts>, Partition),
    /// Combinations that look for theirs.
    pub probe: (Arc<Parts>, Partition),
}

/// A step of a join whose build side is in a file.
pub(crate) struct Grace {
    room: Room,
    build: Built,
    probe: Partitions,
}

impl Grace {
    /// No combination has come.
    pub fn new(build: Built, room: Room) -> Grace {
        let probe = build.0.alike(&room);
        Grace { room, build, probe }
    }

    /// Puts a combination off until its part's turn; `false` where no row can have its key.
    pub fn put_off(&mut self, key: &[u8], row: impl FnOnce(&mut Members, &mut Vec<u8>)) -> bool {
        let part = self.probe.of(key);
        let any = self.build.1[part].is_some();
        if any {
            self.probe.add_to(part, key, row);
        }
        any
    }

    /// Whether it is time for [`flush`](Self::flush).
    pub fn is_due(&self) -> bool {
        self.probe.is_due()
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn flush(&mut self, host: &mut impl Host) -> Result<(), SqlError> {
        self.probe.flush(host).await
    }

    /// All combinations have come: what is to be joined.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn finish(self, host: &mut impl Host) -> Result<Vec<Pair>, SqlError> {
        if !self.probe.has_records() {
            return Ok(Vec::new());
        }
        let probe = self.probe.finish(1, host).await?;
        Ok(pairs(self.build, probe))
    }

    /// How much of a part may be in memory.
    pub fn room(&self) -> Room {
        let mut room = self.room.clone();
        room.again();
        room
    }
}

fn pairs(build: Built, probe: Built) -> Vec<Pair> {
    let (build_file, probe_file) = (Arc::new(build.0), Arc::new(probe.0));
    let both = build.1.into_iter().zip(probe.1);
    both.filter_map(|(rows, combinations)| {
        let combinations = combinations?;
        // An outer join wants those too that have no row.
        let none = || Partition {
            section: Section::default(),
            depth: combinations.depth,
        };
        Some(Pair {
            build: (Arc::clone(&build_file), rows.unwrap_or_else(none)),
            probe: (Arc::clone(&probe_file), combinations),
        })
    })
    .collect()
}

impl Pair {
    /// Whether cutting it again may help.
    pub fn can_be_cut(&self) -> bool {
        self.build.1.depth < DEEPEST
    }

    /// The pairs that it consists of, by other hashes.
    ///
    /// # Errors
    /// The files; the statement is to end.
    pub async fn cut(self, room: &Room, host: &mut impl Host) -> Result<Vec<Pair>, SqlError> {
        let depth = self.build.1.depth + 1;
        let mut parts = Partitions::new(room);
        copy(self.build, &mut parts, host).await?;
        let build = parts.finish(depth, host).await?;
        let mut parts = build.0.alike(room);
        copy(self.probe, &mut parts, host).await?;
        let probe = parts.finish(depth, host).await?;
        Ok(pairs(build, probe))
    }
}

async fn copy(
    (file, part): (Arc<Parts>, Partition),
    to: &mut Partitions,
    host: &mut impl Host,
) -> Result<(), SqlError> {
    to.members = file.members.clone();
    let mut reader = Reader::new(part.section);
    while file.advance(&mut reader).await? {
        to.add(reader.key(), |_, out| out.extend_from_slice(reader.row()));
        if to.is_due() {
            to.flush(host).await?;
        }
        if host.is_due() {
            host.rest().await?;
        }
    }
    Ok(())
}
