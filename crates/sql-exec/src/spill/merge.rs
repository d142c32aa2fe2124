//! Sorted runs in a file, merged into one order. Where there are more runs than may be read at once, some become one first.

use engine::TempFile;
use types::SqlError;
use types::keyenc::first_bytes;

use super::file::{Reader, Section, Step, Writer};
use super::host::Host;
use super::record::Members;
use super::room::Room;
use sql_expr::memory::Charge;

/// The fewest runs that are merged at once, however little room there is.
const LEAST_AT_ONCE: usize = 8;
/// The most: a block of each is in memory.
const MOST_AT_ONCE: usize = 512;

/// Sorted runs.
pub(crate) struct Runs {
    file: TempFile,
    runs: Vec<Section>,
    writer: Writer,
    /// What ENUM and SET values in it mean.
    pub members: Members,
    block: usize,
    at_once: usize,
    charge: Charge,
}

impl Runs {
    /// None yet.
    ///
    /// # Errors
    /// No file can be made.
    pub fn new(room: &Room, env: &impl Host) -> Result<Runs, SqlError> {
        let block = room.block();
        Ok(Runs {
            file: env.files().create()?,
            runs: Vec::new(),
            writer: Writer::default(),
            members: Members::default(),
            block,
            at_once: (room.bytes() / block).clamp(LEAST_AT_ONCE, MOST_AT_ONCE),
            charge: Charge::to(room.account()),
        })
    }

    /// Adds a record to the run that is being written. They come in order.
    #[inline]
    pub fn add(&mut self, key: &[u8], row: impl FnOnce(&mut Members, &mut Vec<u8>)) {
        let members = &mut self.members;
        self.writer.add(key, |out| row(members, out));
    }

    /// Whether it is time for [`flush`](Self::flush).
    #[inline]
    pub fn is_due(&self) -> bool {
        self.writer.waiting() >= self.block
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn flush(&mut self) -> Result<(), SqlError> {
        self.writer.flush(&mut self.file).await
    }

    /// Ends the run that is being written.
    ///
    /// # Errors
    /// The file takes no more.
    pub async fn end_run(&mut self) -> Result<(), SqlError> {
        let mut writer = std::mem::take(&mut self.writer);
        writer.flush(&mut self.file).await?;
        let run = writer.finish();
        if run.len() > 0 {
            self.runs.push(run);
        }
        Ok(())
    }

    /// All runs as one. `unique`: of records with the same key only the first; at most `keep` records.
    ///
    /// # Errors
    /// The file; the statement is to end.
    pub async fn merge(
        mut self,
        unique: bool,
        keep: usize,
        env: &mut impl Host,
    ) -> Result<Merged, SqlError> {
        if !self
            .charge
            .set((self.runs.len().min(self.at_once) + 1) * self.block)
        {
            env.look()?;
        }
        let keep = keep as u64;
        while self.runs.len() > self.at_once {
            // Into another file, so that this one's room is free when all of it has been read.
            let mut to = env.files().create()?;
            let mut merged = Vec::new();
            let mut rest = std::mem::take(&mut self.runs).into_iter();
            loop {
                let some: Vec<Section> = rest.by_ref().take(self.at_once).collect();
                if some.is_empty() {
                    break;
                }
                let mut order = Order::begin(some, &self.file, unique, keep).await?;
                let mut writer = Writer::default();
                while order.advance(&self.file).await? {
                    writer.add(order.key(), |out| out.extend_from_slice(order.row()));
                    if writer.waiting() >= self.block {
                        writer.flush(&mut to).await?;
                    }
                    if env.is_due() {
                        env.rest().await?;
                    }
                }
                writer.flush(&mut to).await?;
                merged.push(writer.finish());
            }
            self.file = to;
            self.runs = merged;
        }
        let order = Order::begin(self.runs, &self.file, unique, keep).await?;
        Ok(Merged {
            order,
            file: self.file,
            members: self.members,
            _charge: self.charge,
        })
    }
}

/// All records in order.
pub(crate) struct Merged {
    order: Order,
    file: TempFile,
    /// What ENUM and SET values in it mean.
    pub members: Members,
    _charge: Charge,
}

impl Merged {
    /// Moves to the next record; `false` behind the last.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn advance(&mut self) -> Result<bool, SqlError> {
        self.order.advance(&self.file).await
    }

    /// The record's row.
    pub fn row(&self) -> &[u8] {
        self.order.row()
    }
}

/// Readers of runs, with the one at the least record first: a heap. Records with equal keys come in the order of their runs.
struct Order {
    readers: Vec<Reader>,
    /// The first bytes of the key each reader is at.
    heads: Vec<u64>,
    heap: Vec<u32>,
    /// The first reader is at a record that has been used.
    used: bool,
    unique: bool,
    last: Vec<u8>,
    left: u64,
}

impl Order {
    async fn begin(
        runs: Vec<Section>,
        file: &TempFile,
        unique: bool,
        keep: u64,
    ) -> Result<Order, SqlError> {
        let mut o = Order {
            heads: vec![0; runs.len()],
            heap: Vec::with_capacity(runs.len()),
            readers: runs.into_iter().map(Reader::new).collect(),
            used: false,
            unique,
            last: Vec::new(),
            left: keep,
        };
        for i in 0..o.readers.len() {
            if o.readers[i].advance(file).await? {
                o.heads[i] = first_bytes(o.readers[i].key());
                o.heap.push(i as u32);
            }
        }
        for at in (0..o.heap.len() / 2).rev() {
            o.sift(at);
        }
        Ok(o)
    }

    #[inline]
    fn is_before(&self, a: u32, b: u32) -> bool {
        let (x, y) = (a as usize, b as usize);
        let heads = self.heads[x].cmp(&self.heads[y]);
        let keys = || self.readers[x].key().cmp(self.readers[y].key());
        heads.then_with(keys).then(a.cmp(&b)).is_lt()
    }

    fn sift(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    async fn advance(&mut self, file: &TempFile) -> Result<bool, SqlError> {
        if self.left == 0 {
            return Ok(false);
        }
        loop {
            if self.used {
                let i = self.heap[0] as usize;
                let there = match self.readers[i].step() {
                    Step::Record => true,
                    Step::End => false,
                    Step::Block => self.readers[i].advance(file).await?,
                };
                match there {
                    true => self.heads[i] = first_bytes(self.readers[i].key()),
                    false => {
                        self.heap.swap_remove(0);
                    }
                }
                self.sift(0);
            }
            let Some(&first) = self.heap.first() else {
                self.used = false;
                return Ok(false);
            };
            let again = std::mem::replace(&mut self.used, true);
            if self.unique {
                let key = self.readers[first as usize].key();
                if again && key == &self.last[..] {
                    continue;
                }
                self.last.clear();
                self.last.extend_from_slice(key);
            }
            self.left -= 1;
            return Ok(true);
        }
    }

    fn reader(&self) -> Option<&Reader> {
        self.heap.first().map(|i| &self.readers[*i as usize])
    }

    fn key(&self) -> &[u8] {
        self.reader().map_or(&[], Reader::key)
    }

    fn row(&self) -> &[u8] {
        self.reader().map_or(&[], Reader::row)
    }
}
