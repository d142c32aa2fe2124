//! A TLS context: what new connections are offered, made of the `ssl_*` and `tls_*` variables as they stand when it is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use sql::session::transport::PeerTls;
use sql_expr::vars::{GlobalVars, VarValue};
use x509_cert::der::Encode;

use super::sessions::Sessions;
use super::{files, names, suites};

/// Tickets a client gets with TLS 1.3: so many connections it can resume at the same time.
const TICKETS: usize = 2;

/// The variables a context is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) ca: String,
    pub(super) capath: String,
    pub(super) cert: String,
    pub(super) key: String,
    pub(super) cipher: String,
    /// `None`: all there are.
    pub(super) ciphersuites: Option<String>,
    pub(super) crl: String,
    pub(super) crlpath: String,
    pub(super) version: String,
    /// Whether sessions can be resumed, and for how many seconds.
    pub(super) resume: bool,
    pub(super) session_timeout: u64,
}

impl Settings {
    /// The variables as they stand.
    pub(super) fn of(globals: &GlobalVars) -> Settings {
        let value = |name| globals.value_by_name(name);
        let given = |name| value(name).and_then(|v| v.as_str().map(str::to_owned));
        let text = |name| given(name).unwrap_or_default();
        let number = |name| value(name).as_ref().map_or(0, VarValue::as_u64);
        Settings {
            ca: text("ssl_ca"),
            capath: text("ssl_capath"),
            cert: text("ssl_cert"),
            key: text("ssl_key"),
            cipher: text("ssl_cipher"),
            ciphersuites: given("tls_ciphersuites"),
            crl: text("ssl_crl"),
            crlpath: text("ssl_crlpath"),
            version: text("tls_version"),
            resume: number("ssl_session_cache_mode") != 0,
            session_timeout: number("ssl_session_cache_timeout"),
        }
    }

    /// Whether somebody named files.
    pub(super) fn names_files(&self) -> bool {
        [&self.ca, &self.capath, &self.cert, &self.key]
            .iter()
            .any(|name| !name.is_empty())
    }
}

/// What new connections are offered.
#[derive(Debug)]
pub struct Context {
    config: Arc<ServerConfig>,
    pub(super) settings: Settings,
    pub(super) sessions: Option<Arc<Sessions>>,
    /// All suites that can be agreed on, by OpenSSL's names.
    cipher_list: Arc<str>,
    /// Clients are asked for a certificate.
    pub(super) asks: bool,
    /// From when to when the server's certificate is valid.
    pub(super) not_before: String,
    pub(super) not_after: String,
    /// The server's certificate is valid no more.
    pub(super) expired: bool,
}

