//! Cipher suites by OpenSSL's names, which options and clients use, and protocol versions by theirs.
//!
//! A name that is not known here is refused: a list must not mean less than it says.

use rustls::crypto::aws_lc_rs::cipher_suite as suite;
use rustls::{CipherSuite, SupportedCipherSuite, SupportedProtocolVersion};

/// Suites of TLS 1.3, best first.
const TLS13: [(&str, SupportedCipherSuite); 3] = [
    ("TLS_AES_256_GCM_SHA384", suite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", suite::TLS13_AES_128_GCM_SHA256),
    (
        "TLS_CHACHA20_POLY1305_SHA256",
        suite::TLS13_CHACHA20_POLY1305_SHA256,
    ),
];

/// Suites of TLS 1.2, best first.
const TLS12: [(&str, SupportedCipherSuite); 6] = [
    (
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "ECDHE-RSA-AES256-GCM-SHA384",
        suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "ECDHE-RSA-AES128-GCM-SHA256",
        suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    (
        "ECDHE-RSA-CHACHA20-POLY1305",
        suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
];

/// OpenSSL's name of an agreed suite.
pub(super) fn name(of: CipherSuite) -> &'static str {
    let known = TLS13.iter().chain(&TLS12);
    known
        .filter(|(_, suite)| suite.suite() == of)
        .map(|(name, _)| *name)
        .next()
        .unwrap_or("(unknown)")
}

/// The suites of `ssl_cipher` for TLS 1.2, in the list's order; an empty list means all.
///
/// # Errors
/// The first name that is not known.
pub(super) fn for_tls12(list: &str) -> Result<Vec<SupportedCipherSuite>, String> {
    if list.trim().is_empty() {
        return Ok(TLS12.map(|(_, suite)| suite).to_vec());
    }
    named(list, &TLS12, "ssl_cipher")
}

/// The suites of `tls_ciphersuites` for TLS 1.3: all where it is NULL, none where it is empty.
///
/// # Errors
/// The first name that is not known.
pub(super) fn for_tls13(list: Option<&str>) -> Result<Vec<SupportedCipherSuite>, String> {
    match list {
        None => Ok(TLS13.map(|(_, suite)| suite).to_vec()),
        Some(list) => named(list, &TLS13, "tls_ciphersuites"),
    }
}

fn named(
    list: &str,
    known: &[(&str, SupportedCipherSuite)],
    variable: &str,
) -> Result<Vec<SupportedCipherSuite>, String> {
    let mut suites = Vec::new();
    for wanted in list.split([':', ',', ' ']).filter(|word| !word.is_empty()) {
        let Some((_, suite)) = known.iter().find(|(name, _)| *name == wanted) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "Failed to set ciphers to use ({variable}: '{wanted}' is none of {})",
                names.join(", ")
            ));
        };
        if !suites.contains(suite) {
            suites.push(*suite);
        }
    }
    Ok(suites)
}

/// The versions of `tls_version`.
///
/// # Errors
/// An empty list, and a version that is too old or not known.
pub(super) fn versions(list: &str) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let mut versions: Vec<&'static SupportedProtocolVersion> = Vec::new();
    for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
        let version = match word.to_ascii_lowercase().as_str() {
            "tlsv1.2" => &rustls::version::TLS12,
            "tlsv1.3" => &rustls::version::TLS13,
            _ => {
                return Err(format!(
                    "TLS version is invalid (tls_version: '{word}' is neither TLSv1.2 nor TLSv1.3)"
                ));
            }
        };
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    if versions.is_empty() {
        return Err("TLS version is invalid (tls_version is empty)".to_owned());
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(for_tls12("").map(|l| l.len()), Ok(6));
        assert_eq!(for_tls13(None).map(|l| l.len()), Ok(3));
        assert_eq!(for_tls13(Some("")).map(|l| l.len()), Ok(0));
        let two = for_tls12("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384");
        let names: Vec<_> = two
            .expect("both are known")
            .iter()
            .map(|suite| name(suite.suite()))
            .collect();
        let expected = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"];
        assert_eq!(names, expected);
        let weak = for_tls12("ECDHE-RSA-AES256-GCM-SHA384:AES128-SHA").expect_err("unknown");
        assert!(weak.contains("'AES128-SHA'"), "{weak}");
        assert!(for_tls13(Some("TLS_AES_128_CCM_SHA256")).is_err());
        assert_eq!(versions("TLSv1.2,tlsv1.3").map(|l| l.len()), Ok(2));
        for wrong in ["", "TLSv1.1", "TLSv1.2,TLSv1", "SSLv3"] {
            assert!(versions(wrong).is_err(), "{wrong}");
        }
    }
}
