//! Which places of a file are taken: a bit a unit, and the search for a run of free ones.
//!
//! Knows nothing of pages. What is freed here may be written over at once: whoever frees sees to it that nobody looks for the
//! old bytes there any more, also after a crash.

use super::free_runs::{BLOCK_UNITS, FreeRuns, RunPlace};

/// Units of a file, taken or free.
#[derive(Debug, Default)]
pub(crate) struct AllocationMap {
    /// Bit set: taken. Bits behind the last unit are set.
    words: Vec<u64>,
    units: u64,
    free: u64,
    /// Says where to look for a run.
    runs: FreeRuns,
}

const BITS: u64 = u64::BITS as u64;

impl AllocationMap {
    /// A file of that many units, all of them free.
    pub(crate) fn new(units: u64) -> AllocationMap {
        let mut p = AllocationMap::default();
        p.grow(units);
        p
    }

    /// Units in all.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Units that are free.
    pub(crate) fn free_units(&self) -> u64 {
        self.free
    }

    /// The file has that many units now; new ones are free. Fewer than there are changes nothing.
    pub(crate) fn grow(&mut self, units: u64) {
        if units <= self.units {
            return;
        }
        let old = self.units;
        self.words.resize(units.div_ceil(BITS) as usize, u64::MAX);
        self.units = units;
        self.set(old, units - old, false);
        self.free += units - old;
    }

    /// Units up to and with the last one that is taken.
    pub(crate) fn taken_end(&self) -> u64 {
        let mut end = self.units;
        while end > 0 && !self.is_taken(end - 1) {
            // A whole word at a time where it is empty.
            let start = (end - 1) / BITS * BITS;
            let empty = self.words[(start / BITS) as usize] == self.padding(start);
            end = if empty { start } else { end - 1 };
        }
        end
    }

    /// Ends the file behind its last taken unit, at `least` units or more; gives the number of units it has then.
    pub(crate) fn shrink(&mut self, least: u64) -> u64 {
        let end = self.taken_end().max(least).min(self.units);
        self.free -= self.units - end;
        let old = std::mem::replace(&mut self.units, end);
        self.words.truncate(end.div_ceil(BITS) as usize);
        if !end.is_multiple_of(BITS)
            && let Some(last) = self.words.last_mut()
        {
            *last |= u64::MAX << (end % BITS);
        }
        if end < old {
            self.runs.changed(
                &self.words,
                (end / BLOCK_UNITS) as usize,
                ((old - 1) / BLOCK_UNITS) as usize,
            );
        }
        end
    }

    /// What a word without a taken unit looks like: zero, but for bits behind the last unit.
    fn padding(&self, start: u64) -> u64 {
        match self.units - start {
            n if n >= BITS => 0,
            n => u64::MAX << n,
        }
    }

    /// Whether a unit is taken; those behind the last count as taken.
    pub(crate) fn is_taken(&self, unit: u64) -> bool {
        let word = self.words.get((unit / BITS) as usize);
        word.is_none_or(|w| w >> (unit % BITS) & 1 != 0)
    }

    /// Takes a run of `n` free units, the first there is; `None` where there is none.
    pub(crate) fn allocate(&mut self, n: u64) -> Option<u64> {
        let start = self.find(n)?;
        self.set(start, n, true);
        self.free -= n;
        Some(start)
    }

    /// Takes these units, which are known to be used; false where one of them was taken before, or is none.
    pub(crate) fn claim(&mut self, start: u64, n: u64) -> bool {
        let end = start.checked_add(n).filter(|e| *e <= self.units);
        if end.is_none() || (start..start + n).any(|u| self.is_taken(u)) {
            return false;
        }
        self.set(start, n, true);
        self.free -= n;
        true
    }

    /// Frees a run.
    ///
    /// # Panics
    /// A unit of it was free, or is none: then something else may be written where it should not.
    pub(crate) fn free(&mut self, start: u64, n: u64) {
        for u in start..start + n {
            assert!(u < self.units && self.is_taken(u), "unit {u} freed twice");
        }
        self.set(start, n, false);
        self.free += n;
    }

