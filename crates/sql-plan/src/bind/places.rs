//! Which table of a block a slot stands for. A block's own tables have consecutive slots; those that a rewrite brought into it from a
//! subquery keep the slots that they had there.

/// The places of a block's tables by slot.
#[derive(Debug, Clone, Default)]
pub struct Places {
    base: u16,
    tables: u8,
    /// One more than the place of each slot from `base` on, 0 for none; empty where places follow slots.
    moved: Box<[u8]>,
}

impl Places {
    /// For tables with these slots, in order; none is below `base`.
    pub fn new(base: u16, slots: impl ExactSizeIterator<Item = u16> + Clone) -> Places {
        let tables = slots.len() as u8;
        let mut expected = base..;
        let follow = slots.clone().all(|s| expected.next() == Some(s));
        let mut moved = Vec::new();
        if !follow {
            let last = slots.clone().max().unwrap_or(base);
            moved.resize(usize::from(last - base) + 1, 0);
            for (n, s) in slots.enumerate() {
                moved[usize::from(s - base)] = n as u8 + 1;
            }
        }
        Places {
            base,
            tables,
            moved: moved.into(),
        }
    }

    /// The lowest slot of the block.
    #[inline]
    pub fn base(&self) -> u16 {
        self.base
    }

    /// The place of a table.
    #[inline]
    pub fn of(&self, slot: u16) -> Option<usize> {
        let at = usize::from(slot.wrapping_sub(self.base));
        if self.moved.is_empty() {
            return (at < usize::from(self.tables)).then_some(at);
        }
        match self.moved.get(at) {
            None | Some(0) => None,
            Some(&n) => Some(usize::from(n) - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_lead_to_places() {
        let own = Places::new(5, [5u16, 6, 7].into_iter());
        assert_eq!(
            [4, 5, 7, 8].map(|s| own.of(s)),
            [None, Some(0), Some(2), None]
        );
        let more = Places::new(5, [5u16, 6, 20, 9].into_iter());
        let found = [5, 6, 7, 9, 20, 21, 4].map(|s| more.of(s));
        let expected = [Some(0), Some(1), None, Some(3), Some(2), None, None];
        assert_eq!(found, expected);
        assert_eq!(Places::new(3, [].into_iter()).of(3), None);
    }
}
