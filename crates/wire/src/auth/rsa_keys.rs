//! The key pair by which a client on an open transport sends its password once (caching_sha2_password without TLS).

use std::fmt;
use std::sync::OnceLock;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};

use crate::error::ProtocolError;

/// A 2048-bit RSA key pair, made when first needed (a fraction of a second) and then kept.
#[derive(Default)]
pub struct RsaKeys {
    pair: OnceLock<Option<KeyPair>>,
}

struct KeyPair {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl fmt::Debug for RsaKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RsaKeys(..)")
    }
}

impl RsaKeys {
    /// The public key as PEM (`BEGIN PUBLIC KEY`), as it goes to clients.
    ///
    /// # Errors
    /// [`ProtocolError::Crypto`] if the key pair could not be made.
    pub fn public_pem(&self) -> Result<&str, ProtocolError> {
        Ok(&self.pair()?.public_pem)
    }

    /// Takes off encryption and nonce from a password a client sent; a NUL ends it. `None` when it was not encrypted
    /// with this key.
    pub(super) fn decrypt_password(&self, encrypted: &[u8], nonce: &[u8; 20]) -> Option<Vec<u8>> {
        // Without a key made before, nothing can be encrypted with it.
        let pair = self.pair.get()?.as_ref()?;
        if encrypted.len() != pair.private.key_size_bytes() {
            return None;
        }
        let mut room = vec![0; pair.private.min_output_size()];
        let clear = pair
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None)
            .ok()?;
        let mut password = mask(clear, nonce);
        (password.pop() == Some(0)).then_some(password)
    }

    fn pair(&self) -> Result<&KeyPair, ProtocolError> {
        self.pair
            .get_or_init(generate)
            .as_ref()
            .ok_or(ProtocolError::Crypto)
    }
}

fn generate() -> Option<KeyPair> {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?;
    let der: PublicKeyX509Der<'_> = private.public_key().as_der().ok()?;
    Some(KeyPair {
        public_pem: to_pem(der.as_ref()),
        private: OaepPrivateDecryptingKey::new(private).ok()?,
    })
}

/// A client's part: `password` and its NUL, masked by the nonce, encrypted with the server's public key.
///
/// # Errors
/// [`ProtocolError::Malformed`] when `pem` is no RSA public key, [`ProtocolError::Crypto`] when the password is too long
/// for it.
pub fn encrypt_password(
    password: &[u8],
    nonce: &[u8; 20],
    pem: &[u8],
) -> Result<Vec<u8>, ProtocolError> {
    let der = from_pem(pem).ok_or(ProtocolError::Malformed)?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| ProtocolError::Malformed)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| ProtocolError::Malformed)?;
    let clear: Vec<u8> = password.iter().copied().chain([0]).collect();
    let mut room = vec![0; key.ciphertext_size()];
    let encrypted = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, &mask(&clear, nonce), &mut room, None)
        .map_err(|_| ProtocolError::Crypto)?;
    Ok(encrypted.to_vec())
}

fn mask(bytes: &[u8], nonce: &[u8; 20]) -> Vec<u8> {
    let pairs = bytes.iter().zip(nonce.iter().cycle());
    pairs.map(|(byte, key)| byte ^ key).collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_END: &str = "-----END PUBLIC KEY-----";

fn to_pem(der: &[u8]) -> String {
    let mut pem = String::from(PEM_BEGIN);
    for (i, group) in der.chunks(3).enumerate() {
        if i % 16 == 0 {
            pem.push('\n');
        }
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= group.len() {
                pem.push(char::from(BASE64[(word >> (18 - 6 * place)) as usize & 63]));
            } else {
                pem.push('=');
            }
        }
    }
    pem.push('\n');
    pem.push_str(PEM_END);
    pem.push('\n');
    pem
}

fn from_pem(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let body = text.split_once(PEM_BEGIN)?.1.split_once(PEM_END)?.0;
    let mut der = Vec::new();
    let (mut word, mut bits) = (0u32, 0);
    for byte in body.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if byte == b'=' {
            break;
        }
        let value = BASE64.iter().position(|&symbol| symbol == byte)?;
        word = (word << 6 | value as u32) & 0xFF_FFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            der.push((word >> bits) as u8);
        }
    }
    Some(der)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passwords_travel() -> Result<(), ProtocolError> {
        let keys = RsaKeys::default();
        let pem = keys.public_pem()?.to_owned();
        for password in [&b"secret"[..], b"", &[b'x'; 200]] {
            let encrypted = encrypt_password(password, &[7; 20], pem.as_bytes())?;
            let clear = keys.decrypt_password(&encrypted, &[7; 20]);
            assert_eq!(clear.as_deref(), Some(password));
            assert_eq!(keys.decrypt_password(&encrypted[1..], &[7; 20]), None);
        }
        assert_eq!(
            encrypt_password(b"x", &[7; 20], b"no key"),
            Err(ProtocolError::Malformed)
        );
        Ok(())
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn pem_round_trips(der: Vec<u8>) {
            prop_assert_eq!(from_pem(to_pem(&der).as_bytes()), Some(der.clone()));
            let _ = from_pem(&der);
        }
    }
}