    fn set(&mut self, start: u64, n: u64, taken: bool) {
        let (mut at, end) = (start, start + n);
        while at < end {
            let bit = at % BITS;
            let len = (BITS - bit).min(end - at);
            let mask = (u64::MAX >> (BITS - len)) << bit;
            let word = &mut self.words[(at / BITS) as usize];
            match taken {
                true => *word |= mask,
                false => *word &= !mask,
            }
            at += len;
        }
        if n > 0 {
            self.runs.changed(
                &self.words,
                (start / BLOCK_UNITS) as usize,
                ((end - 1) / BLOCK_UNITS) as usize,
            );
        }
    }

    /// The first unit at or behind `at` that is free, or taken.
    fn next(&self, at: u64, taken: bool) -> u64 {
        let mut i = at / BITS;
        let mut word = match self.words.get(i as usize) {
            None => return self.units,
            Some(w) => (if taken { *w } else { !*w }) & u64::MAX << (at % BITS),
        };
        loop {
            if word != 0 {
                return (i * BITS + u64::from(word.trailing_zeros())).min(self.units);
            }
            i += 1;
            word = match self.words.get(i as usize) {
                None => return self.units,
                Some(w) => {
                    if taken {
                        *w
                    } else {
                        !*w
                    }
                }
            };
        }
    }

    fn find(&self, n: u64) -> Option<u64> {
        let mut at = match self.runs.find(n)? {
            RunPlace::At(unit) => return Some(unit),
            RunPlace::Within(block) => self.next(block * BLOCK_UNITS, false),
        };
        loop {
            let end = self.next(at, true);
            if end - at >= n {
                return Some(at);
            }
            assert!(
                end < self.units,
                "no run of {n} units where one was said to be"
            );
            at = self.next(end, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn it_does_what_a_list_of_units_does(
            steps in prop::collection::vec((0u8..4, 0u64..4000, 1u64..300), 1..100)
        ) {
            let mut places = AllocationMap::new(0);
            let mut model: Vec<bool> = Vec::new();
            let mut runs: Vec<(u64, u64)> = Vec::new();
            for (what, at, n) in steps {
                match what {
                    0 => {
                        places.grow(at);
                        model.resize(model.len().max(at as usize), false);
                    }
                    1 => {
                        let free = |s: &usize| model[*s..*s + n as usize].iter().all(|t| !t);
                        let last = (model.len() + 1).saturating_sub(n as usize);
                        let want = (0..last).find(free).map(|s| s as u64);
                        let got = places.allocate(n);
                        prop_assert_eq!(got, want);
                        if let Some(s) = got {
                            model[s as usize..(s + n) as usize].fill(true);
                            runs.push((s, n));
                        }
                    }
                    2 if !runs.is_empty() => {
                        let (s, n) = runs.swap_remove(at as usize % runs.len());
                        places.free(s, n);
                        model[s as usize..(s + n) as usize].fill(false);
                    }
                    _ => {
                        let least = at.min(model.len() as u64);
                        let used = model.iter().rposition(|t| *t).map_or(0, |i| i + 1);
                        let want = used.max(least as usize);
                        prop_assert_eq!(places.shrink(least), want as u64);
                        model.truncate(want);
                    }
                }
                prop_assert_eq!(places.units(), model.len() as u64);
                prop_assert_eq!(places.free_units(), model.iter().filter(|t| !**t).count() as u64);
                for u in 0..model.len() + 70 {
                    prop_assert_eq!(places.is_taken(u as u64), model.get(u).copied().unwrap_or(true));
                }
            }
        }
    }

    #[test]
    fn units_known_to_be_used_are_claimed_once() {
        let mut p = AllocationMap::new(100);
        assert!(p.claim(10, 20) && p.claim(30, 70));
        assert!(!p.claim(29, 2) && !p.claim(99, 2) && !p.claim(u64::MAX, 2));
        assert_eq!(
            (p.free_units(), p.allocate(10), p.allocate(1)),
            (10, Some(0), None)
        );
    }
}
