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

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of three bytes, whose last two are the clustered key.
    fn gathered(n: u8) -> Candidates {
        let mut all = Candidates::default();
        for i in 0..n {
            all.push(&[7, 0, i], 1, true);
        }
        all
    }

    /// Begins reads for so many keys, each a page, and says for which.
    fn begin(all: &mut Candidates, most: usize) -> Vec<u8> {
        let mut keys = Vec::new();
        all.read_ahead(|all| {
            keys.extend(all.take(most).map(|key| key[1]));
            keys.len()
        });
        keys
    }

    #[test]
    fn the_next_rows_are_read_when_half_of_the_last_are_looked_at() {
        let mut all = gathered(20);
        // Nobody has waited.
        assert!(!all.is_ahead_due());
        assert_eq!(begin(&mut all, 8), (0..8).collect::<Vec<u8>>());
        for looked_at in 0..4 {
            assert!(!all.is_ahead_due(), "{looked_at}");
            // A look-up that waits for one of them begins nothing.
            assert!(begin(&mut all, 8).is_empty(), "{looked_at}");
            all.pop();
        }
        assert!(all.is_ahead_due());
        assert_eq!(begin(&mut all, 8), (8..16).collect::<Vec<u8>>());
        for _ in 0..8 {
            assert!(!all.is_ahead_due());
            all.pop();
        }
        assert!(all.is_ahead_due());
        assert_eq!(begin(&mut all, 8), (16..20).collect::<Vec<u8>>());
        // There are no others.
        while !all.is_empty() {
            all.pop();
            assert!(!all.is_ahead_due());
        }
    }

    #[test]
    fn rows_that_are_there_end_it_until_one_is_waited_for() {
        let mut all = gathered(20);
        let mut seen = 0;
        all.read_ahead(|keys| {
            seen += keys.take(6).count();
            0
        });
        assert_eq!(seen, 6);
        for _ in 0..9 {
            all.pop();
            assert!(!all.is_ahead_due());
        }
        // What was passed by then is not looked at.
        assert_eq!(begin(&mut all, 4), vec![9, 10, 11, 12]);
    }
}
