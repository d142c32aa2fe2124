//! SHA256-crypt, the slow hash behind stored caching_sha2 passwords.
//!
//! Follows Ulrich Drepper, "Unix crypt using SHA-256 and SHA-512" (2007). Departs from it as MySQL does: the salt
//! may be longer than 16 bytes (MySQL's have 20).

use aws_lc_rs::digest::{Context, SHA256};

use super::scramble::sha256;

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The 43 characters of the hash alone. Takes a few milliseconds for 5,000 rounds, on purpose; time and memory grow
/// with the length of the password, which callers bound.
pub fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 43] {
    let mixed = sha256(&[password, salt, password]);
    let mut context = Context::new(&SHA256);
    context.update(password);
    context.update(salt);
    update_cyclic(&mut context, &mixed, password.len());
    let mut bits = password.len();
    while bits > 0 {
        context.update(if bits & 1 == 1 { &mixed } else { password });
        bits >>= 1;
    }
    let mut running = finish(context);

    let mut context = Context::new(&SHA256);
    password.iter().for_each(|_| context.update(password));
    let password_bytes = stretch(&finish(context), password.len());
    let mut context = Context::new(&SHA256);
    (0..16 + usize::from(running[0])).for_each(|_| context.update(salt));
    let salt_bytes = stretch(&finish(context), salt.len());

    for round in 0..rounds {
        let odd = round & 1 == 1;
        let mut context = Context::new(&SHA256);
        context.update(if odd { &password_bytes } else { &running });
        if round % 3 != 0 {
            context.update(&salt_bytes);
        }
        if round % 7 != 0 {
            context.update(&password_bytes);
        }
        context.update(if odd { &running } else { &password_bytes });
        running = finish(context);
    }
    encode(&running)
}

fn finish(context: Context) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// Feeds `length` bytes of `block`, repeated.
fn update_cyclic(context: &mut Context, block: &[u8; 32], length: usize) {
    let mut left = length;
    while left > 0 {
        let n = left.min(block.len());
        context.update(&block[..n]);
        left -= n;
    }
}

/// `length` bytes of `block`, repeated.
fn stretch(block: &[u8; 32], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

/// Which bytes make each group of four characters, first byte highest.
const ORDER: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

/// The crypt family's base 64, with its own order of bytes.
fn encode(digest: &[u8; 32]) -> [u8; 43] {
    let mut out = [0; 43];
    let mut at = 0;
    let mut put = |word: u32, characters: u32| {
        for i in 0..characters {
            out[at] = ALPHABET[(word >> (6 * i)) as usize & 63];
            at += 1;
        }
    };
    for [a, b, c] in ORDER {
        put(
            u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c]),
            4,
        );
    }
    put(u32::from(digest[31]) << 8 | u32::from(digest[30]), 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the specification's own vectors.
    #[test]
    fn specified_vectors() {
        assert_eq!(
            &sha256_crypt(b"Hello world!", b"saltstring", 5000),
            b"5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"
        );
        assert_eq!(
            &sha256_crypt(b"Hello world!", b"saltstringsaltst", 10000),
            b"3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"
        );
    }

    /// A published MySQL 8 account hash of the password "hashcat".
    #[test]
    fn twenty_byte_salt() {
        let salt = [
            0xF9, 0xCC, 0x98, 0xCE, 0x08, 0x89, 0x29, 0x24, 0xF5, 0x0A, 0x21, 0x3B, 0x6B, 0xC5,
            0x71, 0xA2, 0xC1, 0x17, 0x78, 0xC5,
        ];
        assert_eq!(
            &sha256_crypt(b"hashcat", &salt, 5000),
            b"bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/"
        );
    }
}
