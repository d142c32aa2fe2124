//! The proofs: hashes of a password mixed with a nonce, as client and server compute them.

use aws_lc_rs::digest::{self, Context};

/// SHA-1 over `parts` in a row.
pub(super) fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut context = Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    parts.iter().for_each(|part| context.update(part));
    let mut out = [0; 20];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// SHA-256 over `parts` in a row.
pub(super) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new(&digest::SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// `left` xor `right`, byte by byte.
pub(super) fn xor<const N: usize>(left: [u8; N], right: &[u8; N]) -> [u8; N] {
    let mut out = left;
    out.iter_mut().zip(right).for_each(|(a, b)| *a ^= b);
    out
}

/// Whether two secrets are equal, in time that does not depend on where they differ.
pub(super) fn same(left: &[u8], right: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(left, right).is_ok()
}

/// A client's answer under mysql_native_password: SHA1(pw) xor SHA1(nonce + SHA1(SHA1(pw))).
pub fn native_scramble(password: &[u8], nonce: &[u8; 20]) -> [u8; 20] {
    let once = sha1(&[password]);
    xor(once, &sha1(&[nonce, &sha1(&[&once])]))
}

/// Whether `answer` proves the password of which `twice` is SHA1(SHA1(pw)).
pub(super) fn native_proves(answer: &[u8; 20], twice: &[u8; 20], nonce: &[u8; 20]) -> bool {
    let once = xor(*answer, &sha1(&[nonce, twice]));
    same(&sha1(&[&once]), twice)
}

/// A client's answer under caching_sha2_password: SHA256(pw) xor SHA256(SHA256(SHA256(pw)) + nonce).
pub fn sha2_scramble(password: &[u8], nonce: &[u8; 20]) -> [u8; 32] {
    let once = sha256(&[password]);
    xor(once, &sha256(&[&sha256(&[&once]), nonce]))
}

/// Whether `answer` proves the password of which `twice` is SHA256(SHA256(pw)).
pub(super) fn sha2_proves(answer: &[u8; 32], twice: &[u8; 32], nonce: &[u8; 20]) -> bool {
    let once = xor(*answer, &sha256(&[twice, nonce]));
    same(&sha256(&[&once]), twice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_prove() {
        let nonce = [9; 20];
        let twice = sha1(&[&sha1(&[b"pw"])]);
        assert!(native_proves(
            &native_scramble(b"pw", &nonce),
            &twice,
            &nonce
        ));
        assert!(!native_proves(
            &native_scramble(b"pv", &nonce),
            &twice,
            &nonce
        ));
        let twice = sha256(&[&sha256(&[b"pw"])]);
        assert!(sha2_proves(&sha2_scramble(b"pw", &nonce), &twice, &nonce));
        assert!(!sha2_proves(
            &sha2_scramble(b"pw", &[8; 20]),
            &twice,
            &nonce
        ));
    }
}
