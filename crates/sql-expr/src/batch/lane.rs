//! The operands of loops: a value for each row or one for all, two of them side by side.

use super::selection::Sel;

/// The values of an operand: one for each row, or the same for all.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lane<'a, T> {
    Each(&'a [T]),
    Same(T),
}

impl<'a, T: Copy> Lane<'a, T> {
    /// Of a vector's values.
    pub(super) fn of(v: &'a [T], constant: bool) -> Lane<'a, T> {
        match (constant, v) {
            (true, [one, ..]) => Lane::Same(*one),
            _ => Lane::Each(v),
        }
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> T {
        match self {
            Lane::Each(v) => v[i],
            Lane::Same(v) => *v,
        }
    }
}

/// Calls `f` with both values of each selected row.
#[inline]
pub(super) fn zip<A: Copy, B: Copy, O>(
    a: Lane<'_, A>,
    b: Lane<'_, B>,
    sel: Sel<'_>,
    out: &mut [O],
    mut f: impl FnMut(A, B) -> O,
) {
    match sel {
        Sel::All(n) => match (a, b) {
            (Lane::Each(a), Lane::Each(b)) => {
                for ((o, a), b) in out[..n].iter_mut().zip(&a[..n]).zip(&b[..n]) {
                    *o = f(*a, *b);
                }
            }
            (Lane::Each(a), Lane::Same(b)) => {
                for (o, a) in out[..n].iter_mut().zip(&a[..n]) {
                    *o = f(*a, b);
                }
            }
            (Lane::Same(a), Lane::Each(b)) => {
                for (o, b) in out[..n].iter_mut().zip(&b[..n]) {
                    *o = f(a, *b);
                }
            }
            (Lane::Same(a), Lane::Same(b)) => {
                for o in &mut out[..n] {
                    *o = f(a, b);
                }
            }
        },
        Sel::Some(s) => match (a, b) {
            (Lane::Each(a), Lane::Each(b)) => {
                for i in s.iter().map(|i| usize::from(*i)) {
                    out[i] = f(a[i], b[i]);
                }
            }
            (Lane::Each(a), Lane::Same(b)) => {
                for i in s.iter().map(|i| usize::from(*i)) {
                    out[i] = f(a[i], b);
                }
            }
            (Lane::Same(a), Lane::Each(b)) => {
                for i in s.iter().map(|i| usize::from(*i)) {
                    out[i] = f(a, b[i]);
                }
            }
            (Lane::Same(a), Lane::Same(b)) => {
                for i in s.iter().map(|i| usize::from(*i)) {
                    out[i] = f(a, b);
                }
            }
        },
    }
}
