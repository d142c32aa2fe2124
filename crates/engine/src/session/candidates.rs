//! Secondary entries that a scan has gathered and whose rows it has still to look up.

/// Entries gathered from a leaf, whose rows are to be looked up.
#[derive(Default)]
pub(crate) struct Candidates {
    bytes: Vec<u8>,
    entries: Vec<(u32, u16, u32, bool)>,
    next: usize,
    /// Those before it were read ahead.
    ahead: usize,
    /// No more follow.
    pub(super) last: bool,
}

pub(super) struct Candidate<'a> {
    /// The whole entry key.
    pub(super) entry: &'a [u8],
    /// The clustered key at its end.
    pub(super) key: &'a [u8],
    /// The visible row certainly has these values.
    pub(super) sure: bool,
}

impl Candidates {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.next = 0;
        self.ahead = 0;
    }

    /// The clustered keys of the first entry and those behind it, as many as that, each once.
    pub(super) fn ahead(&mut self, most: usize) -> impl Iterator<Item = &[u8]> {
        let from = self.ahead.max(self.next);
        let mut to = self.entries.len().min(self.next + most);
        // Half of them are looked at while the others arrive.
        if from + most / 2 > to && to < self.entries.len() {
            to = from;
        }
        self.ahead = to.max(from);
        let entries = self.entries.get(from..to).unwrap_or_default();
        entries.iter().map(|&(at, split, end, _)| {
            let entry = &self.bytes[at as usize..end as usize];
            &entry[split as usize..]
        })
    }

    /// Takes an entry in, whose clustered key begins at `split`.
    pub(super) fn push(&mut self, entry: &[u8], split: u16, sure: bool) {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(entry);
        self.entries
            .push((at, split, self.bytes.len() as u32, sure));
    }

    /// Entries gathered, those included that were looked up since.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.entries.len()
    }

    pub(super) fn first(&self) -> Option<Candidate<'_>> {
        let (at, split, end, sure) = *self.entries.get(self.next)?;
        let entry = &self.bytes[at as usize..end as usize];
        Some(Candidate {
            entry,
            key: &entry[split as usize..],
            sure,
        })
    }

    pub(super) fn pop(&mut self) {
        self.next += 1;
    }
}
