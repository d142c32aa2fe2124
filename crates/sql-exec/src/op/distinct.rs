//! DISTINCT: the keys of the rows that came. Where there is no room for more, a row with another key is put off: it goes to the part of its key in a
//! file, and whether it is the first with it is known when all rows have come.

use types::{SqlError, ValueRef};

use crate::keymap::KeyMap;
use crate::spill::file::Reader;
use crate::spill::partition::{DEEPEST, Partition, Partitions, Parts};
use crate::spill::record::{Values, read_values, write_value};
use crate::spill::{Host, Room};
use sql_expr::EvalCtx;

/// Keys that are in memory at least, however little room there is.
const LEAST: usize = 16;

/// The keys so far.
pub(crate) struct Distinct {
    keys: KeyMap,
    room: Room,
    /// Where there is no room for more keys.
    parts: Option<Partitions>,
    depth: u32,
}

impl Distinct {
    /// None yet.
    pub fn new(cx: &EvalCtx<'_>) -> Distinct {
        Distinct::of(Room::table(cx), 0)
    }

    fn of(room: Room, depth: u32) -> Distinct {
        Distinct {
            keys: KeyMap::new(room.account()),
            room,
            parts: None,
            depth,
        }
    }

    /// Whether a key is a new one; `None`: that is not known yet, and its row is to be put off.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> Result<Option<bool>, SqlError> {
        if self.parts.is_some() {
            return Ok(self.keys.get(key).map(|_| false));
        }
        let new = self.keys.insert(key)?.1;
        if new
            && self.room.is_over(self.keys.used())
            && self.keys.len() >= LEAST
            && self.depth < DEEPEST
        {
            self.parts = Some(Partitions::new(&self.room));
        }
        Ok(Some(new))
    }

    /// Puts a row off: its key, its sort key, its values.
    pub fn put_off<'v>(
        &mut self,
        key: &[u8],
        order: &[u8],
        values: impl Iterator<Item = ValueRef<'v>>,
    ) {
        if let Some(parts) = &mut self.parts {
            parts.add(key, |members, out| {
                out.extend_from_slice(&(order.len() as u32).to_le_bytes());
                out.extend_from_slice(order);
                values.for_each(|v| write_value(v, members, out));
            });
        }
    }

    /// Whether rows were put off.
    pub fn has_put_off(&self) -> bool {
        self.parts.as_ref().is_some_and(Partitions::has_records)
    }

    /// Whether it is time for [`flush`](Self::flush).
    #[inline]
    pub fn is_due(&self) -> bool {
        self.parts.as_ref().is_some_and(Partitions::is_due)
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// The file takes no more; the statement is to end.
    pub async fn flush(&mut self, host: &mut impl Host) -> Result<(), SqlError> {
        match &mut self.parts {
            Some(parts) => parts.flush(host).await,
            None => Ok(()),
        }
    }

    /// The rows that were put off and are the first with their keys.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub async fn finish(self, host: &mut impl Host) -> Result<Option<Late>, SqlError> {
        let Some(parts) = self.parts.filter(Partitions::has_records) else {
            return Ok(None);
        };
        // Those in memory are known: none of them was put off.
        drop(self.keys);
        let mut late = Late {
            room: self.room,
            files: Vec::new(),
            part: None,
        };
        late.push(parts.finish(self.depth + 1, host).await?);
        Ok(Some(late))
    }
}

/// Rows that were put off.
pub(crate) struct Late {
    room: Room,
    /// Files with the parts that are left of them; the last one's first.
    files: Vec<(Parts, Vec<Partition>)>,
    /// The part that is being read, and its keys.
    part: Option<(Reader, Distinct)>,
}

impl Late {
    fn push(&mut self, (file, parts): (Parts, Vec<Option<Partition>>)) {
        self.files
            .push((file, parts.into_iter().flatten().collect()));
    }

    /// Moves to the next row that is the first with its key; `false` behind the last.
    ///
    /// # Errors
    /// The file; the session may hold no more; the statement is to end.
    pub async fn advance(&mut self, host: &mut impl Host) -> Result<bool, SqlError> {
        loop {
            if let Some((reader, keys)) = &mut self.part {
                let Some((file, _)) = self.files.last() else {
                    return Ok(false);
                };
                while file.advance(reader).await? {
                    if host.is_due() {
                        host.rest().await?;
                    }
                    match keys.insert(reader.key())? {
                        Some(true) => return Ok(true),
                        Some(false) => {}
                        None => {
                            if let Some(parts) = &mut keys.parts {
                                // The numbers of members are those of the file above.
                                if !parts.has_records() {
                                    parts.members = file.members.clone();
                                }
                                parts.add(reader.key(), |_, out| {
                                    out.extend_from_slice(reader.row());
                                });
                                if parts.is_due() {
                                    parts.flush(host).await?;
                                }
                            }
                        }
                    }
                }
            }
            if let Some((_, keys)) = self.part.take()
                && let Some(more) = keys.finish(host).await?
            {
                self.files.extend(more.files);
            }
            while self.files.last().is_some_and(|(_, parts)| parts.is_empty()) {
                self.files.pop();
            }
            let Some(part) = self.files.last_mut().and_then(|(_, parts)| parts.pop()) else {
                return Ok(false);
            };
            let mut room = self.room.clone();
            room.again();
            let keys = Distinct::of(room, part.depth);
            self.part = Some((Reader::new(part.section), keys));
        }
    }

    /// The row's sort key and its values.
    ///
    /// # Errors
    /// An internal error for bytes that are no row.
    pub fn row(&self) -> Result<(&[u8], Values<'_>), SqlError> {
        let wrong = || SqlError::internal("a row that was put off cannot be read");
        let (Some((reader, _)), Some((file, _))) = (&self.part, self.files.last()) else {
            return Err(wrong());
        };
        let (len, rest) = reader.row().split_first_chunk::<4>().ok_or_else(wrong)?;
        let len = u32::from_le_bytes(*len) as usize;
        let (order, values) = rest.split_at_checked(len).ok_or_else(wrong)?;
        Ok((order, read_values(values, &file.members)?))
    }
}
