//! How a client's bytes travel: what TLS agreed on with it, what its certificate says, and what an account may demand of
//! both.
//!
//! The server fills this in; nothing here encrypts, verifies or knows a socket.

use std::sync::Arc;

use sql_access::TlsRequirement;
use sql_expr::vars::{StatusSource, StatusValue};

/// The TLS of one connection, and the certificate its client showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerTls {
    /// The protocol by OpenSSL's name: `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite by OpenSSL's name: `TLS_AES_256_GCM_SHA384`.
    pub cipher: &'static str,
    /// All suites that the connection could have agreed on, with colons between.
    pub cipher_list: Arc<str>,
    /// An earlier session was resumed.
    pub reused: bool,
    /// The client was asked for a certificate.
    pub asked: bool,
    /// The client showed a certificate, and it leads to a known authority.
    pub verified: bool,
    /// Whom the certificate names, in OpenSSL's form on one line: `/C=SE/O=Example/CN=client`.
    pub cert_subject: Option<String>,
    /// Who signed it, in the same form.
    pub cert_issuer: Option<String>,
    /// Seconds for which a session may be resumed.
    pub session_timeout: u64,
}

/// Whether a connection is what an account demands; `peer` is `None` without TLS.
pub fn fits(requirement: &TlsRequirement, peer: Option<&PeerTls>) -> bool {
    let (cipher, issuer, subject) = match (requirement, peer) {
        (TlsRequirement::None, _) | (TlsRequirement::Ssl, Some(_)) => return true,
        (TlsRequirement::X509, Some(peer)) => return peer.verified,
        (
            TlsRequirement::Specified {
                cipher,
                issuer,
                subject,
            },
            Some(_),
        ) => (cipher, issuer, subject),
        (_, None) => return false,
    };
    let Some(peer) = peer else {
        return false;
    };
    if !cipher.is_empty() && cipher != peer.cipher {
        return false;
    }
    if issuer.is_empty() && subject.is_empty() {
        return true;
    }
    let same = |wanted: &str, shown: &Option<String>| {
        wanted.is_empty() || Some(wanted) == shown.as_deref()
    };
    peer.verified && same(issuer, &peer.cert_issuer) && same(subject, &peer.cert_subject)
}

/// OpenSSL's numbers for "asks for a certificate, once": SSL_VERIFY_PEER and SSL_VERIFY_CLIENT_ONCE.
const VERIFY_PEER_ONCE: u64 = 1 | 4;
/// Authorities between a client's certificate and a known one, at most.
pub const VERIFY_DEPTH: u64 = 6;

/// The status variables of a connection's own TLS, and of its compression; without them they are empty and zero.
pub(crate) struct TransportStatus<'a>(
    pub(crate) Option<&'a PeerTls>,
    pub(crate) Option<(&'static str, u64)>,
);

impl StatusSource for TransportStatus<'_> {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        let (algorithm, level) = self.1.unwrap_or_default();
        let on = if self.1.is_some() { "ON" } else { "OFF" };
        out("Compression", StatusValue::Text(on.to_owned()));
        out(
            "Compression_algorithm",
            StatusValue::Text(algorithm.to_owned()),
        );
        out("Compression_level", StatusValue::Count(level));
        let text = |of: fn(&PeerTls) -> &str| {
            StatusValue::Text(self.0.map(of).unwrap_or_default().to_owned())
        };
        out("Ssl_cipher", text(|tls| tls.cipher));
        out("Ssl_cipher_list", text(|tls| &tls.cipher_list));
        out("Ssl_version", text(|tls| tls.version));
        let count =
            |of: fn(&PeerTls) -> u64| StatusValue::Count(self.0.map(of).unwrap_or_default());
        out("Ssl_default_timeout", count(|tls| tls.session_timeout));
        out("Ssl_sessions_reused", count(|tls| u64::from(tls.reused)));
        out(
            "Ssl_verify_depth",
            count(|tls| if tls.asked { VERIFY_DEPTH } else { 0 }),
        );
        out(
            "Ssl_verify_mode",
            count(|tls| if tls.asked { VERIFY_PEER_ONCE } else { 0 }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> PeerTls {
        PeerTls {
            version: "TLSv1.3",
            cipher: "TLS_AES_256_GCM_SHA384",
            cipher_list: "TLS_AES_256_GCM_SHA384".into(),
            reused: false,
            asked: true,
            verified: false,
            cert_subject: None,
            cert_issuer: None,
            session_timeout: 300,
        }
    }

    fn with_certificate() -> PeerTls {
        PeerTls {
            verified: true,
            cert_subject: Some("/CN=app".to_owned()),
            cert_issuer: Some("/O=Example/CN=ca".to_owned()),
            ..peer()
        }
    }

    fn specified(cipher: &str, issuer: &str, subject: &str) -> TlsRequirement {
        TlsRequirement::Specified {
            cipher: cipher.to_owned(),
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
        }
    }

    #[test]
    fn each_demand_beside_each_transport() {
        let (bare, full) = (peer(), with_certificate());
        let cases = [
            (TlsRequirement::None, [true, true, true]),
            (TlsRequirement::Ssl, [false, true, true]),
            (TlsRequirement::X509, [false, false, true]),
            (
                specified("TLS_AES_256_GCM_SHA384", "", ""),
                [false, true, true],
            ),
            (
                specified("TLS_AES_128_GCM_SHA256", "", ""),
                [false, false, false],
            ),
            (specified("", "", "/CN=app"), [false, false, true]),
            (specified("", "", "/CN=other"), [false, false, false]),
            (
                specified("", "/O=Example/CN=ca", "/CN=app"),
                [false, false, true],
            ),
            (specified("", "/CN=ca", "/CN=app"), [false, false, false]),
            (
                specified("TLS_AES_128_GCM_SHA256", "", "/CN=app"),
                [false, false, false],
            ),
        ];
        for (requirement, expected) in cases {
            let met = [None, Some(&bare), Some(&full)].map(|peer| fits(&requirement, peer));
            assert_eq!(met, expected, "{requirement:?}");
        }
        // A name counts only in a certificate that verifies.
        let unverified = PeerTls {
            verified: false,
            ..with_certificate()
        };
        assert!(!fits(&specified("", "", "/CN=app"), Some(&unverified)));
    }
}
