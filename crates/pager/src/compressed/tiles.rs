//! Bytes of entries to bytes of columns and back, eight entries by eight columns at a time.
//!
//! Byte for byte, each costs an address of its own on either side. A tile of eight by eight lies in eight words, which are turned
//! about in registers, by interleaving where the processor has that (SSE2, of which every x86-64 has it), elsewhere in three rounds in
//! which halves, quarters and bytes change places (Warren, "Hacker's Delight", 7-3), which is no faster than byte for byte.

#![allow(unsafe_code)]

/// Entries, and columns, of a tile.
pub(super) const TILE: usize = 8;

/// Turns rows into columns: byte `c` of row `r` becomes byte `r` of column `c`.
#[inline(always)]
pub(super) fn turned(row: impl Fn(usize) -> u64) -> [u64; TILE] {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { interleaved(row) };
    #[cfg(not(target_arch = "x86_64"))]
    by_words(std::array::from_fn(row))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn interleaved(row: impl Fn(usize) -> u64) -> [u64; TILE] {
    use std::arch::x86_64::*;
    // Not an array of words: that would be written to memory in words and read from there, at once, in something longer.
    let rows: [_; TILE] = std::array::from_fn(|r| _mm_cvtsi64_si128(row(r).cast_signed()));
    let two = |r| _mm_unpacklo_epi8(rows[r], rows[r + 1]);
    let (a, b, c, d) = (two(0), two(2), two(4), two(6));
    let (e, f) = (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b));
    let (g, h) = (_mm_unpacklo_epi16(c, d), _mm_unpackhi_epi16(c, d));
    let low = |x| _mm_cvtsi128_si64(x).cast_unsigned();
    let high = |x| low(_mm_unpackhi_epi64(x, x));
    let columns = [
        _mm_unpacklo_epi32(e, g),
        _mm_unpackhi_epi32(e, g),
        _mm_unpacklo_epi32(f, h),
        _mm_unpackhi_epi32(f, h),
    ];
    std::array::from_fn(|c| match c % 2 {
        0 => low(columns[c / 2]),
        _ => high(columns[c / 2]),
    })
}

/// The same without the processor's help.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn by_words(mut t: [u64; TILE]) -> [u64; TILE] {
    change::<4>(&mut t, 32, 0x0000_0000_FFFF_FFFF);
    change::<2>(&mut t, 16, 0x0000_FFFF_0000_FFFF);
    change::<1>(&mut t, 8, 0x00FF_00FF_00FF_00FF);
    t
}

/// Changes the upper parts of words with the lower ones of those `BY` behind them.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn change<const BY: usize>(t: &mut [u64; TILE], bits: u32, low: u64) {
    for i in (0..TILE).filter(|i| i & BY == 0) {
        let (a, b) = (t[i], t[i + BY]);
        let change = ((a >> bits) ^ b) & low;
        t[i] = a ^ (change << bits);
        t[i + BY] = b ^ change;
    }
}

/// The eight bytes at `at`.
///
/// # Panics
/// They are not there.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; TILE];
    word.copy_from_slice(&bytes[at..][..TILE]);
    u64::from_le_bytes(word)
}

/// Where tiles begin that cover 0..`n`, which is `TILE` or more: the last one may lie partly over the one before it.
pub(super) fn tiles(n: usize) -> impl Iterator<Item = usize> {
    let last = (!n.is_multiple_of(TILE)).then(|| n - TILE);
    (0..n / TILE).map(|i| i * TILE).chain(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let byte = |r: usize, c: usize| (r * 37 + c * 11 + 5) as u8;
        let rows: [u64; TILE] =
            std::array::from_fn(|r| u64::from_le_bytes(std::array::from_fn(|c| byte(r, c))));
        let columns: [u64; TILE] =
            std::array::from_fn(|c| u64::from_le_bytes(std::array::from_fn(|r| byte(r, c))));
        assert_eq!(turned(|r| rows[r]), columns);
        assert_eq!(turned(|c| columns[c]), rows);
        assert_eq!(by_words(rows), columns);
    }

    #[test]
    fn tiles_cover_all() {
        let all = |n| tiles(n).collect::<Vec<_>>();
        assert_eq!(all(8), [0]);
        assert_eq!(all(24), [0, 8, 16]);
        assert_eq!(all(27), [0, 8, 16, 19]);
    }
}
