//! Records in parts by the hashes of their keys. A part has all records of each of its keys, in the order in which they were added.

use std::hash::{BuildHasher, RandomState};

use engine::TempFile;
use types::SqlError;

use super::file::{Reader, Section, Writer};
use super::host::Host;
use super::record::Members;
use super::room::Room;
use sql_expr::memory::Charge;

/// Parts at once.
pub(crate) const PARTS: usize = 16;

/// Parts of parts of parts: with 16 at once that is enough for what any disk holds, unless a few keys have most rows.
pub(crate) const DEEPEST: u32 = 8;

/// Records in parts, being written.
pub(crate) struct Partitions {
    /// Another one for the parts of each part, and no client knows it.
    hasher: RandomState,
    writers: Vec<Writer>,
    file: Option<TempFile>,
    /// What ENUM and SET values in it mean.
    pub members: Members,
    block: usize,
    /// Some part's buffer is full.
    due: bool,
    charge: Charge,
}

/// A part.
pub(crate) struct Partition {
    /// Its records.
    pub section: Section,
    /// How many times it is a part of a part.
    pub depth: u32,
}

/// The parts of a file.
pub(crate) struct Parts {
    hasher: RandomState,
    file: TempFile,
    /// What ENUM and SET values in it mean.
    pub members: Members,
}

impl Partitions {
    /// No record yet.
    pub fn new(room: &Room) -> Partitions {
        Partitions::by(RandomState::new(), room)
    }

    fn by(hasher: RandomState, room: &Room) -> Partitions {
        Partitions {
            hasher,
            writers: (0..PARTS).map(|_| Writer::default()).collect(),
            file: None,
            members: Members::default(),
            block: room.block(),
            due: false,
            charge: Charge::to(room.account()),
        }
    }

    /// The part of a key.
    pub fn of(&self, key: &[u8]) -> usize {
        (self.hasher.hash_one(key) >> 32) as usize % PARTS
    }

    /// Adds a record to the part of its key.
    #[inline]
    pub fn add(&mut self, key: &[u8], row: impl FnOnce(&mut Members, &mut Vec<u8>)) {
        let part = self.of(key);
        self.add_to(part, key, row);
    }

    /// Adds a record to a part.
    #[inline]
    pub fn add_to(
        &mut self,
        part: usize,
        key: &[u8],
        row: impl FnOnce(&mut Members, &mut Vec<u8>),
    ) {
        let members = &mut self.members;
        let w = &mut self.writers[part];
        w.add(key, |out| row(members, out));
        self.due |= w.waiting() >= self.block;
    }

    /// Whether there is any record.
    pub fn has_records(&self) -> bool {
        self.file.is_some() || self.writers.iter().any(|w| w.waiting() > 0)
    }

    /// Whether it is time for [`flush`](Self::flush).
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// Writes the buffers that are full.
    ///
    /// # Errors
    /// The file takes no more; the statement is to end.
    pub async fn flush(&mut self, env: &mut impl Host) -> Result<(), SqlError> {
        self.write(self.block, env).await
    }

    async fn write(&mut self, at_least: usize, env: &mut impl Host) -> Result<(), SqlError> {
        self.due = false;
        let file = match &mut self.file {
            Some(f) => f,
            none => {
                // Its buffers, from now on. More than these wait for the length of one batch of rows.
                if !self.charge.set(2 * PARTS * self.block) {
                    env.look()?;
                }
                none.insert(env.files().create()?)
            }
        };
        for w in &mut self.writers {
            if w.waiting() >= at_least {
                w.flush(file).await?;
            }
        }
        env.look()
    }

    /// The parts that have records, of which `depth` says how many times they are parts of parts.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub async fn finish(
        mut self,
        depth: u32,
        env: &mut impl Host,
    ) -> Result<(Parts, Vec<Option<Partition>>), SqlError> {
        self.write(1, env).await?;
        let Some(file) = self.file else {
            return Err(SqlError::internal("parts without a file"));
        };
        let part = |w: Writer| {
            let section = w.finish();
            (section.len() > 0).then_some(Partition { section, depth })
        };
        let parts = self.writers.into_iter().map(part).collect();
        let file = Parts {
            hasher: self.hasher,
            file,
            members: self.members,
        };
        Ok((file, parts))
    }
}

impl Parts {
    /// For other records, whose parts have the same keys as these.
    pub fn alike(&self, room: &Room) -> Partitions {
        Partitions::by(self.hasher.clone(), room)
    }

    /// Moves a reader of one of the parts to its next record; `false` behind the last.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn advance(&self, reader: &mut Reader) -> Result<bool, SqlError> {
        reader.advance(&self.file).await
    }
}
