//! An input as a list of steps: small pieces that the fuzzer can drop, double and reorder without losing the rest.

/// Splits `kind u8 | length u8 | bytes` after each other; bit 7 of the kind makes the length count sixteens. The last step
/// has what is left.
pub fn steps(mut data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[kind, len], rest) = data.split_first_chunk()?;
        let unit = if kind & 0x80 == 0 { 1 } else { 16 };
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(len) * unit));
        data = rest;
        Some((kind & 0x7F, bytes))
    })
}
