//! Secondary entries that a scan has gathered and whose rows it has still to look up.

/// Entries gathered from a leaf, whose rows are to be looked up.
#[derive(Default)]
pub(crate) struct Candidates {
    bytes: Vec<u8>,
    entries: Vec<(u32, u16, u32, bool)>,
    next: usize,
    /// Those before it were read ahead.
    ahead: usize,
    /// The place at which the next ones are to be read, while look-ups wait: half of the last are looked at while the others arrive.
    again: Option<usize>,
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
        self.again = None;
    }

    /// Whether the rows of the next entries are to be read now.
    pub(super) fn is_ahead_due(&self) -> bool {
        self.again.is_some_and(|place| self.next >= place)
    }

    /// Begins reading rows ahead, from the first that was not: `begin` takes as many clustered keys as it likes and says how many pages
    /// it has begun to read. Where the last ones will do it is not called.
    pub(super) fn read_ahead(
        &mut self,
        begin: impl FnOnce(&mut dyn Iterator<Item = &[u8]>) -> usize,
    ) {
        if self.again.is_some_and(|place| self.next < place) {
            return;
        }
        let from = self.ahead.max(self.next);
        let mut rest = self.entries.get(from..).unwrap_or_default().iter();
        let mut keys = rest.by_ref().map(|&(at, split, end, _)| {
            let entry = &self.bytes[at as usize..end as usize];
            &entry[split as usize..]
        });
        let begun = begin(&mut keys);
        self.ahead = self.entries.len() - rest.len();
        let more = begun > 0 && rest.len() > 0;
        self.again = more.then_some(from + (self.ahead - from) / 2);
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
