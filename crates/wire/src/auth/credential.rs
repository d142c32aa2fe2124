//! What a server stores of a password, in MySQL's own formats (`mysql.user.authentication_string`).

use std::fmt;

use super::scramble::{same, sha1};
use super::sha256_crypt::sha256_crypt;
use crate::error::ProtocolError;
use crate::handshake::{CACHING_SHA2_PASSWORD, NATIVE_PASSWORD, SHA256_PASSWORD};

/// `$A$` and three digits, times a thousand, of rounds, and `$`.
const SHA2_PREFIX: usize = 7;
/// Bytes of salt after the prefix.
const SHA2_SALT: usize = 20;
/// Characters of hash after the salt.
const SHA2_HASH: usize = 43;
/// Rounds of the hash, as `$A$005$` says.
const ROUNDS: u32 = 5000;
/// The longest password, in bytes; MySQL's limit too.
pub(super) const LONGEST_PASSWORD: usize = 256;

/// The stored half of a password.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// No password: only an empty answer gets in.
    Empty,
    /// mysql_native_password: SHA1(SHA1(password)).
    Native([u8; 20]),
    /// caching_sha2_password: `$A$005$`, 20 bytes of salt, 43 characters of SHA256-crypt. Made by
    /// [`Credential::caching_sha2`] or [`Credential::parse`].
    CachingSha2(Box<[u8]>),
    /// sha256_password: `$5$`, 20 bytes of salt, `$`, 43 characters of SHA256-crypt. Made by [`Credential::sha256`] or
    /// [`Credential::parse`].
    Sha256(Box<[u8]>),
    /// Nobody gets in: for users that do not exist. The exchange looks like any other until its end.
    Denied,
}

/// Names the kind alone: hashes do not belong in logs.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::Empty => "Empty",
            Credential::Native(_) => "Native(..)",
            Credential::CachingSha2(_) => "CachingSha2(..)",
            Credential::Sha256(_) => "Sha256(..)",
            Credential::Denied => "Denied",
        })
    }
}

/// SHA1(SHA1(password)).
pub fn native_hash(password: &[u8]) -> [u8; 20] {
    sha1(&[&sha1(&[password])])
}

impl Credential {
    /// The credential of `password` under mysql_native_password.
    pub fn native(password: &[u8]) -> Credential {
        if password.is_empty() {
            return Credential::Empty;
        }
        Credential::Native(native_hash(password))
    }

    /// The credential of `password` under caching_sha2_password, with a fresh salt. Takes milliseconds.
    ///
    /// # Errors
    /// [`ProtocolError::WrongArguments`] for a password over 256 bytes, [`ProtocolError::Crypto`] when there is no
    /// randomness.
    pub fn caching_sha2(password: &[u8]) -> Result<Credential, ProtocolError> {
        let nonce = crate::handshake::Nonce::generate()?;
        Credential::caching_sha2_salted(password, nonce.as_bytes())
    }

    /// As [`Credential::caching_sha2`] with a salt from outside: 20 bytes, neither zero nor `$`.
    ///
    /// # Errors
    /// [`ProtocolError::WrongArguments`] for a password over 256 bytes.
    pub fn caching_sha2_salted(
        password: &[u8],
        salt: &[u8; SHA2_SALT],
    ) -> Result<Credential, ProtocolError> {
        if password.is_empty() {
            return Ok(Credential::Empty);
        }
        if password.len() > LONGEST_PASSWORD {
            return Err(ProtocolError::WrongArguments);
        }
        let mut stored = b"$A$005$".to_vec();
        stored.extend_from_slice(salt);
        stored.extend_from_slice(&sha256_crypt(password, salt, ROUNDS));
        Ok(Credential::CachingSha2(stored.into()))
    }

    /// The credential of `password` under sha256_password, with a fresh salt. Takes milliseconds.
    ///
    /// # Errors
    /// As [`Credential::caching_sha2`].
    pub fn sha256(password: &[u8]) -> Result<Credential, ProtocolError> {
        if password.is_empty() {
            return Ok(Credential::Empty);
        }
        if password.len() > LONGEST_PASSWORD {
            return Err(ProtocolError::WrongArguments);
        }
        let nonce = crate::handshake::Nonce::generate()?;
        let salt = nonce.as_bytes();
        let mut stored = SHA256_PREFIX.to_vec();
        stored.extend_from_slice(salt);
        stored.push(b'$');
        stored.extend_from_slice(&sha256_crypt(password, salt, ROUNDS));
        Ok(Credential::Sha256(stored.into()))
    }

    /// Reads a stored pair of plugin and authentication string. `None` when the plugin is not one of the three or the
    /// string has not its format.
    pub fn parse(plugin: &str, stored: &[u8]) -> Option<Credential> {
        match plugin {
            NATIVE_PASSWORD | CACHING_SHA2_PASSWORD | SHA256_PASSWORD if stored.is_empty() => {
                Some(Credential::Empty)
            }
            NATIVE_PASSWORD => {
                let hex = stored.strip_prefix(b"*").filter(|hex| hex.len() == 40)?;
                let mut hash = [0; 20];
                for (byte, pair) in hash.iter_mut().zip(hex.chunks_exact(2)) {
                    *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
                }
                Some(Credential::Native(hash))
            }
            CACHING_SHA2_PASSWORD => {
                Sha2Parts::of(stored)?;
                Some(Credential::CachingSha2(stored.into()))
            }
            SHA256_PASSWORD => {
                sha256_parts(stored)?;
                Some(Credential::Sha256(stored.into()))
            }
            _ => None,
        }
    }

