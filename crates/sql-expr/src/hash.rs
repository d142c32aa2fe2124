//! Hashes of keys in memory: folded products, in the manner of wyhash (Wang Yi), under a seed so that clients cannot choose them.

/// The two halves of a product of 128 bits, folded.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let p = u128::from(a) * u128::from(b);
    p as u64 ^ (p >> 64) as u64
}

/// Odd, and as many ones as zeros.
pub(crate) const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
pub(crate) const MIX_TOO: u64 = 0xD6E8_FEB8_6659_FD93;

/// The hash of a key.
#[inline]
pub fn hash(key: &[u8], seed: u64) -> u64 {
    let mut h = seed ^ (key.len() as u64).wrapping_mul(MIX);
    let (words, rest) = key.as_chunks::<8>();
    for w in words {
        h = fold(h ^ u64::from_le_bytes(*w), MIX_TOO) ^ h.rotate_left(23);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(h ^ u64::from_le_bytes(last), MIX | 1)
}
