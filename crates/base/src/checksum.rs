//! CRC32C (Castagnoli), hardware-accelerated where the CPU has it. Protects pages, log records and file headers.

/// CRC32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// CRC32C continued from `seed` over `bytes`.
#[inline]
pub fn crc32c_from(seed: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(seed, bytes)
}