    /// The plugin this credential is for, if it is for one.
    pub fn plugin(&self) -> Option<&'static str> {
        match self {
            Credential::Native(_) => Some(NATIVE_PASSWORD),
            Credential::CachingSha2(_) => Some(CACHING_SHA2_PASSWORD),
            Credential::Sha256(_) => Some(SHA256_PASSWORD),
            Credential::Empty | Credential::Denied => None,
        }
    }

    /// The authentication string as MySQL stores and shows it.
    pub fn to_stored(&self) -> Vec<u8> {
        match self {
            Credential::Empty | Credential::Denied => Vec::new(),
            Credential::Native(hash) => {
                let mut text = vec![b'*'];
                for byte in hash {
                    text.extend([byte >> 4, byte & 15].map(|n| b"0123456789ABCDEF"[n as usize]));
                }
                text
            }
            Credential::CachingSha2(stored) | Credential::Sha256(stored) => stored.to_vec(),
        }
    }

    /// Whether `password`, in the clear, is the one. Takes milliseconds for caching_sha2.
    pub fn verify(&self, password: &[u8]) -> bool {
        match self {
            Credential::Empty => password.is_empty(),
            Credential::Native(hash) => same(&native_hash(password), hash),
            Credential::CachingSha2(stored) => Sha2Parts::of(stored).is_some_and(|parts| {
                password.len() <= LONGEST_PASSWORD
                    && same(
                        &sha256_crypt(password, parts.salt, parts.rounds),
                        parts.hash,
                    )
            }),
            Credential::Sha256(stored) => sha256_parts(stored).is_some_and(|(salt, hash)| {
                password.len() <= LONGEST_PASSWORD
                    && same(&sha256_crypt(password, salt, ROUNDS), hash)
            }),
            Credential::Denied => false,
        }
    }

    /// Takes the time of [`Credential::verify`] for caching_sha2, for an account that has nothing to compare with.
    pub(super) fn burn(password: &[u8]) {
        if password.len() <= LONGEST_PASSWORD {
            std::hint::black_box(sha256_crypt(password, &[b'-'; SHA2_SALT], ROUNDS));
        }
    }
}

/// What a hash of sha256_password begins with.
const SHA256_PREFIX: &[u8] = b"$5$";

/// Salt and hash of a hash of sha256_password.
fn sha256_parts(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = stored.strip_prefix(SHA256_PREFIX)?;
    let (salt, hash) = rest.split_at_checked(SHA2_SALT)?;
    let hash = hash.strip_prefix(b"$")?;
    (hash.len() == SHA2_HASH).then_some((salt, hash))
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

struct Sha2Parts<'a> {
    rounds: u32,
    salt: &'a [u8],
    hash: &'a [u8],
}

impl<'a> Sha2Parts<'a> {
    fn of(stored: &'a [u8]) -> Option<Sha2Parts<'a>> {
        if stored.len() != SHA2_PREFIX + SHA2_SALT + SHA2_HASH {
            return None;
        }
        let (prefix, rest) = stored.split_at_checked(SHA2_PREFIX)?;
        let digits = prefix.strip_prefix(b"$A$")?.strip_suffix(b"$")?;
        let mut thousands = 0;
        for &digit in digits {
            thousands = thousands * 16 + u32::from(hex_digit(digit)?);
        }
        let (salt, hash) = rest.split_at_checked(SHA2_SALT)?;
        Some(Sha2Parts {
            rounds: thousands * 1000,
            salt,
            hash,
        })
        .filter(|parts| parts.rounds > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn native_format() -> Result<(), ProtocolError> {
        let credential = Credential::native(b"secret");
        let stored = credential.to_stored();
        assert_eq!(stored, b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7");
        assert_eq!(
            Credential::parse(NATIVE_PASSWORD, &stored),
            Some(credential.clone())
        );
        assert!(credential.verify(b"secret") && !credential.verify(b"Secret"));
        assert_eq!(Credential::native(b""), Credential::Empty);
        Ok(())
    }

    #[test]
    fn sha2_format() -> Result<(), ProtocolError> {
        let credential = Credential::caching_sha2(b"secret")?;
        let stored = credential.to_stored();
        assert_eq!((stored.len(), &stored[..7]), (70, &b"$A$005$"[..]));
        let parsed = Credential::parse(CACHING_SHA2_PASSWORD, &stored);
        assert_eq!(parsed.as_ref(), Some(&credential));
        assert!(credential.verify(b"secret") && !credential.verify(b"Secret"));
        assert_eq!(
            Credential::caching_sha2(&[b'x'; 257]),
            Err(ProtocolError::WrongArguments)
        );
        assert_eq!(format!("{credential:?}"), "CachingSha2(..)");
        Ok(())
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_stored_bytes_parse_without_panic(bytes: Vec<u8>, tail in prop::collection::vec(any::<u8>(), 63)) {
            let _ = Credential::parse(NATIVE_PASSWORD, &bytes);
            let _ = Credential::parse(CACHING_SHA2_PASSWORD, &bytes);
            let mut stored = b"$A$001$".to_vec();
            stored.extend(tail);
            prop_assert!(Credential::parse(CACHING_SHA2_PASSWORD, &stored).is_some());
        }
    }
}
