//! A hint to the processor: bytes that are going to be read, while there is other work before.
//!
//! Never here: anything that a result depends on. Where the processor has no such hint, nothing happens.

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Has `bytes` on their way into the cache of this core. It costs a few instructions for each 64 of them.
#[inline(always)]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "an instruction that there is no safe word for")]
        // SAFETY: the instruction reads nothing that the program sees, and the address is that of bytes that are there.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast::<i8>());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
