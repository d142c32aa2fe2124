//! How many columns are best for the pages of an index, as the last trial said.

use super::columns::Cells;

/// What is tried: no columns, those of the row's head and the first short ones, and all.
const WIDTHS: [usize; 3] = [0, 48, Cells::ALL];
/// Pages of an index from one trial to the next: a trial compresses three times.
const TRIAL_EACH: u8 = 32;
/// Indexes that are remembered. Two that fall together try more often, and nothing else.
const REMEMBERED: usize = 256;

/// A tablespace's number and an index's in it.
type Of = (u32, u32);

#[derive(Clone, Copy, Default)]
struct Learned {
    of: Of,
    width: usize,
    /// Pages until the next trial; 0: nothing is known.
    left: u8,
}

/// What was learned about indexes.
pub(super) struct Widths {
    learned: Vec<Learned>,
}

impl Default for Widths {
    fn default() -> Self {
        Widths {
            learned: vec![Learned::default(); REMEMBERED],
        }
    }
}

fn seat(of: Of) -> usize {
    (of.0.wrapping_mul(31).wrapping_add(of.1)) as usize % REMEMBERED
}

impl Widths {
    /// With how many columns the next page of an index is to be compressed: several are a trial, whose result is to be [learned](Self::learn).
    pub(super) fn next_widths(&mut self, of: Of) -> impl Iterator<Item = usize> + use<> {
        let l = &mut self.learned[seat(of)];
        let known = l.of == of && l.left > 0;
        let width = l.width;
        if known {
            l.left -= 1;
        }
        WIDTHS.into_iter().filter(move |w| !known || *w == width)
    }

    /// How many columns were best for an index; all, where nothing is known.
    pub(super) fn known(&self, of: Of) -> usize {
        let l = &self.learned[seat(of)];
        match l.of == of && l.left > 0 {
            true => l.width,
            false => Cells::ALL,
        }
    }

    /// A trial of an index found this width best.
    pub(super) fn learn(&mut self, of: Of, width: usize) {
        self.learned[seat(of)] = Learned {
            of,
            width,
            left: TRIAL_EACH - 1,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_held_again_after_some_pages() {
        let mut w = Widths::default();
        let tries = |w: &mut Widths, of| w.next_widths(of).collect::<Vec<_>>();
        assert_eq!(tries(&mut w, (1, 0)), WIDTHS);
        w.learn((1, 0), 48);
        for _ in 1..TRIAL_EACH {
            assert_eq!(tries(&mut w, (1, 0)), [48]);
        }
        assert_eq!(tries(&mut w, (1, 0)), WIDTHS);
        assert_eq!(tries(&mut w, (2, 0)), WIDTHS);
    }
}
