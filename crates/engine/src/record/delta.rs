//! The difference between two versions of a row: what they have in common at both ends, and the middle of each.

/// Lengths of the common ends of two byte strings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delta {
    /// Equal bytes at the start.
    pub prefix: u16,
    /// Equal bytes at the end, not overlapping the prefix in either.
    pub suffix: u16,
}

impl Delta {
    /// Compares `old` and `new` (both below 64 KiB).
    pub fn between(old: &[u8], new: &[u8]) -> Delta {
        let n = old.len().min(new.len());
        let mut p = 0;
        while p + 8 <= n && old[p..p + 8] == new[p..p + 8] {
            p += 8;
        }
        while p < n && old[p] == new[p] {
            p += 1;
        }
        let (a, b) = (&old[p..], &new[p..]);
        let m = a.len().min(b.len());
        let mut s = 0;
        while s + 8 <= m && a[a.len() - s - 8..a.len() - s] == b[b.len() - s - 8..b.len() - s] {
            s += 8;
        }
        while s < m && a[a.len() - s - 1] == b[b.len() - s - 1] {
            s += 1;
        }
        Delta {
            prefix: p as u16,
            suffix: s as u16,
        }
    }

    /// The middle of one of the two.
    pub fn middle<'a>(&self, s: &'a [u8]) -> &'a [u8] {
        &s[self.prefix as usize..s.len() - self.suffix as usize]
    }

    /// Makes the one from the other: replaces the middle of `s` by `middle`. `None` if the lengths do not fit.
    pub fn replace(&self, s: &[u8], middle: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let (p, q) = (self.prefix as usize, self.suffix as usize);
        if p + q > s.len() {
            return None;
        }
        out.extend_from_slice(&s[..p]);
        out.extend_from_slice(middle);
        out.extend_from_slice(&s[s.len() - q..]);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let cases: &[(&[u8], &[u8])] = &[
            (b"", b""),
            (b"abc", b"abc"),
            (b"aaaa", b"aaaaaa"),
            (b"0123456789abcdef", b"0123456789Xbcdef"),
            (b"xxxxxxxxxxxxxxxxxxyz", b"xxxxxxxxxxxxxxxxxxz"),
            (b"one", b"entirely different"),
            (b"abab", b"ab"),
        ];
        for (a, b) in cases {
            let d = Delta::between(a, b);
            let (mut x, mut y) = (Vec::new(), Vec::new());
            d.replace(a, d.middle(b), &mut x).unwrap();
            d.replace(b, d.middle(a), &mut y).unwrap();
            assert_eq!((&x[..], &y[..]), (*b, *a));
        }
    }
}
