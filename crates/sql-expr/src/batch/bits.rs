//! A bitmap that grows: which rows are NULL.

/// Bits by row; those that nobody set are not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// None set.
    pub const fn new() -> Bits {
        Bits { words: Vec::new() }
    }

    /// The first `n` set.
    pub fn all(n: usize) -> Bits {
        let mut words = vec![u64::MAX; n / 64];
        if !n.is_multiple_of(64) {
            words.push((1 << (n % 64)) - 1);
        }
        Bits { words }
    }

    /// Whether bit `i` is set.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        self.words
            .get(i / 64)
            .is_some_and(|w| w >> (i % 64) & 1 != 0)
    }

    /// Sets bit `i`.
    #[inline]
    pub fn set(&mut self, i: usize) {
        if i / 64 >= self.words.len() {
            self.words.resize(i / 64 + 1, 0);
        }
        self.words[i / 64] |= 1 << (i % 64);
    }

    /// Whether any is set.
    pub fn any(&self) -> bool {
        self.words.iter().any(|w| *w != 0)
    }

    /// Sets what is set in another.
    pub fn or(&mut self, other: &Bits) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    /// Unsets all, and keeps the room.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// What it takes.
    pub fn memory(&self) -> usize {
        self.words.capacity() * 8
    }
}
