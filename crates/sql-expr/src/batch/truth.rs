//! A truth value as a byte.

/// The condition does not hold.
pub(super) const NO: u8 = 0;
/// It holds.
pub(super) const YES: u8 = 1;
/// It is NULL.
pub(super) const UNKNOWN: u8 = 2;

/// A truth value as a byte.
#[inline]
pub(super) fn byte(t: Option<bool>) -> u8 {
    match t {
        Some(t) => u8::from(t),
        None => UNKNOWN,
    }
}
