//! What one file holds: the bytes a reader sees, the bytes that a power cut cannot take, and the writes in between.
//! Never decides whether a fault happens; it only knows what each one does to bytes.

use base::SplitMix64;
use std::sync::Arc;

/// Granularity of the sparse store; nothing depends on it.
const BLOCK: usize = 4096;

/// Bytes, sparse: a block that was never written, or only with zeros, takes no memory.
#[derive(Clone, Default)]
pub struct Bytes {
    blocks: Vec<Option<Arc<[u8; BLOCK]>>>,
    len: usize,
}

/// What is written: zeros need no copy.
#[derive(Clone)]
pub enum Data {
    /// So many zeros.
    Zeros(usize),
    /// These bytes.
    Bytes(Vec<u8>),
}

impl Data {
    /// A copy of `b`.
    pub fn of(b: &[u8]) -> Data {
        if b.iter().all(|x| *x == 0) {
            Data::Zeros(b.len())
        } else {
            Data::Bytes(b.to_vec())
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Data::Zeros(n) => *n = len.min(*n),
            Data::Bytes(b) => b.truncate(len),
        }
    }

    fn len(&self) -> usize {
        match self {
            Data::Zeros(n) => *n,
            Data::Bytes(b) => b.len(),
        }
    }
}

impl Bytes {
    /// Length of the file.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Sets the length; what is cut off is forgotten.
    pub fn set_len(&mut self, len: usize) {
        if len < self.len {
            self.blocks.truncate(len.div_ceil(BLOCK));
            if !len.is_multiple_of(BLOCK)
                && let Some(Some(b)) = self.blocks.get_mut(len / BLOCK)
            {
                Arc::make_mut(b)[len % BLOCK..].fill(0);
            }
        }
        self.len = len;
    }

    /// Reads up to the end of the file.
    pub fn read(&self, out: &mut [u8], at: usize) -> usize {
        let n = out.len().min(self.len.saturating_sub(at));
        let mut done = 0;
        while done < n {
            let (i, off) = ((at + done) / BLOCK, (at + done) % BLOCK);
            let k = (BLOCK - off).min(n - done);
            match self.blocks.get(i) {
                Some(Some(b)) => out[done..done + k].copy_from_slice(&b[off..off + k]),
                _ => out[done..done + k].fill(0),
            }
            done += k;
        }
        n
    }

    /// Writes bytes `from..to` of `data`, which as a whole lies at `at`; the file grows as needed.
    pub fn write(&mut self, data: &Data, at: usize, from: usize, to: usize) {
        self.len = self.len.max(at + to);
        let mut done = from;
        while done < to {
            let (i, off) = ((at + done) / BLOCK, (at + done) % BLOCK);
            let k = (BLOCK - off).min(to - done);
            match data {
                Data::Zeros(_) => {
                    if let Some(Some(b)) = self.blocks.get_mut(i) {
                        Arc::make_mut(b)[off..off + k].fill(0);
                    }
                }
                Data::Bytes(bytes) => {
                    if self.blocks.len() <= i {
                        self.blocks.resize(i + 1, None);
                    }
                    let b = self.blocks[i].get_or_insert_with(|| Arc::new([0; BLOCK]));
                    Arc::make_mut(b)[off..off + k].copy_from_slice(&bytes[done..done + k]);
                }
            }
            done += k;
        }
    }
}

/// How a power cut treats what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// All of it is lost.
    Nothing,
    /// All of it arrived.
    All,
    /// Each write arrives whole or not at all, with this chance in 100: the same as any reordering.
    Whole(u64),
    /// Each sector of each write for itself, with this chance.
    Sectors(u64),
    /// Not a cut: the process is killed, the system goes on. All is visible, and still not synced.
    Kill,
}

/// A write that was not synced.
pub struct Pending {
    /// Number in the order of completion.
    pub seq: u64,
    /// Where.
    pub at: usize,
    /// What.
    pub data: Data,
}

