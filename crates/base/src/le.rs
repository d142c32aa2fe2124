//! Little-endian access to byte slices. Out-of-range reads give 0 in the `get_*_or0` forms (for pages that may be torn
//! while read optimistically) and panic in the plain forms (for bytes already verified).

macro_rules! le {
    ($get:ident, $get_or0:ident, $put:ident, $t:ty) => {
        /// Reads at `at`; panics when out of range.
        #[inline(always)]
        pub fn $get(b: &[u8], at: usize) -> $t {
            const N: usize = std::mem::size_of::<$t>();
            let mut a = [0u8; N];
            a.copy_from_slice(&b[at..at + N]);
            <$t>::from_le_bytes(a)
        }
        /// Reads at `at`; 0 when out of range.
        #[inline(always)]
        pub fn $get_or0(b: &[u8], at: usize) -> $t {
            const N: usize = std::mem::size_of::<$t>();
            match b.get(at..at.wrapping_add(N)) {
                Some(s) => {
                    let mut a = [0u8; N];
                    a.copy_from_slice(s);
                    <$t>::from_le_bytes(a)
                }
                None => 0,
            }
        }
        /// Writes at `at`; panics when out of range.
        #[inline(always)]
        pub fn $put(b: &mut [u8], at: usize, v: $t) {
            b[at..at + std::mem::size_of::<$t>()].copy_from_slice(&v.to_le_bytes());
        }
    };
}

le!(get_u16, get_u16_or0, put_u16, u16);
le!(get_u32, get_u32_or0, put_u32, u32);
le!(get_u64, get_u64_or0, put_u64, u64);