impl Context {
    /// Makes a context; file names are relative to `directory`.
    ///
    /// # Errors
    /// In MySQL's words, with what is at fault in parentheses.
    pub(super) fn make(settings: Settings, directory: &Path) -> Result<Context, String> {
        if settings.cert.is_empty() || settings.key.is_empty() {
            return Err("SSL context is not usable without certificate and private key".to_owned());
        }
        let versions = suites::versions(&settings.version)?;
        let mut chosen = suites::for_tls13(settings.ciphersuites.as_deref())?;
        chosen.extend(suites::for_tls12(&settings.cipher)?);
        chosen.retain(|suite| versions.contains(&suite.version()));
        if chosen.is_empty() {
            return Err(format!(
                "Failed to set ciphers to use (none is left for {})",
                settings.version
            ));
        }
        let list: Vec<_> = chosen.iter().map(|s| suites::name(s.suite())).collect();
        let provider = Arc::new(CryptoProvider {
            cipher_suites: chosen,
            ..default_provider()
        });
        let path = |name: &str| directory.join(name);
        let (certified, about) = certified(&provider, &path(&settings.cert), &path(&settings.key))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|e| format!("TLS version is invalid ({e})"))?;
        let asks = !settings.ca.is_empty() || !settings.capath.is_empty();
        let builder = if asks {
            let verifier = WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots(&settings, directory)?),
                Arc::clone(&provider),
            )
            .with_crls(revocations(&settings, directory)?)
            .enforce_revocation_expiration()
            .allow_unauthenticated()
            .build()
            .map_err(|e| bad_paths(&e))?;
            builder.with_client_cert_verifier(verifier)
        } else if !settings.crl.is_empty() || !settings.crlpath.is_empty() {
            return Err(bad_paths(
                &"ssl_crl without ssl_ca: there is nobody to verify",
            ));
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        let sessions = settings.resume.then(|| {
            let timeout = Duration::from_secs(settings.session_timeout);
            Arc::new(Sessions::new(timeout))
        });
        match &sessions {
            Some(sessions) => {
                config.session_storage = Arc::clone(sessions) as _;
                config.send_tls13_tickets = TICKETS;
            }
            None => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
        }
        let validity = &about.tbs_certificate.validity;
        Ok(Context {
            config: Arc::new(config),
            settings,
            sessions,
            cipher_list: list.join(":").into(),
            asks,
            not_before: names::time(&validity.not_before),
            not_after: names::time(&validity.not_after),
            expired: UNIX_EPOCH + validity.not_after.to_unix_duration() < SystemTime::now(),
        })
    }

    /// The server's side of a new connection.
    ///
    /// # Errors
    /// Of rustls, which has none to give for a configuration that was made.
    pub(crate) fn accept(&self) -> Result<ServerConnection, rustls::Error> {
        ServerConnection::new(Arc::clone(&self.config))
    }

    /// What a connection whose handshake is done has agreed on.
    pub(crate) fn describe(&self, connection: &ServerConnection) -> PeerTls {
        // The handshake does not end with a certificate that does not verify.
        let shown = connection.peer_certificates().and_then(<[_]>::first);
        let parsed = shown.and_then(|der| names::parse(der));
        let name = |of: fn(&x509_cert::Certificate) -> &x509_cert::name::Name| {
            parsed.as_ref().map(|c| names::one_line(of(c)))
        };
        let suite = connection.negotiated_cipher_suite();
        PeerTls {
            version: match connection.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
                _ => "TLSv1.3",
            },
            cipher: suite.map_or("", |suite| suites::name(suite.suite())),
            cipher_list: Arc::clone(&self.cipher_list),
            reused: connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
            asked: self.asks,
            verified: shown.is_some(),
            cert_subject: name(|c| &c.tbs_certificate.subject),
            cert_issuer: name(|c| &c.tbs_certificate.issuer),
            session_timeout: self.settings.session_timeout,
        }
    }
}

fn bad_paths(why: &dyn std::fmt::Display) -> String {
    format!("SSL_CTX_set_default_verify_paths failed ({why})")
}

/// The server's certificates and key, which must belong together, and what the first certificate says.
fn certified(
    provider: &CryptoProvider,
    cert: &Path,
    key: &Path,
) -> Result<(CertifiedKey, x509_cert::Certificate), String> {
    let bad_certificate =
        |why: &dyn std::fmt::Display| format!("Unable to get certificate ({why})");
    let bad_key = |why: &dyn std::fmt::Display| format!("Unable to get private key ({why})");
    let chain = files::certificates(cert).map_err(|e| bad_certificate(&e))?;
    let about = chain.first().and_then(|der| names::parse(der));
    let about = about.ok_or_else(|| {
        bad_certificate(&format_args!(
            "{}: not an X.509 certificate",
            cert.display()
        ))
    })?;
    let secret = files::key(key).map_err(|e| bad_key(&e))?;
    let signer = provider
        .key_provider
        .load_private_key(secret)
        .map_err(|e| bad_key(&format_args!("{}: {e}", key.display())))?;
    // Compared here, since rustls reads no certificates of X.509's first version.
    let public = about.tbs_certificate.subject_public_key_info.to_der();
    if let (Some(of_key), Ok(of_certificate)) = (signer.public_key(), public)
        && of_key.as_ref() != of_certificate.as_slice()
    {
        return Err(format!(
            "Private key does not match the certificate public key ({} and {})",
            key.display(),
            cert.display()
        ));
    }
    Ok((CertifiedKey::new(chain, signer), about))
}

/// The authorities of `ssl_ca` and `ssl_capath`.
fn roots(settings: &Settings, directory: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let [ca, capath] = [&settings.ca, &settings.capath].map(|name| named(directory, name));
    let found = files::all(ca.as_deref(), capath.as_deref(), "certificate");
    for certificate in found.map_err(|e| bad_paths(&e))? {
        roots.add(certificate).map_err(|e| bad_paths(&e))?;
    }
    Ok(roots)
}

/// The lists of `ssl_crl` and `ssl_crlpath`.
fn revocations(
    settings: &Settings,
    directory: &Path,
) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let [crl, crlpath] = [&settings.crl, &settings.crlpath].map(|name| named(directory, name));
    let found = files::all(crl.as_deref(), crlpath.as_deref(), "revocation list");
    found.map_err(|e| bad_paths(&e))
}

fn named(directory: &Path, name: &str) -> Option<PathBuf> {
    (!name.is_empty()).then(|| directory.join(name))
}