/// A file's content.
#[derive(Default)]
pub struct Content {
    /// What a reader sees.
    pub now: Bytes,
    /// What is on the medium.
    pub durable: Bytes,
    /// Writes since the last sync, oldest first.
    pub pending: Vec<Pending>,
    /// Writes were lost by a sync that failed: what a reader sees is not what will ever be on the medium.
    pub lost: bool,
}

/// What a write arrives in: sectors of 512 bytes, or whole aligned pages where the medium promises them.
pub const SECTOR: usize = 512;

impl Content {
    /// A write arrives in the page cache.
    pub fn write(&mut self, seq: u64, data: Data, at: usize) {
        let n = data.len();
        self.now.write(&data, at, 0, n);
        self.pending.push(Pending { seq, at, data });
    }

    /// Ends the file at `len` bytes if it is longer, for good; gives the bytes that are gone.
    pub fn truncate(&mut self, len: usize) -> usize {
        let gone = self.now.len().saturating_sub(len);
        self.now.set_len(self.now.len().min(len));
        self.durable.set_len(self.durable.len().min(len));
        self.pending.retain(|p| p.at < len);
        for p in &mut self.pending {
            p.data.truncate(len - p.at);
        }
        gone
    }

    /// A sync that covers the writes up to `upto` succeeded.
    pub fn sync(&mut self, upto: u64) {
        let later = self
            .pending
            .iter()
            .position(|p| p.seq > upto)
            .unwrap_or(self.pending.len());
        for p in self.pending.drain(..later) {
            let n = p.data.len();
            self.durable.write(&p.data, p.at, 0, n);
        }
        let len = self.now.len();
        if self.durable.len() < len {
            self.durable.set_len(len);
        }
    }

    /// A sync failed: what it covered arrived in part and is forgotten, so that no later sync writes it.
    pub fn fail_sync(&mut self, upto: u64, sector: usize, rng: &mut SplitMix64) {
        let later = self
            .pending
            .iter()
            .position(|p| p.seq > upto)
            .unwrap_or(self.pending.len());
        let keep = rng.below(101);
        for p in self.pending.drain(..later) {
            arrive(
                &mut self.durable,
                &p.data,
                p.at,
                Cut::Sectors(keep),
                sector,
                rng,
            );
            self.lost = true;
        }
    }

    /// What a cut leaves. `flying`: writes that were under way.
    pub fn after(
        &self,
        cut: Cut,
        flying: &[(usize, Data)],
        sector: usize,
        rng: &mut SplitMix64,
    ) -> Content {
        if cut == Cut::Kill {
            let pending = self.pending.iter().map(|p| Pending {
                seq: 0,
                at: p.at,
                data: p.data.clone(),
            });
            return Content {
                now: self.now.clone(),
                durable: self.durable.clone(),
                pending: pending.collect(),
                lost: self.lost,
            };
        }
        let mut img = self.durable.clone();
        // The length is metadata of its own: it may have arrived without the bytes.
        if cut == Cut::All || (cut != Cut::Nothing && rng.one_in(2)) {
            img.set_len(self.now.len().max(img.len()));
        }
        for p in &self.pending {
            arrive(&mut img, &p.data, p.at, cut, sector, rng);
        }
        for (at, data) in flying {
            let cut = if cut == Cut::All {
                Cut::Sectors(50)
            } else {
                cut
            };
            arrive(&mut img, data, *at, cut, sector, rng);
        }
        Content {
            now: img.clone(),
            durable: img,
            pending: Vec::new(),
            lost: false,
        }
    }
}

fn arrive(img: &mut Bytes, data: &Data, at: usize, cut: Cut, sector: usize, rng: &mut SplitMix64) {
    let n = data.len();
    match cut {
        Cut::Nothing => {}
        Cut::All | Cut::Kill => img.write(data, at, 0, n),
        Cut::Whole(p) => {
            if rng.percent(p) {
                img.write(data, at, 0, n)
            }
        }
        Cut::Sectors(p) => {
            let mut from = 0;
            while from < n {
                let to = (((at + from) / sector + 1) * sector - at).min(n);
                if rng.percent(p) {
                    img.write(data, at, from, to);
                }
                from = to;
            }
        }
    }
}
