//! Base64 as MySQL writes it, a new line behind every 76 characters, and as it reads it.

use types::SqlError;

use crate::limited::Put;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line.
const LINE: usize = 76;

/// Appends what stands for these bytes.
///
/// # Errors
/// What the buffer says.
pub fn encode(bytes: &[u8], out: &mut impl Put) -> Result<(), SqlError> {
    let mut column = 0;
    for chunk in bytes.chunks(3) {
        if column == LINE {
            out.put(b"\n")?;
            column = 0;
        }
        let n = chunk.iter().fold(0u32, |n, &b| n << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        let digit = |i: usize| match i <= chunk.len() {
            true => DIGITS[(n >> (18 - 6 * i) & 63) as usize],
            false => b'=',
        };
        out.put(&[digit(0), digit(1), digit(2), digit(3)])?;
        column += 4;
    }
    Ok(())
}

/// The bytes that it stands for, white space left out; `None`: it stands for none.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut n, mut have, mut pad) = (0u32, 0u32, 0u32);
    for &c in text.iter().filter(|c| !c.is_ascii_whitespace()) {
        let v = match c {
            b'=' => {
                pad += 1;
                0
            }
            _ if pad > 0 => return None,
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        n = n << 6 | u32::from(v);
        have += 1;
        if have == 4 {
            if pad > 2 {
                return None;
            }
            out.extend_from_slice(&n.to_be_bytes()[1..4 - pad as usize]);
            (n, have) = (0, 0);
        }
    }
    (have == 0).then_some(out)
}
