//! Which rows of a batch are looked at.

/// Rows of a batch, in order.
#[derive(Debug, Clone, Copy)]
pub enum Sel<'s> {
    /// The first so many.
    All(usize),
    /// Those.
    Some(&'s [u16]),
}

impl<'s> Sel<'s> {
    /// How many.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Sel::All(n) => n,
            Sel::Some(s) => s.len(),
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The rows, for loops that do much with each.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> + 's {
        let (n, some): (usize, &[u16]) = match self {
            Sel::All(n) => (n, &[]),
            Sel::Some(s) => (0, s),
        };
        (0..n).chain(some.iter().map(|i| usize::from(*i)))
    }

    /// Calls `f` with each row: a loop without tests where all are selected.
    #[inline]
    pub fn each(self, mut f: impl FnMut(usize)) {
        match self {
            Sel::All(n) => (0..n).for_each(f),
            Sel::Some(s) => s.iter().for_each(|i| f(usize::from(*i))),
        }
    }

    /// Appends the rows for which `keep` holds, without branches.
    #[inline]
    pub fn keep(self, out: &mut Vec<u16>, mut keep: impl FnMut(usize) -> bool) {
        let start = out.len();
        out.resize(start + self.len(), 0);
        let mut n = start;
        self.each(|i| {
            if let Some(o) = out.get_mut(n) {
                *o = i as u16;
            }
            n += usize::from(keep(i));
        });
        out.truncate(n);
    }
}
